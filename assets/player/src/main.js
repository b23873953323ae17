import { SCHEMA_VERSION } from "./constants.js";
import css from "../player.css";
import { EXPORTS } from "./export-menu.js";
import { Player } from "./player.js";
import { Predict } from "./predict.js";
import { Together } from "./together.js";
import { Tour } from "./tour.js";

/**
 * Mounts a player in an element.
 * @param {HTMLElement} element
 * @param {{autoplay?: boolean, lang?: "en"|"zh", label?: string, onGap?: (fromSeq: number) => void,
 *   onCursor?: (info: object) => void, parts?: string[], controlled?: boolean, linkOf?: () => Record<string, string>,
 *   pageAddress?: () => string}} [options] parts: names of the views to show, all if left out; controlled: something
 *   else moves it, it has no transport and no keys of its own; linkOf: what an address must name to find the run;
 *   pageAddress: the address to share, where it isn't the page's own
 */
function mount(element, options = {}) {
  addStyle();
  const player = new Player(element, options);
  const methods = [
    "load", "begin", "push", "finish", "fail", "text", "play", "pause", "seek", "step", "stepIteration", "follow",
    "setSpeed", "setLang", "statistics", "forkPoint", "destroy",
  ];
  return {
    ...Object.fromEntries(methods.map((name) => [name, player[name].bind(player)])),
    export: (kind) => EXPORTS[kind].make(player),
  };
}

/** Mounts several runs on one clock in an element; options as of {@link Together}. */
function together(element, options) {
  addStyle();
  return new Together(element, options);
}

/** Mounts a lesson in an element; options as of {@link Tour}. */
function tour(element, options) {
  addStyle();
  return new Tour(element, options);
}

/** Mounts the game of predicting which slots the next plan chooses; options as of {@link Predict}. */
function predict(element, options) {
  addStyle();
  return new Predict(element, options);
}

/** The style is part of the script, once in a document. */
function addStyle() {
  if (document.querySelector("style[data-rfp]")) return;
  const style = document.createElement("style");
  style.dataset.rfp = "";
  style.textContent = css;
  document.head.append(style);
}

window.RefusionPlayer = Object.freeze({ mount, together, tour, predict, schemaVersion: SCHEMA_VERSION });
