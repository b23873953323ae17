import { bytesOfHex, hexText } from "./bytes.js";
import { CELL_TEXT_LIMIT } from "./constants.js";
import { clip, visibleText } from "./format.js";

/** The events in order, with what every view looks up: running sums, iterations, forwards, commits. */
export class Trace {
  constructor() {
    this.events = [];
    this.lines = [];
    this.run = null;
    this.finished = null;
    this.nextSeq = 0;
    this.vocabulary = new Map();
    this.byteTokens = 0;
    /** @type {IterationRecord[]} */
    this.iterations = [];
    this.iterationAt = []; // per event: place in iterations, -1 before the first
    this.planAt = []; // per event: place of the latest iteration that has shown its plan
    this.forwards = []; // {at, phase, computed, hits}
    this.commits = []; // {at, slot, tokens, cacheIndex}
    this.sums = { forwards: [], computed: [], hits: [], discarded: [], committed: [], commits: [] };
    this.slotCommit = null; // per slot: place in iterations of its last commit, -1
    this.slotDrop = null;
  }

  get length() {
    return this.events.length;
  }

  get slotSize() {
    return this.run.settings.slot_size;
  }

  get slotCount() {
    return this.run ? this.run.slot_count : 0;
  }

  /** @param {object} event @param {string} [line] its JSON as it came */
  append(event, line) {
    const at = this.events.length;
    this.events.push(event);
    this.lines.push(line);
    this.nextSeq = event.seq + 1;
    this.indexIteration(event, at);
    this.indexSums(event, at);
    if (event.type === "run_started") this.start(event);
    else if (event.type === "vocabulary") this.learn(event.tokens);
    else if (event.type === "run_finished") this.finished = event;
  }

  start(event) {
    this.run = event;
    this.slotCommit = new Int32Array(event.slot_count).fill(-1);
    this.slotDrop = new Int32Array(event.slot_count).fill(-1);
  }

  learn(tokens) {
    for (const token of tokens) {
      const bytes = typeof token.bytes === "string" ? bytesOfHex(token.bytes) : null;
      if (bytes) this.byteTokens++;
      this.vocabulary.set(token.id, { text: visibleText(String(token.text)), bytes, raw: String(token.text) });
    }
  }

  indexIteration(event, at) {
    const last = this.iterations.length - 1;
    let place = last;
    if (Number.isInteger(event.iteration) && (last < 0 || this.iterations[last].number !== event.iteration)) {
      place = last + 1;
      this.iterations.push({
        number: event.iteration, block: event.block ?? 0, first: at, last: at,
        plan: -1, verify: -1, rounds: [], commit: -1, dependency: -1,
      });
    }
    this.iterationAt.push(place);
    if (place >= 0) {
      const record = this.iterations[place];
      if (event.type !== "run_finished") record.last = at;
      if (event.type === "infill_round") record.rounds.push(at);
      else if (event.type in record) record[event.type] = at;
    }
    const before = at ? this.planAt[at - 1] : -1;
    this.planAt.push(event.type === "plan" ? place : before);
  }

  indexSums(event, at) {
    const add = { forwards: 0, computed: 0, hits: 0, discarded: 0, committed: 0, commits: 0 };
    if (event.type === "forward") {
      Object.assign(add, { forwards: 1, computed: event.tokens_computed, hits: event.cache_hits });
      this.forwards.push({
        at, phase: event.phase, computed: event.tokens_computed, hits: event.cache_hits, number: event.forward,
      });
    } else if (event.type === "cache") {
      add.discarded = event.discarded;
    } else if (event.type === "commit") {
      this.indexCommit(event, at);
      add.commits = event.slots.length;
      add.committed = event.slots.reduce((sum, slot) => sum + slot.tokens.length, 0);
    }
    for (const [name, list] of Object.entries(this.sums)) list.push((at ? list[at - 1] : 0) + add[name]);
  }

  indexCommit(event, at) {
    const place = this.iterations.length - 1;
    for (const slot of event.slots) {
      this.commits.push({
        at, slot: slot.slot, tokens: slot.tokens.length, cacheIndex: slot.cache_indexes[0] ?? -1,
      });
      if (this.slotCommit) this.slotCommit[slot.slot] = place;
    }
    for (const slot of event.dropped_slots ?? []) if (this.slotDrop) this.slotDrop[slot] = place;
  }

  /** The record of the iteration that an event belongs to, or null before the first. */
  recordAt(at) {
    return this.iterations[this.iterationAt[at]] ?? null;
  }

  /** The last iteration whose plan is known at an event, or null. */
  plannedAt(at) {
    return this.iterations[this.planAt[at]] ?? null;
  }

  tokenText(id) {
    const known = this.vocabulary.get(id);
    if (!known) return `#${id}`;
    return known.bytes ? hexText(known.bytes) : known.text;
  }

  /** The text of a cell of the stage: eos by its short name, and nothing endless. */
  cellText(id) {
    return id === this.run.model.eos_id ? "eos" : clip(this.tokenText(id), CELL_TEXT_LIMIT);
  }

  /** Probability that a drafted token must exceed. */
  get tokenThreshold() {
    return this.run.settings.token_threshold;
  }
}
