"""Two runs held side by side: where they first differ, and why. Reads events only; knows no torch."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from .alignment import Line, Response, Row, lines, rows
from .errors import TraceError
from .events import Commit, Event, InfillRound, Plan, Verify
from .fork import SAME_SLOTS
from .trace import Trace

# What is compared of an iteration, in the order in which it happens.
_STAGES = (Plan, Verify, InfillRound, Commit)
FIGURES = (
    "iterations",
    "forwards",
    "committed_tokens",
    "tokens_per_forward",
    "parallel_iterations",
    "out_of_order_slots",
    "infill_rounds",
    "cache_hit_rate",
    "model_seconds",
)
# Why two runs differ. A page in another language has templates of its own for these keys and their values.
REASONS = {
    "other_slots": "{name} is {left} on the left, {right} on the right",
    "other_step": "the next step is {left} on the left, {right} on the right",
    "chosen_left": "slot {slot} is chosen on the left only: {judged}, {why}, margin {margin}",
    "chosen_right": "slot {slot} is chosen on the right only: {judged}, {why}, margin {margin}",
    "draft": "slot {slot} has another draft",
    "drafts_read": "other drafts were read",
    "accepted": "{left} tokens accepted at {left_limit}, {right} at {right_limit}",
    "decisive": "token {token} of slot {slot} has {probability}",
    "infilled_slots": "round {round} fills slots {left} on the left, {right} on the right",
    "infilled": "round {round} fills slot {slot} with other tokens",
    "infilled_run": "round {round} accepts {left} tokens of slot {slot} on the left, {right} on the right",
    "committed_slots": "slots {left} are committed on the left, {right} on the right",
    "committed": "slot {slot} is committed with other tokens",
    "left_ends": "the left run ends",
    "right_ends": "the right run ends",
}


@dataclass(frozen=True)
class Reason:
    """Why two runs differ: a key of REASONS and the values for its template."""

    key: str
    values: dict[str, Any]

    def __str__(self) -> str:
        return REASONS[self.key].format(**self.values)


@dataclass(frozen=True)
class Difference:
    """The first event kind of an iteration in which two runs differ; the reasons, and those in words.

    events: index of the event in each run, of one that has ended that of its last
    """

    iteration: int
    stage: str
    reasons: tuple[Reason, ...]
    events: tuple[int, int]
    reason: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "reason", "; ".join(map(str, self.reasons)))


@dataclass(frozen=True)
class Comparison:
    """Two runs of one prompt; pairs are (left, right).

    settings: those that differ
    first: the first difference, None where the runs did the same
    positions: text positions with different tokens
    slots: the responses by position, slot against slot
    text: a unified diff of the texts, line by line
    lines: the texts line against line, with the words that differ
    figures: statistics of both
    """

    settings: dict[str, tuple[Any, Any]]
    first: Difference | None
    positions: tuple[int, ...]
    slots: tuple[Row, ...]
    text: tuple[str, ...]
    lines: tuple[Line, ...]
    figures: dict[str, tuple[Any, Any]]


def same_prompt(left: Trace, right: Trace) -> bool:
    """Whether two runs can be compared."""
    return left.started.prompt_ids == right.started.prompt_ids


def compare(left: Trace, right: Trace) -> Comparison:
    """Compare two runs of the same prompt. Raises TraceError for different prompts."""
    if not same_prompt(left, right):
        raise TraceError(
            "prompt_ids",
            right.started.prompt_text,
            "is another prompt",
            "compare runs of one prompt",
        )
    responses = Response(left), Response(right)
    texts = [_text(trace).splitlines() for trace in (left, right)]
    figures = left.statistics, right.statistics
    return Comparison(
        settings=_differing(asdict(left.started.settings), asdict(right.started.settings)),
        first=_first_difference(left, right),
        positions=_differing_positions(*responses),
        slots=tuple(rows(*responses)),
        text=tuple(_text_diff(*texts)),
        lines=tuple(lines(*texts)),
        figures={name: tuple(getattr(side, name) for side in figures) for name in FIGURES},
    )


def _text(trace: Trace) -> str:
    """The text of a run, of a partial one what it had committed."""
    if trace.finished:
        return trace.finished.text or ""
    response = Response(trace)
    return response.text(response.start, response.end).replace("↵", "\n").replace("·", " ")


def _differing(left: dict[str, Any], right: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    return {name: (left[name], right[name]) for name in left if left[name] != right[name]}


def _differing_positions(left: Response, right: Response) -> tuple[int, ...]:
    places = sorted(left.tokens.keys() | right.tokens.keys())
    return tuple(place for place in places if left.tokens.get(place) != right.tokens.get(place))


def _text_diff(left: list[str], right: list[str]) -> list[str]:
    found = difflib.unified_diff(left, right, "left", "right", lineterm="", n=1)
    return [line for line in found if not line.startswith("@@")]


def _first_difference(left: Trace, right: Trace) -> Difference | None:
    mine, theirs = _steps(left), _steps(right)
    if mine and theirs and (other := _other_slots(left, right)):
        return Difference(0, mine[0].type, other, (mine[0].seq, theirs[0].seq))
    for a, b in zip(mine, theirs, strict=False):
        if reasons := tuple(_reasons(a, b, left, right)):
            return Difference(a.iteration, a.type, reasons, (a.seq, b.seq))
    if len(mine) == len(theirs):
        return None
    longer, key = (theirs, "left_ends") if len(mine) < len(theirs) else (mine, "right_ends")
    next_step = longer[min(len(mine), len(theirs))]
    events = tuple(min(next_step.seq, len(trace) - 1) for trace in (left, right))
    return Difference(next_step.iteration, "end", (Reason(key, {}),), events)


def _steps(trace: Trace) -> list[Event]:
    return [event for event in trace if isinstance(event, _STAGES)]


def _other_slots(left: Trace, right: Trace) -> tuple[Reason, ...]:
    """Runs that cut the response into other slots differ from the start: slot numbers mean other places."""
    sides = left.started.settings, right.started.settings
    return tuple(
        Reason(
            "other_slots",
            {"name": name, "left": getattr(sides[0], name), "right": getattr(sides[1], name)},
        )
        for name in SAME_SLOTS
        if getattr(sides[0], name) != getattr(sides[1], name)
    )


def _reasons(a: Event, b: Event, left: Trace, right: Trace) -> Iterator[Reason]:
    match a, b:
        case Plan(), Plan():
            yield from _plan_reasons(a, b)
        case Verify(), Verify():
            limits = [trace.started.settings.token_threshold for trace in (left, right)]
            yield from _verify_reasons(a, b, limits)
        case InfillRound(), InfillRound():
            yield from _infill_reasons(a, b)
        case Commit(), Commit():
            yield from _commit_reasons(a, b)
        case _:
            yield Reason("other_step", {"left": a.type, "right": b.type})


def _plan_reasons(a: Plan, b: Plan) -> Iterator[Reason]:
    if a.chosen_slots == b.chosen_slots:
        drafts = [{s.slot: s.tokens for s in plan.slots if s.chosen} for plan in (a, b)]
        other = [slot for slot in a.chosen_slots if drafts[0][slot] != drafts[1][slot]]
        if other:
            yield Reason("draft", {"slot": other[0]})
        return
    for key, mine, theirs in (("chosen_left", a, b), ("chosen_right", b, a)):
        only = set(mine.chosen_slots) - set(theirs.chosen_slots)
        for slot in mine.slots:
            if slot.slot in only:
                judged = slot.confidence if slot.score is None else slot.score
                yield Reason(
                    key,
                    {
                        "slot": slot.slot,
                        "judged": f"{judged:.6g}",
                        "why": slot.reason,
                        "margin": f"{slot.margin:+.4g}",
                    },
                )


def _verify_reasons(a: Verify, b: Verify, limits: list[float]) -> Iterator[Reason]:
    if [slot.tokens for slot in a.slots] != [slot.tokens for slot in b.slots]:
        yield Reason("drafts_read", {})
    elif (a.outcome, a.accepted_prefix) != (b.outcome, b.accepted_prefix):
        names = ("left", "left_limit", "right", "right_limit")
        values = (a.accepted_prefix, f"{limits[0]:g}", b.accepted_prefix, f"{limits[1]:g}")
        yield Reason("accepted", dict(zip(names, values, strict=True)))
        # The first token that one of them did not accept decides.
        tokens = [(slot.slot, n, p) for slot in a.slots for n, p in enumerate(slot.probabilities)]
        at = min(a.accepted_prefix, b.accepted_prefix)
        if a.accepted_prefix != b.accepted_prefix and at < len(tokens):
            slot, offset, probability = tokens[at]
            yield Reason(
                "decisive",
                {"slot": slot, "token": offset + 1, "probability": f"{probability:.4g}"},
            )


def _infill_reasons(a: InfillRound, b: InfillRound) -> Iterator[Reason]:
    number = {"round": (a.round or 0) + 1}
    sides = [[slot.slot for slot in event.slots] for event in (a, b)]
    if sides[0] != sides[1]:
        yield Reason("infilled_slots", number | _named(sides))
        return
    for mine, theirs in zip(a.slots, b.slots, strict=True):
        if mine.tokens != theirs.tokens:
            yield Reason("infilled", number | {"slot": mine.slot})
        elif mine.run_after != theirs.run_after:
            runs = {"left": mine.run_after, "right": theirs.run_after}
            yield Reason("infilled_run", number | {"slot": mine.slot} | runs)


def _commit_reasons(a: Commit, b: Commit) -> Iterator[Reason]:
    sides = [[slot.slot for slot in event.slots] for event in (a, b)]
    if sides[0] != sides[1]:
        yield Reason("committed_slots", _named(sides))
        return
    for mine, theirs in zip(a.slots, b.slots, strict=True):
        if mine.tokens != theirs.tokens:
            yield Reason("committed", {"slot": mine.slot})


def _named(sides: list[list[int]]) -> dict[str, str]:
    return {
        name: ", ".join(map(str, slots))
        for name, slots in zip(("left", "right"), sides, strict=True)
    }
