/** A probability in few, honest digits: never 1.00 for less than 1, never 0.00 for more than 0. */
export function formatProbability(p) {
  if (!(p > 0)) return "0.00";
  if (p < 0.01) return p < 0.001 ? "<0.001" : p.toFixed(3);
  if (p < 1 && p >= 0.995) return p < 0.9995 ? p.toFixed(3) : ">0.999";
  return p.toFixed(2);
}

/** A threshold as it was set, with at least two decimals. */
export function formatThreshold(p) {
  const exact = String(Number(p.toFixed(6)));
  return exact.length < 4 ? p.toFixed(2) : exact;
}

/** "0.12 ≤ 0.30" or "0.42 > 0.30": the threshold as it was set, and as many digits as tell the two apart. */
export function formatTest(p, threshold) {
  const [sign, right] = [p > threshold ? ">" : "≤", formatThreshold(threshold)];
  if (p < 0.01 && threshold >= 0.01) return `${p > 0 ? p.toPrecision(1) : "0.00"} ${sign} ${right}`;
  for (let digits = 2; digits < 7; digits++) {
    const shown = Number(p.toFixed(digits));
    const apart = p === threshold || (shown !== threshold && shown > threshold === p > threshold);
    if (apart && (shown > 0 && shown < 1 || p === shown)) return `${p.toFixed(digits)} ${sign} ${right}`;
  }
  return `${p} ${sign} ${threshold}`;
}

/** How a decoder of single tokens chooses them; null for ReFusion. @returns {?{key: string}} */
export function tokenRule(settings, decoder) {
  if (decoder === "ar") return { key: "next" };
  if (decoder !== "mdm") return null;
  const { confidence_threshold: threshold, tokens_per_step: n } = settings;
  return threshold === undefined ? { key: "count", n } : { key: "threshold", p: formatProbability(threshold) };
}

/** Whether a confidence is held against a threshold in this run. */
export const hasThreshold = ({ decoder, settings }) => ["next", "count"].indexOf(tokenRule(settings, decoder)?.key) < 0;

/** Unused digits make columns jump: two decimals below 10, one below 100, none above. */
export function formatRatio(x) {
  return x.toFixed(x < 10 ? 2 : x < 100 ? 1 : 0);
}

export function formatPercent(x) {
  return `${Math.round(100 * x)}\u00a0%`;
}

// eslint-disable-next-line no-control-regex -- controls are what it looks for
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/g;
const DIRECTION = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const ZERO_WIDTH = new RegExp(
  "[\\u00ad\\u200b\\u2060\\ufeff]|(?<!\\p{Extended_Pictographic}\\ufe0f?|\\p{Emoji_Modifier})[\\u200c\\u200d]", "gu");

function codePoint(character) {
  return `⟨U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`;
}

/** Text in which nothing is invisible or turns the reading direction; joiners inside emoji stay. */
export function visibleText(text) {
  if (text === "") return "∅";
  const shown = text
    .replace(/\n/g, "↵").replace(/\t/g, "⇥")
    .replace(CONTROL, codePoint).replace(DIRECTION, codePoint).replace(ZERO_WIDTH, codePoint);
  return /^\s+$/.test(shown) ? shown.replace(/\s/g, "␣") : shown;
}


/**
 * @typedef {object} IterationRecord Event indexes of one iteration; -1 where there is none (yet).
 * @property {number} number @property {number} block @property {number} first @property {number} last
 * @property {number} plan @property {number} verify @property {number[]} rounds @property {number} commit
 * @property {number} dependency
 */

/** Text with an end that says it goes on. */
export function clip(text, limit) {
  return text.length > limit ? `${text.slice(0, limit)}…` : text;
}

/** Width in monospace columns: East Asian and pictographic characters take two. */
export function columnsOf(text) {
  let columns = 0;
  for (const character of text) {
    const wide = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]/;
    columns += wide.test(character) || character.codePointAt(0) > 0x1f000 ? 2 : 1;
  }
  return columns;
}
