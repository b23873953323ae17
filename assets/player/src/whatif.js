/**
 * The slots that a plan would choose at a threshold: all above it, or the best one if none is.
 * @param {object} plan a plan event @returns {number[]} in position order
 */
export function chosenAt(plan, slotThreshold) {
  const above = plan.slots.filter((slot) => slot.confidence > slotThreshold);
  const chosen = above.length ? above : plan.slots.filter((slot) => slot.rank === 0);
  return chosen.map((slot) => slot.slot);
}

/**
 * What verify would accept of these slots, as far as the recorded forward tells: a slot's probabilities hold as long
 * as the slots before it are the same.
 * @param {object} verify a verify event @param {number[]} chosen in position order
 * @returns {{whole: number, stop: object|null, unknown: number|null}} whole slots accepted from the start; where
 *   a token would be rejected: {slot, token, probability}; the first slot that nothing is known of
 */
export function verifiedAt(verify, chosen, tokenThreshold) {
  for (let n = 0; n < chosen.length; n++) {
    const entry = verify.slots[n];
    if (!entry || entry.slot !== chosen[n]) return { whole: n, stop: null, unknown: chosen[n] };
    const broken = entry.probabilities.findIndex((p, k) => k > 0 && !(p > tokenThreshold));
    if (broken > 0) {
      const stop = { slot: entry.slot, token: entry.tokens[broken], probability: entry.probabilities[broken] };
      return { whole: n, stop, unknown: null };
    }
  }
  return { whole: chosen.length, stop: null, unknown: null };
}

/** In how many iterations other slots would be chosen. */
export function differingIterations(trace, slotThreshold) {
  return trace.iterations.filter(({ plan }) => {
    if (plan < 0) return false;
    const event = trace.events[plan];
    return chosenAt(event, slotThreshold).join() !== event.chosen_slots.join();
  }).length;
}
