import { el, setAttribute, setText } from "./drawing.js";
import { Player } from "./player.js";
import { Speaker } from "./speaker.js";

/**
 * A guided tour: a player beside a panel that says what to see at each step, points at it, and asks.
 *
 * @typedef {object} TourStep
 * @property {string} run name of the run that is shown @property {number} at event that the player goes to
 * @property {string[]} views names of the views to point at @property {number[]} slots slots to point at
 * @property {Record<string, string>} say by language @property {?object} question
 * @property {Record<string, Record<string, string | {token: string}>>} facts figures that sentences name, by language
 */
export class Tour {
  /**
   * @param {HTMLElement} element
   * @param {{lesson: {id: string, title: object, views: string[], runs: Record<string, string>, steps: TourStep[]},
   *   lang?: "en"|"zh", linkOf?: () => object, onStep?: (step: number) => void, onDone?: (id: string) => void}} options
   */
  constructor(element, options) {
    this.element = element;
    this.options = { lang: "en", ...options };
    this.lesson = options.lesson;
    this.speaker = new Speaker(this.options.lang);
    this.answers = this.lesson.steps.map(() => ({ choice: -1, passed: false }));
    element.classList.add("rfp-tour");
    const screen = el("div", "");
    this.guide = this.createPanel();
    element.replaceChildren(el("div", "rfp-tour-layout", this.guide, screen));
    this.player = new Player(screen, {
      autoplay: false, lang: this.options.lang, parts: this.lesson.views, linkOf: this.options.linkOf,
    });
    this.go(0);
  }

  createPanel() {
    const { speaker } = this;
    this.title = el("h2", "rfp-tour-title");
    this.count = el("span", "rfp-aside");
    this.progress = el("progress", "rfp-tour-progress");
    this.progress.max = this.lesson.steps.length;
    speaker.bind(this.progress, "tour.progress", "aria-label");
    this.say = el("p", "rfp-tour-say");
    this.say.setAttribute("aria-live", "polite");
    this.question = el("fieldset", "rfp-tour-question");
    this.feedback = el("p", "rfp-tour-feedback");
    this.feedback.setAttribute("role", "status");
    this.back = this.button("tour.back", () => this.go(this.step - 1));
    this.next = this.button("tour.next", () => this.goOn());
    this.next.classList.add("is-main");
    const buttons = el("div", "rfp-tour-buttons", this.back, this.next);
    return panelOf(speaker, "tour.panel", el("header", "rfp-tour-head", this.title, this.count), this.progress, this.say,
      this.question, this.feedback, buttons);
  }

  button(key, action) {
    const node = this.speaker.bind(el("button", "rfp-tour-button"), key);
    node.type = "button";
    node.addEventListener("click", () => {
      if (node.getAttribute("aria-disabled") !== "true") action();
      else if (node === this.next) this.tell("tour.first");
    });
    return node;
  }

  get isLast() {
    return this.step === this.lesson.steps.length - 1;
  }

  get mayGoOn() {
    return !this.lesson.steps[this.step].question || this.answers[this.step].passed;
  }

  goOn() {
    if (!this.isLast) {
      this.go(this.step + 1);
      return;
    }
    this.element.dataset.done = "true";
    this.tell("tour.done");
    this.options.onDone?.(this.lesson.id);
  }

  go(number) {
    const first = this.step === undefined;
    this.step = Math.max(0, Math.min(number, this.lesson.steps.length - 1));
    const step = this.lesson.steps[this.step];
    if (this.run !== step.run) {
      this.player.load(this.lesson.runs[step.run]);
      this.run = step.run;
    }
    this.player.pause();
    this.player.seek(step.at);
    this.point(step);
    this.show();
    // Not before the player has painted the step: only then do the views have their heights.
    if (!first) requestAnimationFrame(() => requestAnimationFrame(() => this.reveal()));
    this.options.onStep?.(this.step);
  }

  /** Marks the views and slots of a step; what is not pointed at steps back. */
  point({ views, slots }) {
    const { player } = this;
    const pointed = new Set(slots.length ? [...views, "stage"] : views);
    for (const name of this.lesson.views) player[name].section.classList.toggle("is-pointed", pointed.has(name));
    player.stage.slots.forEach(({ node }, s) => node.classList.toggle("is-pointed", slots.includes(s)));
    player.element.classList.toggle("is-guided", pointed.size > 0);
  }

  /** Keeps in sight what is pointed at; where guide and player lie below each other, the guide, which comes first. */
  reveal() {
    if (!this.guide.isConnected) return;
    const stacked = this.guide.offsetTop !== this.player.element.offsetTop;
    const pointed = stacked ? [this.guide] : [...this.player.element.querySelectorAll(".rfp-panel.is-pointed")];
    const topOf = (node) => node.getBoundingClientRect().top;
    const target = pointed.sort((a, b) => topOf(a) - topOf(b))[0];
    if (!target || (topOf(target) >= 0 && topOf(target) < window.innerHeight / 2)) return;
    target.scrollIntoView({ block: "start", behavior: this.player.moves() ? "smooth" : "instant" });
  }

  show() {
    const { speaker, lesson } = this;
    const step = lesson.steps[this.step];
    this.element.dataset.step = this.step;
    setText(this.title, lesson.title[speaker.language]);
    setText(this.count, speaker.text("tour.step", { n: this.step + 1, of: lesson.steps.length }));
    this.progress.value = this.step + 1;
    this.say.replaceChildren(...this.sentence(step.say));
    setText(this.next, speaker.text(this.isLast ? "tour.finish" : "tour.next"));
    this.showQuestion(step);
  }

  /** A sentence of the lesson with the figures of the step filled in. */
  sentence(words) {
    const { language } = this.speaker;
    return this.speaker.nodes(words[language], this.lesson.steps[this.step].facts[language]);
  }

  showQuestion({ question }) {
    this.question.hidden = !question;
    this.choices = (question?.choices ?? []).map((choice, n) => {
      const input = el("input", "");
      Object.assign(input, { type: "radio", name: `rfp-tour-${this.step}`, value: String(n) });
      input.addEventListener("change", () => this.answer(n));
      const label = el("label", "rfp-tour-choice", input, el("span", "", ...this.sentence(choice.text)));
      return { input, label };
    });
    if (question) {
      const legend = el("legend", "", ...this.sentence(question.ask));
      this.question.replaceChildren(legend, ...this.choices.map(({ label }) => label));
    }
    this.showAnswer();
  }

  answer(n) {
    const right = this.lesson.steps[this.step].question.choices[n].right;
    const before = this.answers[this.step];
    this.answers[this.step] = { choice: n, passed: before.passed || right };
    this.showAnswer();
  }

  showAnswer() {
    const { question } = this.lesson.steps[this.step];
    const { choice } = this.answers[this.step];
    this.choices.forEach(({ input, label }, n) => {
      input.checked = n === choice;
      const verdict = question.choices[n].right ? "right" : "wrong";
      setAttribute(label, "data-verdict", n === choice ? verdict : "");
    });
    setAttribute(this.back, "aria-disabled", String(this.step === 0));
    setAttribute(this.next, "aria-disabled", String(!this.mayGoOn));
    if (choice < 0) {
      this.tell("");
      return;
    }
    const { right, why } = question.choices[choice];
    const verdict = el("strong", "", this.speaker.text(right ? "tour.right" : "tour.wrong"));
    this.feedback.replaceChildren(verdict, " ", ...this.sentence(why));
    setAttribute(this.feedback, "data-verdict", right ? "right" : "wrong");
  }

  tell(key) {
    setAttribute(this.feedback, "data-verdict", "");
    this.feedback.replaceChildren(key ? this.speaker.text(key) : "");
  }

  setLang(language) {
    this.speaker.set(language);
    this.speaker.refresh();
    this.player.setLang(language);
    this.show();
  }

  destroy() {
    this.player.destroy();
    this.element.replaceChildren();
    this.element.classList.remove("rfp-tour");
  }
}

/** A panel in the player's style that is no player. */
export function panelOf(speaker, key, ...children) {
  const section = el("section", "rfp-panel rfp-tour-panel", ...children);
  speaker.bind(section, key, "aria-label");
  return el("div", "rfp has-run rfp-tour-side", section);
}
