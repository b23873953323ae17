import { SCOREBOARD_ROWS, SLOT } from "./constants.js";
import { el, setAttribute, setText } from "./drawing.js";
import { isComplete } from "./fold.js";
import { formatProbability, formatThreshold, hasThreshold } from "./format.js";
import { candidatesOf, dependencyOn } from "./candidates.js";
import { choice, panel, scrollBox } from "./speaker.js";

const SORTS = {
  confidence: (a, b) => a.rank - b.rank,
  slot: (a, b) => a.slot - b.slot,
  dependency: (a, b) => (b.dependency ?? -Infinity) - (a.dependency ?? -Infinity) || a.rank - b.rank,
};

/**
 * Every remaining slot of a plan, the most confident first if not sorted otherwise, against the threshold; below them those slots of the
 * block that were decided before.
 */
export class ScoreboardView {
  constructor(player) {
    this.player = player;
    const { section, title, aside } = panel(player.speaker, "scoreboard");
    [this.section, this.title, this.aside] = [section, title, aside];
    this.list = el("ol", "rfp-scores");
    this.more = el("p", "rfp-caption");
    this.empty = player.speaker.bind(el("p", "rfp-empty"), "scoreboard.empty");
    const box = el("div", "rfp-score-scroller", this.list, this.more, this.empty);
    this.scroller = scrollBox(player.speaker, box, "scoreboard.none");
    this.sort = "confidence";
    this.sorts = choice(player.speaker, "scoreboard.sort", Object.keys(SORTS), (sort) => {
      this.sort = sort;
      player.changed();
    });
    this.detail = el("p", "rfp-caption rfp-score-detail");
    section.append(this.sorts, this.scroller, this.detail);
    this.rows = [];
    const over = (event) => {
      const row = event.target.closest?.(".rfp-score");
      player.hover(row ? Number(row.dataset.slot) : -1);
    };
    this.list.addEventListener("pointerover", over);
    this.marks = new Map(); // slot to "force" or "forbid", for a fork at the iteration `markedOf`
    this.markedOf = null;
    this.hint = el("p", "rfp-caption rfp-fork-hint");
    if (player.options.canFork) {
      section.append(player.speaker.bind(this.hint, "fork.hint"), this.createWriting());
      this.list.addEventListener("click", (event) => this.mark(event.target.closest?.(".rfp-mark")));
    }
    this.list.addEventListener("pointerleave", () => player.hover(-1));
  }

  /** A slot and a text for it, for a fork. */
  createWriting() {
    const { speaker } = this.player;
    this.writeSlot = el("select", "rfp-write-slot");
    this.writeText = el("input", "rfp-write-text");
    this.writeText.type = "text";
    speaker.bind(this.writeText, "fork.write.text", "aria-label");
    return el("div", "rfp-write", el("label", "", speaker.bind(el("span", ""), "fork.write"), this.writeSlot), this.writeText);
  }

  /** The candidates of the iteration can be written into. */
  paintWriting(record) {
    if (!this.writeSlot) return;
    const { trace, speaker } = this.player;
    const slots = record ? trace.events[record.plan].slots.map(({ slot }) => slot) : [];
    const key = [slots.join(), speaker.language, trace.slotSize].join(" ");
    if (key === this.writingOf) return;
    this.writingOf = key;
    const before = this.writeSlot.value;
    this.writeSlot.replaceChildren(new Option(speaker.text("fork.write.none"), ""), ...slots.map((slot) => new Option(slot, slot)));
    this.writeSlot.value = slots.includes(Number(before)) ? before : "";
    this.writeText.placeholder = speaker.text("fork.write.hint", { size: trace.slotSize });
  }

  /** What is written into slots. @returns {Record<number, string>} */
  written() {
    return this.writeSlot?.value ? { [this.writeSlot.value]: this.writeText.value } : {};
  }

  build() {
    const { run } = this.player.trace;
    const rows = Math.min(12, Math.ceil(run.slot_count / Math.max(1, run.settings.serial_blocks)));
    this.scroller.style.setProperty("--rows", rows);
    this.list.style.setProperty("--threshold", run.settings.slot_threshold);
    this.list.classList.toggle("is-unlimited", !hasThreshold(run));
  }

  paint() {
    const { trace, cursor, speaker } = this.player;
    const record = trace.plannedAt(cursor);
    this.empty.hidden = Boolean(record);
    this.list.hidden = !record;
    const title = record ? "scoreboard" : "scoreboard.none";
    setText(this.title, speaker.text(title, { i: record ? record.number + 1 : 0 }));
    const threshold = formatThreshold(trace.run.settings.slot_threshold);
    setText(this.aside, hasThreshold(trace.run) ? speaker.text("scoreboard.threshold", { p: threshold }) : "");
    this.sorts.style.visibility = record ? "" : "hidden"; // keeps its place, so that nothing jumps
    this.paintDetail();
    this.paintWriting(record);
    if (!record) {
      this.more.hidden = true;
      return;
    }
    const ranked = this.ranked(record);
    const shown = [...ranked, ...this.decided(record)].slice(0, SCOREBOARD_ROWS);
    while (this.rows.length < shown.length) this.addRow();
    this.rows.forEach((row, n) => {
      row.node.hidden = n >= shown.length;
      if (n < shown.length) this.paintRow(row, shown[n], record);
    });
    const hidden = ranked.length - shown.length;
    this.more.hidden = hidden <= 0;
    if (hidden > 0) {
      setText(this.more, speaker.text("scoreboard.more", {
        n: hidden, p: formatProbability(ranked[SCOREBOARD_ROWS].confidence),
      }));
    }
  }

  ranked(record) {
    const { trace, cursor } = this.player;
    const key = [record.number, record.plan, this.sort, record.dependency >= 0 && record.dependency <= cursor].join();
    if (this.rankedOf !== record || this.rankedBy !== key) {
      this.rankedOf = record;
      this.rankedBy = key;
      const { slots: planned, chosen_slots: chosen } = trace.events[record.plan];
      const measured = dependencyOn(record.dependency <= cursor ? trace.events[record.dependency] : null, chosen);
      const slots = planned.map((slot) => ({ ...slot, dependency: measured.get(slot.slot) }));
      this.order = slots.sort(SORTS[this.sort]);
    }
    return this.order;
  }

  /** Force, forbid, or neither: each click goes on to the next. */
  mark(button) {
    const record = this.player.trace.plannedAt(this.player.cursor);
    if (!button || !record) return;
    if (this.markedOf !== record) this.marks.clear();
    this.markedOf = record;
    const slot = Number(button.closest(".rfp-score").dataset.slot);
    const next = { undefined: "force", force: "forbid", forbid: undefined }[this.marks.get(slot)];
    if (next) this.marks.set(slot, next);
    else this.marks.delete(slot);
    this.player.changed();
  }

  /** The slots of an iteration with this mark. */
  marked(record, mark) {
    if (this.markedOf !== record) return [];
    return [...this.marks].filter(([, own]) => own === mark).map(([slot]) => slot);
  }

  /** Slots of the block that were no candidates any more. */
  decided(record) {
    const { trace, frame } = this.player;
    const { slot_count: count, settings, decoder } = trace.run;
    if (decoder === "ar" || decoder === "mdm") return [];
    const perBlock = Math.floor(count / Math.max(1, settings.serial_blocks));
    const planned = new Set(this.order.map((slot) => slot.slot));
    const slots = Array.from({ length: perBlock }, (_, n) => record.block * perBlock + n);
    const over = (slot) => frame.slot[slot] >= SLOT.FRESH && frame.slot[slot] !== SLOT.OPEN;
    return slots.filter((slot) => !planned.has(slot) && over(slot)).map((slot) => ({ slot, decided: true }));
  }

  addRow() {
    const row = {
      name: el("span", "rfp-score-name"), bar: el("i", "rfp-score-bar"),
      value: el("span", "rfp-score-value"), margin: el("span", "rfp-score-margin"), outcome: el("span", "rfp-score-outcome"),
    };
    row.mark = el("button", "rfp-mark");
    row.mark.type = "button";
    row.mark.hidden = !this.player.options.canFork;
    row.node = el("li", "rfp-score", row.name, el("span", "rfp-score-track", row.bar), row.value, row.margin, row.outcome, row.mark);
    this.rows.push(row);
    this.list.append(row.node);
  }

  paintRow(row, slot, record) {
    const { speaker } = this.player;
    setAttribute(row.node, "data-slot", String(slot.slot));
    row.node.classList.toggle("is-chosen", Boolean(slot.chosen));
    row.node.classList.toggle("is-decided", Boolean(slot.decided));
    row.node.classList.toggle("is-hovered", slot.slot === this.player.hoveredSlot);
    setText(row.name, speaker.text("slot", { s: slot.slot }));
    const judged = slot.score ?? slot.confidence;
    setText(row.value, slot.decided ? "" : formatProbability(judged));
    setText(row.margin, this.marginText(slot));
    row.bar.style.setProperty("--confidence", slot.decided ? 0 : judged);
    const { key, values } = this.outcome(slot, record);
    setText(row.outcome, speaker.text(`outcome.${key}`, values));
    setAttribute(row.node, "data-outcome", key);
    if (row.mark.hidden) return;
    const mark = (this.markedOf === record && this.marks.get(slot.slot)) || "free";
    row.mark.disabled = Boolean(slot.decided);
    setText(row.mark, slot.decided ? "" : speaker.text(`mark.${mark}`));
    setAttribute(row.mark, "data-mark", mark);
    setAttribute(row.mark, "aria-label", `${speaker.text("slot", { s: slot.slot })}: ${speaker.text(`mark.${mark}`)}`);
  }

  /** How far the confidence is from the threshold. */
  marginText(slot) {
    if (slot.decided || !hasThreshold(this.player.trace.run) || !Number.isFinite(slot.margin)) return "";
    const distance = Math.abs(slot.margin);
    const digits = distance < 0.00005 ? distance.toExponential(0) : distance.toFixed(distance < 0.01 ? 4 : 2);
    return `${slot.margin < 0 ? "−" : "+"}${digits}`;
  }

  /** What has become of the slot up to the cursor. */
  outcome(slot, record) {
    const { trace, cursor, frame } = this.player;
    if (slot.decided) {
      const place = trace.slotCommit[slot.slot];
      const before = place >= 0 && trace.iterations[place].number < record.number;
      return before ? { key: "before", values: { i: trace.iterations[place].number + 1 } } : { key: "dropped" };
    }
    if (slot.reason === "forbidden_by_user") return { key: "forbidden" };
    if (!slot.chosen) {
      if (frame.slot[slot.slot] === SLOT.DROPPED) return { key: "dropped" };
      return { key: { not_among_best: "lower", not_by_policy: "lower", too_dependent: "dependent" }[slot.reason] ?? "below" };
    }
    const seen = (at) => at >= 0 && at <= cursor;
    const find = (at) => seen(at) && trace.events[at].slots.find((entry) => entry.slot === slot.slot);
    if (find(record.commit)) return { key: "committed" };
    const verified = find(record.verify);
    if (!verified && slot.reason === "forced_by_user") return { key: "forced" };
    if (!verified) return { key: slot.reason === "best_of_none" ? "best" : "chosen" };
    if (verified.outcome === "returned") {
      return { key: verified.accepted_run < trace.slotSize ? "returned" : "behind" };
    }
    if (frame.slot[slot.slot] === SLOT.DROPPED || verified.outcome === "dropped") return { key: "dropped" };
    if (verified.outcome === "infill") {
      if (isComplete(frame, slot.slot, trace.slotSize)) return { key: "complete" };
      return { key: "infill", values: { run: frame.run[slot.slot], size: trace.slotSize } };
    }
    return { key: "accepted" };
  }

  /** The slot pointed at: its place, what it depends on, and what has come of it up to the cursor. */
  paintDetail() {
    const { trace, cursor, speaker, hoveredSlot } = this.player;
    const record = trace.plannedAt(cursor);
    const found = record && hoveredSlot >= 0
      ? candidatesOf(trace, record, cursor).find(({ slot }) => slot === hoveredSlot) : null;
    if (!found) {
      setText(this.detail, record ? speaker.text("scoreboard.point") : "");
      return;
    }
    const limited = hasThreshold(trace.run);
    const values = {
      ...found, rank: found.rank + 1, judged: formatProbability(found.judged),
      threshold: formatThreshold(found.threshold), margin: this.marginText(found),
    };
    const parts = [speaker.text(limited ? "scoreboard.detail" : "scoreboard.detail.plain", values)];
    const add = (key, more) => parts.push(speaker.text(`scoreboard.detail.${key}`, more));
    if (found.dependency !== null) add("depends", { p: found.dependency.toFixed(3) });
    if (found.accepted !== null) add("accepted", { n: found.accepted, size: trace.slotSize });
    if (found.rounds) add("rounds", { n: found.rounds, slowest: found.slowest });
    setText(this.detail, parts.join(""));
  }

  hover(slot) {
    this.paintDetail();
    for (const { node } of this.rows) node.classList.toggle("is-hovered", Number(node.dataset.slot) === slot);
  }
}


/** @typedef {[string, object]} Sentence a text key and its values */
