import { SLOT } from "./constants.js";
import { Surface, chunkMax, el, phaseColour, readable, setText, stripes } from "./drawing.js";
import { formatRatio } from "./format.js";
import { legend, panel } from "./speaker.js";
import { headlineAt } from "./statistics.js";

const LEDGER = { bars: 84, axis: 4, strips: 100, maxBar: 40, linesUpTo: 96 };

/** What every forward reused and computed, and how buffer order and text order belong together. */
export class LedgerView {
  constructor(player) {
    this.player = player;
    const { section, aside } = panel(player.speaker, "cache", "cache");
    this.section = section;
    this.aside = aside;
    this.bars = new Surface("rfp-canvas");
    this.strips = new Surface("rfp-canvas");
    for (const { canvas } of [this.bars, this.strips]) {
      canvas.setAttribute("role", "img");
      player.speaker.bind(canvas, "cache", "aria-label");
    }
    this.ahead = el("div", "rfp-ahead");
    this.cursor = el("div", "rfp-cursor");
    this.mover = el("div", "rfp-mover");
    this.mover.hidden = true;
    this.barBox = el("div", "rfp-canvas-box rfp-bar-box", this.bars.canvas, this.ahead, this.cursor);
    this.stripBox = el("div", "rfp-canvas-box", this.strips.canvas, this.mover);
    this.readout = el("p", "rfp-readout");
    this.legend = legend(player.speaker, "", [
      ["reused", "legend.reused"], ["computed", "legend.computed"], ["plan-phase", "forward.plan"],
      ["verify-phase", "forward.verify"], ["infill-phase", "legend.infill_phase"],
      ["tpf", "legend.tpf"],
    ]);
    section.append(this.barBox, el("div", "rfp-foot", this.legend, this.readout), this.stripBox);
    this.listen();
  }

  listen() {
    const { canvas } = this.bars;
    const barAt = (event) => {
      const { left } = canvas.getBoundingClientRect();
      return Math.floor((event.clientX - left) / this.barWidth);
    };
    canvas.addEventListener("pointermove", (event) => this.say(barAt(event)));
    canvas.addEventListener("pointerleave", () => this.say(-1));
    canvas.addEventListener("click", (event) => {
      const forward = this.player.trace.forwards[barAt(event)];
      if (forward) this.player.seek(forward.at);
    });
    this.strips.canvas.addEventListener("pointermove", (event) => {
      const { left, top } = this.strips.canvas.getBoundingClientRect();
      const [x, y] = [event.clientX - left, event.clientY - top];
      const hit = (this.boxes ?? []).find((box) =>
        x >= box.x && x < box.x + box.width && y >= box.y && y < box.y + box.height);
      this.player.hover(hit ? hit.slot : -1);
    });
    this.strips.canvas.addEventListener("pointerleave", () => this.player.hover(-1));
  }

  say(bar) {
    const { trace, speaker } = this.player;
    const forward = trace.forwards[bar];
    if (!forward) {
      setText(this.readout, speaker.text("ledger.hint"));
      return;
    }
    setText(this.readout, speaker.text("ledger.bar", {
      f: bar + 1, phase: speaker.text(`forward.${forward.phase}`), computed: forward.computed, hits: forward.hits,
      tpf: formatRatio(trace.sums.committed[this.endOf(bar)] / (bar + 1)),
    }));
  }

  /** The last event before the next forward: what this forward led to. */
  endOf(bar) {
    const { trace } = this.player;
    return (trace.forwards[bar + 1]?.at ?? trace.length) - 1;
  }

  build() {
    this.drawn = "";
    this.committedShown = 0;
    this.drawnStrips = "";
    this.say(-1);
  }

  paint() {
    const width = this.player.widthOf(this.barBox);
    if (width <= 0) return;
    this.paintBars(width);
    this.paintStrips(width);
    const { discarded, computed, hits } = headlineAt(this.player.trace, this.player.cursor);
    setText(this.aside, this.player.speaker.text("totals", { reused: hits, computed, discarded }));
  }

  capacity() {
    const { trace, state } = this.player;
    const count = trace.forwards.length;
    if (trace.finished || state !== "live") return Math.max(1, count);
    return Math.max(32, 2 ** Math.ceil(Math.log2(count + 1)));
  }

  paintBars(width) {
    const { trace, palette, cursor } = this.player;
    const capacity = this.capacity();
    const layout = [width, capacity, palette.version, trace.forwards.length, trace.sums.committed.at(-1)].join();
    this.barWidth = Math.min(LEDGER.maxBar, width / capacity);
    if (layout !== this.drawn) this.drawBars(width, layout);
    const done = Math.max(0, trace.sums.forwards[cursor] ?? 0);
    const x = Math.max(0, done - 1) * this.barWidth;
    this.cursor.hidden = !done;
    this.cursor.style.width = `${Math.max(3, this.barWidth)}px`;
    this.cursor.style.height = `${LEDGER.bars}px`;
    this.cursor.style.transform = `translateX(${x}px)`;
    this.ahead.style.transform = `translateX(${done * this.barWidth}px)`;
  }

  drawBars(width, layout) {
    this.drawn = layout;
    const { trace, palette } = this.player;
    const context = this.bars.begin(width, LEDGER.bars);
    const top = Math.max(1, ...chunkMax(trace.forwards.map((f) => f.computed + f.hits)));
    const scale = (LEDGER.bars - LEDGER.axis) / top;
    const pattern = stripes(context, palette.panel);
    const gap = this.barWidth > 6 ? 2 : this.barWidth > 3 ? 1 : 0;
    trace.forwards.forEach((forward, n) => {
      const x = n * this.barWidth;
      const barWidth = Math.max(0.5, this.barWidth - gap);
      const [reused, computed] = [forward.hits * scale, forward.computed * scale];
      context.fillStyle = phaseColour(palette, forward.phase);
      context.globalAlpha = 0.22;
      context.fillRect(x, LEDGER.bars - reused, barWidth, reused);
      context.globalAlpha = 1;
      context.fillRect(x, LEDGER.bars - reused - computed, barWidth, computed);
      if (!forward.phase.startsWith("infill")) return;
      context.globalAlpha = 0.45;
      context.fillStyle = pattern;
      context.fillRect(x, LEDGER.bars - reused - computed, barWidth, computed);
      context.globalAlpha = 1;
    });
    this.drawRatio(context);
  }

  /** Tokens per forward so far, scaled to its own maximum. */
  drawRatio(context) {
    const { trace, palette } = this.player;
    const ratios = trace.forwards.map((_, n) => trace.sums.committed[this.endOf(n)] / (n + 1));
    const top = Math.max(0.001, ...chunkMax(ratios));
    context.strokeStyle = palette.panel;
    for (const [colour, thickness] of [[palette.panel, 4], [palette.ink, 1.5]]) {
      context.strokeStyle = colour;
      context.lineWidth = thickness;
      context.lineJoin = "round";
      context.beginPath();
      ratios.forEach((ratio, n) => {
        const y = LEDGER.bars - 3 - (ratio / top) * (LEDGER.bars - 10);
        context.lineTo((n + 0.5) * this.barWidth, y);
      });
      context.stroke();
    }
  }

  /** Buffer order above, text order below, and which entry belongs where. */
  paintStrips(width) {
    const { trace, palette, cursor, frame, speaker } = this.player;
    const { run } = trace;
    const state = [
      width, palette.version, speaker.language, this.player.hoveredSlot, trace.sums.commits[cursor],
      trace.iterationAt[cursor], Math.min(1, trace.sums.forwards[cursor]), frame.slot.join(""),
    ].join();
    if (state === this.drawnStrips) return;
    this.drawnStrips = state;
    const context = this.strips.begin(width, LEDGER.strips);
    const promptLength = run.prompt_ids.length;
    const total = promptLength + run.response_length;
    const promptWidth = promptLength ? Math.min(width * 0.22, Math.max(34, (width * promptLength) / total)) : 0;
    const unit = (width - promptWidth) / run.response_length;
    const layout = { context, palette, promptWidth, unit, top: 16, bottom: 66, height: 16 };
    context.font = `11px ${palette.font}`;
    context.textBaseline = "middle";
    context.textAlign = "left";
    context.fillStyle = palette.ink2;
    context.fillText(speaker.text("strip.buffer"), 0, 7);
    context.fillText(speaker.text("strip.text"), promptWidth, layout.bottom + layout.height + 10);
    this.boxes = [];
    const commits = trace.commits.slice(0, trace.sums.commits[cursor] ?? 0);
    const hasCache = commits.every((commit) => commit.cacheIndex >= 0);
    if (promptWidth) this.drawPromptBox(layout, (trace.sums.forwards[cursor] ?? 0) > 0);
    this.drawTextOrder(layout, frame);
    if (hasCache) this.drawBufferOrder(layout, commits, promptLength);
    this.moveFresh(layout, commits, promptLength);
  }

  drawPromptBox({ context, palette, promptWidth, top, height }, cached) {
    const { speaker, trace } = this.player;
    const n = trace.run.prompt_ids.length;
    const long = speaker.text("strip.prompt", { n });
    const label = [long, String(n), ""].find((text) => context.measureText(text).width < promptWidth - 6);
    context.globalAlpha = cached ? 1 : 0.4;
    context.fillStyle = palette.line;
    context.fillRect(0, top, promptWidth - 2, height);
    context.globalAlpha = 1;
    context.fillStyle = palette.ink;
    context.fillText(label, 4, top + height / 2 + 0.5);
  }

  drawTextOrder(layout, frame) {
    const { context, palette, unit, promptWidth, bottom, height } = layout;
    const size = this.player.trace.slotSize;
    for (let s = 0; s < frame.slot.length; s++) {
      const x = promptWidth + s * size * unit;
      this.drawSlotBox(layout, x, bottom, size * unit, s, frame.slot[s]);
    }
    context.strokeStyle = palette.line;
    context.lineWidth = 1;
    context.strokeRect(promptWidth + 0.5, bottom + 0.5, size * unit * frame.slot.length - 1, height - 1);
  }

  drawBufferOrder(layout, commits, promptLength) {
    const { context, palette, unit, promptWidth, top, bottom, height } = layout;
    const { frame, trace } = this.player;
    const size = trace.slotSize;
    const from = this.player.trace.iterationAt[this.player.cursor];
    commits.forEach((commit, n) => {
      const x = promptWidth + (commit.cacheIndex - promptLength) * unit;
      const fresh = trace.iterationAt[commit.at] === from;
      const status = frame.slot[commit.slot] === SLOT.FRESH && fresh ? SLOT.FRESH : SLOT.COMMITTED;
      const width = commit.tokens * unit;
      this.drawSlotBox(layout, x, top, width, commit.slot, status);
      if (commits.length - n > LEDGER.linesUpTo) return;
      const x2 = promptWidth + commit.slot * size * unit + Math.min(width, size * unit) / 2;
      this.drawLink(context, x + width / 2, top + height, x2, bottom, commit.slot);
    });
    context.strokeStyle = palette.line;
    context.lineWidth = 1;
    const length = size * unit * frame.slot.length;
    context.strokeRect(promptWidth + 0.5, top + 0.5, length - 1, height - 1);
  }

  drawLink(context, x1, y1, x2, y2, slot) {
    const { palette } = this.player;
    const hovered = slot === this.player.hoveredSlot;
    context.strokeStyle = hovered ? palette.ink : palette.ink3;
    context.lineWidth = hovered ? 2 : 0.8;
    context.globalAlpha = hovered ? 1 : 0.8;
    const middle = (y1 + y2) / 2;
    context.beginPath();
    context.moveTo(x1, y1);
    context.bezierCurveTo(x1, middle, x2, middle, x2, y2);
    context.stroke();
    context.globalAlpha = 1;
  }

  drawSlotBox(layout, x, y, width, slot, status) {
    const { context, palette, height } = layout;
    const gap = width > 5 ? 1 : 0;
    const inner = Math.max(0.5, width - gap);
    const solid = status === SLOT.COMMITTED || status === SLOT.FRESH || status === SLOT.PARTIAL;
    const active = status >= SLOT.CHOSEN && status <= SLOT.INFILL;
    context.fillStyle = status === SLOT.FRESH ? palette.chosen : solid ? palette.verified : palette.hatch;
    context.fillRect(x, y, inner, height);
    if (active && width > 4) {
      context.strokeStyle = palette.chosen;
      context.lineWidth = 2;
      context.strokeRect(x + 1, y + 1, inner - 2, height - 2);
    }
    if (status === SLOT.DROPPED) {
      context.fillStyle = palette.ink3;
      context.fillRect(x, y + height / 2, inner, 1);
    }
    if (slot === this.player.hoveredSlot) {
      context.strokeStyle = palette.ink;
      context.lineWidth = 2;
      context.strokeRect(x + 1, y + 1, Math.max(1, inner - 2), height - 2);
    }
    this.boxes.push({ x, y, width, height, slot });
    if (width < 17) return;
    context.fillStyle = palette.ink2;
    if (solid) context.fillStyle = status === SLOT.FRESH ? palette.onChosen : readable(palette, palette.verified);
    context.textAlign = "center";
    const label = width > 52 ? this.player.speaker.text("slot", { s: slot }) : String(slot);
    context.fillText(label, x + inner / 2, y + height / 2 + 0.5);
    context.textAlign = "left";
  }

  /** Once per commit, a committed slot travels from its place in the text to its place in the cache. */
  moveFresh({ promptWidth, unit, top, bottom, height }, commits, promptLength) {
    const grown = commits.length > this.committedShown ? commits[commits.length - 1] : null;
    this.committedShown = commits.length;
    if (grown?.at !== this.player.cursor || grown.cacheIndex < 0 || !this.player.moves()) return;
    const size = this.player.trace.slotSize;
    const x1 = promptWidth + grown.slot * size * unit;
    const x2 = promptWidth + (grown.cacheIndex - promptLength) * unit;
    const { mover } = this;
    mover.hidden = false;
    mover.style.width = `${Math.max(2, grown.tokens * unit - 1)}px`;
    mover.style.height = `${height}px`;
    const motion = mover.animate(
      [{ transform: `translate(${x1}px, ${bottom}px)` }, { transform: `translate(${x2}px, ${top}px)` }],
      { duration: 240, easing: "ease-in-out" });
    motion.onfinish = () => (mover.hidden = true);
  }

  forget() {
    this.say(-1);
  }

  hover() {
    if (this.player.trace.run) this.paintStrips(this.player.widthOf(this.barBox));
  }
}
