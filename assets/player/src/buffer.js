/**
 * @typedef {object} Piece a run of neighbouring tokens in buffer order
 * @property {"prompt"|"committed"|"provisional"|"mask"|"draft"} kind
 * @property {number} tokens how many
 * @property {number} slot whose, -1 for the prompt and for masks of many slots together
 * @property {number} group 0, or the infill group that alone sees it
 */

/**
 * The cache and the tokens fed behind it, at an event. Provisional entries are those of slots in infill: they are
 * read by their own slot alone until they are committed.
 * @param {import("./trace.js").Trace} trace @param {number} cursor index of an event
 * @returns {{forward: object|null, cached: Piece[], fed: Piece[], whole: boolean}} the latest forward, the cache
 *   as it was for it, and what it was fed; `whole`: attention in both directions, and nothing is cached
 */
export function bufferOfForward(trace, cursor) {
  const number = trace.sums.forwards[cursor] ?? 0;
  if (!number) return { forward: null, cached: [], fed: [], whole: false };
  const { at } = trace.forwards[number - 1];
  const forward = trace.events[at];
  const whole = trace.run.settings.layout === "reading_order";
  const groupOf = new Map(forward.segments.map((segment) => [segment.slot, segment.group ?? 0]));
  const provisional = provisionalRuns(trace, at - 1);
  const cached = trace.run.decoder === "mdm" ? [] : committedPieces(trace, at - 1, fedLate(trace, forward));
  for (const [slot, tokens] of provisional) {
    cached.push({ kind: "provisional", tokens, slot, group: groupOf.get(slot) ?? -1 });
  }
  const fed = forward.segments.map((segment) => ({
    kind: segment.kind, tokens: segment.tokens, slot: segment.slot ?? -1, group: segment.group ?? 0,
  }));
  return { forward, cached, fed, whole };
}

/**
 * What the buffer holds at an event: the cache, and behind it what the forward at hand was fed as long as its
 * outcome is open.
 * @returns {Piece[]}
 */
export function bufferAt(trace, cursor) {
  const cached = trace.run.decoder === "mdm" ? [] : committedPieces(trace, cursor);
  const over = ["commit", "cache", "run_finished"].includes(trace.events[cursor].type);
  if (over && trace.run.decoder !== "mdm") return cached;
  const { forward, fed } = bufferOfForward(trace, cursor);
  if (!forward) return cached;
  if (trace.run.decoder === "ar") return [...committedPieces(trace, cursor, fedLate(trace, forward)), ...fed.slice(-1)];
  if (!forward.phase.startsWith("infill")) return [...cached, ...fed.filter((piece) => piece.kind !== "prompt")];
  for (const [slot, tokens] of provisionalRuns(trace, cursor)) {
    cached.push({ kind: "provisional", tokens, slot, group: -1 });
  }
  const ran = trace.events[cursor].type === "infill_round";
  return ran ? cached : [...cached, ...fed.filter((piece) => piece.kind === "mask" || forward.phase === "infill_verify")];
}

/** Autoregressive decoding feeds a committed token only with the next forward. @returns {Set<number>} its slots */
function fedLate(trace, forward) {
  return new Set(trace.run.decoder === "ar" ? forward.segments.map((segment) => segment.slot) : []);
}

/**
 * The prompt, once a forward has read it, and committed slots in commit order, but for those `without`.
 * @returns {Piece[]}
 */
function committedPieces(trace, cursor, without = new Set()) {
  const { prompt_ids: prompt } = trace.run;
  if (!(trace.sums.forwards[cursor] > 0)) return [];
  const pieces = prompt.length ? [{ kind: "prompt", tokens: prompt.length, slot: -1, group: 0 }] : [];
  for (const { slot, tokens } of trace.commits.slice(0, trace.sums.commits[cursor])) {
    if (!without.has(slot)) pieces.push({ kind: "committed", tokens, slot, group: 0 });
  }
  return pieces;
}

/** Tokens per slot whose keys and values are kept from round to round. @returns {Map<number, number>} */
function provisionalRuns(trace, cursor) {
  const runs = new Map();
  const record = trace.recordAt(cursor);
  if (!record || (record.commit >= 0 && record.commit <= cursor)) return runs;
  for (let at = record.first; at <= cursor; at++) {
    const event = trace.events[at];
    if (event.type === "forward" && event.phase === "infill_predict") {
      for (const { kind, slot, tokens } of event.segments) {
        if (kind === "draft") runs.set(slot, (runs.get(slot) ?? 0) + tokens);
      }
    } else if (event.type === "infill_round") {
      for (const { slot, run_after: run } of event.slots) runs.set(slot, run);
    }
  }
  return runs;
}

/**
 * Neighbouring pieces that see and are seen alike, as one.
 * @param {Piece[]} pieces @returns {Piece[]}
 */
export function merged(pieces) {
  const list = [];
  for (const piece of pieces) {
    const last = list[list.length - 1];
    const alike = last && piece.group === last.group && (piece.kind === last.kind || piece.group > 0) &&
      piece.kind !== "prompt" && last.kind !== "prompt";
    if (!alike) list.push({ ...piece });
    else {
      last.tokens += piece.tokens;
      if (piece.slot !== last.slot) last.slot = -1;
    }
  }
  return list;
}

/** Whether the tokens of a fed piece may see a cached one. */
export function seesCached(fed, cached) {
  return cached.kind !== "provisional" || (fed.group > 0 && fed.group === cached.group);
}

/**
 * How much of a fed piece another may see.
 * @param {Piece} query @param {Piece} key @param {Piece[]} fed both are entries of it
 * @param {boolean} whole attention in both directions @returns {"all"|"earlier"|"none"}
 */
export function seesFed(query, key, fed, whole) {
  if (whole) return "all";
  if (query.group !== key.group) return "none";
  if (query === key) return "earlier";
  return fed.indexOf(key) < fed.indexOf(query) ? "all" : "none";
}
