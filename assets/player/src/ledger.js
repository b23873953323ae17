import { Surface, chunkMax, el, phaseColour, setText, stripes } from "./drawing.js";
import { formatPercent, formatRatio } from "./format.js";
import { countedTokens } from "./narration.js";
import { legend, panel } from "./speaker.js";
import { headlineAt } from "./statistics.js";

const LEDGER = { bars: 84, axis: 4, maxBar: 110 };

/** What every forward reused and computed, and what that saves. */
export class LedgerView {
  constructor(player) {
    this.player = player;
    const { section, aside } = panel(player.speaker, "cache", "cache");
    this.section = section;
    this.aside = aside;
    this.bars = new Surface("rfp-canvas");
    this.bars.canvas.setAttribute("role", "img");
    player.speaker.bind(this.bars.canvas, "cache", "aria-label");
    this.ahead = el("div", "rfp-ahead");
    this.cursor = el("div", "rfp-cursor");
    this.barBox = el("div", "rfp-canvas-box rfp-bar-box", this.bars.canvas, this.ahead, this.cursor);
    this.savings = el("p", "rfp-caption");
    this.readout = el("p", "rfp-readout");
    this.legend = legend(player.speaker, "", [
      ["reused", "legend.reused"], ["computed", "legend.computed"], ["plan-phase", "forward.plan"],
      ["verify-phase", "forward.verify"], ["infill-phase", "legend.infill_phase"],
      ["tpf", "legend.tpf"],
    ]);
    section.append(this.barBox, el("div", "rfp-foot", this.legend, this.readout), this.savings);
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
  }

  say(bar) {
    const { trace, speaker } = this.player;
    const forward = trace.forwards[bar];
    if (!forward) {
      setText(this.readout, speaker.text("ledger.hint"));
      return;
    }
    const end = this.endOf(bar);
    setText(this.readout, speaker.text("ledger.bar", {
      f: bar + 1, phase: speaker.text(`forward.${forward.phase}`), hits: forward.hits,
      parts: countedTokens(trace.events[forward.at], speaker),
      discarded: trace.sums.discarded[end] - trace.sums.discarded[forward.at],
      tpf: formatRatio(trace.sums.committed[end] / (bar + 1)),
      rate: formatPercent(headlineAt(trace, end).hitRate),
    }));
  }

  /** The last event before the next forward: what this forward led to. */
  endOf(bar) {
    const { trace } = this.player;
    return (trace.forwards[bar + 1]?.at ?? trace.length) - 1;
  }

  build() {
    this.drawn = "";
    this.say(-1);
  }

  paint() {
    const width = this.player.widthOf(this.barBox);
    if (width <= 0) return;
    this.paintBars(width);
    const { trace, cursor, speaker } = this.player;
    const { discarded, computed, hits, forwards, committed, hitRate } = headlineAt(trace, cursor);
    setText(this.aside, speaker.text("totals", { reused: hits, computed, discarded, rate: formatPercent(hitRate) }));
    setText(this.savings, !forwards ? "" : speaker.text(committed ? "ledger.savings" : "ledger.savings.none", {
      committed, forwards, saved: committed - forwards, computed, all: computed + hits,
      times: computed ? formatRatio((computed + hits) / computed) : "1",
    }));
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

  forget() {
    this.say(-1);
  }
}
