import qrcode from "qrcode-generator";
import { el, setText } from "./drawing.js";
import { reachOf } from "./links.js";

const NAMESPACE = "http://www.w3.org/2000/svg";
const QUIET = 4; // modules around the code that have to stay light

/**
 * The QR code of a text, as an image.
 * @param {string} text ASCII, as addresses are
 * @returns {SVGElement|null} null where the text is too long for any code
 */
export function qrImage(text) {
  const code = qrcode(0, "M");
  code.addData(text);
  try {
    code.make();
  } catch {
    return null;
  }
  const count = code.getModuleCount();
  const size = count + 2 * QUIET;
  let dark = "";
  for (let row = 0; row < count; row++) {
    for (let column = 0; column < count; column++) {
      if (code.isDark(row, column)) dark += `M${column + QUIET} ${row + QUIET}h1v1h-1z`;
    }
  }
  const svg = document.createElementNS(NAMESPACE, "svg");
  const ground = document.createElementNS(NAMESPACE, "rect");
  const modules = document.createElementNS(NAMESPACE, "path");
  for (const [node, attributes] of [
    [svg, { viewBox: `0 0 ${size} ${size}`, role: "img", "shape-rendering": "crispEdges" }],
    [ground, { width: size, height: size, fill: "#ffffff" }], [modules, { d: dark, fill: "#000000" }],
  ]) for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  svg.append(ground, modules);
  return svg;
}

/** The link to what is shown, as text and as QR code, and the page to save where no link leads to it. */
export class Share {
  constructor(player) {
    this.player = player;
    const { speaker } = player;
    this.picture = el("div", "rfp-share-code");
    this.link = el("code", "rfp-share-link");
    this.note = el("p", "rfp-share-note");
    this.told = el("span", "rfp-share-told");
    this.told.setAttribute("role", "status");
    this.copy = this.button("share.copy", () => this.copyLink());
    this.save = this.button("share.save", () => player.exports.run("html"));
    this.close = this.button("share.close", () => this.node.close());
    this.node = el("dialog", "rfp-share", speaker.bind(el("h3", "rfp-subtitle"), "share"), this.picture, this.link,
      this.note, el("div", "rfp-share-buttons", this.copy, this.save, this.close, this.told));
    speaker.bind(this.node, "share", "aria-label");
    this.node.addEventListener("keydown", (event) => this.onKey(event));
    this.node.addEventListener("close", () => (player.presenter.on ? player.element : player.exports.button).focus());
  }

  button(key, action) {
    const node = this.player.speaker.bind(el("button", "rfp-button"), key);
    node.type = "button";
    node.addEventListener("click", action);
    return node;
  }

  /** The player's keys rest here; Q opens it in presenter mode and so closes it too. */
  onKey(event) {
    event.stopPropagation();
    if (event.key.toLowerCase() === "q") this.node.close();
  }

  open() {
    const { player } = this;
    const of = player.options.linkOf?.();
    const link = player.link();
    const reach = reachOf(link, of);
    const leads = reach !== "none" && reach !== "kept";
    const code = leads ? qrImage(link) : null;
    code?.setAttribute("aria-label", player.speaker.text("share.code", { link }));
    this.picture.hidden = !code;
    this.picture.replaceChildren(...(code ? [code] : []));
    this.link.hidden = this.copy.hidden = !leads;
    setText(this.link, link);
    const said = [player.speaker.text(`share.${reach}`, { i: player.iterationShown() })];
    if (leads && !code) said.push(player.speaker.text("share.long"));
    setText(this.note, said.join(" "));
    setText(this.told, "");
    this.node.showModal();
    this.close.focus();
  }

  async copyLink() {
    try {
      await navigator.clipboard.writeText(this.link.textContent);
      setText(this.told, this.player.speaker.text("share.copied"));
    } catch {
      window.getSelection().selectAllChildren(this.link); // where the browser refuses, a key press copies it
    }
  }
}
