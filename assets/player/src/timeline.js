import { Surface, el, labelStep, phaseColour, readable, setText, stripes } from "./drawing.js";
import { formatProbability } from "./format.js";
import { choice, legend, panel, scrollBox } from "./speaker.js";

const TIMELINE = { maxHeight: 300, scrollHeight: 420, axis: 18, strip: 12, minColumn: 3, maxColumn: 240 };

/**
 * Slots × iterations (or forwards) on a canvas. The cursor and what lies ahead are overlays moved by transform; of
 * the column at the cursor only what is known there is drawn. A strip below the slots holds how much dependency each
 * iteration passed over: that of the slots it chose together.
 */
export class TimelineView {
  constructor(player) {
    this.player = player;
    const { section, aside } = panel(player.speaker, "timeline", "timeline");
    this.section = section;
    this.zoom = "iterations";
    aside.append(choice(player.speaker, "timeline.zoom", ["iterations", "forwards"], (zoom) => this.setZoom(zoom)));
    this.surface = new Surface("rfp-canvas");
    this.surface.canvas.setAttribute("role", "img");
    player.speaker.bind(this.surface.canvas, "timeline", "aria-label");
    this.ahead = el("div", "rfp-ahead");
    this.cursor = el("div", "rfp-cursor");
    this.row = el("div", "rfp-row-mark");
    this.box = el("div", "rfp-canvas-box", this.surface.canvas, this.ahead, this.row, this.cursor);
    this.scroller = scrollBox(player.speaker, el("div", "rfp-canvas-scroller", this.box), "timeline");
    this.readout = el("p", "rfp-readout");
    this.legend = legend(player.speaker, "", [
      ["masked-slot", "legend.masked"],
      ["confidence", "legend.confidence"], ["returned", "legend.returned"],
      ["committed", "legend.committed"], ["accepted", "legend.accepted"], ["rounds", "legend.rounds"], ["dropped", "legend.dropped"],
      ["violated", "legend.violated"],
    ]);
    section.append(this.scroller, el("div", "rfp-foot", this.legend, this.readout));
    this.listen();
  }

  listen() {
    const { canvas } = this.surface;
    canvas.addEventListener("pointermove", (event) => this.point(event));
    canvas.addEventListener("pointerleave", () => {
      this.say("");
      this.player.hover(-1);
    });
    canvas.addEventListener("click", (event) => {
      const column = this.columns()[this.hit(event).column];
      if (column) this.player.seek(column.shown);
    });
  }

  setZoom(zoom) {
    this.zoom = zoom;
    this.section.classList.toggle("is-forwards", zoom === "forwards");
    this.columnsOf = null;
    this.drawn = "";
    this.player.changed();
  }

  /**
   * What the columns stand for: `shown` is the event that a click goes to, `last` the last event of the column.
   * @returns {{record: object, place: number, number: number, shown: number, last: number, forward?: object}[]}
   */
  columns() {
    const { trace } = this.player;
    if (this.columnsOf === trace && this.columnEvents === trace.length) return this.list;
    [this.columnsOf, this.columnEvents] = [trace, trace.length];
    if (this.zoom === "iterations") {
      this.list = trace.iterations.map((record, place) => ({
        record, place, number: record.number + 1, shown: record.plan >= 0 ? record.plan : record.first, last: record.last,
      }));
    } else {
      this.list = trace.forwards.map((forward, n) => {
        const place = trace.iterationAt[forward.at];
        const next = trace.forwards[n + 1]?.at ?? trace.length;
        return { record: trace.iterations[place], place, number: n + 1, shown: forward.at, last: next - 1, forward };
      });
    }
    return this.list;
  }

  /** The column that the cursor is in, -1 before the first. */
  columnAt(cursor) {
    const { trace } = this.player;
    return this.zoom === "iterations" ? trace.iterationAt[cursor] ?? -1 : (trace.sums.forwards[cursor] ?? 0) - 1;
  }

  hit(event) {
    const { left, top } = this.surface.canvas.getBoundingClientRect();
    return {
      column: Math.floor((event.clientX - left - this.labelWidth) / this.columnWidth),
      slot: Math.floor((event.clientY - top) / this.rowHeight),
    };
  }

  point(event) {
    const { column, slot } = this.hit(event);
    const { trace, speaker } = this.player;
    const below = event.offsetY ?? 0;
    const strip = this.strip && below >= this.slotsHeight && below < this.slotsHeight + this.strip;
    if (strip && this.columns()[column]) {
      this.player.hover(-1);
      this.sayViolated(this.columns()[column].record);
      return;
    }
    const at = column >= 0 && slot >= 0 && slot < trace.run.slot_count ? this.columns()[column] : null;
    this.player.hover(at ? slot : -1);
    const phase = at?.forward ? ` · ${speaker.text(`forward.${at.forward.phase}`)}` : "";
    this.say(at ? speaker.text(at.forward ? "timeline.cell.forward" : "timeline.cell", {
      s: slot, i: at.record.number + 1, f: at.number, what: this.describe(at.place, slot) + phase,
    }) : "");
  }

  sayViolated(record) {
    const { trace, speaker } = this.player;
    const found = violatedOf(trace, record);
    const values = { i: record.number + 1, p: found?.toFixed(3) };
    this.say(speaker.text(found === null ? "timeline.violated.none" : "timeline.violated", values));
  }

  describe(place, slot) {
    const { trace, speaker } = this.player;
    const cell = timelineCell(trace, place, slot);
    const words = [speaker.text(`cell.${cell.kind}`, { p: formatProbability(cell.confidence) })];
    if (cell.chosen) words.push(speaker.text("cell.chosen"));
    if (cell.rounds) words.push(speaker.text("cell.rounds", { n: cell.rounds }));
    if (cell.committed) words.push(speaker.text("cell.committed"));
    else if (cell.chosen && trace.iterations[place].commit >= 0) words.push(speaker.text("cell.returned"));
    return speaker.join(words).replace(speaker.text("and"), speaker.text("comma"));
  }

  say(text) {
    setText(this.readout, text || this.player.speaker.text("timeline.hint"));
  }

  build() {
    const { run } = this.player.trace;
    this.rowHeight = Math.max(1, Math.min(18, Math.floor(TIMELINE.maxHeight / run.slot_count)));
    this.slotsHeight = this.rowHeight * run.slot_count;
    const { state, trace } = this.player;
    this.strip = state === "live" || topViolated(trace) > 0 ? TIMELINE.strip : 0;
    this.section.classList.toggle("has-violated", this.strip > 0);
    this.height = this.slotsHeight + this.strip + TIMELINE.axis;
    this.scroller.style.height = `${Math.min(this.height, TIMELINE.scrollHeight) + 2}px`;
    this.labelWidth = 52;
    this.drawn = "";
    this.columnsOf = null;
    this.drawnColumns = 0;
    this.say("");
  }

  /** A live run leaves room to grow, doubling, so that full redraws stay rare. */
  capacity() {
    const count = this.columns().length;
    if (this.player.trace.finished || this.player.state !== "live") return Math.max(count, 1);
    return Math.max(8, 2 ** Math.ceil(Math.log2(count + 1)));
  }

  paint() {
    const { trace, palette } = this.player;
    const capacity = this.capacity();
    const available = this.player.widthOf(this.scroller) - this.labelWidth - 2;
    if (available <= 0) return;
    const exact = available / capacity;
    this.columnWidth = Math.max(TIMELINE.minColumn, Math.min(TIMELINE.maxColumn, exact));
    if (trace.length !== this.drawnEvents || !this.drawn) this.top = topViolated(trace);
    const layout = [capacity, available, palette.version, this.player.speaker.language, this.top].join();
    if (layout !== this.drawn) this.drawAll(capacity, layout);
    else if (trace.length !== this.drawnEvents) this.drawColumns(Math.max(0, this.drawnColumns - 1));
    this.drawnColumns = this.columns().length;
    this.drawnEvents = trace.length;
    this.drawCurrent();
    this.place();
  }

  /** The column of the cursor as far as it is known there, and the one it comes from as it is in the end. */
  drawCurrent() {
    const { cursor } = this.player;
    const column = this.columnAt(cursor);
    if (this.currentColumn !== column && this.columns()[this.currentColumn]) this.drawColumn(this.currentColumn);
    this.currentColumn = column;
    if (column >= 0) this.drawColumn(column, cursor);
  }

  drawAll(capacity, layout) {
    this.drawn = layout;
    const width = this.labelWidth + this.columnWidth * capacity;
    const context = this.surface.begin(width, this.height, `11px ${this.player.palette.font}`);
    this.box.style.width = `${width}px`;
    this.stripes = stripes(context, this.player.palette.panel);
    this.drawLabels(context);
    this.drawColumns(0);
  }

  drawLabels(context) {
    const { palette, trace, speaker } = this.player;
    const { run } = trace;
    context.fillStyle = palette.ink2;
    context.textAlign = "left";
    const step = labelStep(this.rowHeight, 12);
    for (let s = 0; s < run.slot_count; s += step) {
      const y = Math.max(7, (s + 0.5) * this.rowHeight);
      context.fillText(speaker.text("slot", { s }), 0, y, this.labelWidth - 8);
    }
  }

  drawColumns(from) {
    for (let c = from; c < this.columns().length; c++) this.drawColumn(c);
    this.currentColumn = -1;
  }

  /** @param {number} c @param {number} [upTo] the last event that is known */
  drawColumn(c, upTo = Infinity) {
    const { context } = this.surface;
    const { palette } = this.player;
    const column = this.columns()[c];
    const gap = this.columnWidth > 8 ? 2 : this.columnWidth > 4 ? 1 : 0;
    const x = this.labelWidth + c * this.columnWidth;
    const width = this.columnWidth - gap;
    context.clearRect(x, 0, this.columnWidth, this.height);
    this.drawBlockBorder(context, c, x);
    this.drawDone(context, column.place, x);
    if (column.forward) this.drawForward(context, column, x, width, upTo);
    else this.drawIteration(context, column.record, x, width, upTo);
    if (column.record.dependency <= upTo) this.drawViolated(context, column.record, x, width);
    const step = labelStep(this.columnWidth, 26);
    if ((column.number - 1) % step && step > 1) return;
    context.fillStyle = palette.ink2;
    context.textAlign = "center";
    context.fillText(String(column.number), x + width / 2, this.height - 7);
  }

  drawViolated(context, record, x, width) {
    const found = violatedOf(this.player.trace, record);
    if (!this.strip || !found) return;
    const height = Math.max(1, (this.strip - 3) * (found / this.top));
    context.fillStyle = this.player.palette.rejected;
    context.fillRect(x, this.slotsHeight + this.strip - height, width, height);
  }

  drawIteration(context, record, x, width, upTo) {
    const { trace } = this.player;
    const known = (at) => at >= 0 && at <= upTo;
    const planned = known(record.plan) ? trace.events[record.plan].slots : [];
    const over = known(record.commit);
    for (const slot of planned) this.drawPlanned(context, slot, x, width, over);
    if (over) this.drawCommitted(context, trace.events[record.commit], record, x, width);
  }

  /** What one forward did: the slots that it was fed, and what came of them before the next one. */
  drawForward(context, { record, forward, last }, x, width, upTo) {
    const { trace, palette } = this.player;
    const from = forward.at;
    const known = (at) => at >= from && at <= Math.min(last, upTo);
    const inset = this.rowHeight > 6 ? 1.5 : 0;
    const height = this.rowHeight - 2 * inset;
    const bar = (slot, colour, alpha, share = 1) => {
      context.globalAlpha = alpha;
      context.fillStyle = colour;
      context.fillRect(x, slot * this.rowHeight + inset, width * share, height);
      context.globalAlpha = 1;
    };
    for (const { slot } of trace.events[from].segments) {
      if (slot !== undefined) bar(slot, phaseColour(palette, forward.phase), 0.14);
    }
    if (known(record.plan)) {
      for (const slot of trace.events[record.plan].slots) this.drawPlanned(context, slot, x, width, false);
    }
    if (known(record.verify)) {
      for (const entry of trace.events[record.verify].slots) {
        bar(entry.slot, palette.verified, 0.55, entry.accepted_run / trace.slotSize);
        if (entry.accepted_run < entry.tokens.length) this.drawReturned(context, x, entry.slot * this.rowHeight, width);
      }
    }
    for (const at of record.rounds.filter(known)) {
      for (const entry of trace.events[at].slots) {
        bar(entry.slot, palette.verified, 0.55, entry.run_after / trace.slotSize);
        bar(entry.slot, this.stripes, 0.45, entry.run_after / trace.slotSize);
      }
    }
    if (!known(record.commit)) return;
    for (const { slot } of trace.events[record.commit].slots) bar(slot, palette.verified, 1);
  }

  /** Where a serial block begins: a line between its first iteration and the one before. */
  drawBlockBorder(context, c, x) {
    const { run } = this.player.trace;
    const columns = this.columns();
    if (c && columns[c].record.block !== columns[c - 1].record.block) {
      context.fillStyle = this.player.palette.ink3;
      context.fillRect(x - 1, 0, 1, this.slotsHeight);
    }
    const blocks = run.settings.serial_blocks;
    const perBlock = run.slot_count / blocks;
    if (blocks < 2 || perBlock * this.rowHeight < 8) return;
    context.fillStyle = this.player.palette.line;
    for (let b = 1; b < blocks; b++) context.fillRect(x, b * perBlock * this.rowHeight - 0.5, this.columnWidth, 1);
  }

  /**
   * Slots that are over: a thin green line for committed ones, a dotted grey one for dropped ones. Those still masked
   * lie on a grey ground, neighbours on one.
   */
  drawDone(context, place, x) {
    const { trace, palette } = this.player;
    const { slotCommit, slotDrop } = trace;
    const inset = this.rowHeight > 6 ? 1.5 : 0;
    const over = (s) => (slotCommit[s] >= 0 && slotCommit[s] < place) || (slotDrop[s] >= 0 && slotDrop[s] < place);
    context.fillStyle = palette.hatch;
    for (let s = 0; s < slotCommit.length; s++) {
      let end = s;
      while (end < slotCommit.length && !over(end)) end += 1;
      if (end === s) continue;
      for (let row = s; row < (inset ? end : s + 1); row++) {
        const height = inset ? this.rowHeight - 2 * inset : (end - s) * this.rowHeight;
        context.fillRect(x, row * this.rowHeight + inset, this.columnWidth - (this.columnWidth > 8 ? 2 : 0), height);
      }
      s = end;
    }
    for (let s = 0; s < slotCommit.length; s++) {
      const y = (s + 0.5) * this.rowHeight;
      const thickness = this.rowHeight > 6 ? 1.5 : Math.max(0.5, this.rowHeight / 3);
      if (slotCommit[s] >= 0 && slotCommit[s] < place) {
        context.fillStyle = palette.verified;
        context.fillRect(x, y - thickness / 2, this.columnWidth, thickness);
      } else if (slotDrop[s] >= 0 && slotDrop[s] < place) {
        context.fillStyle = palette.ink3;
        for (let dot = x + 1; dot < x + this.columnWidth - 1; dot += 8) context.fillRect(dot, y - 0.5, 2, 1);
      }
    }
  }

  drawPlanned(context, slot, x, width, over) {
    const { palette } = this.player;
    const y = slot.slot * this.rowHeight;
    const inset = this.rowHeight > 6 ? 1.5 : 0;
    const height = this.rowHeight - 2 * inset;
    context.globalAlpha = 0.08 + 0.62 * slot.confidence;
    context.fillStyle = palette.plan;
    context.fillRect(x, y + inset, width, height);
    context.globalAlpha = 1;
    if (!slot.chosen) return;
    context.strokeStyle = context.fillStyle = palette.chosen;
    if (this.rowHeight > 6 && width > 6) {
      context.lineWidth = 2;
      context.strokeRect(x + 1, y + inset + 1, width - 2, height - 2);
    } else {
      context.fillRect(x, y, Math.min(2, width), this.rowHeight);
    }
    if (over) this.drawReturned(context, x, y, width);
  }

  /** A vermilion cross in chosen cells that nothing came of; committed ones are painted over. */
  drawReturned(context, x, y, width) {
    if (this.rowHeight < 9 || width < 14) return;
    const [cx, cy, r] = [x + width - 9, y + this.rowHeight / 2, 3];
    context.strokeStyle = this.player.palette.rejected;
    context.lineWidth = 1.75;
    context.beginPath();
    context.moveTo(cx - r, cy - r);
    context.lineTo(cx + r, cy + r);
    context.moveTo(cx + r, cy - r);
    context.lineTo(cx - r, cy + r);
    context.stroke();
  }

  drawCommitted(context, commit, record, x, width) {
    const { palette, trace } = this.player;
    const inset = this.rowHeight > 6 ? 1.5 : 0;
    for (const { slot } of commit.slots) {
      const y = slot * this.rowHeight + inset;
      const height = this.rowHeight - 2 * inset;
      context.fillStyle = palette.panel;
      context.fillRect(x, y, width, height);
      context.fillStyle = palette.verified;
      context.fillRect(x, y, width, height);
      const rounds = roundsOf(trace, record, slot);
      if (!rounds) continue;
      context.globalAlpha = 0.35;
      context.fillStyle = this.stripes;
      context.fillRect(x, y, width, height);
      context.globalAlpha = 1;
      if (this.rowHeight < 11 || width < 18) continue;
      context.fillStyle = palette.verified;
      context.fillRect(x + width / 2 - 11, y, 22, height);
      context.fillStyle = readable(palette, palette.verified);
      context.textAlign = "center";
      context.fillText(`${rounds}r`, x + width / 2, y + height / 2 + 0.5);
    }
  }

  place() {
    const column = this.columnAt(this.player.cursor);
    const x = this.labelWidth + Math.max(column, 0) * this.columnWidth;
    this.cursor.hidden = column < 0;
    this.cursor.style.width = `${this.columnWidth}px`;
    this.cursor.style.height = `${this.slotsHeight}px`;
    this.cursor.style.transform = `translateX(${x}px)`;
    this.ahead.style.transform = `translateX(${column < 0 ? x : x + this.columnWidth}px)`;
    if (this.player.playing) this.keepInSight(x);
  }

  keepInSight(x) {
    const clientWidth = this.player.widthOf(this.scroller);
    if (this.surface.width <= clientWidth) return;
    const { scrollLeft } = this.scroller;
    const hidden = x < scrollLeft || x + this.columnWidth > scrollLeft + clientWidth;
    if (hidden) this.scroller.scrollLeft = x - clientWidth / 2;
  }

  forget() {
    this.say("");
  }

  hover(slot) {
    this.row.hidden = slot < 0;
    this.row.style.height = `${Math.max(this.rowHeight, 2)}px`;
    this.row.style.transform = `translateY(${slot * this.rowHeight}px)`;
  }
}

/** How much the slots chosen together depend on each other in an iteration, null where that was not measured. */
function violatedOf(trace, record) {
  return record.dependency < 0 ? null : trace.events[record.dependency].violated ?? null;
}

function topViolated(trace) {
  return trace.iterations.reduce((top, record) => Math.max(top, violatedOf(trace, record) ?? 0), 0);
}

function roundsOf(trace, record, slot) {
  return record.rounds.filter((at) => trace.events[at].slots.some((entry) => entry.slot === slot)).length;
}

/** What one cell of the timeline says. */
function timelineCell(trace, place, slot) {
  const record = trace.iterations[place];
  const planned = record.plan >= 0 ? trace.events[record.plan].slots.find((entry) => entry.slot === slot) : null;
  const committed = record.commit >= 0 && trace.events[record.commit].slots.some((entry) => entry.slot === slot);
  if (!planned) {
    const done = trace.slotCommit[slot] >= 0 && trace.slotCommit[slot] < place;
    const dropped = trace.slotDrop[slot] >= 0 && trace.slotDrop[slot] < place;
    return { kind: committed ? "committed" : done ? "done" : dropped ? "dropped" : "later", confidence: NaN };
  }
  return {
    kind: "confidence", confidence: planned.confidence, chosen: planned.chosen, committed,
    rounds: roundsOf(trace, record, slot),
  };
}
