import { el, setAttribute, setText } from "./drawing.js";
import { formatPercent, formatTest, formatThreshold } from "./format.js";
import { Player } from "./player.js";
import { Speaker } from "./speaker.js";
import { panelOf } from "./tour.js";

const PACE = 2; // speed from one plan to the next

/** The run stops before each plan: pick the slots that it will choose, then see the plan and a score. */
export class Predict {
  /** @param {HTMLElement} element @param {{lang?: "en"|"zh", onDone?: (score: object) => void}} options */
  constructor(element, options = {}) {
    this.element = element;
    this.options = { lang: "en", ...options };
    this.speaker = new Speaker(this.options.lang);
    element.classList.add("rfp-tour", "rfp-predict");
    const screen = el("div", "");
    element.replaceChildren(el("div", "rfp-tour-layout", this.createPanel(), screen));
    this.player = new Player(screen, {
      autoplay: false, lang: this.options.lang, parts: ["stage", "scoreboard"], controlled: true,
      onCursor: () => this.arrive(),
    });
    this.player.stage.grid.addEventListener("click", (event) => {
      const node = event.target.closest?.(".rfp-slot");
      if (node) this.toggle(Number(node.dataset.slot));
    });
    this.plans = [];
    this.state = "empty";
  }

  createPanel() {
    const { speaker } = this;
    this.count = el("span", "rfp-aside");
    this.how = el("p", "rfp-tour-say");
    this.choices = el("div", "rfp-predict-slots");
    this.choices.setAttribute("role", "group");
    speaker.bind(this.choices, "predict.slots", "aria-label");
    this.feedback = el("p", "rfp-tour-feedback");
    this.feedback.setAttribute("role", "status");
    this.score = el("p", "rfp-predict-score");
    this.main = el("button", "rfp-tour-button is-main");
    this.main.type = "button";
    this.main.addEventListener("click", () => this.act());
    const title = speaker.bind(el("h2", "rfp-tour-title"), "predict");
    const head = el("header", "rfp-tour-head", title, this.count);
    const buttons = el("div", "rfp-tour-buttons", this.main);
    return panelOf(speaker, "predict", head, this.how, this.choices, this.feedback, this.score, buttons);
  }

  /** Plays a trace of ReFusion from its first plan. */
  load(text, options) {
    this.state = "empty";
    this.player.load(text, options);
    const { trace } = this.player;
    const decoder = trace.run?.decoder ?? "refusion";
    this.plans = decoder === "refusion" ? trace.iterations.filter((record) => record.plan >= 0) : [];
    this.begin();
  }

  begin() {
    this.rounds = []; // {picked, chosen} of every plan so far
    this.place = 0;
    if (this.plans.length) this.ask();
    else {
      this.state = "none";
      this.show();
    }
  }

  get record() {
    return this.plans[this.place];
  }

  get plan() {
    return this.player.trace.events[this.record.plan];
  }

  /** The masked slots that the plan decides between. */
  get candidates() {
    return this.plan.slots.map(({ slot }) => slot);
  }

  ask() {
    this.state = "asking";
    this.picked = new Set();
    this.player.pause();
    this.player.seek(this.record.first);
    this.show();
  }

  toggle(slot) {
    if (this.state !== "asking" || !this.candidates.includes(slot)) return;
    if (!this.picked.delete(slot)) this.picked.add(slot);
    this.show();
  }

  act() {
    if (this.state === "asking") this.tell();
    else if (this.state === "told") this.goOn();
    else if (this.state === "moving") this.land();
    else this.begin();
  }

  tell() {
    if (!this.picked.size) {
      setText(this.feedback, this.speaker.text("predict.none"));
      return;
    }
    this.state = "told";
    this.rounds.push({ picked: [...this.picked], chosen: [...this.plan.chosen_slots] });
    this.player.seek(this.record.plan);
    this.show();
  }

  /** To the next plan, or to the end: by playing, where movement is wanted. */
  goOn() {
    const next = this.plans[this.place + 1];
    this.target = next ? next.first : this.player.trace.length - 1;
    this.state = "moving";
    this.show();
    if (!this.player.moves()) {
      this.land();
      return;
    }
    this.player.setSpeed(PACE);
    this.player.play();
  }

  arrive() {
    // The player goes on to plan its next step after it has told the cursor.
    if (this.state === "moving" && this.player.cursor >= this.target) queueMicrotask(() => this.land());
  }

  land() {
    if (this.state !== "moving") return;
    this.place += 1;
    if (this.place < this.plans.length) {
      this.ask();
      return;
    }
    this.state = "over";
    this.player.pause();
    this.player.seek(this.player.trace.length - 1);
    this.show();
    this.options.onDone?.(this.totals());
  }

  /** @returns {{hit: number, missed: number, wrong: number, share: number}} over all plans so far */
  totals() {
    const sums = { hit: 0, missed: 0, wrong: 0 };
    for (const round of this.rounds) for (const [name, n] of Object.entries(judge(round))) sums[name] += n;
    const all = sums.hit + sums.missed + sums.wrong;
    return { ...sums, share: all ? sums.hit / all : 0 };
  }

  show() {
    const { speaker, state } = this;
    this.element.dataset.state = state;
    this.element.dataset.plan = this.place;
    const totals = this.totals();
    const share = formatPercent(totals.share);
    setText(this.score, speaker.text(this.rounds.length ? "predict.score" : "predict.noscore", { ...totals, share }));
    this.element.dataset.score = [totals.hit, totals.missed, totals.wrong].join();
    const n = Math.min(this.place + 1, this.plans.length);
    setText(this.count, this.plans.length ? speaker.text("predict.at", { n, of: this.plans.length }) : "");
    const labels = { asking: "check", told: "on", moving: "skip", over: "again" };
    this.main.hidden = this.score.hidden = this.choices.hidden = state === "none";
    if (labels[state]) setText(this.main, speaker.text(`predict.${labels[state]}`));
    this.showSlots();
    if (state === "none") this.showNone();
    else {
      const threshold = formatThreshold(this.player.trace.run.settings.slot_threshold);
      this.how.replaceChildren(...speaker.nodes("predict.how", { threshold }));
      this.how.hidden = state !== "asking";
      const sentences = state === "told" ? this.explain() : state === "over" ? [["predict.over", {}]] : [];
      setText(this.feedback, sentences.map((sentence) => speaker.text(...sentence)).join(" "));
    }
  }

  showNone() {
    const { trace } = this.player;
    const decoder = this.speaker.text(`decoder.${trace.run?.decoder ?? "refusion"}`);
    const other = trace.run && (trace.run.decoder ?? "refusion") !== "refusion";
    this.how.hidden = false;
    setText(this.how, this.speaker.text(other ? "predict.other" : "predict.empty", { decoder }));
    setText(this.feedback, "");
  }

  /** Marks on the slots of the stage, and a button for each that can be picked. */
  showSlots() {
    const { speaker, state } = this;
    const asked = state === "asking" || state === "told";
    const chosen = new Set(state === "told" ? this.plan.chosen_slots : []);
    const markOf = (slot) => {
      if (!asked) return "";
      const picked = this.picked.has(slot);
      if (state === "asking") return picked ? "picked" : "";
      return chosen.has(slot) ? (picked ? "hit" : "missed") : picked ? "false" : "";
    };
    this.player.stage.slots.forEach(({ node, card }, slot) => {
      const mark = markOf(slot);
      setAttribute(node, "data-guess", mark);
      setAttribute(card, "data-guess", mark && speaker.text(`predict.${mark}`));
    });
    const focused = this.choices.contains(document.activeElement) ? document.activeElement.dataset.slot : null;
    this.choices.replaceChildren(...(asked ? this.candidates : []).map((slot) => {
      const mark = markOf(slot);
      const button = el("button", "rfp-predict-slot", String(slot));
      button.type = "button";
      button.dataset.slot = slot;
      button.dataset.guess = mark;
      button.disabled = state !== "asking";
      button.setAttribute("aria-pressed", String(this.picked.has(slot)));
      const label = speaker.text("slot", { s: slot });
      button.setAttribute("aria-label", state === "told" && mark ? `${label}: ${speaker.text(`predict.${mark}`)}` : label);
      button.addEventListener("click", () => this.toggle(slot));
      return button;
    }));
    if (focused !== null) this.choices.querySelector(`[data-slot="${focused}"]`)?.focus();
  }

  /** What was picked, and why the plan chose as it did. @returns {[string, object][]} */
  explain() {
    const { plan } = this;
    const threshold = this.player.trace.run.settings.slot_threshold;
    const judged = judge(this.rounds.at(-1));
    const sentences = [["predict.result", { ...judged, chosen: plan.chosen_slots.length }]];
    const ranked = [...plan.slots].sort((a, b) => a.rank - b.rank);
    const chosen = ranked.filter((slot) => slot.chosen);
    const test = ({ confidence }) => formatTest(confidence, threshold);
    if (chosen[0].reason === "best_of_none") {
      return [...sentences, ["predict.best", { slot: chosen[0].slot, test: test(chosen[0]) }]];
    }
    if (chosen.some((slot) => slot.reason !== "above_threshold")) {
      return [...sentences, ["predict.policy", { slots: this.speaker.slots(plan.chosen_slots) }]];
    }
    const lowest = chosen.at(-1);
    const key = chosen.length > 1 ? "predict.above" : "predict.one";
    sentences.push([key, { n: chosen.length, slot: lowest.slot, test: test(lowest) }]);
    const next = ranked.find((slot) => !slot.chosen);
    sentences.push(next ? ["predict.below", { slot: next.slot, test: test(next) }] : ["predict.all", {}]);
    return sentences;
  }

  setLang(language) {
    this.speaker.set(language);
    this.speaker.refresh();
    this.player.setLang(language);
    if (this.state !== "empty") this.show();
  }

  destroy() {
    this.player.destroy();
    this.element.replaceChildren();
    this.element.classList.remove("rfp-tour", "rfp-predict");
  }
}

/** A guess against a plan, in numbers of slots. */
function judge({ picked, chosen }) {
  const hit = picked.filter((slot) => chosen.includes(slot)).length;
  return { hit, missed: chosen.length - hit, wrong: picked.length - hit };
}
