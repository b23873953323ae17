/**
 * What of an event is drawn, and so must be there: [x] is a list of x, "slot" a slot number of the run, and a
 * name with "?" may be missing. The strict check is the core's; this one keeps a damaged file from breaking the
 * page.
 */
const NUMBERS = ["number"];
const ALTERNATIVES = [[NUMBERS]];
const SHAPES = {
  run_started: {
    schema_version: "number", model: { eos_id: "number" }, prompt_ids: NUMBERS,
    settings: {
      slot_size: "number", serial_blocks: "number", slot_threshold: "number", token_threshold: "number",
    },
    response_start: "number", response_length: "number", slot_count: "number", "prompt_text?": "string",
    "notices?": ["string"],
    "parent?": { run_id: "string", iteration: "number" },
  },
  vocabulary: { tokens: [{ id: "number", text: "string" }] },
  forward: {
    phase: "string", segments: [{ kind: "string", tokens: "number" }], tokens_computed: "number",
    cache_hits: "number",
  },
  plan: {
    slots: [{
      slot: "slot", confidence: "number", rank: "number", "reason?": "string", "score?": "number", tokens: NUMBERS, probabilities: NUMBERS,
      "alternatives?": ALTERNATIVES, "mask_offsets?": NUMBERS,
    }],
    chosen_slots: ["slot"],
  },
  verify: {
    slots: [{
      slot: "slot", tokens: NUMBERS, probabilities: NUMBERS, statuses: ["string"], accepted_run: "number",
    }],
  },
  infill_round: {
    slots: [{
      slot: "slot", run_before: "number", run_after: "number", tokens: NUMBERS, predicted: NUMBERS,
      verified: NUMBERS, statuses: ["string"], "alternatives?": ALTERNATIVES, "mask_offsets?": NUMBERS,
    }],
    "straggler?": "slot",
  },
  commit: {
    slots: [{ slot: "slot", tokens: NUMBERS, positions: NUMBERS, cache_indexes: NUMBERS, origins: ["string"] }],
    "dropped_slots?": ["slot"], "eos_position?": "number",
  },
  cache: { discarded: "number" },
  dependency: { rows: ["slot"], columns: ["slot"], matrix: [NUMBERS], "prompt?": NUMBERS, "gains?": NUMBERS, "heads?": [[[NUMBERS]]],
    "violated?": "number", "method?": "string" },
  run_finished: {
    stats: {
      iterations: "number", committed_tokens: "number", forwards: "number", tokens_per_forward: "number",
      cache_hit_rate: "number",
    },
  },
};

/** Lists that go together, entry by entry. */
const PARALLEL = {
  plan: ["tokens", "probabilities"],
  verify: ["tokens", "probabilities", "statuses"],
  infill_round: ["predicted", "verified", "statuses"],
  commit: ["tokens", "positions", "origins"],
};

// {name} is a value, {n?one:many} a plural, [term] or [term|shown words] a word with a definition on hover.

/** Where a value does not have its shape, as a path such as ".slots[3].tokens", or null where it does. */
function misfit(value, shape, slotCount, path) {
  if (shape === "slot") return Number.isInteger(value) && value >= 0 && value < slotCount ? null : path;
  if (typeof shape === "string") return typeof value === shape ? null : path;
  if (Array.isArray(shape)) {
    if (!Array.isArray(value)) return path;
    for (let n = 0; n < value.length; n++) {
      const found = misfit(value[n], shape[0], slotCount, `${path}[${n}]`);
      if (found) return found;
    }
    return null;
  }
  if (value === null || typeof value !== "object") return path;
  for (const key of Object.keys(shape)) {
    const name = key.replace("?", "");
    if (name !== key && (value[name] === undefined || value[name] === null)) continue;
    const found = misfit(value[name], shape[key], slotCount, `${path}.${name}`);
    if (found) return found;
  }
  return null;
}

/** Where lists that go together differ in length, or null. */
function unequal(event) {
  if (event.type === "dependency") {
    const { rows, columns, matrix } = event;
    const fits = (found) => found.length === rows.length && found.every((row) => row.length === columns.length);
    if (!fits(matrix)) return ".matrix";
    if (event.heads?.some((layer) => !layer.every(fits))) return ".heads";
    const wrong = ["prompt", "gains"].find((name) => event[name] && event[name].length !== rows.length);
    return wrong ? `.${wrong}` : null;
  }
  const names = PARALLEL[event.type];
  const wrong = names ? event.slots.findIndex((slot) =>
    names.some((name) => slot[name].length !== slot[names[0]].length)) : -1;
  return wrong < 0 ? null : `.slots[${wrong}]`;
}

/** Why an event cannot be drawn, as a text key with values, or null if it can. */
export function faultOf(event, slotCount) {
  if (!event || typeof event !== "object" || !Object.hasOwn(SHAPES, event.type)) return ["why.type", {}];
  if (!Number.isSafeInteger(event.seq) || event.seq < 0) return ["why.field", { field: "seq" }];
  const field = misfit(event, SHAPES[event.type], slotCount, "") ?? unequal(event);
  return field ? ["why.field", { field: `${event.type}${field}` }] : null;
}
