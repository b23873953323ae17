/** The figures of a run up to an event: what run_finished.stats holds at the end. */
export function statisticsAt(trace, at) {
  const stats = {
    iterations: 0, forwards: 0, forwards_by_phase: {}, committed_tokens: 0, tokens_per_forward: 0,
    tokens_computed: 0, cache_hits: 0, cache_hit_rate: 0, entries_discarded: 0, slots_committed: 0,
    parallel_iterations: 0, out_of_order_slots: 0, prefix_iterations: 0, infill_iterations: 0,
    infill_rounds: 0, model_seconds: 0,
  };
  const committed = new Set();
  for (const event of trace.events.slice(0, at + 1)) {
    if (event.type === "forward") countForward(stats, event);
    else if (event.type === "infill_round") stats.infill_rounds++;
    else if (event.type === "commit") countCommit(stats, event, committed);
    else if (event.type === "cache") stats.entries_discarded += event.discarded;
  }
  const touched = stats.tokens_computed + stats.cache_hits;
  const round = (x) => Number(x.toFixed(6));
  stats.slots_committed = committed.size;
  if (stats.forwards) stats.tokens_per_forward = round(stats.committed_tokens / stats.forwards);
  if (touched) stats.cache_hit_rate = round(stats.cache_hits / touched);
  stats.model_seconds = round(stats.model_seconds);
  return stats;
}

function countForward(stats, event) {
  stats.forwards++;
  stats.forwards_by_phase[event.phase] = (stats.forwards_by_phase[event.phase] ?? 0) + 1;
  stats.tokens_computed += event.tokens_computed;
  stats.cache_hits += event.cache_hits;
  stats.model_seconds += event.seconds;
}

function countCommit(stats, event, committed) {
  stats.iterations++;
  stats[`${event.branch}_iterations`]++;
  stats.committed_tokens += event.slots.reduce((sum, slot) => sum + slot.tokens.length, 0);
  if (event.slots.length >= 2) stats.parallel_iterations++;
  for (const slot of event.slots) committed.add(slot.slot);
  let firstMasked = 0;
  while (committed.has(firstMasked)) firstMasked++;
  stats.out_of_order_slots += event.slots.filter((slot) => slot.slot > firstMasked).length;
}

/** The headline figures at an event, from the running sums. */
export function headlineAt(trace, at) {
  const pick = (name) => (at >= 0 ? trace.sums[name][at] : 0);
  const [forwards, computed, hits] = [pick("forwards"), pick("computed"), pick("hits")];
  return {
    forwards, computed, hits, discarded: pick("discarded"), committed: pick("committed"),
    tokensPerForward: forwards ? pick("committed") / forwards : 0,
    hitRate: computed + hits ? hits / (computed + hits) : 0,
  };
}
