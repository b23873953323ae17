/** An element with a class and children; strings become text nodes, never markup. */
export function el(tag, className, ...children) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  node.append(...children);
  return node;
}

/** Text of a node that holds nothing else; a text node that is there already is reused. */
export function setText(node, text) {
  const child = node.firstChild;
  if (child === null || child !== node.lastChild || child.nodeType !== Node.TEXT_NODE) {
    if (node.textContent !== text) node.textContent = text;
  } else if (child.data !== text) {
    child.data = text;
  }
}

export function setAttribute(node, name, value) {
  if (node.getAttribute(name) !== value) node.setAttribute(name, value);
}

/** An icon from one path in a 16 × 16 box. */
export function icon(path) {
  const namespace = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(namespace, "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("aria-hidden", "true");
  const shape = document.createElementNS(namespace, "path");
  shape.setAttribute("d", path);
  svg.append(shape);
  return svg;
}

export const ICONS = {
  play: "M4 2.5v11l9.5-5.5z",
  pause: "M3.5 2.5h3v11h-3zM9.5 2.5h3v11h-3z",
  back: "M10 2.5 11.5 4l-4 4 4 4-1.5 1.5L4.5 8z",
  forward: "M6 2.5 4.5 4l4 4-4 4L6 13.5 11.5 8z",
  forwardBack: "M11.5 2.5v11L4 8z",
  forwardForward: "M4.5 2.5v11L12 8z",
  loop: "M3 8a5 5 0 0 1 8.6-3.5L13 3v4.5H8.5l1.8-1.8A3.3 3.3 0 0 0 4.7 8zM13 8a5 5 0 0 1-8.6 3.5L3 13V8.5h4.5l-1.8 1.8A3.3 3.3 0 0 0 11.3 8z",
  link: "M6.8 9.2a2.6 2.6 0 0 0 3.7 0l2.4-2.4a2.6 2.6 0 0 0-3.7-3.7L8 4.3l1 1 1.2-1.2a1.2 1.2 0 0 1 1.7 1.7L9.5 8.2a1.2 1.2 0 0 1-1.7 0zM9.2 6.8a2.6 2.6 0 0 0-3.7 0L3.1 9.2a2.6 2.6 0 0 0 3.7 3.7L8 11.7l-1-1-1.2 1.2a1.2 1.2 0 0 1-1.7-1.7l2.4-2.4a1.2 1.2 0 0 1 1.7 0z",
  present: "M1.5 2.5h13v8.5H9.7l1.5 2.5H9.4L8 11.4 6.6 13.5H4.8L6.3 11H1.5zM3 4v5.5h10V4z",
  iterationBack: "M2.5 2.5h2v11h-2zM13.5 2.5v11L6 8z",
  iterationForward: "M11.5 2.5h2v11h-2zM2.5 2.5v11L10 8z",
};

/** A canvas with its own pixel ratio; `begin` sizes and clears it. */
export class Surface {
  constructor(className) {
    this.canvas = el("canvas", className);
    this.width = this.height = 0;
  }

  /**
   * @param {string} [font] set only when it is new: setting it makes the browser resolve all styles at once
   * @returns {CanvasRenderingContext2D} in CSS pixels
   */
  begin(width, height, font) {
    const area = Math.max(1, width * height);
    const wanted = (window.devicePixelRatio || 1) * (this.canvas.currentCSSZoom ?? 1);
    const ratio = Math.min(wanted, Math.sqrt(12e6 / area));
    const [w, h] = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
    if (this.canvas.width !== w || this.canvas.height !== h) {
      this.canvas.width = w;
      this.canvas.height = h;
      this.canvas.style.width = `${width}px`;
      this.canvas.style.height = `${height}px`;
      this.font = null;
    }
    [this.width, this.height] = [width, height];
    const context = this.canvas.getContext("2d");
    context.setTransform(w / width, 0, 0, h / height, 0, 0);
    context.clearRect(0, 0, width, height);
    if (font && font !== this.font) {
      this.font = context.font = font;
      context.textBaseline = "middle";
    }
    return context;
  }

  get context() {
    return this.canvas.getContext("2d");
  }
}

const COLOURS = [
  "ink", "ink2", "ink3", "line", "ground", "panel", "plan", "chosen", "verified", "rejected", "forced", "hatch",
];

/** The colours of the style sheet as canvas needs them: resolved for the theme in force. */
export function readPalette(probe) {
  const palette = {};
  for (const name of COLOURS) {
    probe.style.color = `var(--rfp-${name})`;
    palette[name] = getComputedStyle(probe).color;
  }
  palette.font = getComputedStyle(probe).fontFamily;
  return palette;
}

/** Ink or ground, whichever reads better on a colour laid over the panel. Colours are "rgb(r, g, b)". */
export function readable(palette, colour, alpha = 1) {
  const [over, under] = [channels(colour), channels(palette.panel)];
  const ground = luminance(over.map((value, n) => value * alpha + under[n] * (1 - alpha)));
  const contrast = (text) => {
    const light = luminance(channels(text));
    return (Math.max(light, ground) + 0.05) / (Math.min(light, ground) + 0.05);
  };
  return contrast(palette.ink) >= contrast(palette.panel) ? palette.ink : palette.panel;
}

export function channels(colour) {
  return (colour.match(/[\d.]+/g) ?? []).slice(0, 3).map(Number);
}

export function luminance(rgb) {
  const [r, g, b] = rgb.map((value) => {
    const share = value / 255;
    return share <= 0.04 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

export function phaseColour(palette, phase) {
  if (phase === "plan" || phase === "infill_predict" || phase === "mdm") return palette.plan;
  return palette.verified;
}

/** Diagonal stripes of a colour: the pattern of infill. */
export function stripes(context, colour) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6;
  const brush = tile.getContext("2d");
  brush.strokeStyle = colour;
  brush.lineWidth = 2;
  for (const shift of [-6, 0, 6]) {
    brush.moveTo(shift - 1, 7);
    brush.lineTo(shift + 7, -1);
  }
  brush.stroke();
  return context.createPattern(tile, "repeat");
}

/** Label every so many places, so that labels keep their distance. */
export function labelStep(pixelsEach, distance) {
  const needed = distance / Math.max(pixelsEach, 0.01);
  return [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].find((step) => step >= needed) ?? 2000;
}



/** Maxima of chunks: Math.max takes no list of any length as arguments. */
export function chunkMax(list) {
  const maxima = [0];
  for (let i = 0; i < list.length; i += 1000) maxima.push(Math.max(...list.slice(i, i + 1000)));
  return maxima;
}
