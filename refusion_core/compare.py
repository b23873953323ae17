"""Two runs held side by side: where they first differ, and why. Reads events only; knows no torch."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from .errors import TraceError
from .events import Commit, Event, InfillRound, Plan, Verify
from .trace import Trace

# What is compared of an iteration, in the order in which it happens.
_STAGES = (Plan, Verify, InfillRound, Commit)


@dataclass(frozen=True)
class Difference:
    """The first event kind of an iteration in which two runs differ, and the reason in words."""

    iteration: int
    stage: str
    reason: str


@dataclass(frozen=True)
class Comparison:
    """Two runs of one prompt; pairs are (left, right).

    settings: those that differ
    first: the first difference, None where the runs did the same
    positions: text positions with different tokens
    text: a unified diff of the texts, line by line
    figures: statistics of both
    """

    settings: dict[str, tuple[Any, Any]]
    first: Difference | None
    positions: tuple[int, ...]
    text: tuple[str, ...]
    figures: dict[str, tuple[Any, Any]]


def compare(left: Trace, right: Trace) -> Comparison:
    """Compare two runs of the same prompt. Raises TraceError for different prompts."""
    if left.started.prompt_ids != right.started.prompt_ids:
        raise TraceError(
            "prompt_ids",
            right.started.prompt_text,
            "is another prompt",
            "compare runs of one prompt",
        )
    return Comparison(
        settings=_differing(asdict(left.started.settings), asdict(right.started.settings)),
        first=_first_difference(left, right),
        positions=_differing_positions(left, right),
        text=tuple(_text_diff(left, right)),
        figures={
            name: (getattr(left.statistics, name), getattr(right.statistics, name))
            for name in ("iterations", "forwards", "committed_tokens", "tokens_per_forward")
        },
    )


def _differing(left: dict[str, Any], right: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    return {name: (left[name], right[name]) for name in left if left[name] != right[name]}


def _first_difference(left: Trace, right: Trace) -> Difference | None:
    for a, b in zip(_steps(left), _steps(right), strict=False):
        if type(a) is not type(b):
            names = f"{a.type} on the left, {b.type} on the right"
            return Difference(a.iteration, a.type, f"the next step is {names}")
        reason = _reason(a, b, left, right)
        if reason:
            return Difference(a.iteration, a.type, reason)
    counts = [sum(1 for _ in _steps(trace)) for trace in (left, right)]
    if counts[0] != counts[1]:
        shorter = "left" if counts[0] < counts[1] else "right"
        return Difference(
            min(t.statistics.iterations for t in (left, right)), "end", f"the {shorter} run ends"
        )
    return None


def _steps(trace: Trace) -> Iterator[Event]:
    return (event for event in trace if isinstance(event, _STAGES))


def _reason(a: Event, b: Event, left: Trace, right: Trace) -> str | None:
    match a, b:
        case Plan(), Plan():
            return _plan_reason(a, b)
        case Verify(), Verify():
            if [s.tokens for s in a.slots] != [s.tokens for s in b.slots]:
                return "other drafts were read"
            if (a.outcome, a.accepted_prefix) != (b.outcome, b.accepted_prefix):
                limits = [t.started.settings.token_threshold for t in (left, right)]
                return (
                    f"{a.accepted_prefix} tokens accepted at {limits[0]:g}, "
                    f"{b.accepted_prefix} at {limits[1]:g}"
                )
        case InfillRound(), InfillRound():
            runs = [[(s.slot, s.tokens, s.run_after) for s in event.slots] for event in (a, b)]
            if runs[0] != runs[1]:
                return f"round {(a.round or 0) + 1} fills other tokens or accepts other runs"
        case Commit(), Commit():
            done = [[(s.slot, s.tokens) for s in event.slots] for event in (a, b)]
            if done[0] != done[1]:
                return "other slots or tokens are committed"
    return None


def _plan_reason(a: Plan, b: Plan) -> str | None:
    if a.chosen_slots == b.chosen_slots:
        drafts = [{s.slot: s.tokens for s in plan.slots if s.chosen} for plan in (a, b)]
        other = [slot for slot in a.chosen_slots if drafts[0][slot] != drafts[1][slot]]
        return f"slot {other[0]} has another draft" if other else None
    parts = []
    for side, mine, theirs in (("left", a, b), ("right", b, a)):
        only = set(mine.chosen_slots) - set(theirs.chosen_slots)
        for slot in mine.slots:
            if slot.slot in only:
                judged = slot.confidence if slot.score is None else slot.score
                parts.append(
                    f"slot {slot.slot} is chosen on the {side} only: {judged:.4g}, {slot.reason}, "
                    f"margin {slot.margin:+.4g}"
                )
    return "; ".join(parts)


def _differing_positions(left: Trace, right: Trace) -> tuple[int, ...]:
    tokens = [
        dict(zip(t.finished.output_positions, t.finished.output_ids, strict=True))
        if t.finished
        else {}
        for t in (left, right)
    ]
    places = sorted(tokens[0].keys() | tokens[1].keys())
    return tuple(place for place in places if tokens[0].get(place) != tokens[1].get(place))


def _text_diff(left: Trace, right: Trace) -> list[str]:
    texts = [(t.finished.text or "" if t.finished else "").splitlines() for t in (left, right)]
    lines = difflib.unified_diff(*texts, "left", "right", lineterm="", n=1)
    return [line for line in lines if not line.startswith("@@")]
