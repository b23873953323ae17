import { Surface, el, labelStep, readable, setText, stripes } from "./drawing.js";
import { formatProbability } from "./format.js";
import { legend, panel } from "./speaker.js";

const TIMELINE = { maxHeight: 300, scrollHeight: 420, axis: 18, minColumn: 3, maxColumn: 240 };

/** Slots × iterations on a canvas; the cursor and what lies ahead are overlays moved by transform. */
export class TimelineView {
  constructor(player) {
    this.player = player;
    const { section, aside } = panel(player.speaker, "timeline", "timeline");
    this.section = section;
    this.aside = aside;
    this.surface = new Surface("rfp-canvas");
    this.surface.canvas.setAttribute("role", "img");
    player.speaker.bind(this.surface.canvas, "timeline", "aria-label");
    this.ahead = el("div", "rfp-ahead");
    this.cursor = el("div", "rfp-cursor");
    this.row = el("div", "rfp-row-mark");
    this.box = el("div", "rfp-canvas-box", this.surface.canvas, this.ahead, this.row, this.cursor);
    this.scroller = el("div", "rfp-canvas-scroller", this.box);
    this.readout = el("p", "rfp-readout");
    this.legend = legend(player.speaker, "", [
      ["confidence", "legend.confidence"], ["returned", "legend.returned"],
      ["committed", "legend.committed"], ["rounds", "legend.rounds"], ["dropped", "legend.dropped"],
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
      const record = this.player.trace.iterations[this.hit(event).column];
      if (record) this.player.seek(record.plan >= 0 ? record.plan : record.first);
    });
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
    const inside = column >= 0 && trace.iterations[column] && slot >= 0 && slot < trace.run.slot_count;
    this.player.hover(inside ? slot : -1);
    this.say(inside ? speaker.text("timeline.cell", {
      s: slot, i: trace.iterations[column].number + 1, what: this.describe(column, slot),
    }) : "");
  }

  describe(column, slot) {
    const { trace, speaker } = this.player;
    const cell = timelineCell(trace, column, slot);
    const words = [speaker.text(`cell.${cell.kind}`, { p: formatProbability(cell.confidence) })];
    if (cell.chosen) words.push(speaker.text("cell.chosen"));
    if (cell.rounds) words.push(speaker.text("cell.rounds", { n: cell.rounds }));
    if (cell.committed) words.push(speaker.text("cell.committed"));
    else if (cell.chosen && trace.iterations[column].commit >= 0) words.push(speaker.text("cell.returned"));
    return speaker.join(words).replace(speaker.text("and"), speaker.text("comma"));
  }

  say(text) {
    setText(this.readout, text || this.player.speaker.text("timeline.hint"));
  }

  build() {
    const { run } = this.player.trace;
    this.rowHeight = Math.max(1, Math.min(18, Math.floor(TIMELINE.maxHeight / run.slot_count)));
    this.height = this.rowHeight * run.slot_count + TIMELINE.axis;
    this.scroller.style.height = `${Math.min(this.height, TIMELINE.scrollHeight) + 2}px`;
    this.labelWidth = 52;
    this.drawn = "";
    this.drawnColumns = 0;
    this.say("");
  }

  /** A live run leaves room to grow, doubling, so that full redraws stay rare. */
  capacity() {
    const count = this.player.trace.iterations.length;
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
    const layout = [capacity, available, palette.version, this.player.speaker.language].join();
    if (layout !== this.drawn) this.drawAll(capacity, layout);
    else if (trace.length !== this.drawnEvents) this.drawColumns(Math.max(0, this.drawnColumns - 1));
    this.drawnColumns = trace.iterations.length;
    this.drawnEvents = trace.length;
    this.place();
  }

  drawAll(capacity, layout) {
    this.drawn = layout;
    const width = this.labelWidth + this.columnWidth * capacity;
    const context = this.surface.begin(width, this.height);
    this.box.style.width = `${width}px`;
    this.stripes = stripes(context, this.player.palette.panel);
    this.drawLabels(context);
    this.drawColumns(0);
  }

  drawLabels(context) {
    const { palette, trace, speaker } = this.player;
    const { run } = trace;
    context.font = `11px ${palette.font}`;
    context.fillStyle = palette.ink2;
    context.textBaseline = "middle";
    context.textAlign = "left";
    const step = labelStep(this.rowHeight, 12);
    for (let s = 0; s < run.slot_count; s += step) {
      const y = Math.max(7, (s + 0.5) * this.rowHeight);
      context.fillText(speaker.text("slot", { s }), 0, y, this.labelWidth - 8);
    }
  }

  drawColumns(from) {
    const context = this.surface.context;
    const { trace } = this.player;
    for (let c = from; c < trace.iterations.length; c++) this.drawColumn(context, c);
  }

  drawColumn(context, c) {
    const { trace, palette } = this.player;
    const gap = this.columnWidth > 8 ? 2 : this.columnWidth > 4 ? 1 : 0;
    const x = this.labelWidth + c * this.columnWidth;
    const width = this.columnWidth - gap;
    context.clearRect(x, 0, this.columnWidth, this.height);
    this.drawBlockBorder(context, c, x);
    this.drawDone(context, c, x);
    const record = trace.iterations[c];
    const planned = record.plan >= 0 ? trace.events[record.plan].slots : [];
    for (const slot of planned) this.drawPlanned(context, c, slot, x, width);
    if (record.commit >= 0) this.drawCommitted(context, trace.events[record.commit], record, x, width);
    const step = labelStep(this.columnWidth, 26);
    if (record.number % step && step > 1) return;
    context.fillStyle = palette.ink2;
    context.textAlign = "center";
    context.fillText(String(record.number + 1), x + width / 2, this.height - 7);
  }

  /** Where a serial block begins: a line between its first iteration and the one before. */
  drawBlockBorder(context, c, x) {
    const { iterations, run } = this.player.trace;
    if (c && iterations[c].block !== iterations[c - 1].block) {
      context.fillStyle = this.player.palette.ink3;
      context.fillRect(x - 1, 0, 1, this.height - TIMELINE.axis);
    }
    const blocks = run.settings.serial_blocks;
    const perBlock = run.slot_count / blocks;
    if (blocks < 2 || perBlock * this.rowHeight < 8) return;
    context.fillStyle = this.player.palette.line;
    for (let b = 1; b < blocks; b++) context.fillRect(x, b * perBlock * this.rowHeight - 0.5, this.columnWidth, 1);
  }

  /** Slots that are over: a thin green line for committed ones, a dotted grey one for dropped ones. */
  drawDone(context, c, x) {
    const { trace, palette } = this.player;
    const { slotCommit, slotDrop } = trace;
    for (let s = 0; s < slotCommit.length; s++) {
      const y = (s + 0.5) * this.rowHeight;
      const thickness = this.rowHeight > 6 ? 1.5 : Math.max(0.5, this.rowHeight / 3);
      if (slotCommit[s] >= 0 && slotCommit[s] < c) {
        context.fillStyle = palette.verified;
        context.fillRect(x, y - thickness / 2, this.columnWidth, thickness);
      } else if (slotDrop[s] >= 0 && slotDrop[s] < c) {
        context.fillStyle = palette.ink3;
        for (let dot = x + 1; dot < x + this.columnWidth - 1; dot += 8) context.fillRect(dot, y - 0.5, 2, 1);
      }
    }
  }

  drawPlanned(context, c, slot, x, width) {
    const { palette, trace } = this.player;
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
    if (trace.iterations[c].commit >= 0) this.drawReturned(context, x, y, width);
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
    const { trace, cursor } = this.player;
    const column = trace.iterationAt[cursor] ?? -1;
    const x = this.labelWidth + Math.max(column, 0) * this.columnWidth;
    this.cursor.hidden = column < 0;
    this.cursor.style.width = `${this.columnWidth}px`;
    this.cursor.style.height = `${this.height - TIMELINE.axis}px`;
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

function roundsOf(trace, record, slot) {
  return record.rounds.filter((at) => trace.events[at].slots.some((entry) => entry.slot === slot)).length;
}

/** What one cell of the timeline says. */
function timelineCell(trace, column, slot) {
  const record = trace.iterations[column];
  const planned = record.plan >= 0 ? trace.events[record.plan].slots.find((entry) => entry.slot === slot) : null;
  const committed = record.commit >= 0 && trace.events[record.commit].slots.some((entry) => entry.slot === slot);
  if (!planned) {
    const done = trace.slotCommit[slot] >= 0 && trace.slotCommit[slot] < column;
    const dropped = trace.slotDrop[slot] >= 0 && trace.slotDrop[slot] < column;
    return { kind: committed ? "committed" : done ? "done" : dropped ? "dropped" : "later", confidence: NaN };
  }
  return {
    kind: "confidence", confidence: planned.confidence, chosen: planned.chosen, committed,
    rounds: roundsOf(trace, record, slot),
  };
}
