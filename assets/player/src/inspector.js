import { CELL_NAMES, CELL_TEXT_LIMIT, ORIGINS } from "./constants.js";
import { el } from "./drawing.js";
import { clip, formatProbability, formatTest } from "./format.js";
import { provenanceOf } from "./provenance.js";

/** A small card about one token: what it is and where each of its numbers comes from. */
export class Inspector {
  constructor(player) {
    this.player = player;
    this.card = el("div", "rfp-inspector");
    this.card.setAttribute("role", "tooltip");
    this.card.id = `rfp-inspector-${Inspector.count++}`;
    this.card.hidden = true;
    this.offset = -1;
  }

  show(offset, cell) {
    if (!this.player.trace.run) return;
    this.cell?.removeAttribute("aria-describedby");
    this.offset = offset;
    this.cell = cell;
    cell.setAttribute("aria-describedby", this.card.id);
    this.fill();
    this.card.hidden = false;
    this.placeAt(cell);
  }

  hide() {
    this.cell?.removeAttribute("aria-describedby");
    this.offset = -1;
    this.card.hidden = true;
  }

  /** Keeps the card true while the player moves on. */
  refresh() {
    if (this.offset >= 0 && this.player.trace.run) this.fill();
  }

  fill() {
    const { trace, frame, cursor, speaker } = this.player;
    const { offset } = this;
    const { steps } = provenanceOf(trace, frame, cursor, offset);
    this.card.replaceChildren(
      this.tokenLine(offset), this.placeLine(offset), ...steps.map((step) => this.stepLine(step)),
      ...this.alternativeLines(steps));
    if (steps.some((step) => step.overMask)) {
      this.card.append(el("p", "rfp-inspector-note", speaker.text("inspector.overMask")));
    }
  }

  tokenLine(offset) {
    const { trace, frame, speaker } = this.player;
    const id = frame.token[offset];
    const status = CELL_NAMES[frame.status[offset]];
    const origin = ORIGINS[frame.origin[offset]];
    const words = [speaker.text(`status.${status}`)];
    if (status === "committed" && origin !== "none") words.push(speaker.text(`origin.${origin}`));
    if (status === "cut") words[0] = speaker.text("inspector.cut");
    const line = el("p", "rfp-inspector-head");
    if (id >= 0) line.append(el("code", "rfp-quote", clip(trace.tokenText(id), 2000)));
    line.append(el("span", "", words.join(" · ")));
    const known = trace.vocabulary.get(id);
    if (known?.bytes) line.append(el("span", "", speaker.text("inspector.bytes", { n: known.bytes.length })));
    if (known && known.raw.length > CELL_TEXT_LIMIT) {
      line.append(el("span", "", speaker.text("inspector.long", { n: known.raw.length })));
    }
    return line;
  }

  placeLine(offset) {
    const { trace, frame, speaker } = this.player;
    const words = [speaker.text("slot", { s: Math.floor(offset / trace.slotSize) })];
    words.push(speaker.text("inspector.position", { p: trace.run.response_start + offset }));
    if (frame.token[offset] >= 0) words.push(speaker.text("inspector.id", { id: frame.token[offset] }));
    if (frame.cacheIndex[offset] >= 0) words.push(speaker.text("inspector.cache", { c: frame.cacheIndex[offset] }));
    const record = frame.commitEvent[offset] >= 0 ? trace.recordAt(frame.commitEvent[offset]) : null;
    if (record) words.push(speaker.text("inspector.iteration", { i: record.number + 1 }));
    return el("p", "rfp-inspector-place", words.join(" · "));
  }

  stepLine(step) {
    const { trace, speaker } = this.player;
    const name = speaker.text(`inspector.${step.kind}`, { r: (step.round ?? 0) + 1 });
    const checked = step.kind === "verify" || step.kind === "check";
    const p = step.probability;
    const number = checked ? formatTest(p, trace.tokenThreshold) : formatProbability(p);
    const line = el("p", "rfp-inspector-step", el("span", "rfp-step-name", name));
    line.append(el("code", "rfp-quote", clip(trace.tokenText(step.token), 24)), el("b", "", number));
    const passed = step.status ? speaker.text(`status.${step.status}`) : "";
    if (step.kind !== "first" && passed) line.append(el("span", "", passed));
    if (Number.isInteger(step.forward)) {
      line.append(el("span", "rfp-step-forward", speaker.text("inspector.forward", { f: step.forward + 1 })));
    }
    return line;
  }

  /** Alternatives of the latest forward that proposed something here. */
  alternativeLines(steps) {
    const { trace, speaker } = this.player;
    const last = steps.filter((step) => step.alternatives?.length).pop();
    if (!last) return [];
    const rows = last.alternatives.map(([id, p]) => {
      const bar = el("i", "rfp-score-bar");
      bar.style.setProperty("--confidence", p);
      const row = el("li", "", el("code", "rfp-quote", clip(trace.tokenText(id), 24)),
        el("span", "rfp-score-track", bar), el("span", "", formatProbability(p)));
      row.classList.toggle("is-taken", id === last.token);
      return row;
    });
    const forward = speaker.text("inspector.forward", { f: last.forward + 1 });
    const title = `${speaker.text("inspector.alternatives")} · ${forward}`;
    return [el("p", "rfp-inspector-title", title), el("ol", "rfp-alternatives", ...rows)];
  }

  placeAt(cell) {
    const root = this.player.element.getBoundingClientRect();
    const at = cell.getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height } = this.card;
    const left = Math.max(8, Math.min(at.left - root.left, root.width - width - 8));
    const below = at.bottom + height + 8 < window.innerHeight || at.top - height - 8 < 0;
    const top = below ? at.bottom - root.top + 6 : at.top - root.top - height - 6;
    this.card.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
  }
}
Inspector.count = 0;
