"""Traces: the events of one run as a JSON Lines file, and the figures that follow from them.

Reading validates and names line and field. Knows no torch, no model, no tokenizer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from .errors import TraceError
from .events import (
    CacheState,
    Commit,
    Event,
    Forward,
    InfillRound,
    RunFinished,
    RunStarted,
    Statistics,
    dump_event,
    parse_event,
)

MAX_TRACE_BYTES = 200 * 1024 * 1024
TRACE_SUFFIX = ".trace.jsonl"


class StatisticsFold:
    """Folds events, one at a time, into the figures of the run.

    ``parallel_iterations`` commit two or more slots; ``out_of_order_slots`` were committed while an earlier
    slot was still masked.
    """

    def __init__(self) -> None:
        self._phases: Counter[str] = Counter()
        self._branches: Counter[str] = Counter()
        self._committed_slots: set[int] = set()
        self._computed = self._hits = self._discarded = self._tokens = 0
        self._rounds = self._parallel = self._out_of_order = 0
        self._seconds = 0.0

    def add(self, event: Event) -> None:
        """Take one event into account."""
        match event:
            case Forward():
                self._phases[event.phase] += 1
                self._computed += event.tokens_computed
                self._hits += event.cache_hits
                self._seconds += event.seconds
            case InfillRound():
                self._rounds += 1
            case Commit():
                self._add_commit(event)
            case CacheState():
                self._discarded += event.discarded

    def _add_commit(self, event: Commit) -> None:
        self._branches[event.branch] += 1
        self._tokens += sum(len(slot.tokens) for slot in event.slots)
        self._parallel += len(event.slots) >= 2
        self._committed_slots |= {slot.slot for slot in event.slots}
        first_masked = 0
        while first_masked in self._committed_slots:
            first_masked += 1
        self._out_of_order += sum(slot.slot > first_masked for slot in event.slots)

    def result(self) -> Statistics:
        """The figures of the events seen so far."""
        forwards = self._phases.total()
        touched = self._computed + self._hits
        return Statistics(
            iterations=self._branches.total(),
            forwards=forwards,
            forwards_by_phase=dict(self._phases),
            committed_tokens=self._tokens,
            tokens_per_forward=round(self._tokens / forwards, 6) if forwards else 0.0,
            tokens_computed=self._computed,
            cache_hits=self._hits,
            cache_hit_rate=round(self._hits / touched, 6) if touched else 0.0,
            entries_discarded=self._discarded,
            slots_committed=len(self._committed_slots),
            parallel_iterations=self._parallel,
            out_of_order_slots=self._out_of_order,
            prefix_iterations=self._branches["prefix"],
            infill_iterations=self._branches["infill"],
            infill_rounds=self._rounds,
            model_seconds=round(self._seconds, 6),
        )


def fold_statistics(events: Iterable[Event]) -> Statistics:
    """The figures of a run from its events."""
    fold = StatisticsFold()
    for event in events:
        fold.add(event)
    return fold.result()


@dataclass(frozen=True)
class Trace:
    """The events of one run, in order; a partial run has no RunFinished."""

    events: tuple[Event, ...]

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    def __len__(self) -> int:
        return len(self.events)

    @property
    def started(self) -> RunStarted:
        """The first event."""
        return self.events[0]  # type: ignore[return-value]

    @property
    def finished(self) -> RunFinished | None:
        """The last event, or None for a partial run."""
        last = self.events[-1]
        return last if isinstance(last, RunFinished) else None

    @property
    def statistics(self) -> Statistics:
        """The fold of the events."""
        return fold_statistics(self.events)

    def dumps(self) -> str:
        """The trace as JSON Lines."""
        return "".join(dump_event(event) + "\n" for event in self.events)


def parse_trace(text: str) -> Trace:
    """A trace from JSON Lines text.

    Raises TraceError, naming line and field, when a line does not fit the schema, events are missing or out
    of order, or the recorded statistics are not the fold of the events.
    """
    events: list[Event] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            event = parse_event(line, line_number=number)
            _check_order(event, events, number)
            events.append(event)
    if not events:
        raise TraceError("trace", text, "is empty", "record a run first", line=1)
    trace = Trace(tuple(events))
    if trace.finished:
        _check_statistics(trace.finished.stats, trace.statistics, number)
    return trace


def _check_order(event: Event, before: Sequence[Event], line: int) -> None:
    if event.seq != len(before):
        raise TraceError(
            f"{event.type}.seq",
            event.seq,
            f"does not follow: expected {len(before)}",
            "events are missing or out of order: export the trace again",
            line=line,
        )
    if isinstance(event, RunStarted) != (not before):
        raise TraceError(
            "type", event.type, "is not at its place", "run_started comes first, once", line=line
        )
    if before and isinstance(before[-1], RunFinished):
        raise TraceError("type", event.type, "comes after run_finished", "cut it off", line=line)


def _check_statistics(recorded: Statistics, folded: Statistics, line: int) -> None:
    for field in fields(Statistics):
        was, now = getattr(recorded, field.name), getattr(folded, field.name)
        if was != now:
            raise TraceError(
                f"run_finished.stats.{field.name}",
                was,
                f"is not the fold of the events, which is {now}",
                "the file was changed: export the trace again",
                line=line,
            )


def read_trace(path: str | Path) -> Trace:
    """Read and validate a trace file.

    Raises TraceError when it cannot be read, is larger than MAX_TRACE_BYTES, or does not validate.
    """
    path = Path(path)
    try:
        size = path.stat().st_size
        if size > MAX_TRACE_BYTES:
            raise TraceError(
                "trace file",
                path.name,
                f"has {size / 2**20:.0f} MB, the limit is {MAX_TRACE_BYTES / 2**20:.0f} MB",
                "record a shorter run",
            )
        text = path.read_text(encoding="utf-8")
    except OSError as problem:
        raise TraceError(
            "trace file", str(path), f"cannot be opened ({problem.strerror})", "check the path"
        ) from None
    except UnicodeDecodeError as problem:
        raise TraceError(
            "trace file",
            path.name,
            f"is not UTF-8 text ({problem.reason})",
            "choose a .trace.jsonl",
        ) from None
    return parse_trace(text)


def write_trace(events: Iterable[Event], path: str | Path) -> None:
    """Write events to a file as they come, so that a run that breaks off leaves what it had."""
    with Path(path).open("w", encoding="utf-8") as file:
        for event in events:
            file.write(dump_event(event) + "\n")
            file.flush()
