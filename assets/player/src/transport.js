import { SPEEDS } from "./constants.js";
import { ICONS, Surface, el, icon, phaseColour, setAttribute, setText, stripes } from "./drawing.js";
import { phaseText } from "./narration.js";

const ANNOUNCE_MS = 4000;

/** Buttons, the scrub bar with phase-coloured ticks, speed and live. */
export class Transport {
  constructor(player) {
    this.player = player;
    this.play = this.button("play", "button.play", () => player.toggle(), "rfp-play");
    this.iterationBack = this.button("iterationBack", "button.iterationBack", () => player.stepIteration(-1));
    this.back = this.button("back", "button.back", () => player.step(-1));
    this.forward = this.button("forward", "button.forward", () => player.step(1));
    this.iterationForward = this.button(
      "iterationForward", "button.iterationForward", () => player.stepIteration(1));
    this.forwardBack = this.button("forwardBack", "button.forwardBack", () => player.stepForward(-1));
    this.forwardForward = this.button("forwardForward", "button.forwardForward", () => player.stepForward(1));
    this.loop = this.button("loop", "button.loop", () => player.setLoop(!player.loop));
    this.link = this.button("link", "button.link", () => player.copyLink());
    this.present = this.button("present", "presenter.enter", () => player.presenter.toggle());
    this.help = this.button("help", "button.help", () => player.help.open());
    this.help.replaceChildren("?");
    this.ticks = new Surface("rfp-ticks");
    this.range = el("input", "rfp-range");
    this.range.type = "range";
    this.range.min = "0";
    this.range.step = "1";
    player.speaker.bind(this.range, "button.scrub", "aria-label");
    this.range.addEventListener("input", () => player.seek(Number(this.range.value)));
    this.head = el("div", "rfp-playhead");
    this.scrub = el("div", "rfp-scrub", this.ticks.canvas, this.head, this.range);
    this.status = el("span", "rfp-status");
    this.speed = this.speedSelect();
    this.live = el("button", "rfp-button rfp-live");
    this.live.type = "button";
    player.speaker.bind(this.live, "button.followTitle", "title");
    this.live.addEventListener("click", () => player.follow(!player.following));
    const buttons = el("div", "rfp-buttons", this.iterationBack, this.forwardBack, this.back, this.play, this.forward,
      this.forwardForward, this.iterationForward);
    this.side = el("div", "rfp-side", this.status, this.live, this.speed, this.loop, this.link, this.present, this.help);
    this.node = el("div", "rfp-transport", buttons, this.scrub, this.side);
    this.node.setAttribute("role", "group");
  }

  button(name, key, action, extra = "") {
    const node = el("button", `rfp-button ${extra}`, ...(name in ICONS ? [icon(ICONS[name])] : []));
    node.type = "button";
    this.player.speaker.bind(node, key, "aria-label");
    this.player.speaker.bind(node, key, "title");
    node.addEventListener("click", action);
    return node;
  }

  speedSelect() {
    const select = el("select", "rfp-speed");
    for (const speed of SPEEDS) {
      const option = el("option", "", `${speed}×`);
      option.value = String(speed);
      select.append(option);
    }
    this.player.speaker.bind(select, "button.speed", "aria-label");
    select.addEventListener("change", () => this.player.setSpeed(Number(select.value)));
    return select;
  }

  paint() {
    const { player } = this;
    const { trace, cursor, speaker, playing, state } = player;
    this.paintPlay(playing);
    const last = Math.max(0, trace.length - 1);
    if (this.range.max !== String(last)) this.range.max = String(last);
    if (this.range.value !== String(cursor)) this.range.value = String(Math.max(0, cursor));
    this.range.disabled = !trace.run;
    const status = this.announced ?? (trace.run ? this.statusText() : "");
    setText(this.status, status);
    setAttribute(this.range, "aria-valuetext", status);
    this.speed.value = String(player.speed);
    this.live.hidden = state !== "live";
    setText(this.live, speaker.text(player.following ? "button.follow" : "button.catchUp"));
    setAttribute(this.live, "aria-pressed", String(player.following));
    setAttribute(this.loop, "aria-pressed", String(player.loop));
    this.link.disabled = this.present.disabled = !trace.run;
    this.paintPresent(player.presenter.on);
    for (const node of [this.iterationBack, this.forwardBack, this.back]) node.disabled = !trace.run || cursor <= 0;
    for (const node of [this.forward, this.forwardForward, this.iterationForward]) {
      node.disabled = !trace.run || cursor >= last;
    }
    this.play.disabled = !trace.run;
    this.paintTicks(last);
  }

  /** A short answer in the place of the status. */
  announce(key) {
    this.announced = this.player.speaker.text(key);
    this.status.setAttribute("aria-live", "polite");
    clearTimeout(this.announcing);
    this.announcing = setTimeout(() => {
      this.announced = null;
      this.status.removeAttribute("aria-live");
      this.player.changed();
    }, ANNOUNCE_MS);
    this.player.changed();
  }

  paintPlay(playing) {
    if (this.shownPlaying === playing) return;
    this.shownPlaying = playing;
    this.play.replaceChildren(icon(ICONS[playing ? "pause" : "play"]));
    const label = this.player.speaker.text(playing ? "button.pause" : "button.play");
    setAttribute(this.play, "aria-label", label);
    setAttribute(this.play, "title", label);
  }

  paintPresent(on) {
    const label = this.player.speaker.text(on ? "presenter.leave" : "presenter.enter");
    setAttribute(this.present, "aria-label", label);
    setAttribute(this.present, "title", label);
  }

  statusText() {
    const { trace, cursor, speaker, state } = this.player;
    const event = trace.events[cursor];
    if (event.type === "run_finished") return speaker.text("where.end");
    const record = trace.recordAt(cursor);
    if (!record) return speaker.text("where.start");
    const key = state === "live" ? "status.live" : "status.iteration";
    return [
      speaker.text(key, { i: record.number + 1, n: trace.iterations.length }),
      speaker.text("status.forward", { f: trace.sums.forwards[cursor] }), phaseText(speaker, event),
    ].join(" · ");
  }

  paintTicks(last) {
    const { trace, palette, cursor } = this.player;
    const width = this.player.widthOf(this.scrub);
    if (width <= 0) return;
    const layout = [width, trace.length, palette.version].join();
    if (layout !== this.drawn) {
      this.drawn = layout;
      this.drawTicks(this.ticks.begin(width, 18), width);
    }
    const x = last ? (cursor / last) * width : 0;
    this.head.style.transform = `translateX(${Math.max(0, x)}px)`;
  }

  /** Each event takes a place of the same width, in the colour of its phase; infill is striped. */
  drawTicks(context, width) {
    const { trace, palette } = this.player;
    const pattern = stripes(context, palette.panel);
    const each = width / Math.max(1, trace.length - 1);
    let phase = null;
    for (let at = 0; at + 1 < trace.length; at++) {
      const next = trace.events[at + 1];
      phase = tickPhase(next, phase);
      if (!phase) continue;
      const x = at * each;
      context.globalAlpha = phase === "commit" ? 0.75 : 0.5;
      context.fillStyle = phase === "commit" ? palette.chosen : phaseColour(palette, phase);
      context.fillRect(x, 0, each + 0.3, 18);
      if (phase.startsWith("infill")) {
        context.fillStyle = pattern;
        context.fillRect(x, 0, each + 0.3, 18);
      }
    }
    context.globalAlpha = 1;
    context.fillStyle = palette.panel;
    if (width < 6 * trace.iterations.length) return;
    for (const record of trace.iterations) context.fillRect((record.first - 1) * each - 0.75, 0, 1.5, 18);
  }
}

function tickPhase(event, before) {
  if (event.type === "forward") return event.phase;
  if (event.type === "plan" || event.type === "dependency") return "plan";
  if (event.type === "verify") return "verify";
  if (event.type === "infill_round") return "infill_verify";
  if (event.type === "commit" || event.type === "cache") return "commit";
  return event.type === "vocabulary" ? before : null;
}
