import { CloseUp } from "./closeup.js";
import { PACE, PRESENTER_PACE } from "./constants.js";
import { el, setAttribute } from "./drawing.js";

const CONTROLS_MS = 2500; // that the controls stay after the pointer rested
const [LEAST_ZOOM, MOST_ZOOM] = [1.3, 3.2]; // of the stage on a screen of 1280 by 720
const COLUMN_GAIN = 1.25; // how much larger the type has to get for one more column, which cuts the labels of slots short
const MANY_SLOTS = 64; // more are not fitted: they scroll

/** What stands beside the stage from an event on; the others leave it as it is. */
const SPOTLIGHT = {
  run_started: "closeup", plan: "scoreboard", verify: "closeup", infill_round: "closeup", commit: "orders", cache: "ledger",
  run_finished: "closeup",
};

/** The player in front of a class: stage, narration and one view in large type, moved by a remote clicker. */
export class Presenter {
  constructor(player) {
    this.player = player;
    this.on = false;
    this.closeup = new CloseUp(player);
    this.blank = el("div", "rfp-blank", player.speaker.bind(el("p", ""), "presenter.blank"));
    this.blank.setAttribute("role", "status");
    this.blank.hidden = true;
    this.blank.addEventListener("click", () => this.setBlank(false));
    this.bar = el("div", "rfp-presenter-progress", el("i", ""));
    this.bar.setAttribute("aria-hidden", "true");
    this.node = el("div", "rfp-presenter", this.bar, this.blank);
  }

  toggle() {
    if (this.on) this.leave();
    else this.enter();
  }

  enter() {
    const { player } = this;
    const { element } = player;
    if (this.on || !player.trace.run) return;
    this.on = true;
    player.inspector.hide();
    element.classList.add("is-presenting");
    player.pace = PRESENTER_PACE;
    for (const section of this.sides()) section.tabIndex = 0; // what is too long for the side scrolls
    this.listen();
    this.undo = isolate(element);
    this.cover();
    element.focus({ preventScroll: true });
    this.fitted = null;
    player.changed();
  }

  sides() {
    const { scoreboard, orders, ledger } = this.player;
    return [this.closeup, scoreboard, orders, ledger].map((view) => view.section);
  }

  /** The whole screen where the browser allows it, else the whole window, above whatever the page has. */
  async cover() {
    const { element } = this.player;
    try {
      await element.requestFullscreen({ navigationUI: "hide" });
      if (!this.on) await document.exitFullscreen();
    } catch {
      if (!this.on || !element.showPopover) return;
      element.popover = "manual";
      element.showPopover();
      element.focus({ preventScroll: true });
    }
  }

  leave() {
    const { player } = this;
    const { element } = player;
    if (!this.on) return;
    this.on = false;
    this.setBlank(false);
    player.share.node.close();
    clearTimeout(this.resting);
    this.gone.abort();
    this.undo();
    if (document.fullscreenElement === element) document.exitFullscreen();
    element.removeAttribute("popover");
    element.classList.remove("is-presenting", "shows-controls");
    delete element.dataset.spotlight;
    player.pace = PACE;
    for (const section of this.sides()) section.removeAttribute("tabindex");
    this.unfit();
    player.transport.present.focus({ preventScroll: true });
    element.scrollIntoView({ block: "nearest" });
    player.changed();
  }

  listen() {
    const { player } = this;
    const { element } = player;
    this.gone = new AbortController();
    const { signal } = this.gone;
    document.addEventListener("fullscreenchange", () => {
      if (!document.fullscreenElement) this.leave();
    }, { signal });
    // The focus may be nowhere, and a clicker has to work all the same.
    document.addEventListener("keydown", (event) => {
      if (!element.contains(event.target)) player.onKey(event);
    }, { signal });
    for (const name of ["pointermove", "pointerdown", "focusin"]) {
      element.addEventListener(name, (event) => this.showControls(event), { signal });
    }
    // Keys belong to the player again once a control was used.
    const release = (event) => {
      const used = event.target.closest?.(".rfp-transport :is(button, select)");
      if (used && (event.type === "change" || event.detail > 0) && !element.querySelector("dialog[open]")) {
        element.focus({ preventScroll: true });
      }
    };
    element.addEventListener("change", release, { signal });
    element.addEventListener("click", release, { signal });
    window.addEventListener("resize", () => {
      this.fitted = null;
      player.changed();
    }, { signal });
  }

  showControls(event) {
    const { element, transport } = this.player;
    if (event.type === "focusin" && !transport.node.contains(event.target)) return;
    element.classList.add("shows-controls");
    clearTimeout(this.resting);
    this.resting = setTimeout(() => {
      if (!transport.node.matches(":hover, :has(:focus-visible, details[open])")) element.classList.remove("shows-controls");
    }, CONTROLS_MS);
  }

  /** @returns {boolean} whether the key was one of presenter mode */
  onKey(event) {
    if (!this.on) return false;
    if (this.blank.hidden) {
      const action = this.actionOf(event);
      if (!action) return false;
      action();
    } else {
      this.setBlank(false);
      if (event.key === "Escape") this.leave();
    }
    event.preventDefault();
    event.stopPropagation();
    return true;
  }

  actionOf({ key }) {
    switch (key) {
      case "PageDown": return () => this.step(1);
      case "PageUp": return () => this.step(-1);
      case "b": case "B": case ".": return () => this.setBlank(true);
      case "q": case "Q": return () => this.player.share.open();
      case "Escape": return () => this.leave();
      default: return null;
    }
  }

  setBlank(on) {
    if (on) this.player.pause();
    this.blank.hidden = !on;
  }

  /** To the next moment that has something to look at. */
  step(by) {
    const { player } = this;
    player.pause();
    let to = player.cursor + by;
    while (player.trace.events[to] && !this.isMoment(player.trace.events[to])) to += by;
    player.moveTo(to);
  }

  /** To a baseline every token is a plan of its own; its commits are enough. */
  isMoment({ type }) {
    const baseline = /^(ar|mdm)$/.test(this.player.trace.run.decoder);
    return type in SPOTLIGHT && !(baseline && (type === "plan" || type === "cache"));
  }

  paint() {
    if (!this.on) return;
    const { player } = this;
    const { trace, cursor, element } = player;
    let at = cursor;
    while (at > 0 && !(trace.events[at].type in SPOTLIGHT)) at--;
    const event = trace.events[at];
    const wanted = SPOTLIGHT[event.type] ?? "closeup";
    const view = wanted === "closeup" || player.views.includes(player[wanted]) ? wanted : "closeup";
    setAttribute(element, "data-spotlight", view);
    if (view === "closeup") this.closeup.paint(event);
    this.bar.firstChild.style.transform = `scaleX(${trace.length > 1 ? cursor / (trace.length - 1) : 0})`;
    const { grid, scroller } = player.stage;
    const grown = grid.scrollHeight > scroller.clientHeight && player.state === "live";
    if (this.fitted !== trace || grown) this.fit();
    player.stage.reveal(player.frame);
  }

  /** The largest type, in the number of columns, with which all slots fit; where none does they scroll. */
  fit() {
    const { player } = this;
    const { slotCount } = player.trace;
    const scale = Math.min(window.innerWidth / 1280, window.innerHeight / 720);
    player.element.style.setProperty("--scale", Math.max(0.5, scale));
    this.fitted = player.trace;
    let best = null;
    for (let columns = 1; columns <= 4 && slotCount <= MANY_SLOTS; columns++) {
      let [low, high] = [Math.max((best?.zoom ?? 0) * COLUMN_GAIN, LEAST_ZOOM * scale), MOST_ZOOM * scale];
      if (low > high || !this.fits(columns, low)) continue;
      for (let n = 0; n < 5; n++) {
        const middle = (low + high) / 2;
        if (this.fits(columns, middle)) low = middle;
        else high = middle;
      }
      best = { columns, zoom: low };
    }
    const narrow = window.innerWidth < 700;
    this.fits(best?.columns ?? (narrow ? 1 : 2), best?.zoom ?? (narrow ? 1.2 : LEAST_ZOOM * scale));
  }

  fits(columns, zoom) {
    const { stage } = this.player;
    stage.scroller.style.zoom = zoom;
    stage.grid.style.setProperty("--columns", columns);
    stage.measureAnew();
    return stage.grid.scrollHeight <= stage.scroller.clientHeight && stage.grid.scrollWidth <= stage.scroller.clientWidth;
  }

  unfit() {
    const { stage } = this.player;
    stage.scroller.style.zoom = "";
    stage.grid.style.removeProperty("--columns");
    stage.measureAnew();
  }
}

/** Takes the rest of the page out of reach. @returns {() => void} brings it back */
function isolate(element) {
  const inert = [];
  for (let node = element; node !== document.body; node = node.parentElement) {
    for (const other of node.parentElement.children) {
      if (other === node || other.inert) continue;
      other.inert = true;
      inert.push(other);
    }
  }
  const root = document.documentElement;
  const { overflow } = root.style;
  root.style.overflow = "hidden";
  return () => {
    for (const other of inert) other.inert = false;
    root.style.overflow = overflow;
  };
}
