"""Whether measured dependency finds the one that a task has, on the bundled model."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from benchmarks.dependency import area, measure, slot_relations, structure
from refusion_core import load_checkpoint
from refusion_core.training.tasks import FAMILIES


@pytest.fixture(scope="module")
def checkpoint():
    return load_checkpoint("bundled", device="cpu")


def test_the_area_under_the_curve_by_hand():
    assert area([3, 4], [1, 2]) == 1
    assert area([1, 2], [3, 4]) == 0
    assert area([1, 3], [2]) == 0.5
    assert area([2], [2]) == 0.5


def sample(family, text):
    """A sample of the family with this response."""
    return replace(FAMILIES[family].sample(random.Random(0), "test"), response=text)


def needs(family, text):
    parts = structure(sample(family, text))
    assert "".join(text[part.start : part.end] for part in parts) == text
    return [(text[part.start : part.end], part.needs) for part in parts]


def test_a_carry_is_needed_by_the_next_line():
    text = "ones: 7 + 6 = 13, carry 1\ntens: 4 + 8 + 1 = 13, carry 1\nAnswer: 133"
    assert needs("sums", text) == [
        ("ones: 7 + 6 ", ()),
        ("= 13, carry 1\n", (0,)),
        ("tens: 4 + 8 + 1 ", (1,)),
        ("= 13, carry 1\n", (2,)),
        ("Answer: 133", (3,)),
    ]


def test_a_value_needs_its_key_and_an_item_the_one_before():
    assert needs("extract", '{"name": "Mia", "age": 3}') == [
        ("{", ()),
        ('"name": ', ()),
        ('"Mia", ', (1,)),
        ('"age": ', ()),
        ("3}", (3,)),
    ]
    assert needs("lists", "8, 18,\nCount: 2") == [
        ("8,", ()),
        (" 18,", (0,)),
        ("\nCount: 2", (1,)),
    ]


def test_pairs_are_of_slots_in_different_parts(checkpoint):
    found = FAMILIES["extract"].sample(random.Random(3), "test")
    pairs = slot_relations(checkpoint, found, 4)
    assert {kind for _, _, kind in pairs} == {True, False}
    assert all(j != i for j, i, _ in pairs)
    assert len({(j, i) for j, i, _ in pairs}) == len(pairs)


@pytest.mark.parametrize(("family", "revealed"), [("sums", 0.55), ("extract", 0.6), ("lists", 0.4)])
def test_attention_finds_what_the_task_makes_dependent(checkpoint, family, revealed):
    """What is revealed tells less: these answers are nearly certain before anything is."""
    found = measure(checkpoint, family, 12, 4)
    assert found["attention"] > 0.8
    assert revealed < found["revealed"] < found["attention"]
    assert found["joint"] < found["attention"]
