// The steps that a reader follows; rounds of infill come second where there are too many.
const FIRST = new Set(["run_started", "plan", "verify", "commit", "run_finished"]);
const SECOND = new Set(["infill_round"]);

/**
 * The events that an animation shows: those that change the picture. Where they are too many, first plan, verify
 * and commit, then rounds of infill, evenly chosen.
 * @param {object[]} events @param {number} limit at least 2
 * @returns {number[]} indexes, in order, the first and the last always among them
 */
export function chooseFrames(events, limit) {
  const last = events.length - 1;
  const places = (types) => events.flatMap(({ type }, at) => (types.has(type) ? [at] : []));
  const first = places(FIRST);
  if (first.at(-1) !== last) first.push(last);
  const kept = evenly(first, limit);
  const rounds = places(SECOND).filter((at) => at !== last);
  return [...kept, ...evenly(rounds, limit - kept.length)].sort((a, b) => a - b);
}

function evenly(list, count) {
  if (list.length <= count) return list;
  return Array.from({ length: count }, (_, n) => list[Math.round((n * (list.length - 1)) / Math.max(1, count - 1))]);
}
