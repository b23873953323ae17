"""Forking: without a change the rest of the run comes again token for token; with one, only that differs."""

from __future__ import annotations

import json

import pytest
import torch

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
from refusion_core.checkpoint import BUNDLED
from refusion_core.events import Commit, Forward, Plan, Verify, dump_event
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


def test_recorded_runs_fork_the_same(golden_runs):
    """On the bundled model, every tenth iteration and the middle one of each run that is recorded."""
    checkpoint = load_checkpoint("bundled", device="cpu")
    paths = sorted((BUNDLED.parent / "traces").rglob("*.trace.jsonl"))
    parents = [parse_trace(path.read_text(encoding="utf-8")) for path in paths]
    parents = [parent for parent in parents if parent.started.decoder == "refusion"]
    assert len(parents) + len(golden_runs) >= 20
    for parent in parents:
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


def golden_parent(case, **settings):
    """A golden case decoded again, perhaps with other settings, and its model."""
    raw = next(raw for raw in CASES if raw["case"] == case)
    model = load_checkpoint(str(GOLDEN / "models" / raw["model"]), device="cpu")
    config = DecodeConfig(**{name: raw[name] for name in NAMES} | settings)
    return model, Trace(tuple(decode(model, prompt_ids=raw["prompt_ids"], config=config)))


def next_chances(model, run, plan):
    """Distributions [slots, S, V] at the masks of a plan, behind all that was committed before it, in one plain
    causal forward."""
    ids, positions = list(run.started.prompt_ids), list(range(run.started.response_start))
    for commit in of(run, Commit):
        if commit.iteration < plan.iteration:
            ids += [token for slot in commit.slots for token in slot.tokens]
            positions += [place for slot in commit.slots for place in slot.positions]
    size = run.started.settings.slot_size
    starts = [run.started.response_start + size * slot.slot for slot in plan.slots]
    masks = [start + k for start in starts for k in range(size)]
    fed = ids + [model.facts.mask_id] * len(masks)
    hidden = model.model.hidden(torch.tensor([fed]), torch.tensor([positions + masks]))[0]
    return model.model.logits(hidden[len(ids) :]).softmax(-1).unflatten(0, (len(starts), size))


def test_a_written_slot_is_kept_whatever_its_probabilities():
    model, parent = golden_parent("099")
    first = of(parent, Commit)[0]
    assert first.branch == "prefix"  # so that one plain forward sees what the fork sees
    text = (30, 31)
    events = list(decode(model, fork=Fork(trace=parent, iteration=1, write={3: text})))
    parse_trace("".join(dump_event(event) + "\n" for event in events))
    assert events[0].parent.written == (3,)
    plan, verify, commit = (
        next(e for e in of(events, kind) if e.iteration == 1) for kind in (Plan, Verify, Commit)
    )
    assert plan.chosen_slots == (3,)
    assert {s.reason for s in plan.slots} == {"forced_by_user", "forbidden_by_user"}
    place = [slot.slot for slot in plan.slots].index(3)
    assert plan.slots[place].tokens == text != of(parent, Plan)[1].slots[place].tokens
    chances = next_chances(model, parent, plan)[place]
    expected = [chances[k, token].item() for k, token in enumerate(text)]
    assert plan.slots[place].probabilities == pytest.approx(expected, abs=1e-6)
    assert [s.statuses for s in verify.slots] == [("forced",) * 2]
    assert min(verify.slots[0].probabilities) < parent.started.settings.token_threshold
    assert [(s.slot, s.tokens, s.origins) for s in commit.slots] == [(3, text, ("forced",) * 2)]
    assert told(events)[:1] == told(parent)[:1]
    end = dict(zip(events[-1].output_positions, events[-1].output_ids, strict=True))
    start = parent.started.response_start + 6
    assert (end[start], end[start + 1]) == text


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"write": {99: (1, 2)}}, "fork write"),
        ({"write": {3: (30,)}}, "slot 3: 1 tokens"),
        ({"write": {3: (30, 2)}}, "other than the mask"),
        ({"write": {3: (30, 31)}, "force": (2,)}, "fork write"),
    ],
)
def test_text_that_does_not_fit_is_refused(changes, named):
    _, parent = golden_parent("099")
    with pytest.raises(ConfigError, match=named):
        Fork(trace=parent, iteration=1, **changes)


@pytest.mark.parametrize("recompute", [True, False])
def test_recomputed_entries_have_seen_the_slots_before_them(recompute):
    model, run = golden_parent("005", recompute_infill=recompute)
    first = of(run, Commit)[0]
    assert first.branch == "infill" and len(first.slots) > 1
    assert run.started.settings.recompute_infill is (True if recompute else None)
    phases = [event.phase for event in of(run, Forward) if event.iteration == 0]
    assert ("recompute" in phases) is recompute
    plan = of(run, Plan)[1]
    chances = next_chances(model, run, plan)
    seen = [chances[n, 0, slot.tokens[0]].item() for n, slot in enumerate(plan.slots)]
    same = [slot.confidence for slot in plan.slots] == pytest.approx(seen, abs=1e-5)
    assert same is recompute


def test_a_recomputed_run_forks_the_same():
    model, run = golden_parent("005", recompute_infill=True)
    assert run.finished.stats.iterations > 2
    for iteration in range(run.finished.stats.iterations):
        check_fork(model, run, iteration)


def test_recompute_infill_is_a_truth_value():
    with pytest.raises(ConfigError, match="recompute_infill"):
        DecodeConfig(recompute_infill=1)
