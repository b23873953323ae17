import { el, setText } from "./drawing.js";

const KEYS = [
  ["␣", "help.play"], ["← →", "help.event"], [", .", "help.forward"], ["⇧ ← / ⇧ →", "help.iteration"],
  ["Home End", "help.ends"], ["+ −", "help.speed"], ["L", "help.loop"], ["F", "help.follow"], ["↑ ↓", "help.token"],
  ["P", "help.presenter"], ["PgUp PgDn", "help.presenter.moment"], ["B .", "help.presenter.blank"], ["Q", "help.presenter.share"],
  ["Esc", "help.close"], ["?", "help.help"],
];

/** The keys, in a dialog of the browser's own: it traps the focus, and Escape closes it. */
export class Help {
  constructor(player) {
    this.player = player;
    this.title = el("h3", "rfp-subtitle");
    this.list = el("dl", "rfp-keys");
    this.close = player.speaker.bind(el("button", "rfp-button"), "help.close");
    this.close.type = "button";
    this.close.addEventListener("click", () => this.node.close());
    this.node = el("dialog", "rfp-help", this.title, this.list, this.close);
    this.node.addEventListener("keydown", (event) => event.stopPropagation());
  }

  open() {
    const { speaker } = this.player;
    setText(this.title, speaker.text("help.title"));
    this.node.setAttribute("aria-label", speaker.text("help.title"));
    this.list.replaceChildren(...KEYS.flatMap(([key, text]) => [
      el("dt", "", el("kbd", "", key)), el("dd", "", speaker.text(text)),
    ]));
    this.node.showModal();
  }
}
