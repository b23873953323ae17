import { el } from "./drawing.js";
import { clip } from "./format.js";
import { TEXTS } from "./texts.js";

/** Texts in the chosen language. */
export class Speaker {
  constructor(language) {
    this.set(language);
    this.bound = [];
  }

  set(language) {
    this.language = TEXTS[language] ? language : "en";
  }

  /** The text of a key with its values, as a plain string (definitions left out). */
  text(key, values = {}) {
    return this.parts(key, values)
      .map((part) => (typeof part === "string" ? part : part.shown))
      .join("");
  }

  /** The text of a key as strings and {shown, term} or {shown, token} parts. */
  parts(key, values = {}) {
    const template = TEXTS[this.language][key] ?? TEXTS.en[key] ?? key;
    const counted = template.replace(/\{(\w+)\?([^:{}]*):([^{}]*)\}/g, (_, name, one, many) =>
      Number(values[name]) === 1 ? one : many);
    const parts = [];
    const pattern = /\{(\w+)\}|\[(\w+)(?:\|([^\]]*))?\]/g;
    let from = 0;
    for (const match of counted.matchAll(pattern)) {
      parts.push(counted.slice(from, match.index));
      from = match.index + match[0].length;
      if (match[1]) parts.push(this.valuePart(values[match[1]]));
      else parts.push({ shown: this.fill(match[3] ?? match[2], values), term: match[2] });
    }
    parts.push(counted.slice(from));
    return parts.filter((part) => part !== "");
  }

  fill(text, values) {
    return text.replace(/\{(\w+)\}/g, (_, name) => String(values[name]));
  }

  valuePart(value) {
    return value && typeof value === "object" ? { shown: value.token, token: true } : String(value);
  }

  /** DOM nodes of a text: terms carry their definition, tokens stand out. */
  nodes(key, values) {
    return this.parts(key, values).map((part) => {
      if (typeof part === "string") return document.createTextNode(part);
      if (part.token) return el("code", "rfp-quote", clip(part.shown, 40));
      const node = el("span", "rfp-term", part.shown);
      node.title = this.text(`term.${part.term}`);
      return node;
    });
  }

  /** Keeps the text (or an attribute) of a node in the current language. */
  bind(node, key, attribute) {
    this.bound.push([node, key, attribute]);
    this.apply(node, key, attribute);
    return node;
  }

  apply(node, key, attribute) {
    if (attribute) node.setAttribute(attribute, this.text(key));
    else node.textContent = this.text(key);
  }

  refresh() {
    for (const binding of this.bound) this.apply(...binding);
  }

  join(items) {
    if (items.length < 2) return items.join("");
    return items.slice(0, -1).join(this.text("comma")) + this.text("and") + items[items.length - 1];
  }

  /** "slot 3", "slots 3 and 5", "slots 1, 2, 3, 4 and 12 more" */
  slots(list, limit = 5) {
    return this.text(list.length === 1 ? "slot" : "slots", { s: this.some(list.map(String), limit) });
  }

  /** The first of many names, and how many there are. */
  some(names, limit = 5) {
    if (names.length <= limit) return this.join(names);
    const s = names.slice(0, limit).join(this.text("comma"));
    return this.text("some", { s, n: names.length, more: names.length - limit });
  }

  sentenceStart(text) {
    return text.charAt(0).toUpperCase() + text.slice(1);
  }
}

/** A titled panel; `aside` is the place at the right of its title. */
export function panel(speaker, name, titleKey) {
  const title = el("h2", "rfp-title");
  if (titleKey) speaker.bind(title, titleKey);
  const aside = el("span", "rfp-aside");
  const section = el("section", `rfp-panel rfp-${name}`, el("header", "rfp-head", title, aside));
  return { section, title, aside };
}

/** A box that may scroll: named, and a stop of the Tab key, since not every browser makes it one. */
export function scrollBox(speaker, node, key) {
  node.tabIndex = 0;
  node.setAttribute("role", "group");
  return speaker.bind(node, key, "aria-label");
}

/** A few ways to see the same thing, one of them on: toggle buttons in a group. */
export function choice(speaker, name, options, onChange) {
  const group = el("span", "rfp-choice");
  group.setAttribute("role", "group");
  speaker.bind(group, name, "aria-label");
  const buttons = options.map((option, n) => {
    const button = speaker.bind(el("button", "rfp-option"), `${name}.${option}`);
    button.type = "button";
    button.dataset.option = option;
    button.setAttribute("aria-pressed", String(n === 0));
    button.addEventListener("click", () => {
      for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
      onChange(option);
    });
    return button;
  });
  group.append(...buttons);
  return group;
}

export function legend(speaker, className, entries) {
  const list = el("ul", `rfp-legend ${className}`);
  for (const [name, key] of entries) {
    const label = el("span", "");
    speaker.bind(label, key);
    list.append(el("li", "", el("i", `rfp-key rfp-key-${name}`), label));
  }
  return list;
}
