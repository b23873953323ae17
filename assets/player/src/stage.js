import { joinBytes } from "./bytes.js";
import { CELL, CELL_NAMES, MASK_DOT, ORIGINS, SLOT, SLOT_NAMES } from "./constants.js";
import { el, setAttribute, setText } from "./drawing.js";
import { Frame, isComplete } from "./fold.js";
import { clip, columnsOf, formatProbability, formatTest, formatThreshold, hasThreshold, tokenRule } from "./format.js";
import { choice, legend, panel } from "./speaker.js";

const HEIGHT_LIMIT = 620; // px of the stage; longer responses scroll
const CLASS_CACHE = new Map();

function cellClass(status, origin, isEos, joined, long) {
  const key = (((status * ORIGINS.length + origin) * 2 + isEos) * 2 + joined) * 2 + long;
  let name = CLASS_CACHE.get(key);
  if (name === undefined) {
    name = `rfp-cell is-${CELL_NAMES[status]} from-${ORIGINS[origin]}`;
    if (isEos) name += " is-eos";
    if (joined) name += " is-joined";
    if (long) name += " is-long";
    CLASS_CACHE.set(key, name);
  }
  return name;
}

/** The response as slots in reading order. */
export class StageView {
  constructor(player) {
    this.player = player;
    const { section, aside } = panel(player.speaker, "stage", "stage");
    this.section = section;
    this.aside = aside;
    this.view = "slots";
    this.colouring = "source";
    const { speaker } = player;
    this.tools = el("span", "rfp-tools",
      choice(speaker, "stage.view", ["slots", "text"], (view) => this.setView(view)),
      choice(speaker, "stage.colour", ["source", "order"], (colouring) => this.setColouring(colouring)));
    aside.before(this.tools);
    this.promptLabel = player.speaker.bind(el("span", "rfp-prompt-label"), "prompt");
    this.promptText = el("span", "rfp-prompt-text");
    this.promptMore = el("button", "rfp-link");
    this.promptMore.type = "button";
    this.promptMore.addEventListener("click", () => this.togglePrompt());
    this.prompt = el("div", "rfp-prompt", this.promptLabel, this.promptText, this.promptMore);
    this.grid = el("div", "rfp-slots");
    this.grid.setAttribute("role", "list");
    this.scroller = el("div", "rfp-scroller", this.grid);
    this.message = el("div", "rfp-message");
    this.legend = legend(player.speaker, "rfp-stage-legend", [
      ["masked", "legend.masked"], ["candidate", "legend.candidate"], ["chosen", "legend.chosen"],
      ["rejected", "legend.rejected"], ["plan", "legend.plan"], ["verified", "legend.verified"],
      ["infill", "legend.infill"], ["forced", "legend.forced"], ["dropped", "legend.dropped"], ["order", "legend.order"],
    ]);
    this.answer = el("pre", "rfp-answer-text");
    this.answer.tabIndex = 0;
    this.answerBox = el("div", "rfp-answer", player.speaker.bind(el("h3", "rfp-subtitle"), "answer"), this.answer);
    section.append(this.prompt, this.scroller, this.message);
    this.slots = [];
    this.listen();
  }

  listen() {
    const { player, grid } = this;
    const slotOf = (event) => event.target.closest?.(".rfp-slot");
    const show = (event) => {
      const slot = slotOf(event);
      player.hover(slot ? Number(slot.dataset.slot) : -1);
      const cell = event.target.closest?.(".rfp-cell");
      if (cell) player.inspector.show(this.offsetOf(cell), cell);
      else player.inspector.hide();
    };
    grid.addEventListener("pointerover", show);
    grid.addEventListener("focusin", show);
    grid.addEventListener("pointerleave", () => {
      player.hover(-1);
      player.inspector.hide();
    });
    grid.addEventListener("focusout", () => player.inspector.hide());
    grid.addEventListener("click", (event) => {
      const cell = event.target.closest?.(".rfp-cell");
      if (cell) this.focusCell(this.offsetOf(cell));
    });
  }

  /** "text" wraps the tokens as text does, line breaks and indentation included; "slots" aligns the slots. */
  setView(view) {
    this.view = view;
    this.grid.classList.toggle("is-text", view === "text");
    this.repaint();
  }

  /** Colour by where tokens come from, or by the iteration that committed them. */
  setColouring(colouring) {
    this.colouring = colouring;
    this.grid.classList.toggle("is-order", colouring === "order");
    this.section.classList.toggle("is-order", colouring === "order");
    this.repaint();
  }

  repaint() {
    if (!this.shown) return;
    this.shown.status.fill(255);
    this.shown.slot.fill(255);
    this.measuredWidth = 0;
    this.player.changed();
  }

  offsetOf(cell) {
    return Number(cell.dataset.offset);
  }

  /** New cells for a new run. */
  build() {
    const { run } = this.player.trace;
    const { slot_size: size, serial_blocks: blocks } = run.settings;
    const perBlock = Math.max(1, Math.floor(run.slot_count / Math.max(1, blocks)));
    this.size = size;
    this.grid.replaceChildren();
    this.slots = [];
    this.cells = [];
    this.shown = new Frame(run);
    this.shown.status.fill(255);
    this.shown.slot.fill(255);
    this.currentOffset = 0;
    this.blocksAsRows = blocks > 1 && blocks <= 8 && perBlock > 1;
    for (let s = 0; s < run.slot_count; s++) {
      if (this.blocksAsRows && s % perBlock === 0) this.grid.append(this.blockLabel(s / perBlock));
      this.grid.append(this.buildSlot(s, blocks > 1 ? Math.floor(s / perBlock) : -1));
    }
    this.grid.classList.toggle("is-many", run.slot_count > 64);
    this.grid.dataset.width = size <= 2 ? "narrow" : size <= 4 ? "medium" : "wide";
    this.grid.style.setProperty("--threshold", run.settings.slot_threshold);
    this.grid.classList.toggle("is-unlimited", !hasThreshold(run));
    this.lines = new Uint8Array(run.slot_count).fill(1);
    this.measuredTo = this.measuredWidth = 0;
    this.watchSight(run.slot_count > 64);
    this.showPrompt();
    this.measure();
  }

  /** In a long response only slots in sight are painted; the others catch up when they are scrolled to. */
  watchSight(isLong) {
    this.sight?.disconnect();
    this.inSight = isLong ? new Set() : null;
    if (!isLong) return;
    this.sight = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) {
        if (isIntersecting) this.inSight.add(Number(target.dataset.slot));
        else this.inSight.delete(Number(target.dataset.slot));
      }
      this.player.changed();
    }, { root: this.scroller, rootMargin: "200px" });
    for (const { node } of this.slots) this.sight.observe(node);
  }

  isInSight(s) {
    return !this.inSight || this.inSight.has(s);
  }

  blockLabel(block) {
    const node = el("div", "rfp-block");
    node.dataset.block = block;
    node.setAttribute("role", "presentation");
    setText(node, this.player.speaker.text("block", { b: block + 1 }));
    return node;
  }

  buildSlot(s, block) {
    const number = el("span", "rfp-slot-number", String(s));
    const cells = el("span", "rfp-cells");
    for (let k = 0; k < this.size; k++) {
      const cell = el("span", "rfp-cell");
      cell.dataset.offset = s * this.size + k;
      cell.tabIndex = s + k === 0 ? 0 : -1;
      this.cells.push(cell);
      cells.append(cell);
    }
    const tag = el("span", "rfp-tag");
    const bar = el("i", "rfp-bar");
    const card = el("div", "rfp-card", number, cells, bar, tag);
    const node = el("div", "rfp-slot", card);
    node.dataset.slot = s;
    node.setAttribute("role", "listitem");
    this.slots.push({ node, card, cells, tag, bar, block });
    return node;
  }

  showPrompt() {
    const { trace, speaker } = this.player;
    const { run } = trace;
    const text = run.prompt_text ?? run.prompt_ids.map((id) => trace.tokenText(id)).join(" ");
    setText(this.promptText, text === "" ? speaker.text("prompt.empty") : clip(text, 20000));
    const long = text.length > 160 || text.split("\n").length > 2;
    this.promptMore.hidden = !long;
    this.prompt.classList.toggle("is-long", long);
    this.showPromptButton();
    const settings = run.settings;
    const rule = tokenRule(settings, run.decoder);
    setText(this.aside, speaker.text(rule ? "facts.tokens" : "facts", {
      rule: rule && speaker.text(`rule.${rule.key}`, rule),
      decoder: speaker.text(`decoder.${run.decoder ?? "refusion"}`), model: clip(String(run.model.name), 40),
      slots: run.slot_count, size: settings.slot_size, blocks: settings.serial_blocks,
      slot: formatThreshold(settings.slot_threshold), token: formatThreshold(settings.token_threshold),
    }) + this.policyText(settings) + this.parentText(run));
  }

  policyText({ policy, policy_count: n, dependency_limit: p }) {
    return policy ? ` · ${this.player.speaker.text("facts.policy", { policy, n, p })}` : "";
  }

  parentText({ parent }) {
    if (!parent) return "";
    return ` · ${this.player.speaker.text("facts.parent", { id: parent.run_id, i: parent.iteration + 1 })}`;
  }

  togglePrompt() {
    this.prompt.classList.toggle("is-open");
    this.showPromptButton();
  }

  showPromptButton() {
    const open = this.prompt.classList.contains("is-open");
    setText(this.promptMore, this.player.speaker.text(open ? "prompt.less" : "prompt.more"));
    setAttribute(this.promptMore, "aria-expanded", String(open));
    this.promptText.tabIndex = open ? 0 : -1; // open, a long prompt scrolls
  }

  /**
   * Reserves the lines that each slot will need, so that nothing moves while a run plays. Final and judged
   * tokens count; the drafts of slots not chosen are cut at what is reserved.
   */
  measure() {
    const { trace } = this.player;
    if (this.view === "text") {
      this.fixTextHeight();
      return;
    }
    const width = this.player.resized || !this.measuredWidth ? this.slots[0].cells.clientWidth : this.measuredWidth;
    if (!width) return;
    if (width !== this.measuredWidth) {
      this.measuredWidth = width;
      this.measuredTo = 0;
      this.column = this.columnWidth();
      this.lines.fill(this.estimatedLines(width));
    }
    for (; this.measuredTo < trace.length; this.measuredTo++) this.measureEvent(trace.events[this.measuredTo]);
    let grown = false;
    this.slots.forEach((slot, s) => {
      if (slot.lines === this.lines[s]) return;
      grown = true;
      slot.lines = this.lines[s];
      slot.node.style.setProperty("--lines", slot.lines);
    });
    // In a live run the height stays, and a slot that needs more than was thought scrolls until the end.
    const live = this.player.state === "live";
    const fixed = live && this.fixedFor === this.player.trace && this.fixedWidth === width;
    if (fixed ? false : grown || this.fixedLive !== live) this.fixHeight();
    [this.fixedFor, this.fixedWidth, this.fixedLive] = [this.player.trace, width, live];
  }

  /** Measures everything again: the room or the size of the type has changed. */
  measureAnew() {
    if (!this.slots.length) return;
    this.measuredWidth = 0;
    this.fixedFor = null;
    this.measure();
    this.fixHeight();
  }

  columnWidth() {
    const probe = el("span", "rfp-cell rfp-probe", "0".repeat(40));
    this.slots[0].cells.append(probe);
    const width = probe.offsetWidth / 40; // unlike the rectangle the same whatever the zoom
    probe.remove();
    return width;
  }

  /** A live run is not known yet: five columns a token are typical. A trace needs no guess. */
  estimatedLines(width) {
    return this.player.state === "live" ? Math.max(1, Math.ceil((this.size * (5 * this.column + 8)) / width)) : 1;
  }

  measureEvent(event) {
    const { trace } = this.player;
    if (event.type !== "verify" && event.type !== "infill_round" && event.type !== "commit") return;
    for (const { slot, tokens } of event.slots) {
      this.lines[slot] = Math.max(this.lines[slot], this.linesFor(tokens, trace));
    }
  }

  linesFor(tokens, trace) {
    let [lines, used] = [1, 0];
    for (const token of tokens) {
      const columns = Math.min(Math.max(columnsOf(clip(trace.cellText(token), 30)), 1.4), 26);
      const width = columns * this.column + 9;
      if (used && used + width > this.measuredWidth) [lines, used] = [lines + 1, 0];
      used += width;
    }
    return Math.min(lines, 60);
  }

  /** The lines that the answer will take as text; a run without an end yet may take all its tokens. */
  fixTextHeight() {
    const { trace } = this.player;
    const columns = Math.max(20, (this.player.widthOf(this.grid) - 16) / 9);
    const text = trace.finished?.text ?? "x".repeat(5 * trace.run.response_length);
    const lines = text.split("\n").reduce((sum, line) => sum + Math.max(1, Math.ceil(columnsOf(line) / columns)), 0);
    this.scroller.style.height = `${Math.min(HEIGHT_LIMIT, 16 + 25 * (lines + 1))}px`;
    this.scroller.classList.add("is-scrolling");
  }

  fixHeight() {
    this.scroller.style.height = "auto";
    const needed = this.grid.scrollHeight;
    this.scroller.style.height = `${Math.min(needed, HEIGHT_LIMIT)}px`;
    this.scroller.classList.toggle("is-scrolling", needed > HEIGHT_LIMIT);
  }

  paint() {
    const { frame, trace } = this.player;
    const { shown } = this;
    const ended = this.fixedLive && this.player.state !== "live";
    if (this.measuredTo < trace.length || ended) this.measure();
    const changed = this.changedSlots(frame);
    for (const s of changed) shown.slot[s] = 255; // its tag may quote a token's number
    const near = trace.byteTokens ? withNeighbours(changed, this.slots.length) : changed;
    for (const s of near) if (this.isInSight(s)) this.paintCells(s, frame, trace);
    for (let s = 0; s < this.slots.length; s++) if (this.isInSight(s)) this.paintSlot(s, frame);
    this.paintAnswer();
    this.reveal(frame);
  }

  changedSlots(frame) {
    const { shown, size } = this;
    const changed = [];
    for (let i = 0; i < frame.status.length; i++) {
      const same = frame.status[i] === shown.status[i] && frame.token[i] === shown.token[i] &&
        frame.origin[i] === shown.origin[i];
      if (same) continue;
      const s = Math.floor(i / size);
      changed.push(s);
      i = (s + 1) * size - 1;
    }
    return changed;
  }

  paintCells(s, frame, trace) {
    const { shown } = this;
    const from = s * this.size;
    const texts = cellTexts(trace, frame, from, from + this.size);
    for (let k = 0; k < this.size; k++) {
      const i = from + k;
      const cell = this.cells[i];
      const status = frame.status[i];
      const isEos = frame.token[i] === trace.run.model.eos_id ? 1 : 0;
      const long = texts[k].text.length > 12 ? 1 : 0;
      const name = cellClass(status, frame.origin[i], isEos, texts[k].joined, long);
      if (cell.className !== name) cell.className = name;
      setText(cell, this.view === "text" ? texts[k].text.replaceAll("↵", "↵\n") : texts[k].text);
      if (status === CELL.MASKED && isRefused(shown.status[i])) this.fall(cell);
      shown.status[i] = status;
      shown.token[i] = frame.token[i];
      shown.origin[i] = frame.origin[i];
    }
  }

  /** A refused token falls back to a mask. */
  fall(cell) {
    if (!this.player.playing || !this.player.moves()) return;
    const fall = [{ transform: "translateY(-6px)", opacity: 0.2 }, { transform: "none", opacity: 1 }];
    cell.animate(fall, { duration: 220, easing: "ease-in" });
  }

  paintSlot(s, frame) {
    const { shown, slots } = this;
    const slowest = frame.straggler === s ? 1 : 0;
    const follows = frame.slot[s - 1] === SLOT.DROPPED ? 1 : 0; // only the first of dropped slots says why
    const order = this.colouring === "order" ? this.orderOf(s, frame) : -1;
    const same = frame.slot[s] === shown.slot[s] && frame.run[s] === shown.run[s] && slots[s].order === order &&
      Object.is(frame.confidence[s], shown.confidence[s]) && slots[s].slowest === slowest &&
      slots[s].follows === follows &&
      slots[s].bestOfNone === frame.bestOfNone[s];
    if (same) return;
    shown.slot[s] = frame.slot[s];
    shown.run[s] = frame.run[s];
    shown.confidence[s] = frame.confidence[s];
    slots[s].slowest = slowest;
    slots[s].follows = follows;
    slots[s].bestOfNone = frame.bestOfNone[s];
    if (order !== slots[s].order) slots[s].node.style.setProperty("--order", order);
    slots[s].order = order;
    const { node, tag, bar } = slots[s];
    const status = SLOT_NAMES[frame.slot[s]];
    setAttribute(node, "data-status", status);
    const text = this.tagText(s, frame);
    setText(tag, follows && frame.slot[s] === SLOT.DROPPED ? "" : text);
    const speaker = this.player.speaker;
    setAttribute(node, "aria-label", `${speaker.text("slot", { s })} ${text}`);
    const open = frame.slot[s] === SLOT.CANDIDATE || frame.slot[s] === SLOT.CHOSEN;
    bar.style.setProperty("--confidence", open ? frame.confidence[s] : 0);
  }

  /** When the slot was committed, from 0 (first iteration) to 1 (last so far); -1 where it is not. */
  orderOf(s, frame) {
    const record = this.commitOf(s, frame);
    return record ? record.number / Math.max(1, this.player.trace.iterations.length - 1) : -1;
  }

  commitOf(s, frame) {
    const first = frame.commitEvent[s * this.size];
    return first >= 0 ? this.player.trace.recordAt(first) : null;
  }

  tagText(s, frame) {
    const { speaker } = this.player;
    const committed = this.colouring === "order" && frame.slot[s] >= SLOT.FRESH && this.commitOf(s, frame);
    if (committed) return speaker.text("tag.iteration", { i: committed.number + 1 });
    const p = formatProbability(frame.confidence[s]);
    const run = { run: frame.run[s], size: this.size };
    const slowest = frame.straggler === s && this.size > 4;
    switch (frame.slot[s]) {
      case SLOT.CANDIDATE: return p;
      case SLOT.CHOSEN: return speaker.text(frame.bestOfNone[s] ? "tag.best" : "tag.chosen", { p });
      case SLOT.PASSED: return speaker.text("tag.passed");
      case SLOT.INFILL:
        if (isComplete(frame, s, this.size)) return speaker.text("tag.complete");
        return speaker.text(slowest ? "tag.slowest" : "tag.infill", run) + this.testText(s, frame);
      case SLOT.RETURNED: return speaker.text("tag.returned") + this.testText(s, frame);
      case SLOT.FRESH: return speaker.text("tag.fresh");
      case SLOT.DROPPED: return speaker.text("tag.dropped");
      case SLOT.OPEN: return speaker.text("tag.open");
      case SLOT.PARTIAL: return speaker.text("tag.partial", { run: this.committedIn(s, frame), size: this.size });
      default: return "";
    }
  }

  /** The number that broke the slot's draft, against its threshold. */
  testText(s, frame) {
    const from = s * this.size;
    const k = frame.status.subarray(from, from + this.size).indexOf(CELL.REJECTED);
    return k < 0 ? "" : ` · ${formatTest(frame.probability[from + k], this.player.trace.tokenThreshold)}`;
  }

  committedIn(s, frame) {
    const cells = frame.status.subarray(s * this.size, (s + 1) * this.size);
    return cells.reduce((sum, status) => sum + (status === CELL.COMMITTED ? 1 : 0), 0);
  }

  /** The answer's room is kept from the start: what a trace will say is known, a live run gets a few lines. */
  paintAnswer() {
    const { trace, cursor, speaker } = this.player;
    const { finished } = trace;
    const atEnd = finished && cursor === trace.length - 1;
    const text = typeof finished?.text === "string" ? finished.text : null;
    const lines = Math.min(Math.max(text === null ? 3 : text.split("\n").length, 2), 6);
    if (this.answerLines !== lines && !(this.answerLines > lines && this.player.state === "live")) {
      this.answerLines = lines;
      this.answer.style.setProperty("--answer-lines", lines);
    }
    this.answer.classList.toggle("is-note", !atEnd || !text);
    const broken = !finished && this.player.state !== "live" && cursor === trace.length - 1;
    if (broken) setText(this.answer, speaker.text("answer.broken"));
    else if (!atEnd) setText(this.answer, speaker.text("answer.pending"));
    else if (this.isEmptyAnswer()) setText(this.answer, speaker.text("answer.empty"));
    else setText(this.answer, text === null ? speaker.text("answer.none") : text);
  }

  isEmptyAnswer() {
    const { frame, trace } = this.player;
    return frame.status[0] === CELL.COMMITTED && frame.token[0] === trace.run.model.eos_id;
  }

  /** In a long response, keeps the chosen slots in sight while the player moves by itself or a class looks on. */
  reveal(frame) {
    const { playing, presenter } = this.player;
    if (!(presenter.on || playing && this.scroller.classList.contains("is-scrolling"))) return;
    const s = frame.slot.findIndex((status) => status >= SLOT.CHOSEN && status <= SLOT.FRESH);
    if (s < 0 || s === this.revealed) return;
    this.revealed = s;
    const { offsetTop: top, offsetHeight: height } = this.slots[s].node;
    const { scrollTop, clientHeight } = this.scroller;
    if (top < scrollTop || top + height > scrollTop + clientHeight) {
      this.scroller.scrollTop = top - clientHeight / 3;
    }
  }

  /** Roving focus: one token is in the tab order; arrow up and down move it. */
  focusCell(offset) {
    const cell = this.cells[offset];
    if (!cell) return;
    this.cells[this.currentOffset].tabIndex = -1;
    this.currentOffset = offset;
    cell.tabIndex = 0;
    cell.focus({ preventScroll: false });
  }

  hover(slot, before) {
    this.slots[before]?.node.classList.remove("is-hovered");
    this.slots[slot]?.node.classList.add("is-hovered");
  }

  forget() {
    this.shown.status.fill(255);
    this.shown.slot.fill(255);
    for (const node of this.grid.querySelectorAll(".rfp-block")) {
      setText(node, this.player.speaker.text("block", { b: Number(node.dataset.block) + 1 }));
    }
    this.showPrompt();
  }
}

function isRefused(status) {
  return status === CELL.REJECTED || status === CELL.BEHIND;
}

function withNeighbours(list, count) {
  const all = new Set(list.flatMap((s) => [s - 1, s, s + 1]));
  return [...all].filter((s) => s >= 0 && s < count);
}

/** Shown texts of the positions from–to; byte tokens are joined with their neighbours, across slots too. */
function cellTexts(trace, frame, from, to) {
  const texts = [];
  for (let i = from; i < to; i++) texts.push({ text: plainCellText(trace, frame, i), joined: 0 });
  if (!trace.byteTokens) return texts;
  const bytesAt = (i) => (frame.token[i] >= 0 ? trace.vocabulary.get(frame.token[i])?.bytes : null) ?? null;
  let start = from;
  while (start > 0 && bytesAt(start) && bytesAt(start - 1)) start--;
  while (start < to) {
    const pieces = [];
    while (start + pieces.length < frame.token.length && bytesAt(start + pieces.length)) {
      pieces.push(bytesAt(start + pieces.length));
    }
    joinBytes(pieces).forEach((text, n) => {
      const i = start + n - from;
      if (i >= 0 && i < texts.length) texts[i] = { text: text || "‿", joined: text ? 0 : 1 };
    });
    start += pieces.length + 1;
  }
  return texts;
}

function plainCellText(trace, frame, i) {
  if (frame.status[i] === CELL.DROPPED) return "–";
  return frame.token[i] < 0 ? MASK_DOT : trace.cellText(frame.token[i]);
}
