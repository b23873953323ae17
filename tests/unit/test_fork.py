"""Forking: without a change the rest of the run comes again token for token; with one, only that differs."""

from __future__ import annotations

import json

import pytest

from refusion_core import (
    ConfigError,
    DecodeConfig,
    Fork,
    PromptError,
    Trace,
    decode,
    load_checkpoint,
    parse_trace,
)
from refusion_core.events import Commit, Plan, dump_event
from tests.fakes import GOLDEN

CASES = [json.loads(line) for line in (GOLDEN / "cases.jsonl").read_text().splitlines()]
NAMES = ("gen_length", "slot_size", "serial_blocks", "slot_threshold", "token_threshold")


def of(events, kind):
    return [event for event in events if isinstance(event, kind)]


def told(events):
    """What a run did, apart from identity and time."""
    return [
        (commit.branch, commit.dropped_slots, [(s.slot, s.tokens, s.origins) for s in commit.slots])
        for commit in of(events, Commit)
    ]


@pytest.fixture(scope="module")
def checkpoint():
    return load_checkpoint(GOLDEN / "models" / "untied", device="cpu")


@pytest.fixture(scope="module")
def golden_runs():
    """The golden cases of several iterations, decoded, with the model of each."""
    runs = []
    for raw in CASES:
        model = load_checkpoint(str(GOLDEN / "models" / raw["model"]), device="cpu")
        config = DecodeConfig(**{name: raw[name] for name in NAMES})
        run = Trace(tuple(decode(model, prompt_ids=raw["prompt_ids"], config=config)))
        if run.finished.stats.iterations > 2:
            runs.append((model, run))
    return runs


def test_every_iteration_forked_without_a_change_ends_the_same(golden_runs):
    assert len(golden_runs) > 5
    branches = {commit.branch for _, run in golden_runs for commit in of(run, Commit)}
    assert branches == {"prefix", "infill"}  # both ways to rebuild
    for model, parent in golden_runs:
        for iteration in range(parent.finished.stats.iterations):
            check_fork(model, parent, iteration)


def check_fork(model, parent, iteration):
    events = list(decode(model, fork=Fork(trace=parent, iteration=iteration)))
    assert told(events) == told(parent)
    end = events[-1]
    assert end.output_ids == parent.finished.output_ids
    assert end.stop_reason == parent.finished.stop_reason
    for name in ("forwards", "tokens_computed", "cache_hits", "committed_tokens"):
        assert getattr(end.stats, name) == getattr(parent.finished.stats, name)
    assert events[0].parent.run_id == parent.started.run_id
    assert events[0].parent.iteration == iteration
    assert events[0].run_id != parent.started.run_id
    parse_trace("".join(dump_event(event) + "\n" for event in events))
    times = [event.t for event in events]
    assert times == sorted(times)


def test_recorded_examples_fork_the_same(tmp_path):
    """On the bundled model, every tenth iteration or at least the middle one of each example."""
    from tests.unit.test_player_modules import EXAMPLES

    checkpoint = load_checkpoint("bundled", device="cpu")
    for path in EXAMPLES:
        parent = parse_trace(path.read_text(encoding="utf-8"))
        count = parent.finished.stats.iterations
        for iteration in {*range(0, count, 10), count // 2}:
            events = list(decode(checkpoint, fork=Fork(trace=parent, iteration=iteration)))
            assert events[-1].text == parent.finished.text
            assert told(events) == told(parent)


def test_a_forced_slot_is_chosen_and_a_forbidden_one_is_not(checkpoint):
    config = DecodeConfig(gen_length=48, slot_size=4, serial_blocks=1, slot_threshold=0.99)
    parent = Trace(tuple(decode(checkpoint, prompt_ids=[5, 6, 7, 8], config=config)))
    plan = next(plan for plan in of(parent, Plan) if plan.iteration == 2)
    (chosen,) = plan.chosen_slots
    other = next(slot.slot for slot in plan.slots if not slot.chosen)

    def fork(**changes):
        events = list(decode(checkpoint, fork=Fork(trace=parent, iteration=2, **changes)))
        return next(plan for plan in of(events, Plan) if plan.iteration == 2)

    forced = fork(force=(other,))
    assert forced.chosen_slots == (other,)
    assert next(s.reason for s in forced.slots if s.slot == other) == "forced_by_user"
    forbidden = fork(forbid=(chosen,))
    assert chosen not in forbidden.chosen_slots and len(forbidden.chosen_slots) == 1
    assert next(s.reason for s in forbidden.slots if s.slot == chosen) == "forbidden_by_user"
    second = next(s.slot for s in plan.slots if s.rank == 1)
    assert forbidden.chosen_slots == (second,)


def test_other_thresholds_hold_from_the_fork_on(checkpoint):
    config = DecodeConfig(gen_length=48, slot_size=4, serial_blocks=1, slot_threshold=0.99)
    parent = Trace(tuple(decode(checkpoint, prompt_ids=[5, 6, 7, 8], config=config)))
    looser = DecodeConfig(gen_length=48, slot_size=4, serial_blocks=1, slot_threshold=0.0)
    events = list(decode(checkpoint, fork=Fork(trace=parent, iteration=3), config=looser))
    plans = of(events, Plan)
    assert [p.chosen_slots for p in plans[:3]] == [p.chosen_slots for p in of(parent, Plan)[:3]]
    assert len(plans[3].chosen_slots) == len(plans[3].slots) > 1


def test_impossible_forks_are_refused(checkpoint):
    config = DecodeConfig(gen_length=16, slot_size=4, serial_blocks=1)
    parent = Trace(tuple(decode(checkpoint, prompt_ids=[5, 6], config=config)))
    with pytest.raises(ConfigError, match="fork iteration = 99.*give 0 to"):
        Fork(trace=parent, iteration=99)
    with pytest.raises(ConfigError, match="fork force.*not masked"):
        Fork(trace=parent, iteration=0, force=(7,))
    with pytest.raises(ConfigError, match="leaves no choice"):
        Fork(trace=parent, iteration=0, forbid=(0, 1, 2, 3))
    with pytest.raises(ConfigError, match="slot_size = 8.*forked run; give 4"):
        decode(
            checkpoint,
            fork=Fork(trace=parent, iteration=0),
            config=DecodeConfig(slot_size=8, gen_length=16),
        )
    with pytest.raises(PromptError, match="with a fork"):
        decode(checkpoint, prompt_ids=[5], fork=Fork(trace=parent, iteration=0))
