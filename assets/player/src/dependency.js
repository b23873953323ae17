import { Surface, channels, chunkMax, el, labelStep, readable, setText } from "./drawing.js";
import { formatProbability } from "./format.js";
import { panel, scrollBox } from "./speaker.js";

const HEAT = { label: 46, head: 20, maxHeight: 250, maxColumn: 46, maxRow: 30, cells: 3000 };

const CAPTIONS = { revealed: "dependency.revealed", joint: "dependency.joint" };

/**
 * How slots depend on others: attention mass in the plan forward, on committed slots and the prompt too; what revealing
 * the others' drafts changes; or what the chosen ones tell of one another. The column before the matrix, the lead, is
 * the prompt, or all others together.
 */
export class DependencyView {
  constructor(player) {
    this.player = player;
    const { section } = panel(player.speaker, "dependency", "dependency");
    this.section = section;
    this.surface = new Surface("rfp-canvas");
    this.surface.canvas.setAttribute("role", "img");
    player.speaker.bind(this.surface.canvas, "dependency", "aria-label");
    this.row = el("div", "rfp-row-mark");
    this.box = el("div", "rfp-canvas-box", this.surface.canvas, this.row);
    this.empty = player.speaker.bind(el("p", "rfp-empty"), "dependency.none");
    const box = el("div", "rfp-canvas-scroller", this.box, this.empty);
    this.scroller = scrollBox(player.speaker, box, "dependency");
    this.caption = el("p", "rfp-caption");
    this.head = "mean"; // or "LAYER", or "LAYER HEAD"
    this.heads = el("select", "rfp-heads");
    player.speaker.bind(this.heads, "dependency.head_of", "aria-label");
    this.heads.addEventListener("change", () => {
      this.head = this.heads.value;
      this.drawn = "";
      player.changed();
    });
    this.readout = el("p", "rfp-readout");
    section.append(this.heads, this.caption, this.scroller, this.readout);
    this.surface.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.surface.canvas.addEventListener("pointerleave", () => {
      setText(this.readout, "");
      player.hover(-1);
    });
  }

  build() {
    const { run } = this.player.trace;
    const rows = Math.ceil(run.slot_count / Math.max(1, run.settings.serial_blocks));
    this.rowHeight = Math.max(1, Math.min(HEAT.maxRow, (HEAT.maxHeight - HEAT.head) / rows));
    const height = Math.ceil(rows * this.rowHeight) + HEAT.head;
    this.scroller.style.height = `${Math.min(height, HEAT.maxHeight + 60) + 4}px`;
    // A trace without any dependency needs no room for it.
    const { trace, state } = this.player;
    const none = state !== "live" && trace.iterations.every((record) => record.dependency < 0);
    this.section.classList.toggle("is-none", none);
    this.drawn = "";
  }

  paint() {
    const { trace, cursor, palette, speaker } = this.player;
    const record = trace.plannedAt(cursor);
    const event = record && record.dependency >= 0 ? trace.events[record.dependency] : null;
    const width = this.player.widthOf(this.scroller);
    const layout = [record?.number, Boolean(event), width, palette.version, speaker.language].join();
    if (layout === this.drawn || width <= 0) return;
    this.drawn = layout;
    this.offerHeads(event?.heads);
    this.event = event && this.spread(this.ofHead(event), record);
    this.box.hidden = !event;
    this.empty.hidden = Boolean(event);
    if (event) this.draw(this.event, record, width);
    else setText(this.caption, "");
    setText(this.readout, "");
    this.hover(this.player.hoveredSlot);
  }

  /** All layers and heads, one layer, one head: where the recording has them. */
  offerHeads(heads) {
    const { speaker } = this.player;
    this.heads.hidden = !heads;
    const key = [heads?.length, heads?.[0].length, speaker.language].join();
    if (!heads || key === this.offered) return;
    this.offered = key;
    const each = heads.flatMap((layer, l) => [
      new Option(speaker.text("dependency.layer", { l: l + 1 }), String(l)),
      ...layer.map((_, h) => new Option(speaker.text("dependency.layer_head", { l: l + 1, h: h + 1 }), `${l} ${h}`)),
    ]);
    this.heads.replaceChildren(new Option(speaker.text("dependency.mean"), "mean"), ...each);
    this.heads.value = this.head;
    if (!this.heads.value) this.heads.value = this.head = "mean";
  }

  /** The event with the matrix of the layer or head that was chosen; the prompt is known of the mean alone. */
  ofHead(event) {
    if (!event.heads || this.head === "mean") return event;
    const [l, h] = this.head.split(" ").map(Number);
    const all = h === undefined ? event.heads[l] : [event.heads[l][h]];
    const mean = (r, c) => all.reduce((sum, matrix) => sum + matrix[r][c], 0) / all.length;
    return {
      ...event, prompt: undefined, which: this.heads.selectedOptions[0].textContent,
      matrix: event.rows.map((_, r) => event.columns.map((__, c) => mean(r, c))),
    };
  }

  /** The matrix with a row for every slot of the block, so that a slot keeps its row; null where it is decided. */
  spread(event, record) {
    const { slot_count: count, settings } = this.player.trace.run;
    const perBlock = Math.floor(count / Math.max(1, settings.serial_blocks));
    const block = Array.from({ length: perBlock }, (_, n) => record.block * perBlock + n);
    const rows = [...new Set([...block, ...event.rows])].sort((a, b) => a - b);
    const place = rows.map((slot) => event.rows.indexOf(slot));
    const lead = event.prompt ?? event.gains;
    return {
      rows, columns: event.columns, remaining: new Set(event.rows),
      matrix: place.map((r) => (r < 0 ? null : event.matrix[r])),
      leads: lead && place.map((r) => lead[r]), lead: lead ? 1 : 0,
      leadName: event.prompt ? "dependency.head" : "dependency.others",
      method: event.method, violated: event.violated, which: event.which,
    };
  }

  draw(event, record, width) {
    const { palette, speaker, trace } = this.player;
    const columns = event.columns.length + event.lead;
    this.columnWidth = Math.max(0.5, Math.min(HEAT.maxColumn, (width - HEAT.label) / columns));
    const total = HEAT.label + columns * this.columnWidth;
    const context = this.surface.begin(total, HEAT.head + event.rows.length * this.rowHeight, `11px ${palette.font}`);
    this.box.style.width = `${total}px`;
    const chosen = new Set(record.plan >= 0 ? trace.events[record.plan].chosen_slots : []);
    const leads = event.method === "joint" ? event.leads.filter(Number.isFinite) : [];
    const top = Math.max(1e-9, ...chunkMax([...event.matrix.filter(Boolean).flat(), ...leads].map(Math.abs)));
    if (event.rows.length * columns > HEAT.cells) this.drawPixels(context, event, top);
    else event.rows.forEach((_, r) => event.matrix[r] && this.drawRow(context, event, r, top));
    this.drawAxes(context, event, chosen);
    setText(this.caption, speaker.text(event.which ? "dependency.one" : CAPTIONS[event.method] ?? "dependency.caption", {
      which: event.which,
      i: record.number + 1, p: event.method === "joint" ? top.toFixed(2) : formatProbability(top), violated: (event.violated ?? 0).toFixed(3),
    }));
  }

  drawRow(context, event, r, top) {
    const y = HEAT.head + r * this.rowHeight;
    if (event.lead) this.drawCell(context, HEAT.label, y, event.leads[r], top, event.method !== "joint");
    event.matrix[r].forEach((value, c) => {
      this.drawCell(context, HEAT.label + (c + event.lead) * this.columnWidth, y, value, top, false);
    });
  }

  /** A large matrix: one pixel a cell, scaled without smoothing. */
  drawPixels(context, event, top) {
    const { palette } = this.player;
    const [rows, columns] = [event.rows.length, event.columns.length + event.lead];
    const image = new ImageData(columns, rows);
    const [slotRgb, promptRgb, againstRgb] = [palette.plan, palette.ink3, palette.rejected].map(channels);
    for (let r = 0; r < rows; r++) {
      if (!event.matrix[r]) continue;
      for (let c = 0; c < columns; c++) {
        const isSlot = c >= event.lead;
        const own = isSlot || event.method === "joint";
        const value = isSlot ? event.matrix[r][c - event.lead] : event.leads[r];
        const share = Math.min(1, Math.abs(value) / (own ? top : 1));
        image.data.set(value < 0 ? againstRgb : own ? slotRgb : promptRgb, 4 * (r * columns + c));
        image.data[4 * (r * columns + c) + 3] = 255 * (0.04 + 0.86 * share);
      }
    }
    const small = document.createElement("canvas");
    [small.width, small.height] = [columns, rows];
    small.getContext("2d").putImageData(image, 0, 0);
    context.imageSmoothingEnabled = false;
    context.drawImage(small, HEAT.label, HEAT.head, columns * this.columnWidth, rows * this.rowHeight);
  }

  /**
   * The prompt's column is often far above the slots: it is drawn in grey, on its own scale from 0 to 1. What is below
   * 0 has its own colour, and its sign.
   */
  drawCell(context, x, y, value, top, isPrompt) {
    const { palette } = this.player;
    const gap = this.columnWidth > 6 && this.rowHeight > 4 ? 1 : 0;
    const share = Math.min(1, Math.abs(value) / (isPrompt ? 1 : top));
    const [alpha, colour] = [0.04 + 0.86 * share, isPrompt ? palette.ink3 : value < 0 ? palette.rejected : palette.plan];
    context.globalAlpha = alpha;
    context.fillStyle = colour;
    context.fillRect(x, y, this.columnWidth - gap, this.rowHeight - gap);
    context.globalAlpha = 1;
    if (this.columnWidth < 28 || this.rowHeight < 13) return;
    context.fillStyle = readable(palette, colour, alpha);
    context.textAlign = "center";
    context.fillText(value.toFixed(2), x + (this.columnWidth - gap) / 2, y + (this.rowHeight - gap) / 2 + 0.5);
  }

  drawAxes(context, event, chosen) {
    const { palette, speaker } = this.player;
    context.textAlign = "left";
    const rowStep = labelStep(this.rowHeight, 12);
    event.rows.forEach((slot, r) => {
      const y = HEAT.head + r * this.rowHeight;
      context.strokeStyle = palette.chosen;
      context.lineWidth = 2;
      if (chosen.has(slot)) this.outline(context, HEAT.label, y, event.columns.length + event.lead);
      if (r % rowStep) return;
      context.fillStyle = event.matrix[r] ? palette.ink2 : palette.ink3;
      context.fillText(speaker.text("slot", { s: slot }), 0, y + this.rowHeight / 2, HEAT.label - 6);
    });
    context.textAlign = "center";
    const columnStep = labelStep(this.columnWidth, 18);
    context.fillStyle = palette.ink2;
    const head = speaker.text(event.leadName);
    const fits = context.measureText(head).width < this.columnWidth;
    const name = fits ? head : head.charAt(0).toUpperCase();
    if (event.lead && this.columnWidth > 12) context.fillText(name, HEAT.label + this.columnWidth / 2, 8);
    event.columns.forEach((slot, c) => {
      const x = HEAT.label + (c + event.lead) * this.columnWidth;
      context.fillStyle = event.remaining.has(slot) ? palette.plan : palette.verified;
      context.fillRect(x, HEAT.head - 4, Math.max(1, this.columnWidth - 1), 2);
      context.fillStyle = palette.ink2;
      if (c % columnStep === 0) context.fillText(String(slot), x + this.columnWidth / 2, 8);
    });
  }

  outline(context, x, y, columns) {
    context.strokeRect(x + 1, y + 1, columns * this.columnWidth - 3, Math.max(1, this.rowHeight - 3));
  }

  point(event) {
    if (!this.event) return;
    const { left, top } = this.surface.canvas.getBoundingClientRect();
    const c = Math.floor((event.clientX - left - HEAT.label) / this.columnWidth) - this.event.lead;
    const r = Math.floor((event.clientY - top - HEAT.head) / this.rowHeight);
    const row = this.event.rows[r];
    const value = c < 0 ? this.event.leads?.[r] : this.event.matrix[r]?.[c];
    const inside = this.event.remaining.has(row) && value !== undefined && c >= -1;
    this.player.hover(inside ? row : -1);
    setText(this.readout, inside ? this.player.speaker.text(this.cellKey(c), {
      row, column: this.event.columns[c], p: value.toFixed(4),
    }) : "");
  }

  cellKey(column) {
    const joint = this.event.method === "joint";
    if (column < 0) return joint ? "dependency.all" : "dependency.prompt";
    return joint ? "dependency.gain" : "dependency.cell";
  }

  hover(slot) {
    const r = this.event ? this.event.rows.indexOf(slot) : -1;
    this.row.hidden = r < 0;
    this.row.style.height = `${Math.max(2, this.rowHeight)}px`;
    this.row.style.transform = `translateY(${HEAT.head + r * this.rowHeight}px)`;
  }
}
