const [PROCESS, ITERATIONS, FORWARDS] = [1, 1, 2];
const micros = (seconds) => Math.round(seconds * 1e6);

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
  const spans = [...iterationSpans(trace), ...forwardSpans(trace), ...commits(trace), ...counters(trace)];
  spans.sort((a, b) => a.ts - b.ts || (b.dur ?? 0) - (a.dur ?? 0));
  return { traceEvents: [...events, ...spans], displayTimeUnit: "ms" };
}

/** An event is written when its forward is over, so a forward began its seconds earlier. */
const startOf = (event) => Math.max(0, micros(event.t) - micros(event.seconds ?? 0));

function iterationSpans(trace) {
  return trace.iterations.map((record) => {
    const [first, last] = [trace.events[record.first], trace.events[record.last]];
    return {
      name: `iteration ${record.number + 1}`, cat: "iteration", ph: "X", pid: PROCESS, tid: ITERATIONS,
      ts: startOf(first), dur: micros(last.t) - startOf(first), args: { block: record.block },
    };
  });
}

function forwardSpans(trace) {
  return trace.forwards.map(({ at, number }) => {
    const event = trace.events[at];
    const computed = {};
    for (const { kind, tokens } of event.segments) computed[kind] = (computed[kind] ?? 0) + tokens;
    return {
      name: event.phase, cat: "forward", ph: "X", pid: PROCESS, tid: FORWARDS, ts: startOf(event),
      dur: micros(event.t) - startOf(event),
      args: {
        forward: number, iteration: event.iteration, block: event.block, round: event.round,
        tokens_computed: event.tokens_computed, cache_hits: event.cache_hits, groups: event.groups, computed,
      },
    };
  });
}

function commits(trace) {
  return trace.events.filter((event) => event.type === "commit").map((event) => ({
    name: `commit ${event.slots.map(({ slot }) => slot).join(", ")}`, cat: "commit", ph: "i", s: "p", pid: PROCESS,
    tid: ITERATIONS, ts: micros(event.t),
    args: { slots: event.slots.map(({ slot }) => slot), branch: event.branch, dropped_slots: event.dropped_slots },
  }));
}

function counters(trace) {
  const counter = (name, event, args) => ({ name, ph: "C", pid: PROCESS, ts: micros(event.t), args });
  return trace.events.flatMap((event, at) => {
    if (event.type === "cache") return [counter("cache length", event, { entries: event.length })];
    if (event.type === "commit") return [counter("committed tokens", event, { tokens: trace.sums.committed[at] })];
    if (event.type !== "forward") return [];
    return [counter("forward tokens", event, { reused: event.cache_hits, computed: event.tokens_computed })];
  });
}
