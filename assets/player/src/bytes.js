import { visibleText } from "./format.js";

export function bytesOfHex(hex) {
  if (!/^(?:[0-9a-f]{2})+$/i.test(hex)) return null;
  return Uint8Array.from(hex.match(/../g), (pair) => parseInt(pair, 16));
}

export function hexText(bytes) {
  return `⟨${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(" ")}⟩`;
}

const UTF8 = new TextDecoder("utf-8", { fatal: true });

function decodeWhole(bytes) {
  try {
    return UTF8.decode(Uint8Array.from(bytes));
  } catch {
    return null;
  }
}

/**
 * Texts of consecutive byte tokens: the smallest groups that are whole characters show them in their first
 * piece ("" in the others); bytes that make no character are shown as hex.
 * @param {Uint8Array[]} pieces @returns {string[]}
 */
export function joinBytes(pieces) {
  const texts = [];
  while (texts.length < pieces.length) {
    const from = texts.length;
    const bytes = [];
    let whole = null;
    let end = from;
    while (end < pieces.length && whole === null && end - from < 16) {
      bytes.push(...pieces[end++]);
      whole = decodeWhole(bytes);
    }
    if (whole === null) texts.push(hexText(pieces[from]));
    else texts.push(visibleText(whole), ...Array(end - from - 1).fill(""));
  }
  return texts;
}
