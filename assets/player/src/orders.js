import { bufferAt, bufferOfForward, merged, seesCached, seesFed } from "./buffer.js";
import { SLOT } from "./constants.js";
import { Surface, el, readable, setText, stripes } from "./drawing.js";
import { panel } from "./speaker.js";

const STRIPS = { top: 18, bottom: 92, height: 24, total: 134, linesUpTo: 128 };
const MASK = { size: 190, head: 16, least: 120 };

/**
 * The same tokens in buffer order and in text order, connected, and what the tokens of the latest forward could see.
 * Slots travel to the front of the buffer when they are committed; that, and not their place in the text, is what
 * a causal mask goes by.
 */
export class OrdersView {
  constructor(player) {
    this.player = player;
    const { section } = panel(player.speaker, "orders", "orders");
    this.section = section;
    this.strips = new Surface("rfp-canvas");
    this.mask = new Surface("rfp-canvas");
    for (const [surface, key] of [[this.strips, "orders"], [this.mask, "mask.label"]]) {
      surface.canvas.setAttribute("role", "img");
      player.speaker.bind(surface.canvas, key, "aria-label");
    }
    this.mover = el("div", "rfp-mover");
    this.mover.hidden = true;
    this.stripBox = el("div", "rfp-canvas-box rfp-strips", this.strips.canvas, this.mover);
    const caption = player.speaker.bind(el("p", "rfp-caption"), "strip.caption");
    this.maskCaption = el("p", "rfp-caption rfp-mask-caption");
    const strips = el("div", "", this.stripBox, caption, this.maskCaption);
    section.append(el("div", "rfp-orders-body", strips, el("div", "rfp-mask", this.mask.canvas)));
    this.listen();
  }

  listen() {
    const { canvas } = this.strips;
    canvas.addEventListener("pointermove", (event) => {
      const { left, top } = canvas.getBoundingClientRect();
      const [x, y] = [event.clientX - left, event.clientY - top];
      const hit = (this.boxes ?? []).find((box) =>
        x >= box.x && x < box.x + box.width && y >= box.y && y < box.y + STRIPS.height);
      this.player.hover(hit ? hit.slot : -1);
    });
    canvas.addEventListener("pointerleave", () => this.player.hover(-1));
  }

  build() {
    this.committedShown = 0;
    this.drawnStrips = this.drawnMask = "";
  }

  paint() {
    const width = this.player.widthOf(this.stripBox);
    if (width > 0) this.paintStrips(width);
    this.paintMask();
  }

  // Two orders

  paintStrips(width) {
    const { trace, palette, cursor, frame, speaker, hoveredSlot } = this.player;
    const { run } = trace;
    const pieces = bufferAt(trace, cursor);
    const state = [
      width, palette.version, speaker.language, hoveredSlot, trace.iterationAt[cursor], frame.slot.join(""),
      pieces.map((piece) => piece.kind[0] + piece.tokens).join(""),
    ].join();
    if (state === this.drawnStrips) return;
    this.drawnStrips = state;
    const context = this.strips.begin(width, STRIPS.total, `11px ${palette.font}`);
    const total = run.prompt_ids.length + run.response_length;
    const promptWidth = run.prompt_ids.length
      ? Math.min(width * 0.2, Math.max(34, (width * run.prompt_ids.length) / total)) : 0;
    const unit = (width - promptWidth) / run.response_length;
    const layout = { context, palette, promptWidth, unit, pattern: stripes(context, palette.panel) };
    context.fillStyle = palette.ink2;
    context.fillText(speaker.text("strip.buffer"), 0, 8);
    context.fillText(speaker.text("strip.text"), 0, STRIPS.bottom + STRIPS.height + 10);
    this.boxes = [];
    this.drawTextOrder(layout, frame);
    this.drawBufferOrder(layout, pieces);
    this.drawPrompt(layout, pieces.some((piece) => piece.kind === "prompt"));
    this.moveFresh(layout);
  }

  drawPrompt({ context, palette, promptWidth }, cached) {
    if (!promptWidth) return;
    const { speaker, trace } = this.player;
    const n = trace.run.prompt_ids.length;
    const label = [speaker.text("strip.prompt", { n }), String(n), ""]
      .find((text) => context.measureText(text).width < promptWidth - 6);
    for (const [y, solid] of [[STRIPS.top, cached], [STRIPS.bottom, true]]) {
      context.globalAlpha = solid ? 1 : 0.35;
      context.fillStyle = palette.line;
      context.fillRect(0, y, promptWidth - 2, STRIPS.height);
      context.globalAlpha = 1;
      context.fillStyle = palette.ink;
      context.fillText(label, 4, y + STRIPS.height / 2 + 0.5);
    }
  }

  drawTextOrder(layout, frame) {
    const size = this.player.trace.slotSize;
    for (let s = 0; s < frame.slot.length; s++) {
      this.drawBox(layout, layout.promptWidth + s * size * layout.unit, STRIPS.bottom, size, s, this.look(s, frame));
    }
  }

  /** How a slot looks in text order. */
  look(s, frame) {
    const status = frame.slot[s];
    if (status === SLOT.DROPPED) return "dropped";
    if (status === SLOT.FRESH) return "fresh";
    if (status === SLOT.COMMITTED || status === SLOT.PARTIAL) return "committed";
    return status >= SLOT.CHOSEN && status <= SLOT.INFILL ? "active" : "mask";
  }

  drawBufferOrder(layout, pieces) {
    const { context, palette, promptWidth, unit } = layout;
    const { frame, trace, hoveredSlot } = this.player;
    let used = 0;
    const boxes = pieces.filter((piece) => piece.kind !== "prompt");
    boxes.forEach((piece, n) => {
      const x = promptWidth + used * unit;
      used += piece.tokens;
      const fresh = piece.kind === "committed" && frame.slot[piece.slot] === SLOT.FRESH;
      if (x > this.strips.width) return;
      this.drawBox(layout, x, STRIPS.top, piece.tokens, piece.slot, fresh ? "fresh" : piece.kind);
      if (piece.slot < 0 || (boxes.length - n > STRIPS.linesUpTo && piece.slot !== hoveredSlot)) return;
      const half = (piece.tokens * unit) / 2;
      const x2 = promptWidth + piece.slot * trace.slotSize * unit + half;
      this.drawLink(context, x + half, x2, piece.kind, piece.slot === hoveredSlot);
    });
    context.strokeStyle = palette.line;
    context.lineWidth = 1;
    context.strokeRect(promptWidth + 0.5, STRIPS.top + 0.5, this.strips.width - promptWidth - 1, STRIPS.height - 1);
  }

  /** Solid where the entry stays, dashed where it may still go. */
  drawLink(context, x1, x2, kind, hovered) {
    const { palette } = this.player;
    const [y1, y2] = [STRIPS.top + STRIPS.height, STRIPS.bottom];
    context.strokeStyle = hovered ? palette.ink : kind === "committed" ? palette.verified : palette.ink3;
    context.lineWidth = hovered ? 2 : kind === "committed" ? 1.2 : 0.8;
    context.setLineDash(kind === "committed" ? [] : [3, 3]);
    const middle = (y1 + y2) / 2;
    context.beginPath();
    context.moveTo(x1, y1);
    context.bezierCurveTo(x1, middle, x2, middle, x2, y2);
    context.stroke();
    context.setLineDash([]);
  }

  drawBox(layout, x, y, tokens, slot, look) {
    const { context, palette, unit, pattern } = layout;
    const { height } = STRIPS;
    const width = tokens * unit;
    const inner = Math.max(0.5, width - (width > 5 ? 1 : 0));
    const fills = {
      committed: palette.verified, fresh: palette.chosen, provisional: palette.verified, draft: palette.plan,
      mask: palette.hatch, active: palette.hatch, dropped: palette.ground,
    };
    context.globalAlpha = look === "draft" ? 0.35 : look === "provisional" ? 0.6 : 1;
    context.fillStyle = fills[look];
    context.fillRect(x, y, inner, height);
    context.globalAlpha = 1;
    if (look === "provisional") {
      context.globalAlpha = 0.5;
      context.fillStyle = pattern;
      context.fillRect(x, y, inner, height);
      context.globalAlpha = 1;
    }
    if (look === "active" && width > 4) this.frameBox(context, x, y, inner, palette.chosen);
    if (look === "mask") {
      context.fillStyle = palette.ink3;
      for (let dot = unit / 2; dot < inner && unit > 2.5; dot += unit) context.fillRect(x + dot - 1, y + height / 2 - 1, 2, 2);
    }
    if (look === "dropped") {
      context.fillStyle = palette.ink3;
      context.fillRect(x, y + height / 2, inner, 1);
    }
    if (slot >= 0 && slot === this.player.hoveredSlot) this.frameBox(context, x, y, inner, palette.ink);
    if (slot >= 0) this.boxes.push({ x, y, width, slot });
    if (width < 17 || slot < 0 || look === "mask" || look === "dropped") return;
    context.fillStyle = look === "fresh" ? palette.onChosen
      : look === "committed" ? readable(palette, palette.verified) : palette.ink;
    context.textAlign = "center";
    const label = width > 56 ? this.player.speaker.text("slot", { s: slot }) : String(slot);
    context.fillText(label, x + inner / 2, y + height / 2 + 0.5);
    context.textAlign = "left";
  }

  frameBox(context, x, y, width, colour) {
    context.strokeStyle = colour;
    context.lineWidth = 2;
    context.strokeRect(x + 1, y + 1, Math.max(1, width - 2), STRIPS.height - 2);
  }

  /** Once per commit, a committed slot travels from its place in the text to its place in the cache. */
  moveFresh({ promptWidth, unit }) {
    const { trace, cursor } = this.player;
    const count = trace.sums.commits[cursor] ?? 0;
    const grown = count > this.committedShown ? trace.commits[count - 1] : null;
    this.committedShown = count;
    if (grown?.at !== cursor || grown.cacheIndex < 0 || !this.player.moves()) return;
    const x1 = promptWidth + grown.slot * trace.slotSize * unit;
    const x2 = promptWidth + (grown.cacheIndex - trace.run.prompt_ids.length) * unit;
    const { mover } = this;
    mover.hidden = false;
    mover.style.width = `${Math.max(2, grown.tokens * unit - 1)}px`;
    mover.style.height = `${STRIPS.height}px`;
    const motion = mover.animate(
      [{ transform: `translate(${x1}px, ${STRIPS.bottom}px)` }, { transform: `translate(${x2}px, ${STRIPS.top}px)` }],
      { duration: 240, easing: "ease-in-out" });
    motion.onfinish = () => (mover.hidden = true);
  }

  // The causal mask

  paintMask() {
    const { trace, palette, cursor, speaker } = this.player;
    const number = trace.sums.forwards[cursor] ?? 0;
    const state = [number, palette.version, speaker.language, trace.run.run_id].join();
    if (state === this.drawnMask) return;
    this.drawnMask = state;
    const { forward, cached, fed, whole } = bufferOfForward(trace, cursor);
    const context = this.mask.begin(MASK.size, MASK.size + MASK.head, `11px ${palette.font}`);
    if (!forward) {
      setText(this.maskCaption, speaker.text("mask.none"));
      return;
    }
    this.drawMask(context, merged(cached), merged(fed), whole);
    setText(this.maskCaption, this.describeMask(forward, cached, fed, whole));
  }

  /** Rows: the fed tokens; columns: the cache, then the fed tokens. A filled cell: the row may see the column. */
  drawMask(context, cached, fed, whole) {
    const { palette, speaker } = this.player;
    const sum = (list) => list.reduce((total, piece) => total + piece.tokens, 0);
    const rows = sum(fed);
    const unit = MASK.size / (sum(cached) + rows);
    const height = Math.min(MASK.size / rows, Math.max(unit, MASK.least / rows)); // of a row; square where it can be
    const own = sum(cached) * unit;
    let y = MASK.head;
    context.fillStyle = palette.hatch;
    context.fillRect(0, MASK.head, MASK.size, height * rows);
    for (const query of fed) {
      const deep = query.tokens * height;
      let x = 0;
      for (const key of cached) {
        if (seesCached(query, key)) {
          context.fillStyle = key.kind === "provisional" ? palette.verified : palette.ink3;
          context.fillRect(x, y, key.tokens * unit, deep);
        }
        x += key.tokens * unit;
      }
      context.fillStyle = palette.plan;
      for (const key of fed) {
        this.drawSeen(context, { x, y, width: key.tokens * unit, height: deep }, seesFed(query, key, fed, whole));
        x += key.tokens * unit;
      }
      y += deep;
    }
    context.strokeStyle = palette.ink2;
    context.lineWidth = 1;
    context.strokeRect(0.5, MASK.head + 0.5, MASK.size - 1, height * rows - 1);
    if (own > 0.5) context.strokeRect(own, MASK.head + 0.5, 0.01, height * rows - 1);
    context.fillStyle = palette.ink2;
    const [left, right] = [speaker.text("mask.cache"), speaker.text("mask.fed")];
    if (own > context.measureText(left).width) context.fillText(left, 0, 7);
    context.textAlign = "right";
    context.fillText(right, MASK.size, 7);
    context.textAlign = "left";
  }

  drawSeen(context, { x, y, width, height }, relation) {
    if (relation === "none") return;
    if (relation === "all") {
      context.fillRect(x, y, width, height);
      return;
    }
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(x + width, y + height);
    context.lineTo(x, y + height);
    context.fill();
  }

  describeMask(forward, cached, fed, whole) {
    const { trace, speaker } = this.player;
    const groups = new Set(fed.map((piece) => piece.group));
    const slots = new Set(fed.filter((piece) => piece.slot >= 0).map((piece) => piece.slot));
    const key = whole ? "both" : groups.size > 1 ? "groups" : forward.phase.startsWith("infill") ? "alone" : forward.phase;
    return speaker.text(`mask.${key}`, {
      f: trace.forwards.findIndex((entry) => entry.number === forward.forward) + 1,
      cached: cached.reduce((sum, piece) => sum + (piece.kind === "provisional" ? 0 : piece.tokens), 0),
      n: groups.size, slots: slots.size,
    });
  }

  forget() {
    this.drawnStrips = this.drawnMask = "";
  }

  hover() {
    if (this.player.trace.run) this.paintStrips(this.player.widthOf(this.stripBox));
  }
}
