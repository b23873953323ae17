const [PROCESS, ITERATIONS, FORWARDS] = [1, 1, 2];
const micros = (seconds) => (seconds > 0 && Number.isFinite(seconds) ? Math.round(seconds * 1e6) : 0);

/**
 * The run in the Trace Event format that Perfetto and chrome://tracing open: iterations and forwards as spans,
 * commits as instants, counters for the cache and the committed tokens. Times are microseconds since the start.
 * @param {import("./trace.js").Trace} trace @returns {{traceEvents: object[], displayTimeUnit: string}}
 */
export function chromeTrace(trace) {
  const { run } = trace;
  const name = (kind, value, thread = 0) => ({ name: kind, ph: "M", pid: PROCESS, tid: thread, args: { name: value } });
  const events = [
    name("process_name", `${run.decoder ?? "refusion"} · ${run.model.name}`),
    name("thread_name", "iterations", ITERATIONS), name("thread_name", "forwards", FORWARDS),
  ];
  const times = timesOf(trace.events);
  const spans = [iterationSpans, forwardSpans, commits, counters].flatMap((part) => part(trace, times));
  spans.sort((a, b) => a.ts - b.ts || (b.dur ?? 0) - (a.dur ?? 0));
  return { traceEvents: [...events, ...spans], displayTimeUnit: "ms" };
}

/** When every event was written. A clock that goes back in a damaged file stands still here. */
function timesOf(events) {
  let now = 0;
  return events.map((event) => (now = Math.max(now, micros(event.t))));
}

/** An event is written when its forward is over, so a forward began its seconds earlier. */
const startOf = (event, time) => Math.max(0, time - micros(event.seconds));

function iterationSpans(trace, times) {
  return trace.iterations.map((record) => {
    const start = startOf(trace.events[record.first], times[record.first]);
    return {
      name: `iteration ${record.number + 1}`, cat: "iteration", ph: "X", pid: PROCESS, tid: ITERATIONS,
      ts: start, dur: times[record.last] - start, args: { block: record.block },
    };
  });
}

function forwardSpans(trace, times) {
  return trace.forwards.map(({ at, number }) => {
    const event = trace.events[at];
    const start = startOf(event, times[at]);
    const computed = {};
    for (const { kind, tokens } of event.segments) computed[kind] = (computed[kind] ?? 0) + tokens;
    return {
      name: event.phase, cat: "forward", ph: "X", pid: PROCESS, tid: FORWARDS, ts: start,
      dur: times[at] - start,
      args: {
        forward: number, iteration: event.iteration, block: event.block, round: event.round,
        tokens_computed: event.tokens_computed, cache_hits: event.cache_hits, groups: event.groups, computed,
      },
    };
  });
}

function commits(trace, times) {
  return trace.events.flatMap((event, at) => (event.type !== "commit" ? [] : [{
    name: `commit ${event.slots.map(({ slot }) => slot).join(", ")}`, cat: "commit", ph: "i", s: "p", pid: PROCESS,
    tid: ITERATIONS, ts: times[at],
    args: { slots: event.slots.map(({ slot }) => slot), branch: event.branch, dropped_slots: event.dropped_slots },
  }]));
}

function counters(trace, times) {
  return trace.events.flatMap((event, at) => {
    const counter = (name, args) => ({ name, ph: "C", pid: PROCESS, ts: times[at], args });
    if (event.type === "cache") return [counter("cache length", { entries: event.length })];
    if (event.type === "commit") return [counter("committed tokens", { tokens: trace.sums.committed[at] })];
    if (event.type !== "forward") return [];
    return [counter("forward tokens", { reused: event.cache_hits, computed: event.tokens_computed })];
  });
}
