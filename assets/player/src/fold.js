import { CELL, CELL_OF_STATUS, KEYFRAME_EVENTS, ORIGINS, SLOT } from "./constants.js";

/** The response as it is at the cursor: one entry per position, one per slot. */
export class Frame {
  /** @param {object} run the run_started event */
  constructor(run) {
    const [length, slots] = [run.response_length, run.slot_count];
    this.status = new Uint8Array(length);
    this.token = new Int32Array(length).fill(-1);
    this.probability = new Float64Array(length).fill(NaN);
    this.origin = new Uint8Array(length);
    this.cacheIndex = new Int32Array(length).fill(-1);
    this.commitEvent = new Int32Array(length).fill(-1);
    this.slot = new Uint8Array(slots);
    this.confidence = new Float64Array(slots).fill(NaN);
    this.run = new Int32Array(slots); // accepted run after verify and in infill
    this.bestOfNone = new Uint8Array(slots);
    this.eos = -1; // offset of the first committed (or surely to be committed) eos
    this.straggler = -1;
  }

  copyFrom(other) {
    for (const [name, value] of Object.entries(other)) {
      if (typeof value === "number") this[name] = value;
      else this[name].set(value);
    }
    return this;
  }
}

/** Applies one event to a frame. Pure apart from the frame. */
const FOLD = {
  plan(frame, event, at, trace) {
    settle(frame);
    for (const planned of event.slots) {
      const from = planned.slot * trace.slotSize;
      frame.slot[planned.slot] = planned.chosen ? SLOT.CHOSEN : SLOT.CANDIDATE;
      frame.confidence[planned.slot] = planned.confidence;
      frame.bestOfNone[planned.slot] = planned.reason === "best_of_none" ? 1 : 0;
      frame.run[planned.slot] = 0;
      planned.tokens.forEach((token, k) => {
        if (frame.status[from + k] >= CELL.COMMITTED) return;
        frame.status[from + k] = planned.chosen ? CELL.DRAFTED : CELL.CANDIDATE;
        frame.token[from + k] = token;
        frame.origin[from + k] = 1;
        frame.probability[from + k] = planned.probabilities[k];
      });
    }
  },

  verify(frame, event, at, trace) {
    const fate = {
      committed: SLOT.PASSED, infill: SLOT.INFILL, returned: SLOT.RETURNED, dropped: SLOT.DROPPED,
    };
    let eos = -1;
    let left = event.accepted_prefix;
    for (const slot of event.slots) {
      const from = slot.slot * trace.slotSize;
      frame.slot[slot.slot] = fate[slot.outcome] ?? SLOT.PASSED;
      frame.run[slot.slot] = slot.accepted_run;
      slot.tokens.forEach((token, k) => {
        setVerified(frame, from + k, token, CELL_OF_STATUS[slot.statuses[k]], slot.probabilities[k]);
        if (slot.statuses[k] === "accepted") frame.origin[from + k] = 2;
      });
      // In infill each slot stands on its own; otherwise only the accepted prefix counts.
      const run = event.outcome === "infill" ? slot.accepted_run : Math.min(left, slot.tokens.length);
      left -= slot.tokens.length;
      const end = slot.tokens.indexOf(trace.run.model.eos_id);
      if (eos < 0 && end >= 0 && end < run) eos = from + end;
    }
    if (eos >= 0) dropAfter(frame, eos, trace.slotSize);
  },

  forward(frame, event, at, trace) {
    if (event.phase !== "infill_predict") return;
    const size = trace.slotSize;
    frame.slot.forEach((status, slot) => {
      if (status !== SLOT.INFILL) return;
      for (let k = frame.run[slot]; k < size; k++) maskCell(frame, slot * size + k);
    });
  },

  infill_round(frame, event, at, trace) {
    const size = trace.slotSize;
    frame.straggler = event.straggler ?? -1;
    for (const slot of event.slots) {
      const from = slot.slot * size;
      frame.run[slot.slot] = slot.run_after;
      slot.statuses.forEach((status, j) => {
        const i = from + slot.run_before + j;
        setVerified(frame, i, slot.tokens[slot.run_before + j], CELL_OF_STATUS[status], slot.verified[j]);
        frame.origin[i] = status === "accepted" ? 3 : status === "forced" ? 4 : 0;
      });
    }
    for (const slot of event.slots) {
      if (slot.dropped) dropSlot(frame, slot.slot, size);
      const end = slot.tokens.slice(0, slot.run_after).indexOf(trace.run.model.eos_id);
      if (slot.ended_by_eos && end >= 0) dropAfter(frame, slot.slot * size + end, size);
    }
  },

  commit(frame, event, at, trace) {
    const { slotSize, run } = trace;
    let eos = -1;
    for (const slot of event.slots) {
      slot.tokens.forEach((token, k) => {
        const i = slot.positions[k] - run.response_start;
        frame.status[i] = CELL.COMMITTED;
        frame.token[i] = token;
        frame.origin[i] = ORIGINS.indexOf(slot.origins[k]);
        frame.cacheIndex[i] = slot.cache_indexes[k] ?? -1;
        frame.commitEvent[i] = at;
        if (token === run.model.eos_id && (eos < 0 || i < eos)) eos = i;
      });
      frame.slot[slot.slot] = SLOT.FRESH;
    }
    frame.straggler = -1;
    for (const slot of event.dropped_slots ?? []) dropSlot(frame, slot, slotSize);
    if (frame.eos >= 0 && (eos < 0 || frame.eos < eos)) eos = frame.eos;
    if (eos >= 0) dropAfter(frame, eos, slotSize);
    returnRest(frame, event, slotSize);
  },

  run_finished(frame, event) {
    settle(frame);
    const broken = event.stop_reason === "stopped" || event.stop_reason === "error";
    frame.status.forEach((status, i) => {
      if (status >= CELL.COMMITTED) return;
      if (broken) maskCell(frame, i);
      else clearCell(frame, i, CELL.DROPPED);
    });
    frame.slot.forEach((status, slot) => {
      if (status < SLOT.COMMITTED) frame.slot[slot] = broken ? SLOT.OPEN : SLOT.DROPPED;
    });
  },
};

function clearCell(frame, i, status) {
  frame.status[i] = status;
  frame.token[i] = -1;
  frame.origin[i] = 0;
  frame.probability[i] = NaN;
}

function maskCell(frame, i) {
  if (frame.status[i] < CELL.COMMITTED) clearCell(frame, i, CELL.MASKED);
}

function setVerified(frame, i, token, status, probability) {
  if (frame.status[i] >= CELL.COMMITTED) return;
  frame.status[i] = status ?? CELL.DRAFTED;
  frame.token[i] = token;
  frame.probability[i] = probability;
  if (status === CELL.REJECTED || status === CELL.BEHIND) frame.origin[i] = 0;
}

/** A committed token behind an earlier eos stays in the output, but is no text: it is cut. */
function dropCell(frame, i) {
  if (frame.status[i] === CELL.COMMITTED) frame.status[i] = CELL.CUT;
  else if (frame.status[i] !== CELL.CUT) clearCell(frame, i, CELL.DROPPED);
}

function dropSlot(frame, slot, size) {
  for (let k = 0; k < size; k++) dropCell(frame, slot * size + k);
  frame.slot[slot] = SLOT.DROPPED;
  frame.confidence[slot] = NaN;
}

/** Nothing behind an eos is pending any more. */
function dropAfter(frame, eos, size) {
  if (frame.eos < 0 || eos < frame.eos) frame.eos = eos;
  const slot = Math.floor(eos / size);
  frame.run[slot] = Math.min(frame.run[slot], eos + 1 - slot * size);
  for (let i = eos + 1; i < (slot + 1) * size; i++) dropCell(frame, i);
  for (let s = slot + 1; s < frame.slot.length; s++) dropSlot(frame, s, size);
}

/** Whether a slot in infill has all its tokens, or ends at an eos, and waits for the others. */
export function isComplete(frame, slot, size) {
  const end = frame.eos >= 0 && Math.floor(frame.eos / size) === slot ? frame.eos % size + 1 : size;
  return frame.run[slot] >= end;
}

/** What was committed in the iteration before is no longer news. */
function settle(frame) {
  frame.slot.forEach((status, slot) => {
    if (status === SLOT.FRESH) frame.slot[slot] = SLOT.COMMITTED;
    else if (status === SLOT.RETURNED) frame.slot[slot] = SLOT.MASKED;
  });
}

/** Chosen slots that were not committed fall back to masks; half-committed ones say so. */
function returnRest(frame, event, size) {
  const busy = [SLOT.CHOSEN, SLOT.PASSED, SLOT.INFILL, SLOT.RETURNED];
  frame.slot.forEach((status, slot) => {
    if (!busy.includes(status)) return;
    for (let k = 0; k < size; k++) maskCell(frame, slot * size + k);
    frame.slot[slot] = SLOT.RETURNED;
  });
  for (const { slot } of event.slots) {
    const cells = frame.status.subarray(slot * size, (slot + 1) * size);
    if (frame.slot[slot] === SLOT.FRESH && cells.some((status) => status < CELL.COMMITTED)) {
      frame.slot[slot] = SLOT.PARTIAL;
    }
  }
}

/** A frame that can be moved to any event; key frames make going back cheap. */
export class Folder {
  /** @param {Trace} trace whose run has started */
  constructor(trace) {
    this.trace = trace;
    this.frame = new Frame(trace.run);
    this.cursor = -1;
    this.keyframes = [{ cursor: -1, frame: new Frame(trace.run) }];
    // Large responses get fewer key frames, so that memory stays bounded.
    this.interval = Math.max(KEYFRAME_EVENTS, Math.floor(trace.run.response_length / 16));
  }

  seek(to) {
    const start = this.keyframeBefore(to);
    if (to < this.cursor || start.cursor > this.cursor) {
      this.frame.copyFrom(start.frame);
      this.cursor = start.cursor;
    }
    while (this.cursor < to) this.step();
  }

  keyframeBefore(to) {
    let low = 0;
    for (let high = this.keyframes.length - 1; low < high; ) {
      const middle = (low + high + 1) >> 1;
      if (this.keyframes[middle].cursor <= to) low = middle;
      else high = middle - 1;
    }
    return this.keyframes[low];
  }

  step() {
    const at = ++this.cursor;
    const event = this.trace.events[at];
    FOLD[event.type]?.(this.frame, event, at, this.trace);
    const last = this.keyframes[this.keyframes.length - 1];
    if (at - last.cursor >= this.interval) {
      this.keyframes.push({ cursor: at, frame: new Frame(this.trace.run).copyFrom(this.frame) });
    }
  }
}
