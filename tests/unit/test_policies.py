"""Policies on hand-made numbers, and in runs of the decoder."""

from __future__ import annotations

import math
from random import Random

import pytest

from refusion_core import (
    ConfigError,
    DecodeConfig,
    RecordConfig,
    decode,
    load_checkpoint,
    selection,
)
from refusion_core.events import Dependency, Plan
from refusion_core.selection import POLICIES, Candidate, Choice, Limits
from tests.fakes import GOLDEN

CANDIDATES = [
    Candidate(0, (0.95, 0.20), entropies=(0.2, 2.0), runner_up=0.04),
    Candidate(1, (0.80, 0.90), entropies=(0.6, 0.3), runner_up=0.15),
    Candidate(2, (0.85, 0.86), entropies=(0.5, 0.5), runner_up=0.02),
    Candidate(3, (0.30, 0.99), entropies=(1.5, 0.1), runner_up=0.29),
]


def chosen(name, **limits):
    limits = Limits(**{"slot_threshold": 0.8} | limits)
    return [i for i, choice in enumerate(POLICIES[name](CANDIDATES, limits)) if choice.chosen]


def test_each_policy_on_numbers_worked_out_by_hand():
    assert chosen("threshold") == [0, 2]
    assert chosen("best_k", count=2) == [0, 2]
    assert chosen("best_k", count=3) == [0, 1, 2]
    assert chosen("mean_probability") == [1, 2]  # 0.575, 0.85, 0.855, 0.645
    assert chosen("mean_entropy", slot_threshold=0.6) == [1, 2]  # exp of -1.1, -0.45, -0.5, -0.8
    assert chosen("margin") == [0, 2]  # 0.91, 0.65, 0.83, 0.01
    assert chosen("left_to_right", count=2) == [0, 1]
    assert chosen("left_to_right", count=9) == [0, 1, 2, 3]
    assert chosen("random_slots", count=2, random=lambda: Random(1)) == chosen(
        "random_slots", count=2, random=lambda: Random(1)
    )


def test_a_score_is_told_and_the_best_of_none_is_that_of_the_score():
    choices = POLICIES["mean_probability"](CANDIDATES, Limits(slot_threshold=0.99))
    assert [choice.chosen for choice in choices] == [False, False, True, False]
    assert choices[2].reason == "best_of_none"
    assert choices[2].score == pytest.approx(0.855)
    entropy = POLICIES["mean_entropy"](CANDIDATES, Limits(slot_threshold=0.99))[0]
    assert entropy.score == pytest.approx(math.exp(-1.1))


def test_dependent_slots_are_not_chosen_together():
    matrix = [[0, 0, 0.0, 0], [0, 0, 0, 0], [0.3, 0, 0, 0], [0, 0, 0, 0]]
    limits = {"slot_threshold": 0.7, "dependency": lambda: matrix}
    assert chosen("dependency_aware", dependency_limit=0.4, **limits) == [0, 1, 2]
    assert chosen("dependency_aware", dependency_limit=0.2, **limits) == [0, 1]
    choices = POLICIES["dependency_aware"](CANDIDATES, Limits(dependency_limit=0.2, **limits))
    assert choices[2].reason == "too_dependent"


@pytest.fixture(scope="module")
def checkpoint():
    return load_checkpoint(GOLDEN / "models" / "untied", device="cpu")


@pytest.mark.parametrize("name", sorted(POLICIES))
def test_every_policy_decodes_to_the_end_and_says_why(checkpoint, name):
    config = DecodeConfig(gen_length=24, slot_size=4, policy=name, slot_threshold=0.1)
    events = list(decode(checkpoint, prompt_ids=[5, 6, 7], config=config))
    assert events[-1].stop_reason in ("length", "eos")
    plans = [event for event in events if isinstance(event, Plan)]
    assert all(plan.chosen_slots for plan in plans)
    assert events[0].settings.policy == (None if name == "threshold" else name)
    unwatched = list(decode(checkpoint, prompt_ids=[5, 6, 7], config=config, record=None))
    assert unwatched[-1].output_ids == events[-1].output_ids
    scores = [slot.score for plan in plans for slot in plan.slots]
    assert (None not in scores) == (name in ("mean_probability", "mean_entropy", "margin"))


def test_the_dependency_aware_policy_goes_by_the_revealed_matrix(checkpoint):
    config = DecodeConfig(
        gen_length=24,
        slot_size=4,
        serial_blocks=1,
        policy="dependency_aware",
        slot_threshold=0.0,
        dependency_limit=1e-4,
    )
    record = RecordConfig(dependency="revealed")
    events = list(decode(checkpoint, prompt_ids=[5, 6, 7], config=config, record=record))
    plans = [event for event in events if isinstance(event, Plan)]
    measured = [event for event in events if isinstance(event, Dependency)]
    assert len(plans[0].chosen_slots) < len(plans[0].slots)
    for plan, dependency in zip(plans, measured, strict=False):
        places = [dependency.rows.index(slot) for slot in plan.chosen_slots]
        for i in places:
            for j in places:
                assert dependency.matrix[i][j] <= 1e-4 + 1e-6


def test_a_policy_of_ones_own_can_be_registered(checkpoint):
    @selection.register
    def last_slot(candidates, limits):
        return [Choice(i == len(candidates) - 1, "by_policy", i) for i in range(len(candidates))]

    try:
        config = DecodeConfig(gen_length=16, slot_size=4, serial_blocks=1, policy="last_slot")
        events = list(decode(checkpoint, prompt_ids=[5, 6, 7], config=config))
        plans = [event for event in events if isinstance(event, Plan)]
        assert plans[0].chosen_slots == (3,)
    finally:
        del POLICIES["last_slot"]


def test_unknown_policies_are_refused():
    with pytest.raises(ConfigError, match="policy = 'best'.*give one of.*threshold"):
        DecodeConfig(policy="best")
    with pytest.raises(ConfigError, match="policy_count"):
        DecodeConfig(policy_count=0)
    with pytest.raises(ConfigError, match="dependency_limit"):
        DecodeConfig(dependency_limit=0.8)
