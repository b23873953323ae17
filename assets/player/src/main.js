import { SCHEMA_VERSION } from "./constants.js";
import css from "../player.css";
import { EXPORTS } from "./export-menu.js";
import { Player } from "./player.js";

/**
 * Mounts a player in an element.
 * @param {HTMLElement} element
 * @param {{autoplay?: boolean, lang?: "en"|"zh", label?: string, onGap?: (fromSeq: number) => void,
 *   onCursor?: (info: object) => void}} [options]
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

/** The style is part of the script, once in a document. */
function addStyle() {
  if (document.querySelector("style[data-rfp]")) return;
  const style = document.createElement("style");
  style.dataset.rfp = "";
  style.textContent = css;
  document.head.append(style);
}

window.RefusionPlayer = Object.freeze({ mount, schemaVersion: SCHEMA_VERSION });
