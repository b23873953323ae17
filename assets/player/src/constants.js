export const SCHEMA_VERSION = 1;
export const MAX_TRACE_CHARACTERS = 200 * 1024 * 1024;
export const MAX_RESPONSE_TOKENS = 65536;
export const KEYFRAME_EVENTS = 48;
export const SPEEDS = [0.5, 1, 2, 4];
export const SCOREBOARD_ROWS = 64;
export const CELL_TEXT_LIMIT = 160;
export const GAP_REPEAT_MS = 2000;
export const LOOP_REST_MS = 1800; // at the end, before a loop begins anew
export const MASK_DOT = "•"; // unlike the middle dot that stands for a space

/** What a response position looks like at the cursor. */
export const CELL = Object.freeze({
  MASKED: 0, CANDIDATE: 1, DRAFTED: 2, FIRST: 3, ACCEPTED: 4, REJECTED: 5, BEHIND: 6, FORCED: 7,
  COMMITTED: 8, DROPPED: 9, CUT: 10,
});
export const CELL_NAMES = [
  "masked", "candidate", "drafted", "first", "accepted", "rejected", "behind", "forced", "committed",
  "dropped", "cut",
];
export const CELL_OF_STATUS = {
  first: CELL.FIRST, accepted: CELL.ACCEPTED, rejected: CELL.REJECTED, behind: CELL.BEHIND,
  forced: CELL.FORCED,
};

/** What a slot is doing at the cursor. FRESH: committed by this very iteration. OPEN: the run ended before. */
export const SLOT = Object.freeze({
  MASKED: 0, CANDIDATE: 1, CHOSEN: 2, PASSED: 3, INFILL: 4, RETURNED: 5, FRESH: 6, COMMITTED: 7, PARTIAL: 8,
  DROPPED: 9, OPEN: 10,
});
export const SLOT_NAMES = [
  "masked", "candidate", "chosen", "passed", "infill", "returned", "fresh", "committed", "partial", "dropped",
  "open",
];

export const ORIGINS = ["none", "plan", "verified", "infill", "forced", "next"];

/** Milliseconds an event stays at speed 1. */
export const PACE = {
  run_started: 700, vocabulary: 0, forward: 90, plan: 480, dependency: 40, verify: 480, infill_round: 330,
  commit: 380, cache: 90, run_finished: 0,
};

/** The same in front of a class, where a view comes to the side of the stage and has to be read. */
export const PRESENTER_PACE = {
  run_started: 2400, vocabulary: 0, forward: 90, plan: 1800, dependency: 40, verify: 1800, infill_round: 1200,
  commit: 1600, cache: 1200, run_finished: 0,
};
