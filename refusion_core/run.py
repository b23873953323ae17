"""What all decoders share: the life of a run, its events, its forwards.

A run is a generator of events. It ends with ``run_finished`` whether it reached the end, was stopped or failed.
Knows token ids only. What is watched never changes what is decoded.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any, ClassVar

import torch
from torch import Tensor

from . import selection
from .config import RecordConfig
from .dependency import AttentionMass
from .events import (
    SCHEMA_VERSION,
    CacheState,
    Commit,
    CommittedSlot,
    Event,
    Forward,
    ModelFacts,
    Parent,
    RunFinished,
    RunStarted,
    Segment,
    Settings,
    TokenText,
    Vocabulary,
)
from .readout import Proposal, propose
from .trace import StatisticsFold

Emits = Generator[Event, None, None]


class Stopped(Exception):
    """The listener asked the run to stop."""


class Recorder:
    """Stamps events with order, time and place, adds the texts of new token ids, and folds statistics."""

    def __init__(self, describe: Callable[[list[int]], list[TokenText]] | None) -> None:
        self._describe = describe
        self._known: set[int] = set()
        self._fold = StatisticsFold()
        self._start = time.perf_counter()
        self._seq = 0
        self.place: dict[str, int] = {}

    def emit(self, kind: type[Event], *, ids: Sequence[int] = (), **values: Any) -> Emits:
        """Yield the event, behind a Vocabulary event for those of ``ids`` that are new."""
        yield from self.vocabulary(ids)
        yield self._stamp(kind, **(self.place | values))

    def vocabulary(self, ids: Sequence[int]) -> Emits:
        """Yield the texts of the ids not yet told, if there are any and texts are known."""
        new = list(dict.fromkeys(i for i in ids if i not in self._known))
        if new and self._describe:
            self._known.update(new)
            yield self._stamp(Vocabulary, tokens=tuple(self._describe(new)))

    def repeat(self, events: Iterable[Event]) -> Emits:
        """Yield events of another run as this one's, as far apart as they were, and go on from the last."""
        already = last = time.perf_counter() - self._start
        for event in events:
            last = already + event.t
            event = replace(event, seq=self._seq, t=round(last, 6))
            if isinstance(event, Vocabulary):
                self._known.update(token.id for token in event.tokens)
            self._seq += 1
            self._fold.add(event)
            yield event
        self._start = time.perf_counter() - last

    def _stamp(self, kind: type[Event], **values: Any) -> Event:
        event = kind(seq=self._seq, t=round(time.perf_counter() - self._start, 6), **values)
        self._seq += 1
        self._fold.add(event)
        return event

    def statistics(self):
        """The figures so far."""
        return self._fold.result()


class Run:
    """One run. ``model`` needs ``feed``, ``logits`` and ``new_cache`` as in ``refusion_core.model``.

    A decoder gives ``_decode``, which yields the events between start and end and returns whether eos ended it.
    """

    decoder: ClassVar[str]

    def __init__(
        self,
        model: Any,
        facts: ModelFacts,
        *,
        prompt_ids: list[int],
        config: Any,
        record: RecordConfig | None,
        describe: Callable[[list[int]], list[TokenText]] | None = None,
        to_text: Callable[[list[int]], str] | None = None,
        prompt_text: str | None = None,
        should_stop: Callable[[], bool] | None = None,
    ) -> None:
        self.model, self.facts, self.config, self.record = model, facts, config, record
        self.prompt_ids, self.prompt_text = prompt_ids, prompt_text
        self.mask_id, self.eos_id = facts.mask_id, facts.eos_id
        self._to_text, self._should_stop = to_text, should_stop
        self._recorder = Recorder(describe if record else None)
        self._tokens: list[int] = []  # committed response tokens, in commit order
        self._positions: list[int] = []
        self._forwards = 0
        self._reused = self._computed = 0  # of the current iteration

    def _decode(self) -> Generator[Event, None, bool]:
        raise NotImplementedError

    def _settings(self) -> Settings:
        raise NotImplementedError

    def _room_for_watching(self) -> int:
        """Cache entries that measurements beside the decoding need."""
        return 0

    def _parent(self) -> Parent | None:
        """The run that this one was forked from."""
        return None

    def _notices(self) -> Iterable[str]:
        """Remarks on the settings."""
        return ()

    def run(self) -> Emits:
        """All events of the run; only the first and the last when nothing is recorded."""
        for event in self._run():
            if self.record or isinstance(event, (RunStarted, RunFinished)):
                yield event

    def _run(self) -> Emits:
        # Only now, since a run may be made long before it starts.
        room = len(self.prompt_ids) + self.config.padded_length
        self._cache = self.model.new_cache(room + self._room_for_watching())
        yield from self._start()
        stop_reason, error, failure = "length", None, None
        try:
            if (yield from self._decode()):
                stop_reason = "eos"
        except Stopped:
            stop_reason = "stopped"
        except (
            Exception
        ) as problem:  # the run ends with a marked, readable trace; then it is raised
            stop_reason, error, failure = "error", f"{type(problem).__name__}: {problem}", problem
        yield from self._finish(stop_reason, error)
        if failure is not None:
            raise failure

    def _start(self) -> Emits:
        config = self.config
        yield from self._recorder.emit(
            RunStarted,
            schema_version=SCHEMA_VERSION,
            run_id=uuid.uuid4().hex[:12],
            time=datetime.now(timezone.utc).isoformat(timespec="seconds"),
            decoder=self.decoder,
            model=self.facts,
            settings=self._settings(),
            response_start=len(self.prompt_ids),
            response_length=config.padded_length,
            slot_count=config.slot_count,
            prompt_ids=tuple(self.prompt_ids),
            prompt_text=self.prompt_text,
            notices=tuple(self._notices()),
            parent=self._parent(),
        )
        # The prompt's texts follow, since the run starts with run_started.
        yield from self._recorder.vocabulary([*self.prompt_ids, self.mask_id, self.eos_id])

    def _propose(
        self, hidden: Tensor, positions: list[int], *, temperature: float = 0.0, seed: int = 0
    ) -> list[Proposal]:
        """What the masks at these positions propose, hidden [N, hidden_size]."""
        return propose(
            self.model,
            hidden,
            mask_id=self.mask_id,
            top_k=self.record.top_k if self.record else 0,
            temperature=temperature,
            seed=seed,
            iteration=self._recorder.place["iteration"],
            positions=positions,
        )

    def _emit_commit(
        self,
        branch: str,
        slots: Sequence[CommittedSlot],
        dropped: tuple[int, ...],
        eos_position: int | None,
        before: int,
    ) -> Emits:
        """Commit and cache events; ``before`` entries were in the cache when the iteration began."""
        yield from self._recorder.emit(
            Commit,
            branch=branch,
            slots=tuple(slots),
            dropped_slots=dropped,
            eos_position=eos_position,
        )
        kept = self._cache.length - before
        yield from self._recorder.emit(
            CacheState,
            length=self._cache.length,
            reused=self._reused,
            computed=self._computed,
            discarded=self._computed - kept,
            kept=kept,
            bytes=self._cache.length * self._cache.bytes_per_entry,
        )

    def _forward(
        self,
        phase: str,
        ids: list[int],
        positions: list[int],
        segments: list[Segment],
        groups: list[int] | None = None,
        watcher: AttentionMass | None = None,
    ) -> Generator[Event, None, Tensor]:
        """One forward of the model, with its event; returns the hidden states [T, hidden_size]."""
        if self._should_stop is not None and self._should_stop():
            raise Stopped
        hits = self._cache.length
        start = time.perf_counter()
        hidden = self._compute(ids, positions, groups, watcher)
        if hidden.device.type != "cpu":
            torch.accelerator.synchronize(hidden.device)
        seconds = time.perf_counter() - start
        self._reused += hits
        self._computed += len(ids)
        yield from self._recorder.emit(
            Forward,
            forward=self._forwards,
            phase=phase,
            segments=tuple(segments),
            tokens_computed=len(ids),
            cache_hits=hits,
            groups=len(set(groups)) if groups else 1,
            seconds=round(seconds, 6),
        )
        self._forwards += 1
        return hidden

    def _compute(
        self,
        ids: list[int],
        positions: list[int],
        groups: list[int] | None,
        watcher: AttentionMass | None,
    ) -> Tensor:
        """The hidden states [T, hidden_size] of the tokens, over the cache."""
        return self.model.feed(ids, positions, self._cache, groups, watcher)

    def _finish(self, stop_reason: str, error: str | None) -> Emits:
        by_position = sorted(zip(self._positions, self._tokens, strict=True))
        end = selection.text_end(self._tokens, self._positions, self.eos_id)
        shown = [token for position, token in by_position if end is None or position < end]
        self._recorder.place = {}
        yield from self._recorder.emit(
            RunFinished,
            stop_reason=stop_reason,
            output_ids=(*self.prompt_ids, *(token for _, token in by_position)),
            output_positions=(
                *range(len(self.prompt_ids)),
                *(position for position, _ in by_position),
            ),
            text=self._to_text(shown) if self._to_text else None,
            stats=self._recorder.statistics(),
            error=error,
        )
