import { el, setText } from "./drawing.js";
import { formatProbability, formatTest } from "./format.js";
import { panel } from "./speaker.js";
import { chosenAt, differingIterations, verifiedAt } from "./whatif.js";

/** Other thresholds, tried on the recorded plan and verify of the iteration at the cursor. */
export class WhatIfView {
  constructor(player) {
    this.player = player;
    const { speaker } = player;
    const { section, aside } = panel(speaker, "whatif", "whatif");
    this.section = section;
    this.reset = speaker.bind(el("button", "rfp-link"), "whatif.reset");
    this.reset.type = "button";
    this.reset.addEventListener("click", () => this.build());
    aside.append(this.reset);
    this.sliders = Object.fromEntries(["slot", "token"].map((name) => [name, this.slider(name)]));
    this.text = el("p", "rfp-whatif-text");
    this.text.tabIndex = 0; // it scrolls when the sentences are long
    this.count = el("p", "rfp-caption");
    section.append(...Object.values(this.sliders).map(({ label }) => label), this.text, this.count);
  }

  slider(name) {
    const range = el("input", "");
    [range.type, range.min, range.max, range.step] = ["range", "0", "1", "0.0001"];
    this.player.speaker.bind(range, `whatif.${name}`, "aria-label");
    const value = el("output", "");
    range.addEventListener("input", () => this.player.changed());
    range.addEventListener("keydown", (event) => event.stopPropagation()); // arrows move the slider here
    const label = el("label", "rfp-whatif-row", this.player.speaker.bind(el("span", ""), `whatif.${name}`), range, value);
    return { label, range, value };
  }

  build() {
    const { settings, decoder } = this.player.trace.run;
    this.section.hidden = decoder === "ar" || decoder === "mdm" || Boolean(settings.policy);
    this.sliders.slot.range.value = settings.slot_threshold;
    this.sliders.token.range.value = settings.token_threshold;
    this.recorded = this.thresholds();
    this.player.changed();
  }

  thresholds() {
    return { slot: Number(this.sliders.slot.range.value), token: Number(this.sliders.token.range.value) };
  }

  paint() {
    if (this.section.hidden) return;
    const { trace, cursor, speaker } = this.player;
    const now = this.thresholds();
    for (const name of ["slot", "token"]) setText(this.sliders[name].value, now[name].toFixed(4));
    const record = trace.plannedAt(cursor);
    const same = now.slot === this.recorded.slot && now.token === this.recorded.token;
    this.reset.hidden = same;
    // The sliders step by ten-thousandths, a recorded threshold may be finer.
    const slot = now.slot === this.recorded.slot ? trace.run.settings.slot_threshold : now.slot;
    const token = now.token === this.recorded.token ? trace.run.settings.token_threshold : now.token;
    setText(this.text, record ? this.tell(record, slot, token) : "");
    const n = differingIterations(trace, slot);
    setText(this.count, speaker.text(same ? "whatif.hint" : "whatif.count", { n, m: trace.iterations.length }));
  }

  tell(record, slotThreshold, tokenThreshold) {
    const { trace, speaker } = this.player;
    const plan = trace.events[record.plan];
    const chosen = chosenAt(plan, slotThreshold);
    const confidence = new Map(plan.slots.map((slot) => [slot.slot, slot.confidence]));
    const names = chosen.map((s) => `${speaker.text("slot", { s })} (${formatProbability(confidence.get(s))})`);
    const sentences = [speaker.text("whatif.chosen", {
      i: record.number + 1, list: speaker.some(names), same: chosen.join() === plan.chosen_slots.join() ? 1 : 2,
    })];
    if (record.verify >= 0) {
      const { whole, stop, unknown } = verifiedAt(trace.events[record.verify], chosen, tokenThreshold);
      if (stop) {
        sentences.push(speaker.text("whatif.break", {
          slot: stop.slot, token: trace.tokenText(stop.token), test: formatTest(stop.probability, tokenThreshold), k: whole,
        }));
      } else if (unknown !== null) sentences.push(speaker.text("whatif.unknown", { slot: unknown }));
      else sentences.push(speaker.text("whatif.whole", { n: whole }));
    }
    return sentences.join(speaker.language === "en" ? " " : "");
  }
}
