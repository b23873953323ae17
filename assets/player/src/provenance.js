import { CELL } from "./constants.js";

/**
 * Where the numbers of a response position come from, in the iteration that decided it.
 * @returns {{record: IterationRecord|null, steps: object[]}}
 */
export function provenanceOf(trace, frame, cursor, offset) {
  const slot = Math.floor(offset / trace.slotSize);
  const k = offset % trace.slotSize;
  const committed = frame.commitEvent[offset];
  const record = committed >= 0 ? trace.recordAt(committed) : trace.plannedAt(cursor);
  const steps = [];
  const seen = (at) => at >= 0 && at <= cursor;
  const find = (at) => trace.events[at].slots.find((entry) => entry.slot === slot);
  if (!record || frame.status[offset] === CELL.DROPPED) return { record, steps };
  const planned = seen(record.plan) && find(record.plan);
  if (planned) {
    steps.push({
      kind: "plan", forward: trace.events[record.plan].forward, token: planned.tokens[k],
      probability: planned.probabilities[k], alternatives: planned.alternatives?.[k] ?? [],
      overMask: planned.mask_offsets?.includes(k),
    });
  }
  const verified = seen(record.verify) && find(record.verify);
  if (verified) {
    steps.push({
      kind: k ? "verify" : "first", forward: trace.events[k ? record.verify : record.plan]?.forward,
      token: verified.tokens[k], probability: verified.probabilities[k], status: verified.statuses[k],
    });
  }
  for (const at of record.rounds.filter(seen)) steps.push(...roundSteps(trace.events[at], find(at), k));
  return { record, steps };
}

function roundSteps(event, entry, k) {
  const j = entry ? k - entry.run_before : -1;
  if (j < 0 || j >= entry.predicted.length) return [];
  const token = entry.tokens[k];
  return [
    {
      kind: "predict", round: event.round, forward: event.predict_forward, token,
      probability: entry.predicted[j], alternatives: entry.alternatives?.[j] ?? [],
      overMask: entry.mask_offsets?.includes(k),
    },
    {
      kind: "check", round: event.round, forward: event.verify_forward, token,
      probability: entry.verified[j], status: entry.statuses[j],
    },
  ];
}
