import { CELL, SLOT } from "./constants.js";
import { el, setAttribute, setText } from "./drawing.js";
import { formatPercent, formatProbability, formatRatio, formatTest, formatThreshold, tokenRule } from "./format.js";
import { panel } from "./speaker.js";
import { headlineAt } from "./statistics.js";

/** What happens at an event, in one to three sentences with the real numbers. @returns {Sentence[]} */
const NARRATE = {
  run_started({ event, speaker }) {
    const { settings } = event;
    const rule = tokenRule(settings, event.decoder);
    return [
      ["say.run_started", {
        decoder: speaker.text(`decoder.${event.decoder ?? "refusion"}`), length: event.response_length,
        slots: event.slot_count, size: settings.slot_size, blocks: settings.serial_blocks,
      }],
      rule ? [`say.rule.${rule.key}`, rule] : ["say.thresholds", {
        slot: formatThreshold(settings.slot_threshold), token: formatThreshold(settings.token_threshold),
      }],
      ...(event.notices ?? []).map((notice) => ["{notice}", { notice: `${notice}.` }]),
    ];
  },

  vocabulary: ({ event }) => [["say.vocabulary", { n: event.tokens.length }]],

  forward({ event, trace, at, speaker }) {
    const parts = countedTokens(event, speaker);
    const values = { f: trace.sums.forwards[at], parts, hits: event.cache_hits };
    return [[`say.forward.${event.phase}`, values]];
  },

  plan({ event, trace, speaker }) {
    const chosen = event.slots.filter((slot) => slot.chosen);
    const threshold = formatThreshold(trace.run.settings.slot_threshold);
    const masks = event.slots.reduce((sum, slot) => sum + (slot.mask_offsets?.length ?? 0), 0);
    const note = masks ? [["say.plan.mask", { n: masks }]] : [];
    if (chosen[0]?.reason === "next") {
      return [["say.plan.next", { p: formatProbability(chosen[0].confidence) }], ...note];
    }
    const { policy } = trace.run.settings;
    if (policy) return [["say.plan.policy", { policy, n: chosen.length, m: event.slots.length, list: namesOf(chosen, speaker) }], ...note];
    if (chosen[0]?.reason === "best_of_none") {
      const [best] = chosen;
      return [["say.plan.best", { threshold, slot: best.slot, p: formatProbability(best.confidence) }], ...note];
    }
    const values = { n: chosen.length, m: event.slots.length, threshold, list: namesOf(chosen, speaker) };
    if (event.slots.some((slot) => slot.reason?.endsWith("_by_user"))) return [["say.plan.user", values], ...note];
    return [[chosen[0]?.reason === "among_best" ? "say.plan.count" : "say.plan.above", values], ...note];
  },

  verify(context) {
    const { event, trace, speaker } = context;
    const { token_threshold: threshold } = trace.run.settings;
    const broken = event.slots.find((slot) => slot.accepted_run < slot.tokens.length);
    const kept = event.slots.filter((slot) => slot.outcome === "committed").map((slot) => slot.slot);
    if (event.outcome === "eos") {
      const values = { slot: kept[kept.length - 1], kept: speaker.slots(kept), k: kept.length };
      return [["say.verify.eos", values]];
    }
    if (event.slots.some((slot) => slot.statuses[0] === "forced")) {
      const lowest = Math.min(...event.slots.flatMap((slot) => slot.probabilities));
      return [["say.verify.written", { slots: speaker.slots(kept), p: formatProbability(lowest) }]];
    }
    if (!broken) {
      const tokens = event.slots.reduce((sum, slot) => sum + slot.tokens.length, 0);
      return [["say.verify.whole", { tokens, slots: speaker.slots(kept), n: kept.length }]];
    }
    const k = broken.accepted_run;
    const sentences = [["say.verify.break", {
      slot: broken.slot, token: { token: trace.tokenText(broken.tokens[k]) },
      test: formatTest(broken.probabilities[k], threshold),
    }]];
    const back = event.slots.filter((slot) => slot.outcome === "returned").map((slot) => slot.slot);
    if (event.outcome === "infill") {
      const key = event.slots.length === 1 ? "say.verify.infill_one" : "say.verify.infill_many";
      sentences.push([key, { slot: event.slots[0].slot, n: event.slots.length }]);
    } else {
      sentences.push(["say.verify.kept", {
        kept: speaker.sentenceStart(speaker.slots(kept)), k: kept.length, back: speaker.slots(back), b: back.length,
      }]);
    }
    return sentences;
  },

  infill_round({ event, trace, speaker }) {
    const slot = event.slots.find((entry) => entry.ended_by_eos) ??
      event.slots.find((entry) => entry.slot === event.straggler) ?? event.slots[0];
    const waiting = event.slots.filter((entry) => !entry.complete && !entry.dropped).map((entry) => entry.slot);
    const sentences = [narrateRound(slot, event.round, trace)];
    if (waiting.length > 1 && event.straggler !== undefined) {
      sentences.push(["say.round.rest", {
        slots: speaker.sentenceStart(speaker.slots(waiting)), n: waiting.length, slowest: event.straggler,
      }]);
    }
    return sentences;
  },

  commit({ event, frame, speaker }) {
    const slots = event.slots.map((slot) => slot.slot);
    const counts = {};
    for (const slot of event.slots) for (const origin of slot.origins) counts[origin] = (counts[origin] ?? 0) + 1;
    const origins = Object.entries(counts).map(([origin, n]) => `${n} ${speaker.text(`origin.${origin}`)}`);
    const indexes = event.slots.flatMap((slot) => slot.cache_indexes);
    const values = {
      slots: speaker.slots(slots), tokens: event.slots.reduce((sum, slot) => sum + slot.tokens.length, 0),
      origins: speaker.join(origins), range: rangeText(indexes),
    };
    const sentences = [[indexes.length ? "say.commit" : "say.commit.plain", values]];
    const early = earlierMasked(frame, Math.max(...slots));
    if (event.eos_position !== undefined) {
      const n = event.dropped_slots?.length ?? 0;
      const behind = frame.status.includes(CELL.CUT) ? "say.commit.cut" : "say.commit.end";
      sentences.push([n ? "say.commit.eos" : behind, { p: event.eos_position, n }]);
    }
    if (early.length) sentences.push(["say.commit.early", { slots: speaker.slots(early), n: early.length }]);
    return sentences;
  },

  cache: ({ event }) => [["say.cache", event]],

  dependency({ event, speaker }) {
    let best = null;
    event.matrix.forEach((row, r) => row.forEach((value, c) => {
      if (event.columns[c] === event.rows[r]) return;
      if (!best || value > best.value) best = { value, r, c };
    }));
    const r = best ? best.r : 0;
    const values = {
      row: event.rows[r], prompt: event.prompt && formatProbability(event.prompt[r]), column: best && event.columns[best.c],
      p: best && formatProbability(best.value), violated: (event.violated ?? 0).toFixed(3),
    };
    if (event.method === "revealed") return [["say.dependency.revealed", values]];
    if (event.method === "joint") {
      const worst = event.gains.indexOf(Math.min(...event.gains));
      const found = { slots: speaker.slots([...event.rows]), violated: values.violated, slot: event.rows[worst],
        gain: event.gains[worst].toFixed(3) };
      return [["say.dependency.joint", found], [event.gains[worst] < -0.01 ? "say.dependency.against" : "say.dependency.agree", found]];
    }
    return [[best ? "say.dependency" : "say.dependency.prompt", values]];
  },

  run_finished({ event, trace, frame }) {
    const { stats } = event;
    const stopped = event.stop_reason === "stopped" || event.stop_reason === "error";
    const last = trace.iterations[trace.iterations.length - 1];
    const i = stopped ? (last ? last.number + 1 : 1) : stats.iterations;
    const sentences = [[`say.end.${event.stop_reason}`, { i, error: event.error ?? "" }]];
    if (frame.status[0] === CELL.COMMITTED && frame.token[0] === trace.run.model.eos_id) {
      sentences.push(["say.end.empty", {}]);
    }
    sentences.push(["say.end.sum", {
      n: stats.committed_tokens, f: stats.forwards, tpf: formatRatio(stats.tokens_per_forward),
      hits: formatPercent(stats.cache_hit_rate),
    }]);
    return sentences;
  },
};

/** "slot 3 (0.97) and slot 5 (0.91)" */
function namesOf(slots, speaker) {
  return speaker.some(slots.map((slot) =>
    `${speaker.text("slot", { s: slot.slot })} (${formatProbability(slot.score ?? slot.confidence)})`));
}

/** What a forward computed, by kind: "14 of the prompt and 32 masks". */
export function countedTokens(event, speaker) {
  const counts = {};
  for (const segment of event.segments) counts[segment.kind] = (counts[segment.kind] ?? 0) + segment.tokens;
  // A baseline drafts nothing: what it feeds besides prompt and masks is decoded already.
  const word = (kind) => (kind === "draft" && /^(ar|mdm)$/.test(event.phase) ? "decoded" : kind);
  return speaker.join(Object.entries(counts).map(([kind, n]) => speaker.text(`count.${word(kind)}`, { n })));
}

/** @returns {Sentence} */
function narrateRound(slot, round, trace) {
  const values = {
    r: (round ?? 0) + 1, slot: slot.slot, before: slot.run_before, after: slot.run_after, size: slot.tokens.length,
  };
  if (slot.ended_by_eos) return ["say.round.eos", values];
  const forced = slot.statuses.indexOf("forced");
  const broken = forced >= 0 ? forced : slot.statuses.indexOf("rejected");
  if (broken < 0) return ["say.round.done", values];
  values.token = { token: trace.tokenText(slot.tokens[slot.run_before + broken]) };
  values.test = formatTest(slot.verified[broken], trace.tokenThreshold);
  return [forced >= 0 ? "say.round.forced" : "say.round.grow", values];
}

function rangeText(indexes) {
  if (indexes.length < 2) return indexes.join("");
  return `${Math.min(...indexes)}–${Math.max(...indexes)}`;
}

/** Slots left of a committed one that are still to be decoded. */
function earlierMasked(frame, slot) {
  const early = [];
  for (let s = 0; s < slot; s++) if (frame.slot[s] < SLOT.FRESH) early.push(s);
  return early;
}

/** Name of the phase of an event, for titles and the transport. */
export function phaseText(speaker, event) {
  if (event.type === "forward") return speaker.text(`forward.${event.phase}`);
  return speaker.text(`phase.${event.type}`, { r: (event.round ?? 0) + 1 });
}

export class NarrationView {
  constructor(player) {
    this.player = player;
    const { section, title, aside } = panel(player.speaker, "narration");
    [this.section, this.title, this.aside] = [section, title, aside];
    this.text = el("p", "rfp-narration-text");
    this.text.tabIndex = 0; // it scrolls where the panel is narrow
    this.numbers = {};
    const list = el("dl", "rfp-numbers");
    for (const name of ["tpf", "hits", "forwards", "committed"]) {
      const value = el("dd", "rfp-number");
      value.dataset.number = name;
      this.numbers[name] = value;
      list.append(el("div", "", player.speaker.bind(el("dt", ""), `numbers.${name}`), value));
    }
    section.append(this.text, list);
  }

  build() {
    this.said = "";
  }

  paint() {
    const { trace, cursor, speaker, frame, playing } = this.player;
    const event = trace.events[cursor];
    setAttribute(this.text, "aria-live", playing ? "off" : "polite");
    setText(this.title, this.where(event));
    setText(this.aside, speaker.text("count", { i: cursor + 1, n: trace.length }));
    const key = [cursor, speaker.language, trace.run.run_id].join();
    if (key !== this.said) {
      this.said = key;
      this.say(NARRATE[event.type]({ event, trace, at: cursor, speaker, frame }));
    }
    const figures = headlineAt(trace, cursor);
    setText(this.numbers.tpf, formatRatio(figures.tokensPerForward));
    setText(this.numbers.hits, formatPercent(figures.hitRate));
    setText(this.numbers.forwards, String(figures.forwards));
    setText(this.numbers.committed, String(figures.committed));
  }

  where(event) {
    const { speaker } = this.player;
    if (event.type === "run_finished") return speaker.text("where.end");
    if (!Number.isInteger(event.iteration)) return speaker.text("where.start");
    return speaker.text("where.iteration", { i: event.iteration + 1, phase: phaseText(speaker, event) });
  }

  say(sentences) {
    const { speaker } = this.player;
    const nodes = sentences.flatMap(([key, values], n) => [
      ...(n && speaker.language === "en" ? [document.createTextNode(" ")] : []), ...speaker.nodes(key, values),
    ]);
    this.text.replaceChildren(...nodes);
  }

  /** Nothing to narrate: before a run. */
  clear() {
    this.said = "";
    setText(this.title, this.player.speaker.text("narration.idle"));
    setText(this.aside, "");
    this.text.replaceChildren();
    for (const value of Object.values(this.numbers)) setText(value, "–");
  }
}
