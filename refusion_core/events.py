"""The events of a decode: what the decoder emits, what a trace file holds, what every view reads.

Each event is a frozen dataclass with ``to_dict()``; ``parse_event`` checks one JSON line against the same
types. Colours, animation and sentences are the player's business. Knows no torch.
``docs/trace-format.md`` documents every type and field.

Two coordinates, never a bare index: ``position`` is the true text position (the prompt starts at 0),
``cache_index`` the place in the key/value cache (buffer order).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, TypeAdapter, ValidationError

from .errors import TraceError

SCHEMA_VERSION = 1

Count = Annotated[int, Field(ge=0)]
Probability = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Phase = Literal["plan", "verify", "infill_predict", "infill_verify", "recompute", "ar", "mdm"]
TokenKind = Literal["prompt", "mask", "draft"]
Origin = Literal["plan", "verified", "infill", "forced", "next"]
TokenStatus = Literal["first", "accepted", "rejected", "behind", "forced"]
Alternatives = tuple[tuple[Count, Probability], ...]


@dataclass(frozen=True, kw_only=True)
class TokenText:
    """How a token id looks: visible text, and its raw bytes (hex) where they are not whole characters."""

    id: Count
    text: str
    bytes: str | None = None


@dataclass(frozen=True, kw_only=True)
class ModelFacts:
    """The model that decoded. ``checkpoint_hash`` is the SHA-256 of the weight files."""

    name: str
    architecture: str
    parameters: Count
    dtype: str
    device: str
    vocab_size: Count
    mask_id: Count
    eos_id: Count
    checkpoint_hash: str | None = None
    tokenizer: str | None = None


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of the decode, as given (see the configs in ``refusion_core.config``).

    To the baselines a slot is a token: their ``slot_size`` is 1. What they have beyond the decoder's own
    settings is in ``mask_every`` to ``layout``. A policy, or recomputing, is told where it is not the paper's.
    """

    gen_length: Count
    slot_size: Count
    serial_blocks: Count
    slot_threshold: Probability
    token_threshold: Probability
    temperature: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    seed: Count
    mask_every: Count | None = None
    tokens_per_step: Count | None = None
    confidence_threshold: Probability | None = None
    layout: Literal["clean_first", "reading_order"] | None = None
    policy: str | None = None
    policy_count: Count | None = None
    dependency_limit: Finite | None = None
    recompute_infill: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Parent:
    """The run and iteration that a forked run continues, and what the user changed in that iteration: slots
    that were forced, forbidden, or written."""

    run_id: str
    iteration: Count
    force: tuple[Count, ...] = ()
    forbid: tuple[Count, ...] = ()
    written: tuple[Count, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Segment:
    """A run of tokens in feed order. ``group`` 0 sees only the committed cache and earlier group-0 tokens;
    another group sees the committed cache and its own earlier tokens."""

    kind: TokenKind
    tokens: Count
    slot: Count | None = None
    group: Count = 0


@dataclass(frozen=True, kw_only=True)
class PlannedSlot:
    """A remaining slot in a plan. Probabilities come from the plan forward's mask positions.

    ``alternatives`` lists the best ids with their probability per token; tokens of slots that were not
    chosen carry them for the first token only. ``margin`` is confidence (or score) minus
    slot threshold, ``score`` what the policy judged by where that is not the confidence.
    ``mask_offsets`` are the offsets in the slot where the model itself proposed the mask, and the best
    other token was taken.
    """

    slot: Count
    confidence: Probability
    margin: Finite
    rank: Count
    chosen: bool
    reason: Literal[
        "above_threshold",
        "best_of_none",
        "below_threshold",
        "among_best",
        "not_among_best",
        "next",
        "forced_by_user",
        "forbidden_by_user",
        "by_policy",
        "not_by_policy",
        "too_dependent",
    ]
    score: Finite | None = None
    tokens: tuple[Count, ...]
    probabilities: tuple[Probability, ...]
    alternatives: tuple[Alternatives, ...] = ()
    mask_offsets: tuple[Count, ...] = ()


@dataclass(frozen=True, kw_only=True)
class VerifiedSlot:
    """A chosen slot after verify.

    ``probabilities``: the first is the plan confidence, the others come from the verify forward.
    ``accepted_run``: passing tokens from the slot's own start. ``outcome``: committed (whole or up to eos),
    infill, returned (back to the masks) or dropped (after eos).
    """

    slot: Count
    tokens: tuple[Count, ...]
    probabilities: tuple[Probability, ...]
    statuses: tuple[TokenStatus, ...]
    accepted_run: Count
    outcome: Literal["committed", "infill", "returned", "dropped"]


@dataclass(frozen=True, kw_only=True)
class InfilledSlot:
    """A slot in one infill round.

    ``tokens``: the slot as filled. From ``run_before`` on, ``predicted`` holds the probability of each
    proposal (infill_predict forward) and ``verified`` that of the same token given the one before it
    (``infill_verify``; the first of them from ``infill_predict`` in round 1 or the last ``infill_verify``);
    ``statuses`` and ``alternatives`` have the same offsets. ``mask_offsets`` are offsets in the slot.
    """

    slot: Count
    run_before: Count
    run_after: Count
    tokens: tuple[Count, ...]
    predicted: tuple[Probability, ...]
    verified: tuple[Probability, ...]
    statuses: tuple[TokenStatus, ...]
    complete: bool
    ended_by_eos: bool = False
    dropped: bool = False
    alternatives: tuple[Alternatives, ...] = ()
    mask_offsets: tuple[Count, ...] = ()


@dataclass(frozen=True, kw_only=True)
class CommittedSlot:
    """Final tokens of one slot, with their places; ``origins`` tells how each was accepted."""

    slot: Count
    tokens: tuple[Count, ...]
    positions: tuple[Count, ...]
    cache_indexes: tuple[Count, ...]
    origins: tuple[Origin, ...]


@dataclass(frozen=True, kw_only=True)
class Statistics:
    """Figures of a run: the fold of its events (``refusion_core.trace.StatisticsFold``)."""

    iterations: Count
    forwards: Count
    forwards_by_phase: dict[str, int]
    committed_tokens: Count
    tokens_per_forward: Finite
    tokens_computed: Count
    cache_hits: Count
    cache_hit_rate: Probability
    entries_discarded: Count
    slots_committed: Count
    parallel_iterations: Count
    out_of_order_slots: Count
    prefix_iterations: Count
    infill_iterations: Count
    infill_rounds: Count
    model_seconds: Seconds


@dataclass(frozen=True, kw_only=True)
class Event:
    """What every event carries; ``None`` means that it does not apply and is left out of the JSON."""

    type: ClassVar[str]
    seq: Count
    t: Seconds
    block: Count | None = None
    iteration: Count | None = None
    round: Count | None = None
    forward: Count | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, ``type`` first; fields that are None are left out."""
        return {"type": self.type} | _plain(self)


@dataclass(frozen=True, kw_only=True)
class RunStarted(Event):
    """The run, before any forward. ``notices`` are remarks such as a rounded-up length."""

    type: ClassVar[str] = "run_started"
    schema_version: int
    run_id: str
    time: str
    decoder: Literal["refusion", "ar", "mdm"]
    model: ModelFacts
    settings: Settings
    response_start: Count
    response_length: Count
    slot_count: Count
    prompt_ids: tuple[Count, ...]
    prompt_text: str | None = None
    notices: tuple[str, ...] = ()
    parent: Parent | None = None


@dataclass(frozen=True, kw_only=True)
class Vocabulary(Event):
    """The texts of token ids that the next events use for the first time."""

    type: ClassVar[str] = "vocabulary"
    tokens: tuple[TokenText, ...]


@dataclass(frozen=True, kw_only=True)
class Forward(Event):
    """One forward of the model. ``cache_hits`` are the cache entries it read instead of computing."""

    type: ClassVar[str] = "forward"
    phase: Phase
    segments: tuple[Segment, ...]
    tokens_computed: Count
    cache_hits: Count
    groups: Count
    seconds: Seconds


@dataclass(frozen=True, kw_only=True)
class Plan(Event):
    """Every remaining slot of the block with its draft, confidence and whether it was chosen."""

    type: ClassVar[str] = "plan"
    slots: tuple[PlannedSlot, ...]
    chosen_slots: tuple[Count, ...]


@dataclass(frozen=True, kw_only=True)
class Verify(Event):
    """The chosen drafts, read causally. ``accepted_prefix`` counts tokens over their concatenation."""

    type: ClassVar[str] = "verify"
    slots: tuple[VerifiedSlot, ...]
    accepted_prefix: Count
    outcome: Literal["prefix", "eos", "infill"]


@dataclass(frozen=True, kw_only=True)
class InfillRound(Event):
    """One predict-and-verify round of the slots not yet complete. ``straggler``: the one furthest from done."""

    type: ClassVar[str] = "infill_round"
    slots: tuple[InfilledSlot, ...]
    predict_forward: Count
    verify_forward: Count
    straggler: Count | None = None


@dataclass(frozen=True, kw_only=True)
class Commit(Event):
    """Tokens become final. ``dropped_slots`` are the slots that eos ended, ``eos_position`` where it is."""

    type: ClassVar[str] = "commit"
    branch: Literal["prefix", "infill", "ar", "mdm"]
    slots: tuple[CommittedSlot, ...]
    dropped_slots: tuple[Count, ...] = ()
    eos_position: Count | None = None


@dataclass(frozen=True, kw_only=True)
class CacheState(Event):
    """The cache after a commit: entries now in it, and what this iteration reused, computed and discarded."""

    type: ClassVar[str] = "cache"
    length: Count
    reused: Count
    computed: Count
    discarded: Count
    kept: Count
    bytes: Count


@dataclass(frozen=True, kw_only=True)
class Dependency(Event):
    """How much the slots of ``rows`` draw on the slots of ``columns`` in this iteration.

    Method ``attention``: attention mass of the row slot's mask queries in the plan forward, mean over its
    tokens, the layers and the heads, on the entries of the column slot; ``prompt`` is the mass on the prompt.
    ``heads`` are those of each layer and head, where they were wanted.
    Method ``revealed``: Jensen-Shannon divergence (0 to ln 2) of the row slot's first-token distribution before
    and after the column slot's draft is revealed.
    Method ``joint``, of the chosen slots: gain in log probability (nats) of the row slot's draft when the
    column slot's is known; ``gains`` when all others are.
    ``violated``: the sum over the slots chosen together, of ``joint`` that of the absolute gains.
    """

    type: ClassVar[str] = "dependency"
    method: Literal["attention", "revealed", "joint"]
    rows: tuple[Count, ...]
    columns: tuple[Count, ...]
    matrix: tuple[tuple[Finite, ...], ...]
    prompt: tuple[Finite, ...] | None = None
    heads: tuple[tuple[tuple[tuple[Finite, ...], ...], ...], ...] | None = None
    gains: tuple[Finite, ...] | None = None
    violated: Finite | None = None


@dataclass(frozen=True, kw_only=True)
class RunFinished(Event):
    """The end of a run. ``output_ids``: prompt and committed tokens by position; ``text``: the response up
    to the first eos in position order, None without a tokenizer."""

    type: ClassVar[str] = "run_finished"
    stop_reason: Literal["eos", "length", "stopped", "error"]
    output_ids: tuple[Count, ...]
    output_positions: tuple[Count, ...]
    stats: Statistics
    text: str | None = None
    error: str | None = None


EVENT_TYPES: dict[str, type[Event]] = {
    cls.type: cls
    for cls in (
        RunStarted,
        Vocabulary,
        Forward,
        Plan,
        Verify,
        InfillRound,
        Commit,
        CacheState,
        Dependency,
        RunFinished,
    )
}


@cache
def _field_names(cls: type) -> tuple[str, ...]:
    return tuple(f.name for f in fields(cls))


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        pairs = ((name, getattr(value, name)) for name in _field_names(type(value)))
        return {name: _plain(item) for name, item in pairs if item is not None}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


@cache
def _adapter(cls: type[Event]) -> TypeAdapter:
    return TypeAdapter(cls)


def dump_event(event: Event) -> str:
    """One JSON line (without the newline) for an event."""
    return json.dumps(event.to_dict(), ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def parse_event(line: str, *, line_number: int | None = None) -> Event:
    """The event in one JSON line. Unknown keys are ignored.

    Raises TraceError naming the line and the field.
    """
    fix = "the file may be damaged: export the trace again"
    try:
        raw = json.loads(line)
    except (ValueError, RecursionError) as problem:
        raise TraceError(
            "JSON", line, f"cannot be read ({problem})", fix, line=line_number
        ) from None
    kind = raw.get("type") if isinstance(raw, dict) else None
    if kind not in EVENT_TYPES:
        raise TraceError("type", kind, "is no event type", fix, line=line_number)
    if kind == "run_started":
        version = raw.get("schema_version")
        if isinstance(version, int) and version > SCHEMA_VERSION:
            raise TraceError(
                "schema_version",
                version,
                f"is newer than this program reads ({SCHEMA_VERSION})",
                "open it with a newer version of the visualizer",
                line=line_number,
            )
    try:
        return _adapter(EVENT_TYPES[kind]).validate_json(line, strict=True)
    except ValidationError as problem:
        first = problem.errors(include_url=False)[0]
        name = f"{kind}." + ".".join(str(part) for part in first["loc"])
        raise TraceError(name, first.get("input"), first["msg"], fix, line=line_number) from None
