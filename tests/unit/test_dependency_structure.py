"""Whether measured dependency finds the one that a task has, on the bundled model."""

from __future__ import annotations

import math

import pytest
import torch

from benchmarks.dependency import KINDS, area, measure, rank_correlation, true_dependency
from refusion_core import load_checkpoint


@pytest.fixture(scope="module")
def checkpoint():
    return load_checkpoint("bundled", device="cpu")


def test_areas_and_rank_correlations_by_hand():
    def of(dependent, independent):
        return area(torch.tensor(dependent), torch.tensor(independent))

    assert of([3.0, 4.0], [1.0, 2.0]) == 1
    assert of([1.0, 2.0], [3.0, 4.0]) == 0
    assert of([1.0, 3.0], [2.0]) == 0.5
    assert of([2.0], [2.0]) == 0.5
    values = torch.tensor([1.0, 2.0, 3.0])
    assert rank_correlation(values, values**3) == pytest.approx(1)
    assert rank_correlation(values, -values) == pytest.approx(-1)


def test_true_dependency_by_hand():
    """Slots of one token: the second repeats the first, the third is free of both."""
    answers = [[a, a, b] for a in (5, 6) for b in (7, 8, 9)]
    found = true_dependency(answers, answers[0], 1, eos_id=0)
    surprise = (0.5 * math.log(0.5 / 0.75) + 0.5 * math.log(0.5 / 0.25) + math.log(1 / 0.75)) / 2
    expected = torch.tensor([[0, surprise, 0], [surprise, 0, 0], [0, 0, 0]])
    assert torch.allclose(found, expected, atol=1e-6)


def test_true_dependency_knows_where_an_answer_ends():
    """In slots of two tokens the second slot starts with eos or not, which the first one tells."""
    found = true_dependency([[5, 6], [5, 7, 8]], [5, 7, 8], 2, eos_id=0)
    assert found[1, 0] > 0.2 and found[0, 1] == 0  # every answer starts with 5


@pytest.mark.parametrize("kind", KINDS)
def test_revealed_shows_what_the_task_makes_dependent(checkpoint, kind):
    found = measure(checkpoint, kind, methods=("revealed", "attention"))
    assert found["dependent"] > 100 and found["independent"] > 100
    assert found["revealed"] > 0.8
    assert found["revealed"] > found["attention"]
