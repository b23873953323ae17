import { gif } from "./animation.js";
import { scoreboardCsv } from "./candidates.js";
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
  csv: { suffix: "scoreboards.csv", make: async (player) => new Blob([scoreboardCsv(player.trace)], { type: "text/csv" }) },
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
    this.shareItem = speaker.bind(el("button", "rfp-export-item"), "share");
    this.shareItem.type = "button";
    this.shareItem.dataset.export = "link";
    this.shareItem.addEventListener("click", () => {
      this.close();
      player.share.open();
    });
    this.list.append(el("li", "", this.shareItem));
    this.progress = el("span", "rfp-export-progress");
    this.cancel = speaker.bind(el("button", "rfp-export-item"), "export.cancel");
    this.cancel.type = "button";
    this.cancel.addEventListener("click", () => this.working?.abort());
    this.busy = el("div", "rfp-export-busy", this.progress, this.cancel);
    this.busy.hidden = true;
    this.node = el("details", "rfp-export", this.button, el("div", "rfp-export-box", this.list, this.busy));
    this.node.addEventListener("keydown", (event) => this.onKey(event));
    // Not "toggle": it comes late, after a press that follows at once.
    new MutationObserver(() => this.watchOutside()).observe(this.node, { attributeFilter: ["open"] });
    this.node.addEventListener("focusout", (event) => {
      if (event.relatedTarget && !this.node.contains(event.relatedTarget)) this.close();
    });
  }

  /** While it is open, a press anywhere else closes it. */
  watchOutside() {
    this.outside?.abort();
    if (!this.node.open) return;
    this.outside = new AbortController();
    const press = (event) => {
      if (!this.node.contains(event.target)) this.close();
    };
    document.addEventListener("pointerdown", press, { signal: this.outside.signal });
  }

  onKey(event) {
    const move = this.working ? undefined : this.moveOf(event);
    if (event.key === "Escape" && this.node.open) {
      this.close();
      this.button.focus();
    } else if (move) {
      event.preventDefault();
      this.node.open = true;
      move.focus();
    } else if (event.key !== " " && !event.key.startsWith("Arrow")) return;
    event.stopPropagation(); // not the player's keys here
  }

  /** The entry that a key goes to, if it goes to one. */
  moveOf({ key, target }) {
    const items = [...this.list.querySelectorAll("button")];
    const place = items.indexOf(target);
    if (key === "ArrowDown") return items[(place + 1) % items.length];
    if (key === "ArrowUp") return items.at(Math.max(place, 0) - 1);
    if (!this.node.open) return undefined;
    return { Home: items[0], End: items.at(-1) }[key];
  }

  close() {
    if (!this.working) this.node.open = false;
  }

  async run(kind) {
    const { player } = this;
    const { run } = player.trace;
    if (!run || this.working) return;
    this.working = new AbortController();
    this.busy.hidden = false;
    // Before its button goes: focus would be lost with it.
    if (this.list.contains(document.activeElement)) this.cancel.focus();
    this.list.hidden = true;
    setText(this.progress, player.speaker.text("export.working"));
    try {
      const blob = await EXPORTS[kind].make(player, {
        signal: this.working.signal,
        onProgress: (share) => setText(this.progress, `${Math.round(100 * share)} %`),
      });
      save(blob, `refusion-${String(run.run_id).replace(/[^\w-]/g, "")}.${EXPORTS[kind].suffix}`);
    } catch (problem) {
      if (problem.name !== "AbortError") player.fail(player.speaker.text("export.failed", { why: String(problem.message) }));
    } finally {
      this.working = null;
      if (this.busy.contains(document.activeElement)) this.button.focus();
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
