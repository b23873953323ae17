"""Task families: expected answers pass their checks, wrong ones fail, held-out content stays held out."""

from __future__ import annotations

import random
import subprocess
import sys

import pytest

from refusion_core.training.tasks import FAMILIES, split_of
from refusion_core.training.tasks.base import Sample
from refusion_core.training.tasks.sandbox import FAILED, run_function
from refusion_core.training.tasks.sums import addition_steps, subtraction_steps


@pytest.mark.parametrize("name", FAMILIES)
def test_expected_answers_pass_and_damaged_ones_fail(name):
    rng, family = random.Random(1), FAMILIES[name]
    for _ in range(12):
        sample = family.sample(rng, "train")
        assert family.check(sample, sample.response), sample
        assert not family.check(sample, "")
        assert not family.check(sample, sample.response[: len(sample.response) // 2])


@pytest.mark.parametrize("name", FAMILIES)
def test_no_held_out_content_is_ever_trained_on(name):
    """A prompt's split must not depend on the draw: test keys never show up in training draws."""
    rng, family = random.Random(2), FAMILIES[name]
    keys = {
        split: {family.sample(rng, split).key for _ in range(400)}
        for split in ("train", "dev", "test")
    }
    assert not keys["train"] & keys["test"]
    assert not keys["train"] & keys["dev"]
    assert not keys["dev"] & keys["test"]


def test_the_split_is_the_same_in_every_process():
    """Python's own hash() is salted: it would move samples between splits from run to run."""
    keys = [f"47+{n}" for n in range(200)]
    here = [split_of("sums", key) for key in keys]
    code = (
        "from refusion_core.training.tasks import split_of;"
        "print([split_of('sums', f'47+{n}') for n in range(200)])"
    )
    there = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert there.stdout.strip() == str(here)
    assert set(here) == {"train", "dev", "test"}


def test_the_same_seed_draws_the_same_samples():
    for family in FAMILIES.values():
        first = [family.sample(random.Random(7), "train") for _ in range(3)]
        assert first == [family.sample(random.Random(7), "train") for _ in range(3)]


def test_digit_steps_carry_and_borrow():
    assert (
        addition_steps(95, 7)
        == "ones: 5 + 7 = 12, carry 1\ntens: 9 + 0 + 1 = 10, carry 1\nAnswer: 102"
    )
    assert (
        subtraction_steps(204, 9)
        == "ones: 14 - 9 = 5, borrow 1\ntens: 10 - 0 - 1 = 9, borrow 1\nhundreds: 2 - 0 - 1 = 1\nAnswer: 195"
    )


@pytest.mark.parametrize("seed", range(300))
def test_digit_steps_are_true(seed):
    """Every line must be right arithmetic, or the model is taught errors."""
    rng = random.Random(seed)
    a, b = rng.randint(10, 999), rng.randint(10, 999)
    a, b = max(a, b), min(a, b)
    for steps, answer in ((addition_steps(a, b), a + b), (subtraction_steps(a, b), a - b)):
        *lines, final = steps.splitlines()
        assert final == f"Answer: {answer}"
        for line in lines:
            terms, total = line.split(": ")[1].split(",")[0].split(" = ")
            assert eval(terms) == int(total)


def test_the_expected_code_computes_what_is_asked():
    def code(prompt_key: str) -> str:
        rng = random.Random(3)
        while True:
            sample = FAMILIES["code"].draw(rng)
            if sample.key == prompt_key:
                return sample.response

    assert run_function(code("numbers/sum_of/squares/"), [[[1, 2, 3]]]) == [14]
    assert run_function(code("numbers/product_of/cubes/x % 2 == 0"), [[[1, 2, 4]]]) == [512]
    assert run_function(code("numbers/all//x > 0"), [[[1, 2]], [[0, 1]]]) == [True, False]
    assert run_function(code("words/longest//"), [[["a", "abc", "ab"]]]) == ["abc"]


def test_code_is_judged_by_what_it_does_not_by_its_text():
    sample = Sample(
        family="code",
        key="",
        prompt="",
        response="def f(numbers):\n    return sum(x * x for x in numbers)",
        facts={"kind": "numbers"},
    )
    check = FAMILIES["code"].check
    assert check(sample, "def g(v):\n    s = 0\n    for x in v:\n        s += x ** 2\n    return s")
    assert not check(sample, "def g(v):\n    return sum(x for x in v)")


@pytest.mark.parametrize(
    "body",
    [
        "while True: pass",
        "return 'x' * 10 ** 10",
        "import os\n    return 1",
        "return open('/etc/hostname').read()",
        "return ().__class__",
        "return 1 /",
        "raise SystemExit",
        "import sys",
    ],
)
def test_bad_code_ends_in_none_or_failed_and_not_in_trouble(body):
    assert run_function(f"def f(x):\n    {body}", [[1]]) in (None, [FAILED])


def test_one_failing_case_does_not_hide_the_others():
    assert run_function("def f(x):\n    return 1 / x", [[1], [0]]) == [1.0, FAILED]
