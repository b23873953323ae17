"""Runs of the app: a request becomes a thread that decodes, and lines that any page can fetch from any point.

Knows nothing of Gradio. One model decodes one run at a time; later requests wait in order.
"""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from refusion_core import Fork, PromptError, RecordConfig
from refusion_core.config import AnyDecodeConfig
from refusion_core.events import Event, dump_event

MAX_WAITING = 8
MAX_KEPT = 32
_POLL_SECONDS = 0.01
_GATHER_SECONDS = 0.04  # lets some events come together; the first ones are answered at once


@dataclass(frozen=True)
class Request:
    """What a visitor wants decoded: a prompt, or a fork of a run."""

    prompt: str | None
    config: AnyDecodeConfig
    record: RecordConfig = field(default_factory=RecordConfig)
    fork: Fork | None = None


DecodeRun = Callable[[Request, Callable[[], bool]], Iterator[Event]]


@dataclass
class Run:
    """One request. ``lines`` are its events so far as JSON; ``error`` says why it ended early."""

    id: str
    lines: list[str] = field(default_factory=list)
    error: str | None = None
    done: bool = False
    stop: threading.Event = field(default_factory=threading.Event)


class RunRegistry:
    """Starts, stops and remembers runs. ``decode_run`` answers the events of one, or raises RefusionError."""

    def __init__(self, decode_run: DecodeRun) -> None:
        self._decode_run = decode_run
        self._runs: OrderedDict[str, Run] = OrderedDict()
        self._waiting: list[Run] = []  # the first one is decoding
        self._changed = threading.Condition()

    def start(self, request: Request) -> Run:
        """Start a run, or put it behind those that wait.

        Raises RefusionError when it cannot be run, and PromptError when the prompt is empty or too many
        runs are waiting.
        """
        prompt = request.prompt
        if request.fork is None and not (prompt or "").strip():
            raise PromptError("prompt", prompt, "is empty", "type a question or pick an example")
        run = Run(uuid.uuid4().hex[:12])
        events = self._decode_run(request, run.stop.is_set)
        with self._changed:
            if len(self._waiting) > MAX_WAITING:
                raise PromptError(
                    "run",
                    prompt,
                    f"finds {len(self._waiting)} others waiting",
                    "try again in a minute",
                )
            self._runs[run.id] = run
            self._waiting.append(run)
            self._forget_old()
        threading.Thread(target=self._work, args=(run, events), daemon=True).start()
        return run

    def stop(self, run_id: str) -> None:
        """Ask a run to stop; it ends with a marked last event. Unknown runs are ignored."""
        if run := self._runs.get(run_id):
            run.stop.set()

    async def poll(self, run_id: str, have: int, patience: float = 2.0) -> dict[str, Any]:
        """The lines from number ``have`` on, as soon as there are any, or after ``patience`` seconds.

        Answers {"lines", "done", "error", "ahead"}; "ahead" counts the runs before this one.
        """
        run = self._runs.get(run_id)
        if run is None:
            return {"lines": [], "done": True, "error": "unknown_run", "ahead": 0}
        waited = 0.0
        while len(run.lines) <= have and not run.done and waited < patience:
            await asyncio.sleep(_POLL_SECONDS)
            waited += _POLL_SECONDS
        if have and not run.done:
            await asyncio.sleep(_GATHER_SECONDS)
        done = run.done  # read before the lines, so that none is missed
        ahead = self._waiting.index(run) if run in self._waiting else 0
        return {"lines": run.lines[have:], "done": done, "error": run.error, "ahead": ahead}

    def _work(self, run: Run, events: Iterator[Event]) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting[0] is run)
        try:
            for event in events:
                run.lines.append(dump_event(event))
        except Exception as problem:  # shown to the visitor; what was decoded stays
            run.error = str(problem) or type(problem).__name__
        finally:
            with self._changed:
                self._waiting.remove(run)
                run.done = True
                self._changed.notify_all()

    def _forget_old(self) -> None:
        finished = [run_id for run_id, run in self._runs.items() if run.done]
        for run_id in finished[: max(0, len(self._runs) - MAX_KEPT)]:
            del self._runs[run_id]
