import { gif } from "./animation.js";
import { chromeTrace } from "./chrome-trace.js";
import { el, setText } from "./drawing.js";
import { pageHtml } from "./page.js";
import { png } from "./picture.js";

/** How the run that is shown leaves the page. Each gives a blob. */
export const EXPORTS = {
  html: { suffix: "html", make: async (player) => new Blob([await pageHtml(player)], { type: "text/html" }) },
  trace: {
    suffix: "trace.jsonl", make: async (player) => new Blob([player.text()], { type: "application/x-ndjson" }),
  },
  png: { suffix: "png", make: png },
  gif: { suffix: "gif", make: gif },
  chrome: {
    suffix: "chrome-trace.json",
    make: async (player) => new Blob([JSON.stringify(chromeTrace(player.trace))], { type: "application/json" }),
  },
};

/** A button that opens the list of exports; a long one shows how far it is and can be stopped. */
export class ExportMenu {
  constructor(player) {
    this.player = player;
    const { speaker } = player;
    this.button = speaker.bind(el("summary", "rfp-button"), "export");
    this.list = el("ul", "rfp-export-list", ...Object.keys(EXPORTS).map((kind) => {
      const button = speaker.bind(el("button", "rfp-export-item"), `export.${kind}`);
      button.type = "button";
      button.dataset.export = kind;
      button.addEventListener("click", () => this.run(kind));
      return el("li", "", button);
    }));
    this.progress = el("span", "rfp-export-progress");
    this.cancel = speaker.bind(el("button", "rfp-export-item"), "export.cancel");
    this.cancel.type = "button";
    this.cancel.addEventListener("click", () => this.working?.abort());
    this.busy = el("div", "rfp-export-busy", this.progress, this.cancel);
    this.busy.hidden = true;
    this.node = el("details", "rfp-export", this.button, el("div", "rfp-export-box", this.list, this.busy));
    this.node.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && this.node.open) {
        event.stopPropagation();
        this.close();
        this.button.focus();
      } else if (event.key === " " || event.key.startsWith("Arrow")) event.stopPropagation(); // not the player's keys here
    });
    this.node.addEventListener("focusout", (event) => {
      if (event.relatedTarget && !this.node.contains(event.relatedTarget)) this.close();
    });
  }

  close() {
    if (!this.working) this.node.open = false;
  }

  async run(kind) {
    const { player } = this;
    if (!player.trace.run || this.working) return;
    this.working = new AbortController();
    this.list.hidden = true;
    this.busy.hidden = false;
    setText(this.progress, player.speaker.text("export.working"));
    try {
      const blob = await EXPORTS[kind].make(player, {
        signal: this.working.signal,
        onProgress: (share) => setText(this.progress, `${Math.round(100 * share)} %`),
      });
      save(blob, `refusion-${String(player.trace.run.run_id).replace(/[^\w-]/g, "")}.${EXPORTS[kind].suffix}`);
    } catch (problem) {
      if (problem.name !== "AbortError") player.fail(player.speaker.text("export.failed", { why: String(problem.message) }));
    } finally {
      this.working = null;
      this.list.hidden = false;
      this.busy.hidden = true;
      this.node.open = false;
    }
  }

  paint() {
    this.node.classList.toggle("is-off", !this.player.trace.run);
    this.button.setAttribute("aria-disabled", String(!this.player.trace.run));
    this.button.tabIndex = this.player.trace.run ? 0 : -1;
  }
}

/** Hands a blob to the browser as a file. */
export function save(blob, name) {
  const link = el("a", "");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
