"""How far a slot's confidence tells whether its whole draft is accepted: reliability over recorded runs.

A slot counts where it was chosen: its confidence is the plan's, it was right if verify accepted all its tokens,
given the chosen slots before it. Knows no torch.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .events import Plan, Verify
from .trace import Trace

# Upper ends of the bins; confidences crowd near 1.
BINS = (0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999, 1.0)


@dataclass(frozen=True)
class Bin:
    """Slots with a confidence above ``low`` and up to ``high``: how many, how sure on average, how many of them
    were accepted whole (0 to 1)."""

    low: float
    high: float
    count: int
    confidence: float
    accepted: float


@dataclass(frozen=True)
class Calibration:
    """Bins that are not empty, over ``count`` slots. ``error`` is the expected calibration error: the mean
    distance of confidence and acceptance over the bins, weighted by their counts."""

    count: int
    error: float
    bins: tuple[Bin, ...]


def judged_slots(trace: Trace) -> Iterator[tuple[float, bool]]:
    """Confidence of every chosen slot of a run, and whether verify accepted it whole."""
    confidences: dict[int, float] = {}
    for event in trace:
        if isinstance(event, Plan):
            confidences = {slot.slot: slot.confidence for slot in event.slots}
        elif isinstance(event, Verify):
            for slot in event.slots:
                yield confidences[slot.slot], slot.accepted_run == len(slot.tokens)


def calibrate(pairs: Iterable[tuple[float, bool]]) -> Calibration:
    """The reliability of these confidences."""
    found: dict[int, list[tuple[float, bool]]] = defaultdict(list)
    for confidence, accepted in pairs:
        found[bisect_left(BINS, confidence)].append((confidence, accepted))
    bins = []
    for place, members in sorted(found.items()):
        count = len(members)
        bins.append(
            Bin(
                low=BINS[place - 1] if place else 0.0,
                high=BINS[place],
                count=count,
                confidence=sum(confidence for confidence, _ in members) / count,
                accepted=sum(accepted for _, accepted in members) / count,
            )
        )
    total = sum(entry.count for entry in bins)
    distance = sum(entry.count * abs(entry.confidence - entry.accepted) for entry in bins)
    return Calibration(total, distance / total if total else 0.0, tuple(bins))


def grouped(traces: Iterable[tuple[str, Trace]]) -> dict[str, Calibration]:
    """The reliability over runs of the ReFusion decoder, for each group that they are given with."""
    pairs: dict[str, list[tuple[float, bool]]] = defaultdict(list)
    for group, trace in traces:
        if trace.started.decoder == "refusion":
            pairs[group] += judged_slots(trace)
    return {group: calibrate(found) for group, found in sorted(pairs.items())}


def slot_size_of(trace: Trace) -> str:
    """The group of a run by the size of its slots."""
    return f"slots of {trace.started.settings.slot_size}"
