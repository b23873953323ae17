import { CLOCKS, markAt, marksOf, secondsOf } from "./clock.js";
import { SPEEDS } from "./constants.js";
import { ICONS, el, icon, setAttribute, setText } from "./drawing.js";
import { formatRatio } from "./format.js";
import { Player } from "./player.js";
import { Speaker, choice } from "./speaker.js";
import { headlineAt } from "./statistics.js";

const TICK_MS = 260; // of a clock that counts, at speed 1
const WHOLE_MS = 12000; // of a measured clock, and the most of any, at speed 1
const COLUMNS = ["place", "forwards", "tpf", "committed", "computed", "hits", "seconds", "right"];

/** Several runs on one clock: each a player without controls of its own, under one transport, above one table. */
export class Together {
  /**
   * @param {HTMLElement} element
   * @param {{lang?: "en"|"zh", titles?: string[], parts?: string[], clocks?: string[], columns?: string[], view?: "slots"|"text",
   *   onTime?: (time: number) => void}} options titles: keys of texts or texts, one for each run; columns: of the table
   */
  constructor(element, options) {
    this.element = element;
    this.options = { lang: "en", parts: ["stage", "narration"], clocks: CLOCKS, columns: COLUMNS, view: "text", ...options };
    this.speaker = new Speaker(this.options.lang);
    this.clock = this.options.clocks[0];
    this.speed = 1;
    this.time = 0;
    element.classList.add("rfp-together");
    element.tabIndex = 0;
    element.setAttribute("role", "region");
    this.speaker.bind(element, "together", "aria-label");
    this.lanes = this.options.titles.map((title) => this.createLane(title));
    const { root: bar, body } = plain("rfp-together-bar");
    body.append(...this.createTransport());
    const { root: table, body: tableBody } = plain("rfp-together-table");
    tableBody.append(this.createTable());
    this.laneBox = el("div", "rfp-lanes", ...this.lanes.map((lane) => lane.node));
    this.laneBox.dataset.count = this.lanes.length;
    element.replaceChildren(bar, this.laneBox, table);
    this.gone = new AbortController();
    element.addEventListener("keydown", (event) => this.onKey(event), { signal: this.gone.signal });
    this.show();
  }

  createLane(title) {
    const { root: head, body } = plain("rfp-lane-head");
    const name = el("strong", "");
    this.speaker.bind(name, title);
    const note = el("span", "rfp-aside");
    body.append(name, note);
    const screen = el("div", "");
    const lane = { title, note, right: null, marks: null, node: el("div", "rfp-lane", head, screen) };
    lane.player = new Player(screen, {
      autoplay: false, lang: this.options.lang, parts: this.options.parts, controlled: true,
      label: this.speaker.text(title),
      onCursor: () => this.changed(lane),
    });
    lane.player.stage.setView(this.options.view);
    setAttribute(lane.player.stage.tools.querySelector(`[data-option=${this.options.view}]`), "aria-pressed", "true");
    if (this.options.view === "text") {
      setAttribute(lane.player.stage.tools.querySelector("[data-option=slots]"), "aria-pressed", "false");
    }
    return lane;
  }

  createTransport() {
    const { speaker } = this;
    this.restart = this.button("iterationBack", "together.restart", () => this.seek(0));
    this.back = this.button("back", "together.back", () => this.step(-1));
    this.playButton = this.button("play", "button.play", () => this.toggle());
    this.playButton.classList.add("rfp-play");
    this.ahead = this.button("forward", "together.ahead", () => this.step(1));
    this.last = this.button("iterationForward", "together.end", () => this.seek(this.length));
    this.range = el("input", "rfp-together-range");
    Object.assign(this.range, { type: "range", min: "0", step: "any" });
    speaker.bind(this.range, "button.scrub", "aria-label");
    this.range.addEventListener("input", () => this.seek(Number(this.range.value)));
    this.status = el("span", "rfp-status");
    const clocks = choice(speaker, "together.clock", this.options.clocks, (clock) => this.setClock(clock));
    clocks.hidden = this.options.clocks.length < 2;
    this.speedBox = el("select", "rfp-speed", ...[0.1, ...SPEEDS].map((speed) => new Option(`${speed}×`, speed)));
    this.speedBox.value = "1";
    speaker.bind(this.speedBox, "button.speed", "aria-label");
    this.speedBox.addEventListener("change", () => this.setSpeed(Number(this.speedBox.value)));
    const buttons = el("div", "rfp-buttons", this.restart, this.back, this.playButton, this.ahead, this.last);
    return [buttons, this.range, clocks, this.speedBox, this.status];
  }

  button(name, key, action) {
    const node = el("button", "rfp-button", icon(ICONS[name]));
    node.type = "button";
    for (const attribute of ["aria-label", "title"]) this.speaker.bind(node, key, attribute);
    node.addEventListener("click", action);
    return node;
  }

  createTable() {
    const { speaker } = this;
    const { columns } = this.options;
    const heads = ["decoder", ...columns].map((name) => {
      const cell = speaker.bind(el("th", ""), `together.${name}`);
      cell.scope = "col";
      return cell;
    });
    const rows = this.lanes.map((lane) => {
      const head = speaker.bind(el("th", ""), lane.title);
      head.scope = "row";
      lane.cells = Object.fromEntries(columns.map((name) => [name, el("td", "")]));
      for (const [name, cell] of Object.entries(lane.cells)) cell.dataset.figure = name;
      return el("tr", "", head, ...Object.values(lane.cells));
    });
    this.sentence = el("p", "rfp-together-sentence");
    this.sentence.setAttribute("aria-live", "polite");
    const scroller = el("div", "rfp-together-scroller",
      el("table", "rfp-figures", el("thead", "", el("tr", "", ...heads)), el("tbody", "", ...rows)));
    scroller.tabIndex = 0;
    scroller.setAttribute("role", "group");
    speaker.bind(scroller, "together.table", "aria-label");
    return el("div", "", scroller, this.sentence);
  }

  // Feeding

  /** Shows a trace in a lane. `right`: whether its answer is right, null where nobody can tell. */
  load(n, text, { right = null } = {}) {
    const lane = this.lanes[n];
    lane.marks = null;
    lane.right = right;
    lane.player.load(text);
    this.pause();
    this.seek(0);
  }

  begin(n, options = {}) {
    this.pause();
    Object.assign(this.lanes[n], { marks: null, right: null });
    this.lanes[n].player.begin({ follow: true, ...options });
  }

  push(n, lines) {
    this.lanes[n].player.push(lines);
  }

  finish(n, { right = null, ...options } = {}) {
    this.lanes[n].right = right;
    this.lanes[n].player.finish(options);
    this.changed(this.lanes[n]);
  }

  // The clock

  /** A lane counts once its run is over: before, it shows what comes. */
  ready(lane) {
    return lane.player.trace.run && lane.player.state !== "live" && lane.player.state !== "waiting";
  }

  marks(lane) {
    const { trace } = lane.player;
    const same = lane.marks?.trace === trace && lane.marks.clock === this.clock && lane.marks.events === trace.length;
    if (!same) lane.marks = { trace, clock: this.clock, events: trace.length, list: marksOf(trace, this.clock) };
    return lane.marks.list;
  }

  endOf(lane) {
    return this.marks(lane).at(-1).time;
  }

  get length() {
    return Math.max(0, ...this.lanes.filter((lane) => this.ready(lane)).map((lane) => this.endOf(lane)));
  }

  seek(time) {
    this.time = Math.max(0, Math.min(time, this.length));
    for (const lane of this.lanes) {
      if (!this.ready(lane)) continue;
      const { at } = markAt(this.marks(lane), this.time);
      if (lane.player.cursor !== at) lane.player.moveTo(at);
    }
    this.options.onTime?.(this.time);
    this.show();
  }

  /** To the next or the previous moment at which something changes in any lane. */
  step(by) {
    this.pause();
    const times = this.lanes.filter((lane) => this.ready(lane)).flatMap((lane) => this.marks(lane).map(({ time }) => time));
    const next = by > 0 ? Math.min(...times.filter((time) => time > this.time)) : Math.max(...times.filter((time) => time < this.time));
    if (Number.isFinite(next)) this.seek(next);
  }

  setClock(clock) {
    const share = this.length ? this.time / this.length : 0;
    this.clock = clock;
    this.seek(share * this.length);
  }

  setSpeed(speed) {
    this.speed = speed;
    this.speedBox.value = String(speed);
    this.show();
  }

  /** Units of the clock for each millisecond of playing. */
  get rate() {
    const whole = this.clock === "seconds" ? WHOLE_MS : Math.min(WHOLE_MS, TICK_MS * this.length);
    return (this.speed * this.length) / Math.max(1, whole);
  }

  play() {
    if (!this.length) return;
    if (this.time >= this.length) this.seek(0);
    this.playing = true;
    let before = performance.now();
    const turn = (now) => {
      if (!this.playing) return;
      const time = this.time + this.rate * Math.max(0, now - before);
      before = now;
      if (time >= this.length) this.playing = false;
      this.seek(time);
      if (this.playing) this.turning = requestAnimationFrame(turn);
    };
    this.turning = requestAnimationFrame(turn);
    this.show();
  }

  pause() {
    this.playing = false;
    cancelAnimationFrame(this.turning);
    this.show();
  }

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("select")) return;
    const onControl = event.target.matches("button, input");
    const action = {
      " ": onControl ? null : () => this.toggle(), ArrowLeft: () => this.step(-1), ArrowRight: () => this.step(1),
      Home: () => this.seek(0), End: () => this.seek(this.length),
    }[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  // Showing

  changed(lane) {
    if (this.lanes?.includes(lane)) this.show();
  }

  show() {
    if (!this.sentence) return;
    const { length, time } = this;
    setText(this.status, length ? this.speaker.text(`together.at.${this.clock}`, this.timeValues()) : "");
    this.range.max = String(length);
    this.range.value = String(time);
    this.range.disabled = !length;
    setAttribute(this.range, "aria-valuetext", this.status.textContent);
    for (const node of [this.restart, this.back]) node.disabled = !length || time <= 0;
    for (const node of [this.ahead, this.last]) node.disabled = !length || time >= length;
    this.playButton.disabled = !length;
    if (this.shownPlaying !== this.playing) {
      this.shownPlaying = this.playing;
      this.playButton.replaceChildren(icon(ICONS[this.playing ? "pause" : "play"]));
      const label = this.speaker.text(this.playing ? "button.pause" : "button.play");
      for (const name of ["aria-label", "title"]) setAttribute(this.playButton, name, label);
    }
    const { dataset } = this.element;
    Object.assign(dataset, { time, length, clock: this.clock, playing: Boolean(this.playing) });
    this.showFigures();
  }

  timeValues() {
    const digits = this.clock === "seconds" ? 3 : 0;
    const [time, length] = [this.time, this.length].map((value) =>
      (this.clock === "seconds" ? value.toFixed(digits) : String(Math.floor(value + 1e-9))));
    return { time, length, slower: formatRatio(1 / Math.max(1e-9, this.rate * 1000)) };
  }

  /** Lanes that are at their end, the first first; equal ones share a place. */
  placeOf(lane) {
    if (!this.isOver(lane)) return 0;
    const end = this.endOf(lane);
    return 1 + this.lanes.filter((other) => this.ready(other) && this.endOf(other) < end - 1e-12).length;
  }

  isOver(lane) {
    return this.ready(lane) && this.time >= this.endOf(lane);
  }

  showFigures() {
    for (const lane of this.lanes) {
      const { trace, cursor } = lane.player;
      const over = this.isOver(lane);
      const place = this.placeOf(lane);
      lane.node.classList.toggle("is-over", over);
      const key = !trace.run ? "together.waiting" : !this.ready(lane) ? "together.decoding" : place ? "together.done" : "together.running";
      setText(lane.note, this.speaker.text(key, { n: place }));
      const figures = headlineAt(trace, cursor);
      const values = {
        place: place || "", forwards: figures.forwards, tpf: formatRatio(figures.tokensPerForward), committed: figures.committed,
        computed: figures.computed, hits: figures.hits, seconds: this.secondsAt(lane, cursor).toFixed(3),
        right: over && lane.right !== null ? this.speaker.text(lane.right ? "together.yes" : "together.no") : "",
      };
      for (const name of this.options.columns) setText(lane.cells[name], trace.run ? String(values[name]) : "");
    }
    setText(this.sentence, this.lanes.every((lane) => this.ready(lane)) ? this.ratios() : "");
  }

  secondsAt({ player: { trace } }, cursor) {
    const { forwards, events, sums } = trace;
    const done = cursor >= 0 ? sums.forwards[cursor] : 0;
    return forwards.slice(0, done).reduce((sum, { at }) => sum + secondsOf(events[at]), 0);
  }

  /** The whole runs of the other decoders against that of ReFusion, where it is one of several. */
  ratios() {
    const whole = (lane) => {
      const { trace } = lane.player;
      return { forwards: trace.forwards.length, seconds: this.secondsAt(lane, trace.length - 1) };
    };
    const decoderOf = (lane) => lane.player.trace.run.decoder ?? "refusion";
    const own = this.lanes.find((lane) => decoderOf(lane) === "refusion");
    const others = this.lanes.filter((lane) => decoderOf(lane) !== "refusion");
    if (!own || !others.length) return "";
    const mine = whole(own);
    const parts = others.map((lane) => {
      const theirs = whole(lane);
      return this.speaker.text("together.ratio", {
        decoder: this.speaker.text(`decoder.${decoderOf(lane)}`),
        forwards: formatRatio(theirs.forwards / Math.max(1, mine.forwards)),
        seconds: formatRatio(theirs.seconds / Math.max(1e-9, mine.seconds)),
      });
    });
    return [...parts, this.speaker.text("together.paper")].join(" ");
  }

  setLang(language) {
    this.speaker.set(language);
    this.speaker.refresh();
    this.shownPlaying = null;
    for (const { player, title } of this.lanes) {
      player.setLang(language);
      player.element.setAttribute("aria-label", this.speaker.text(title));
    }
    this.show();
  }

  text(n) {
    return this.lanes[n].player.text();
  }

  destroy() {
    this.pause();
    this.gone.abort();
    for (const { player } of this.lanes) player.destroy();
    this.element.replaceChildren();
    this.element.classList.remove("rfp-together");
  }
}

/** A box in the player's style that is no player. */
function plain(name) {
  const body = el("div", "rfp-panel");
  return { root: el("div", `rfp has-run ${name}`, body), body };
}
