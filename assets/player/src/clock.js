/**
 * When a run shows what, on a clock that several runs share. Clocks: "forwards" (each counts one), "seconds" (each
 * as long as it was measured) and "iterations" (whole numbers are commits; plan, verify and rounds lie before them,
 * each at the same time in all runs, however many rounds one of them takes).
 * @typedef {{time: number, at: number}} Mark from this time on the event at this index is the latest
 */
export const CLOCKS = ["forwards", "seconds", "iterations"];

/** @param {import("./trace.js").Trace} trace @returns {Mark[]} in order, the first at time 0 */
export function marksOf(trace, clock) {
  return clock === "iterations" ? iterationMarks(trace) : forwardMarks(trace, clock);
}

function forwardMarks({ events, forwards }, clock) {
  const before = (n) => (n < forwards.length ? forwards[n].at : events.length) - 1;
  const marks = [{ time: 0, at: before(0) }];
  for (let n = 0; n < forwards.length; n++) {
    const length = clock === "seconds" ? secondsOf(events[forwards[n].at]) : 1;
    marks.push({ time: marks[n].time + length, at: before(n + 1) });
  }
  return marks;
}

function iterationMarks({ events, iterations }) {
  const marks = [{ time: 0, at: iterations.length ? iterations[0].first - 1 : events.length - 1 }];
  iterations.forEach((record, n) => {
    const steps = [record.plan, record.verify, ...record.rounds].filter((at) => at >= 0);
    steps.forEach((at, k) => marks.push({ time: n + (k + 1) / (k + 2), at }));
    marks.push({ time: n + 1, at: (n + 1 < iterations.length ? iterations[n + 1].first : events.length) - 1 });
  });
  return marks;
}

export function secondsOf(event) {
  return event.seconds > 0 ? event.seconds : 0;
}

/** The last mark that is not after a time. */
export function markAt(marks, time) {
  let [low, high] = [0, marks.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (marks[middle].time <= time) low = middle;
    else high = middle - 1;
  }
  return marks[low];
}
