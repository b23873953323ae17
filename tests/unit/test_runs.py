"""The registry of runs: order, stop, catch-up and failures, with decodes that the test steps by hand."""

from __future__ import annotations

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from app.runs import MAX_KEPT, MAX_WAITING, Request, RunRegistry
from refusion_core import DecodeConfig, PromptError
from refusion_core.events import Vocabulary

CONFIG = DecodeConfig()


class Stepped:
    """Decodes that emit one event per ``release()``; they end after three, or when asked to stop."""

    def __init__(self):
        self.gate = threading.Semaphore(0)
        self.started = []

    def __call__(self, request, should_stop):
        prompt = request.prompt
        if prompt == "too long":
            raise PromptError("prompt", prompt, "is too long", "shorten it")
        return self.events(prompt, should_stop)

    def events(self, prompt, should_stop):
        self.started.append(prompt)
        for seq in range(3):
            self.gate.acquire()
            if should_stop():
                return
            if prompt == "broken":
                raise RuntimeError("the device is lost")
            yield Vocabulary(seq=seq, t=0.0, tokens=())

    def release(self, count=1):
        self.gate.release(count)


@pytest.fixture
def stepped():
    stepped = Stepped()
    yield stepped
    stepped.release(1000)  # let every thread end


def poll(runs, run, have=0, patience=2.0):
    # In a thread of its own, since Playwright leaves a running loop in the main one.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, runs.poll(run.id, have, patience)).result()


def finish(runs, run):
    answer = poll(runs, run)
    while not answer["done"]:
        answer = poll(runs, run, len(answer["lines"]))
    return poll(runs, run)


def test_a_late_page_gets_every_event_and_an_early_one_gets_them_as_they_come(stepped):
    runs = RunRegistry(stepped)
    run = runs.start(Request("hello", CONFIG))
    assert poll(runs, run, patience=0.05)["lines"] == []
    stepped.release()
    first = poll(runs, run)
    assert [json.loads(line)["seq"] for line in first["lines"]] == [0]
    assert not first["done"]
    stepped.release(2)
    whole = finish(runs, run)
    assert [json.loads(line)["seq"] for line in whole["lines"]] == [0, 1, 2]
    assert whole["done"] and whole["error"] is None


def test_runs_wait_their_turn_and_know_their_place(stepped):
    runs = RunRegistry(stepped)
    first, second, third = (runs.start(Request(name, CONFIG)) for name in ("a", "b", "c"))
    assert poll(runs, third, patience=0)["ahead"] == 2
    stepped.release(3)
    finish(runs, first)
    assert poll(runs, third, patience=0)["ahead"] == 1
    stepped.release(6)
    finish(runs, third)
    assert stepped.started == ["a", "b", "c"]
    assert poll(runs, second)["done"]


def test_stop_ends_a_run_and_keeps_what_it_had(stepped):
    runs = RunRegistry(stepped)
    run = runs.start(Request("hello", CONFIG))
    stepped.release()
    poll(runs, run)
    runs.stop(run.id)
    stepped.release()
    assert len(finish(runs, run)["lines"]) == 1
    runs.stop("no such run")


def test_a_failing_run_tells_why_and_the_next_one_goes_on(stepped):
    runs = RunRegistry(stepped)
    broken, next_run = runs.start(Request("broken", CONFIG)), runs.start(Request("next", CONFIG))
    stepped.release(9)
    assert finish(runs, broken)["error"] == "the device is lost"
    assert len(finish(runs, next_run)["lines"]) == 3


def test_what_cannot_be_run_is_refused_at_once(stepped):
    runs = RunRegistry(stepped)
    with pytest.raises(PromptError, match="is empty"):
        runs.start(Request(" \n", CONFIG))
    with pytest.raises(PromptError, match="is too long"):
        runs.start(Request("too long", CONFIG))
    for _ in range(MAX_WAITING + 1):
        runs.start(Request("hello", CONFIG))
    with pytest.raises(PromptError, match="others waiting"):
        runs.start(Request("hello", CONFIG))


def test_old_runs_are_forgotten_and_say_so(stepped):
    runs = RunRegistry(stepped)
    stepped.release(10_000)
    first = runs.start(Request("first", CONFIG))
    finish(runs, first)
    for _ in range(MAX_KEPT + 1):
        finish(runs, runs.start(Request("hello", CONFIG)))
    assert poll(runs, first)["error"] == "unknown_run"
