import { SCHEMA_VERSION } from "./constants.js";
import { Player } from "./player.js";

/**
 * Mounts a player in an element.
 * @param {HTMLElement} element
 * @param {{autoplay?: boolean, lang?: "en"|"zh", label?: string, onGap?: (fromSeq: number) => void,
 *   onCursor?: (info: object) => void}} [options]
 */
function mount(element, options = {}) {
  const player = new Player(element, options);
  const methods = [
    "load", "begin", "push", "finish", "fail", "text", "play", "pause", "seek", "step", "stepIteration", "follow",
    "setSpeed", "setLang", "statistics", "destroy",
  ];
  return Object.fromEntries(methods.map((name) => [name, player[name].bind(player)]));
}

window.RefusionPlayer = Object.freeze({ mount, schemaVersion: SCHEMA_VERSION });
