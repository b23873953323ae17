import { CELL, CELL_NAMES, ORIGINS } from "./constants.js";
import { el, setText } from "./drawing.js";
import { clip, formatRatio, formatTest } from "./format.js";
import { panel } from "./speaker.js";
import { headlineAt } from "./statistics.js";

/** The one thing that a class should look at: the prompt, the token that decides, or the answer. */
export class CloseUp {
  constructor(player) {
    this.player = player;
    const { section, title } = panel(player.speaker, "closeup");
    [this.section, this.title] = [section, title];
    this.body = el("div", "rfp-closeup-body");
    section.append(this.body);
  }

  /** @param {object} event the latest that has something to look at */
  paint(event) {
    const { speaker } = this.player;
    const judged = event.type === "verify" || event.type === "infill_round" ? this.judged(event) : null;
    if (judged) this.showToken(judged);
    else if (event.type === "run_finished") this.showAnswer();
    else this.show(speaker.text("prompt"), el("p", "rfp-closeup-text", this.player.stage.promptText.textContent));
  }

  show(title, ...nodes) {
    setText(this.title, title);
    this.body.replaceChildren(...nodes);
  }

  /** The token that broke a draft, the one that was accepted all the same, or the least sure of those accepted. */
  judged(event) {
    const { frame, stage: { size } } = this.player;
    const offsets = event.slots.flatMap(({ slot }) => Array.from({ length: size }, (_, k) => slot * size + k));
    const withStatus = (...wanted) => offsets.filter((i) => wanted.includes(frame.status[i]));
    const checked = withStatus(CELL.ACCEPTED).filter((i) => frame.probability[i] >= 0);
    const weakest = checked.reduce((best, i) => (frame.probability[i] < frame.probability[best] ? i : best), checked[0]);
    for (const [kind, i] of [
      ["forced", withStatus(CELL.FORCED)[0]], ["rejected", withStatus(CELL.REJECTED)[0]], ["accepted", weakest],
      ["first", withStatus(CELL.FIRST)[0]],
    ]) if (i !== undefined) return { kind, offset: i };
    return null;
  }

  showToken({ kind, offset }) {
    const { player } = this;
    const { frame, trace, speaker, stage: { size } } = player;
    const slot = Math.floor(offset / size);
    const p = frame.probability[offset];
    const compared = formatTest(p, trace.tokenThreshold);
    const test = el("p", `rfp-closeup-test${compared.length > 14 ? " is-long" : ""}`, compared);
    const bar = el("div", "rfp-closeup-bar", el("i", ""));
    bar.style.setProperty("--confidence", p);
    bar.style.setProperty("--threshold", trace.tokenThreshold);
    test.hidden = bar.hidden = kind === "first";
    const token = el("p", "rfp-closeup-token", el("span", "", clip(trace.cellText(frame.token[offset]), 24)));
    const verdict = el("p", "rfp-closeup-verdict", speaker.text(`presenter.${kind}`));
    const why = el("p", "rfp-closeup-why", speaker.text(`presenter.why.${kind}`));
    const cells = el("p", "rfp-closeup-cells", ...Array.from({ length: size }, (_, k) => this.cell(slot * size + k, offset)));
    this.show(speaker.text("presenter.judged", { s: slot, k: offset - slot * size + 1, size }), cells, token, verdict, test, bar, why);
    this.body.dataset.kind = kind;
  }

  /** A token of the slot, as the stage shows it. */
  cell(i, judged) {
    const { frame, stage } = this.player;
    const name = `rfp-cell is-${CELL_NAMES[frame.status[i]]} from-${ORIGINS[frame.origin[i]]}`;
    return el("span", i === judged ? `${name} is-judged` : name, stage.cells[i].textContent);
  }

  showAnswer() {
    const { trace, cursor, speaker, stage } = this.player;
    const figure = el("p", "rfp-closeup-figure", el("strong", "", formatRatio(headlineAt(trace, cursor).tokensPerForward)),
      ` ${speaker.text("presenter.tpf")}`);
    this.show(speaker.text("presenter.answer"), el("pre", "rfp-closeup-text", stage.answer.textContent), figure);
  }
}
