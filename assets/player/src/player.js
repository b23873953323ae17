import { faultOf } from "./check.js";
import {
  GAP_REPEAT_MS, LOOP_REST_MS, MAX_RESPONSE_TOKENS, MAX_TRACE_CHARACTERS, PACE, SCHEMA_VERSION, SPEEDS,
} from "./constants.js";
import { DependencyView } from "./dependency.js";
import { el, readPalette } from "./drawing.js";
import { ExportMenu } from "./export-menu.js";
import { Folder } from "./fold.js";
import { clip } from "./format.js";
import { Help } from "./help.js";
import { Inspector } from "./inspector.js";
import { LedgerView } from "./ledger.js";
import { iterationOfHash, linkTo } from "./links.js";
import { NarrationView } from "./narration.js";
import { OrdersView } from "./orders.js";
import { Presenter } from "./presenter.js";
import { ScoreboardView } from "./scoreboard.js";
import { Share } from "./share.js";
import { Speaker } from "./speaker.js";
import { StageView } from "./stage.js";
import { statisticsAt } from "./statistics.js";
import { TimelineView } from "./timeline.js";
import { Trace } from "./trace.js";
import { Transport } from "./transport.js";
import { WhatIfView } from "./whatif-view.js";

/** Everything together: holds the trace and the cursor, and paints at most once per animation frame. */
export class Player {
  constructor(element, options) {
    this.element = element;
    this.options = { autoplay: true, lang: "en", ...options };
    this.speaker = new Speaker(this.options.lang);
    this.speed = 1;
    this.pace = PACE;
    this.loop = false;
    this.hoveredSlot = -1;
    this.palette = { version: 0 };
    this.widths = new Map();
    this.motion = window.matchMedia("(prefers-reduced-motion: reduce)");
    this.darkness = window.matchMedia("(prefers-color-scheme: dark)");
    this.createViews();
    this.listen();
    this.reset("empty");
    this.refreshPalette();
  }

  createViews() {
    const { element, speaker } = this;
    element.classList.add("rfp");
    if (!this.options.controlled) element.tabIndex = 0;
    element.setAttribute("role", "region");
    element.lang = speaker.language;
    if (this.options.label) element.setAttribute("aria-label", this.options.label);
    else speaker.bind(element, "player", "aria-label");
    this.stage = new StageView(this);
    this.transport = new Transport(this);
    this.timeline = new TimelineView(this);
    this.orders = new OrdersView(this);
    this.ledger = new LedgerView(this);
    this.narration = new NarrationView(this);
    this.scoreboard = new ScoreboardView(this);
    this.whatif = new WhatIfView(this);
    this.dependency = new DependencyView(this);
    this.inspector = new Inspector(this);
    this.help = new Help(this);
    this.exports = new ExportMenu(this);
    this.share = new Share(this);
    this.presenter = new Presenter(this);
    this.transport.side.append(this.exports.node);
    const { parts, controlled } = this.options;
    this.stage.section.append(...(controlled ? [] : [this.transport.node]), this.stage.legend, this.stage.answerBox);
    // Canvases first: text on a canvas makes the browser resolve the styles that the others are about to change.
    const all = [this.orders, this.dependency, this.timeline, this.ledger, this.stage, this.scoreboard, this.whatif,
      this.narration];
    const isShown = (view) => !parts || parts.some((name) => this[name] === view);
    this.views = all.filter(isShown);
    this.notice = el("div", "rfp-notice");
    this.notice.setAttribute("role", "alert");
    this.notice.hidden = true;
    this.probe = el("span", "rfp-probe");
    this.probe.setAttribute("aria-hidden", "true");
    const column = (...views) => el("div", "rfp-column", ...views.filter(isShown).map((view) => view.section));
    const left = column(this.stage, this.orders, this.timeline, this.ledger);
    const right = column(this.narration, this.scoreboard, this.whatif, this.dependency);
    this.layout = el("div", "rfp-layout", left, right, this.presenter.closeup.section);
    this.drop = el("div", "rfp-drop", speaker.bind(el("span", ""), "drop"));
    this.drop.hidden = true;
    element.replaceChildren(this.notice, this.layout, this.inspector.card, this.presenter.node, this.help.node,
      this.share.node, this.drop, this.probe);
  }

  listen() {
    this.gone = new AbortController();
    const { signal } = this.gone;
    const repaint = () => this.refreshPalette();
    if (!this.options.controlled) {
      this.element.addEventListener("keydown", (event) => this.onKey(event), { signal });
      window.addEventListener("hashchange", () => this.openAtHash(), { signal });
      this.listenForFiles();
    }
    this.darkness.addEventListener("change", repaint, { signal });
    const themes = new MutationObserver(repaint);
    for (let node = this.element; node; node = node.parentElement) {
      const own = node === this.element;
      themes.observe(node, { attributes: true, attributeFilter: own ? ["class", "data-theme"] : ["class"] });
    }
    // Reading a width during a paint would force a layout: views read what was measured here.
    const sizes = new ResizeObserver((entries) => {
      for (const entry of entries) this.widths.set(entry.target, entry.contentRect.width);
      this.resized = true;
      this.changed();
    });
    const { stage, orders, timeline, ledger, dependency, transport } = this;
    const measured = [stage.grid, orders.stripBox, timeline.scroller, ledger.barBox, dependency.scroller, transport.scrub];
    for (const node of measured) sizes.observe(node);
    this.unlisten = () => {
      this.gone.abort();
      themes.disconnect();
      sizes.disconnect();
    };
  }

  /** A trace may be dropped anywhere on the player; what is playing stays if it is none. */
  listenForFiles() {
    const { drop } = this;
    const on = (name, listener) => this.element.addEventListener(name, listener, { signal: this.gone.signal });
    on("dragover", (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      drop.hidden = false;
    });
    on("dragleave", (event) => {
      if (!this.element.contains(event.relatedTarget)) drop.hidden = true;
    });
    on("drop", async (event) => {
      drop.hidden = true;
      const file = event.dataTransfer?.files[0];
      if (!file) return;
      event.preventDefault();
      if (this.options.onFile) this.options.onFile(file);
      else this.load(await file.text(), { label: file.name });
    });
  }

  /** Width of a watched element, 0 while it is not shown. */
  widthOf(node) {
    if (!this.widths.has(node)) this.widths.set(node, node.clientWidth);
    return this.widths.get(node);
  }

  /** @param {"empty"|"waiting"} state */
  reset(state) {
    this.stopTimer();
    this.trace = new Trace();
    this.folder = null;
    this.cursor = -1;
    this.held = new Map(); // events that came before one that is missing, by seq
    this.gapAsked = { seq: -1, at: 0 };
    this.following = false;
    this.wantsPlay = false;
    this.runError = null;
    this.builtFor = null;
    this.setProblems([]);
    this.setState(state);
    this.inspector.hide();
    this.changed();
  }

  get frame() {
    return this.folder?.frame;
  }

  get playing() {
    return this.wantsPlay || (this.following && this.state === "live");
  }

  /** Whether transitions are wanted. */
  moves() {
    return !this.motion.matches;
  }

  setState(state) {
    this.state = state;
    this.element.dataset.state = state;
  }

  // Feeding

  /** Shows a trace. Of a damaged one what can be read plays; where that is nothing, what was shown stays. */
  load(text, { label } = {}) {
    const before = this.trace.finished ? { trace: this.trace, folder: this.folder, cursor: this.cursor } : null;
    this.reset("empty");
    const name = label ?? this.options.label ?? this.speaker.text("player");
    this.element.setAttribute("aria-label", name);
    const problems = this.read(text);
    if (!this.trace.run) {
      this.setProblems(problems.length ? problems : [["problem.empty", {}]]);
      if (before) this.goBack(before);
      else this.setState("failed");
      this.changed();
      return;
    }
    this.setState(this.trace.finished?.stop_reason === "error" ? "failed" : "ready");
    if (!this.trace.finished) problems.push(["problem.partial", {}]);
    this.setProblems(problems);
    this.buildViews();
    if (!this.options.controlled && this.openAtHash()) return;
    if (this.options.autoplay) this.playFrom(0);
    else this.moveTo(this.trace.length - 1);
  }

  goBack({ trace, folder, cursor }) {
    [this.trace, this.folder] = [trace, folder];
    this.setState(trace.finished.stop_reason === "error" ? "failed" : "ready");
    this.buildViews();
    this.moveTo(cursor);
  }

  /** Reads all lines that can be read. @returns {Sentence[]} what was wrong */
  read(text) {
    if (text.length > MAX_TRACE_CHARACTERS) {
      const mb = (n) => Math.round(n / 2 ** 20);
      return [["problem.large", { found: mb(text.length), limit: mb(MAX_TRACE_CHARACTERS) }]];
    }
    const damaged = [];
    const lines = text.split("\n");
    for (let n = 0; n < lines.length; n++) {
      if (!lines[n].trim()) continue;
      const problem = this.readLine(lines[n]);
      if (problem?.fatal) return [problem.fatal];
      if (problem) damaged.push({ line: n + 1, why: this.speaker.text(...problem.why) });
    }
    const problems = damaged.length
      ? [[damaged.length > 1 ? "problem.lines" : "problem.line", { n: damaged.length, ...damaged[0] }]] : [];
    if (!this.trace.run && lines.some((line) => line.trim())) problems.push(["problem.start", {}]);
    return problems;
  }

  readLine(line) {
    let event;
    try {
      event = JSON.parse(line);
    } catch {
      return { why: ["why.json", {}] };
    }
    if (event?.seq >= 0 && event.seq < this.trace.nextSeq) return { why: ["problem.seq", { seq: event.seq }] };
    return this.accept(event, line);
  }

  /** Adds an event that is in order. @returns {{fatal?: Sentence, why?: Sentence}|null} what is wrong with it */
  accept(event, line) {
    const fault = faultOf(event, this.trace.slotCount);
    if (fault) return { why: fault };
    if (event.type === "run_started") {
      if (this.trace.run) return { why: ["why.type", {}] };
      const fatal = startFault(event);
      if (fatal) return { fatal };
    }
    try {
      this.trace.append(event, line);
    } catch (problem) {
      this.trace.events.length = this.trace.iterationAt.length = this.trace.lines.length;
      return { why: ["why.field", { field: String(problem.message) }] };
    }
    if (event.type === "run_started") this.folder = new Folder(this.trace);
    return null;
  }

  begin({ label, follow = true } = {}) {
    const height = this.element.getBoundingClientRect().height;
    const stage = this.builtFor ? this.stage.prompt.offsetHeight + this.stage.scroller.offsetHeight + 6 : 240;
    this.reset("waiting");
    this.stage.message.style.minHeight = `${stage}px`;
    this.layout.style.minHeight = `${Math.round(height)}px`;
    this.label = label;
    this.following = follow;
    this.wantsPlay = !follow;
    this.showMessage();
    this.syncCounters();
  }

  /** @param {string|string[]|object|object[]} events JSON Lines text, or events, in any mixture */
  push(events) {
    for (const item of Array.isArray(events) ? events : [events]) {
      if (typeof item !== "string") this.pushEvent(item);
      else for (const line of item.split("\n")) if (line.trim()) this.pushLine(line);
    }
    this.reportGap();
    this.advanceLive();
  }

  pushLine(line) {
    let event;
    try {
      event = JSON.parse(line);
    } catch {
      this.addProblem(this.lineProblem(this.trace.length + 1, ["why.json", {}]));
      return;
    }
    this.pushEvent(event, line);
  }

  pushEvent(event, line) {
    if (!Number.isSafeInteger(event?.seq)) {
      this.addProblem(this.lineProblem(this.trace.length + 1, ["why.field", { field: "seq" }]));
      return;
    }
    if (event.seq < this.trace.nextSeq || this.held.has(event.seq)) return;
    this.held.set(event.seq, [event, line]);
    for (let next; (next = this.held.get(this.trace.nextSeq)); ) {
      this.held.delete(this.trace.nextSeq);
      const problem = this.accept(...next);
      if (problem) {
        this.trace.nextSeq = next[0].seq + 1;
        this.addProblem(problem.fatal ?? this.lineProblem(next[0].seq + 1, problem.why));
        if (problem.fatal) this.setState("failed");
      }
    }
  }

  /** @returns {Sentence} */
  lineProblem(line, why) {
    return ["problem.line", { line, why: this.speaker.text(...why) }];
  }

  /** Asks for what is missing: at once, and again when that brought nothing. */
  reportGap() {
    if (!this.held.size) return;
    const now = performance.now();
    const { nextSeq } = this.trace;
    if (this.gapAsked.seq === nextSeq && now - this.gapAsked.at < GAP_REPEAT_MS) return;
    this.gapAsked = { seq: nextSeq, at: now };
    this.options.onGap?.(nextSeq);
  }

  advanceLive() {
    if (!this.trace.run) {
      this.changed();
      return;
    }
    if (this.state === "waiting") {
      this.setState("live");
      this.buildViews();
    }
    if (this.trace.finished && this.state === "live") this.end();
    if (this.following || this.cursor < 0) this.moveTo(this.following ? this.trace.length - 1 : 0);
    else this.changed();
    if (this.wantsPlay) this.schedule();
  }

  finish({ error } = {}) {
    if (this.held.size) {
      this.gapAsked = { seq: -1, at: 0 };
      this.reportGap();
    }
    if (this.held.size) {
      const [from, to] = [this.trace.nextSeq, Math.min(...this.held.keys()) - 1];
      this.addProblem(["problem.gap", { from, to }]);
    }
    if (error) this.addProblem(["problem.failed", { error: String(error) }]);
    this.end(error);
    this.changed();
  }

  end(error) {
    const failed = Boolean(error) || this.trace.finished?.stop_reason === "error" || !this.trace.run;
    this.setState(failed ? "failed" : "ready");
    if (this.following) {
      this.moveTo(this.trace.length - 1);
      this.following = false;
    }
    this.layout.style.minHeight = "";
  }

  /** Shows what is wrong with what was opened; what can be played stays. */
  fail(message) {
    this.addProblem(["{message}", { message }]);
    if (!this.trace.run) this.setState("failed");
    this.changed();
  }

  text() {
    const { events, lines } = this.trace;
    return events.map((event, n) => `${lines[n] ?? JSON.stringify(event)}\n`).join("");
  }

  // Moving

  moveTo(index) {
    if (!this.folder) return;
    this.cursor = Math.max(0, Math.min(index, this.trace.length - 1));
    this.folder.seek(this.cursor);
    this.changed();
  }

  seek(index) {
    this.following = false;
    this.moveTo(index);
    if (this.wantsPlay) this.schedule(true);
  }

  /** Goes to the iteration that the address names and stays there. @returns {boolean} whether it names one */
  openAtHash() {
    const number = iterationOfHash(window.location.hash);
    const record = number === null ? null : this.trace.iterations.find((entry) => entry.number === number - 1);
    if (!record) return false;
    this.pause();
    this.moveTo(this.firstShown(record));
    return true;
  }

  /** The iteration at the cursor, counted from 1. */
  iterationShown() {
    return (this.trace.recordAt(this.cursor)?.number ?? 0) + 1;
  }

  /** The address of the current iteration. */
  link() {
    return linkTo(this.options.pageAddress?.() ?? window.location.href, this.iterationShown(), this.options.linkOf?.() ?? {});
  }

  /** Copies the address of the current iteration; where the browser refuses, shows it. */
  async copyLink() {
    const link = this.link();
    try {
      await navigator.clipboard.writeText(link);
      this.transport.announce("button.copied");
    } catch {
      this.addProblem(["{message}", { message: link }]);
    }
  }

  /**
   * The iteration at the cursor and what was marked in its scoreboard: where a fork would begin.
   * @returns {{iteration: number, force: number[], forbid: number[], write: Record<number, string>}|null}
   */
  forkPoint() {
    const record = this.trace.recordAt(this.cursor);
    if (!record || this.trace.run.decoder === "ar" || this.trace.run.decoder === "mdm") return null;
    const marked = (mark) => this.scoreboard.marked(record, mark);
    return { iteration: record.number, force: marked("force"), forbid: marked("forbid"), write: this.scoreboard.written() };
  }

  setLoop(on) {
    this.loop = on;
    this.changed();
  }

  /** To the next or the previous forward. */
  stepForward(by) {
    this.pause();
    const { forwards, sums } = this.trace;
    const done = sums.forwards[this.cursor] ?? 0;
    const isStart = forwards[done - 1]?.at === this.cursor;
    const target = by > 0 ? done : isStart ? done - 2 : done - 1;
    if (target < 0) this.moveTo(0);
    else this.moveTo(forwards[target]?.at ?? this.trace.length - 1);
  }

  /** Steps over the texts of tokens, which show nothing. */
  step(by) {
    this.pause();
    let to = this.cursor + by;
    while (this.trace.events[to]?.type === "vocabulary") to += by;
    this.moveTo(to);
  }

  stepIteration(by) {
    this.pause();
    const { iterations, iterationAt } = this.trace;
    const place = iterationAt[this.cursor] ?? -1;
    const isStart = place >= 0 && this.cursor <= this.firstShown(iterations[place]);
    // Back goes to the start of this iteration first, as tapes do.
    const target = by < 0 && !isStart ? place : place + by;
    if (target < 0) this.moveTo(0);
    else if (target >= iterations.length) this.moveTo(this.trace.length - 1);
    else this.moveTo(this.firstShown(iterations[target]));
  }

  /** Where an iteration is first worth looking at: its plan. */
  firstShown(record) {
    return record.plan >= 0 ? record.plan : record.first;
  }

  play() {
    if (!this.trace.run) return;
    this.following = false;
    this.playFrom(this.cursor >= this.trace.length - 1 && this.state !== "live" ? 0 : this.cursor);
  }

  playFrom(index) {
    this.wantsPlay = true;
    this.moveTo(index);
    this.schedule(true);
  }

  pause() {
    this.following = false;
    this.wantsPlay = false;
    this.stopTimer();
    this.changed();
  }

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }

  follow(on) {
    if (this.state !== "live" && this.state !== "waiting") return;
    this.wantsPlay = false;
    this.stopTimer();
    this.following = Boolean(on);
    if (this.following) this.moveTo(this.trace.length - 1);
    this.changed();
  }

  setSpeed(speed) {
    if (!(speed > 0)) return;
    this.speed = speed;
    if (this.wantsPlay) this.schedule(true);
    this.changed();
  }

  changeSpeed(by) {
    const place = SPEEDS.findIndex((speed) => speed >= this.speed);
    const next = SPEEDS[Math.max(0, Math.min(SPEEDS.length - 1, (place < 0 ? SPEEDS.length - 1 : place) + by))];
    this.setSpeed(next);
  }

  stopTimer() {
    clearTimeout(this.timer);
    this.timer = 0;
  }

  /** Plans the step to the next event; at the newest event of a live run it waits for more. */
  schedule(anew = false) {
    if (this.timer && !anew) return;
    this.stopTimer();
    if (this.cursor >= this.trace.length - 1) {
      if (this.state === "live" || this.state === "waiting") return;
      if (!this.loop) this.pause();
      else this.timer = setTimeout(() => this.playFrom(0), LOOP_REST_MS / this.speed);
      return;
    }
    this.timer = setTimeout(() => {
      this.timer = 0;
      this.moveTo(this.cursor + 1);
      this.schedule();
    }, this.pace[this.trace.events[this.cursor].type] / this.speed);
  }

  onKey(event) {
    const target = event.target;
    const typing = target.isContentEditable || target.matches("textarea, select, input:not([type=range])");
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (this.presenter.onKey(event) || !this.trace.run) return;
    const action = this.keyAction(event, target);
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  }

  keyAction(event, target) {
    const onButton = target.matches("button");
    switch (event.key) {
      case " ": return onButton ? null : () => this.toggle();
      case "ArrowLeft": return () => (event.shiftKey ? this.stepIteration(-1) : this.step(-1));
      case "ArrowRight": return () => (event.shiftKey ? this.stepIteration(1) : this.step(1));
      case "Home": return () => this.seek(0);
      case "End": return () => this.seek(this.trace.length - 1);
      case "+": case "=": return () => this.changeSpeed(1);
      case "-": return () => this.changeSpeed(-1);
      case ",": return () => this.stepForward(-1);
      case ".": return () => this.stepForward(1);
      case "f": case "F": return () => this.follow(!this.following);
      case "l": case "L": return () => this.setLoop(!this.loop);
      case "p": case "P": return () => this.presenter.toggle();
      case "?": return () => this.help.open();
      case "ArrowUp": case "ArrowDown": return this.tokenKey(event.key === "ArrowUp" ? -1 : 1, target);
      case "Escape": return () => {
        this.inspector.hide();
        this.element.focus();
      };
      default: return null;
    }
  }

  tokenKey(by, target) {
    if (!target.matches(".rfp-cell")) return null;
    return () => this.stage.focusCell(this.stage.offsetOf(target) + by);
  }

  // Showing

  hover(slot) {
    if (slot === this.hoveredSlot) return;
    const before = this.hoveredSlot;
    this.hoveredSlot = slot;
    if (!this.builtFor) return;
    for (const view of this.views) view.hover?.(slot, before);
  }

  setLang(language) {
    this.speaker.set(language);
    this.element.lang = this.speaker.language;
    this.speaker.refresh();
    this.transport.shownPlaying = null;
    if (this.builtFor) for (const view of this.views) view.forget?.();
    this.showProblems();
    this.showMessage();
    this.changed();
  }

  refreshPalette() {
    const version = this.palette.version + 1;
    const palette = readPalette(this.probe);
    if (palette.ink === this.palette.ink && palette.panel === this.palette.panel) return;
    this.palette = { ...palette, version, onChosen: "#1b1f24" };
    this.changed();
  }

  setProblems(problems) {
    this.problems = problems;
    this.showProblems();
  }

  addProblem(problem) {
    this.setProblems([...this.problems, problem].slice(0, 5));
  }

  showProblems() {
    this.notice.hidden = !this.problems.length;
    this.notice.replaceChildren(...this.problems.map((problem) => el("p", "", this.speaker.text(...problem))));
  }

  /** The designed states without a run: empty and waiting. */
  showMessage() {
    const state = this.state === "waiting" ? "waiting" : "empty";
    const title = el("strong", "", this.speaker.text(`${state}.title`));
    const label = state === "waiting" && this.label ? el("span", "rfp-message-label", clip(this.label, 200)) : null;
    const body = el("span", "", this.speaker.text(`${state}.body`));
    this.stage.message.replaceChildren(...[title, label, body].filter(Boolean));
  }

  buildViews() {
    this.builtFor = this.trace.run;
    this.element.classList.add("has-run");
    for (const view of this.views) view.build();
  }

  /** Something changed: counters are true at once, the picture at the next animation frame. */
  changed() {
    this.syncCounters();
    if (this.pending || this.destroyed) return;
    this.pending = requestAnimationFrame(() => {
      this.pending = 0;
      this.paint();
    });
  }

  syncCounters() {
    const { trace, cursor } = this;
    const event = trace.events[cursor];
    const record = trace.recordAt(cursor);
    const data = {
      events: trace.length, cursor, iteration: record ? record.number : "", playing: this.playing,
      committed: trace.sums.committed[cursor] ?? 0, state: this.state,
    };
    for (const [name, value] of Object.entries(data)) {
      if (this.element.dataset[name] !== String(value)) this.element.dataset[name] = value;
    }
    if (cursor === this.toldCursor && trace.length === this.toldLength) return;
    [this.toldCursor, this.toldLength] = [cursor, trace.length];
    this.options.onCursor?.({
      index: cursor, events: trace.length, type: event?.type ?? null, iteration: record ? record.number : null,
      state: this.state,
    });
  }

  paint() {
    if (!this.builtFor) {
      this.element.classList.remove("has-run");
      this.showMessage();
      this.narration.clear();
      this.transport.paint();
      this.exports.paint();
      return;
    }
    if (this.resized) this.stage.measure();
    this.resized = false;
    for (const view of this.views) view.paint();
    this.presenter.paint();
    this.transport.paint();
    this.exports.paint();
    this.inspector.refresh();
    this.element.dataset.painted = this.cursor;
  }

  statistics() {
    return statisticsAt(this.trace, this.cursor);
  }

  destroy() {
    this.presenter.leave();
    this.destroyed = true;
    this.stage.sight?.disconnect();
    this.stopTimer();
    cancelAnimationFrame(this.pending);
    this.unlisten();
    this.element.replaceChildren();
    this.element.classList.remove("rfp", "has-run");
  }
}

/** Why a run cannot be shown at all, or null. @returns {Sentence|null} */
function startFault(event) {
  if (event.schema_version > SCHEMA_VERSION) {
    return ["problem.newer", { found: event.schema_version, known: SCHEMA_VERSION }];
  }
  const { response_length: length, slot_count: slots, settings } = event;
  const size = settings.slot_size;
  if (!(length > 0 && slots > 0 && size > 0 && slots * size === length)) return ["problem.start", {}];
  if (length > MAX_RESPONSE_TOKENS) return ["problem.response", { found: length, limit: MAX_RESPONSE_TOKENS }];
  return null;
}
