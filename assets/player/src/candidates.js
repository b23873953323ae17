/**
 * Every candidate slot of an iteration with all that is known of it: why it was chosen or not, how much it depends on
 * the chosen ones, and what came of it.
 * @typedef {object} Candidate
 * @property {number} iteration @property {number} slot @property {number} rank from 0, the most confident
 * @property {number} confidence @property {number} judged the policy's score, or the confidence
 * @property {number} threshold @property {number} margin @property {boolean} chosen @property {string} reason
 * @property {?number} dependency sum over the other chosen slots, in the measure that was recorded
 * @property {?number} accepted tokens that verify accepted @property {?string} outcome of verify
 * @property {number} rounds of infill that it took part in @property {number} slowest rounds in which it was furthest
 *   from done @property {boolean} committed in this iteration
 */

/** @param {number} [upTo] the last event that counts @returns {Candidate[]} in slot order */
export function candidatesOf(trace, record, upTo = Infinity) {
  const event = (at) => (at >= 0 && at <= upTo ? trace.events[at] : null);
  const plan = event(record.plan);
  if (!plan) return [];
  const find = (found, slot) => found?.slots.find((entry) => entry.slot === slot);
  const rounds = record.rounds.map(event).filter(Boolean);
  const dependency = dependencyOn(event(record.dependency), plan.chosen_slots);
  return plan.slots.map((planned) => {
    const { slot } = planned;
    const verified = find(event(record.verify), slot);
    return {
      iteration: record.number, slot, rank: planned.rank, confidence: planned.confidence,
      judged: planned.score ?? planned.confidence, threshold: trace.run.settings.slot_threshold, margin: planned.margin,
      chosen: Boolean(planned.chosen), reason: planned.reason ?? "",
      dependency: dependency.get(slot) ?? null,
      accepted: verified?.accepted_run ?? null, outcome: verified?.outcome ?? null,
      rounds: rounds.filter((round) => find(round, slot)).length,
      slowest: rounds.filter((round) => round.straggler === slot).length,
      committed: Boolean(find(event(record.commit), slot)),
    };
  });
}

/** What each measured slot draws on the other chosen ones. @returns {Map<number, number>} */
export function dependencyOn(event, chosen) {
  if (!event) return new Map();
  const wanted = new Set(chosen);
  const columns = event.columns.flatMap((slot, c) => (wanted.has(slot) ? [[slot, c]] : []));
  return new Map(event.rows.map((row, r) => [
    row, columns.reduce((sum, [slot, c]) => sum + (slot === row ? 0 : event.matrix[r][c]), 0),
  ]));
}

const COLUMNS = [
  "iteration", "slot", "rank", "confidence", "judged", "threshold", "margin", "chosen", "reason", "dependency",
  "accepted", "outcome", "rounds", "slowest", "committed",
];

/** All candidates of a run as comma-separated values; iterations count from 1, ranks too. */
export function scoreboardCsv(trace) {
  const cell = (value) => (value === null || value === undefined ? "" : String(value));
  const lines = trace.iterations.flatMap((record) => candidatesOf(trace, record)).map((candidate) => {
    const shown = { ...candidate, iteration: candidate.iteration + 1, rank: candidate.rank + 1 };
    return COLUMNS.map((name) => cell(shown[name])).join(",");
  });
  return [COLUMNS.join(","), ...lines, ""].join("\r\n");
}
