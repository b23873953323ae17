import css from "../player.css";
import { channels, el, luminance } from "./drawing.js";

const RATIO = 2;
const MAX_PIXELS = 16e6;
const MARGIN = 12;
// Characters that XML cannot hold, which a prompt may.
// eslint-disable-next-line no-control-regex -- controls are what it looks for
const NOT_XML = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** What is shown, as a picture: the page's own DOM and styles, drawn by the browser from an SVG image. */
export class Picture {
  /**
   * @param {import("./player.js").Player} player @param {HTMLElement[]} parts what to show, in order
   * @param {number} width in CSS pixels @param {number} [ratio] pixels per CSS pixel
   */
  constructor(player, parts, width, ratio = RATIO) {
    [this.player, this.parts, this.width] = [player, parts, width];
    this.height = this.measure();
    this.ratio = Math.min(ratio, Math.sqrt(MAX_PIXELS / (width * this.height)));
  }

  /** Height that the parts take at this width, laid out where nobody sees it. */
  measure() {
    const root = this.copy();
    root.style.cssText += "; position: absolute; left: -100000px; top: 0";
    document.body.append(root);
    const height = Math.ceil(root.getBoundingClientRect().height);
    root.remove();
    return Math.max(1, height);
  }

  /** The parts with their canvases as images, in a root of their own. */
  copy() {
    const { player, parts, width } = this;
    const layout = el("div", "rfp-layout", ...unmarked(player, () => parts.map(still)));
    const root = el("div", "rfp has-run is-still", layout);
    const dark = luminance(channels(player.palette.panel)) < 0.5;
    root.dataset.theme = dark ? "dark" : "light";
    root.lang = player.element.lang;
    root.style.cssText = `width: ${width}px; padding: ${MARGIN}px; background: var(--rfp-ground)`;
    return root;
  }

  /** @returns {Promise<HTMLCanvasElement>} the parts as they are now */
  async draw() {
    const root = this.copy();
    root.prepend(el("style", "", css));
    root.setAttribute("xmlns", "http://www.w3.org/1999/xhtml");
    const { width, height, ratio } = this;
    const body = new XMLSerializer().serializeToString(root).replace(NOT_XML, "\ufffd");
    const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">` +
      `<foreignObject width="100%" height="100%">${body}</foreignObject></svg>`;
    const image = new Image();
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return canvas;
  }
}

/** What `look` gives of the player as it is at the cursor, without the mark of what the pointer is on. */
function unmarked(player, look) {
  const slot = player.hoveredSlot;
  player.hover(-1);
  player.paint();
  try {
    return look();
  } finally {
    player.hover(slot);
  }
}

/** A copy of a node that needs no script: canvases become images, and what is scrolled stays where it is. */
function still(node) {
  const copy = node.cloneNode(true);
  const [originals, copies] = [[node, ...node.querySelectorAll("*")], [copy, ...copy.querySelectorAll("*")]];
  originals.forEach((original, n) => {
    if (original instanceof HTMLCanvasElement) {
      const image = el("img", original.className);
      image.src = original.toDataURL();
      image.style.cssText = original.style.cssText;
      copies[n].replaceWith(image);
    } else if (original.scrollTop || original.scrollLeft) {
      const inner = el("div", "", ...copies[n].childNodes);
      inner.style.translate = `${-original.scrollLeft}px ${-original.scrollTop}px`;
      copies[n].append(inner);
      copies[n].style.overflow = "hidden";
    }
  });
  return copy;
}

/** A PNG of everything that is shown. @returns {Promise<Blob>} */
export async function png(player) {
  const { stage, narration, orders, timeline, scoreboard, whatif, dependency, ledger } = player;
  const columns = [[stage, orders, timeline, ledger], [narration, scoreboard, whatif, dependency]];
  const column = (views) => el("div", "rfp-column", ...views.map((view) => still(view.section)));
  const parts = unmarked(player, () => columns.map(column));
  const canvas = await new Picture(player, parts, Math.max(320, player.element.clientWidth) + 2 * MARGIN).draw();
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("the browser made no PNG"))), "image/png");
  });
}
