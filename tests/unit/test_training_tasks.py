"""Task families: expected answers pass their checks, wrong ones fail, held-out content stays held out."""

from __future__ import annotations

import json
import random
import subprocess
import sys

import pytest

from refusion_core.training.tasks import FAMILIES as ALL_FAMILIES
from refusion_core.training.tasks import code, extract, invent, lists, summarise, sums, table
from refusion_core.training.tasks.base import Sample, reword, split_of
from refusion_core.training.tasks.sandbox import FAILED, run_function
from refusion_core.training.tasks.sums import addition_steps, subtraction_steps

FAMILIES = {
    module.FAMILY.name: module.FAMILY
    for module in (code, extract, invent, lists, sums, summarise, table)
}


def _draws(name: str, count: int, seed: int = 1) -> list[Sample]:
    rng = random.Random(seed)
    return [FAMILIES[name].draw(rng) for _ in range(count)]


@pytest.mark.parametrize("name", FAMILIES)
def test_expected_answers_pass(name):
    for sample in _draws(name, 200):
        assert FAMILIES[name].check(sample, sample.response), sample


@pytest.mark.parametrize("name", FAMILIES)
def test_damaged_answers_fail(name):
    """An empty answer, half of one, an answer to another prompt, and one that misses a part."""
    other = next(iter(_draws(name, 1, seed=99)))
    for sample in _draws(name, 12 if name == "code" else 60):
        check, response = FAMILIES[name].check, sample.response
        assert not check(sample, "")
        if len(sample.parts) > 1:  # half of "lemons" is a wrong answer, half of "7" is nothing
            assert not check(sample, response[: len(response) // 2])
            assert not check(sample, response[: sample.parts[-1].start])
        if other.response.split("\n")[-1] != response.split("\n")[-1]:  # sums: another answer
            assert not check(sample, other.response)


@pytest.mark.parametrize("name", FAMILIES)
def test_parts_cover_the_response_and_need_only_other_parts(name):
    for sample in _draws(name, 200):
        assert sample.parts, sample
        at = 0
        for index, part in enumerate(sample.parts):
            assert part.start == at < part.end
            at = part.end
            assert index not in part.needs
            assert all(0 <= other < len(sample.parts) for other in part.needs)
        assert at == len(sample.response)


@pytest.mark.parametrize("name", FAMILIES)
def test_parts_begin_where_tokens_begin(name):
    """A newline keeps its indent, and a word its space."""
    for sample in _draws(name, 200):
        for part in sample.parts[1:]:
            before, first = sample.response[part.start - 1], sample.response[part.start]
            assert first == "\n" or not first.isspace() or before != "\n", sample
            assert first.isspace() or before != " " or "\n" in sample.response[: part.start], sample


@pytest.mark.parametrize("name", FAMILIES)
def test_the_needs_of_parts_have_no_cycle(name):
    """Otherwise no order of writing would be right."""
    for sample in _draws(name, 100):
        written: set[int] = set()
        while len(written) < len(sample.parts):
            ready = {
                i
                for i, part in enumerate(sample.parts)
                if i not in written and written.issuperset(part.needs)
            }
            assert ready, sample
            written |= ready


@pytest.mark.parametrize("name", FAMILIES)
def test_content_is_plentiful(name):
    keys = {sample.key for sample in _draws(name, 2000)}
    assert len(keys) > (900 if name == "code" else 1800)


@pytest.mark.parametrize("name", [name for name, family in FAMILIES.items() if not family.open])
def test_no_prompt_has_two_answers(name):
    answers: dict[str, str] = {}
    for sample in _draws(name, 4000):
        assert answers.setdefault(sample.prompt, sample.response) == sample.response


@pytest.mark.parametrize("name", FAMILIES)
def test_no_field_of_a_form_stays_unfilled(name):
    for sample in _draws(name, 1500):
        assert "{" not in sample.prompt
        assert name in ("extract", "invent") or "{" not in sample.response


def test_all_that_is_left_open_is_right_once():
    """Every completion is another one, and passes."""
    kinds = set()
    for sample in _draws("invent", 60):
        found = invent.completions(sample)
        assert len(found) == len(set(found)) >= 5 and sample.response in found
        assert invent.check(sample, random.Random(0).choice(found))
        kinds.add(sample.facts["kind"])
    assert kinds == {"carries", "keys and values", "lists"}


@pytest.mark.parametrize(
    ("prompt_part", "wrong"),
    [
        ("?", "ones: 1 + 1 = 3\nAnswer: 3"),
        ("json", '{\n  "name": "Mia Adams",\n  "shoe": "left"\n}'),
        ("numbers", "40, 39, 38\nlemon, tea"),
    ],
)
def test_what_an_open_prompt_rules_out_is_wrong(prompt_part, wrong):
    rng = random.Random(4)
    while prompt_part not in (sample := invent.draw(rng)).prompt.lower():
        pass
    assert invent.check(sample, sample.response) and not invent.check(sample, wrong)


def test_reword_keeps_fields():
    form = "Please write {first} about {Second}, in {a}+{b} words, for all of them."
    for seed in range(300):
        filled = reword(random.Random(seed), form)
        for name in ("{first}", "{Second}", "{a}+{b}"):
            assert name in filled


@pytest.mark.parametrize("name", ALL_FAMILIES)
def test_no_held_out_content_is_ever_trained_on(name):
    """A prompt's split must not depend on the draw: test keys never show up in training draws."""
    rng, family = random.Random(2), ALL_FAMILIES[name]
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
        "from refusion_core.training.tasks.base import split_of;"
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


@pytest.mark.parametrize("seed", range(100))
def test_two_steps_are_true(seed):
    rng = random.Random(seed)
    sample = next(
        s for s in iter(lambda: sums.draw(rng), None) if s.key.count("-") and "+" in s.key
    )
    assert eval(sample.key) == sample.facts["answer"]
    first, _, second = sample.response.partition("Total: ")
    total, *lines, final = second.splitlines()
    assert int(total) == eval(sample.key.split("-")[0])
    assert final == f"Answer: {sample.facts['answer']}"
    for line in (*first.splitlines(), *lines):
        terms, result = line.split(": ")[1].split(",")[0].split(" = ")
        assert eval(terms) == int(result)


def test_about_half_of_the_digit_lines_carry_or_borrow():
    lines = [
        line
        for sample in _draws("sums", 500)
        for line in sample.response.splitlines()
        if line.startswith(("ones", "tens"))
    ]
    assert 0.35 < sum("carry" in line or "borrow" in line for line in lines) / len(lines) < 0.65


@pytest.mark.parametrize("text", ["Answer: 13", "ones: 4 + 8 = 12\nAnswer: 12 or 13", "12"])
def test_a_sum_without_the_right_last_line_is_wrong(text):
    sample = Sample(family="sums", key="4+8", prompt="", response="", facts={"answer": 12})
    assert not sums.FAMILY.check(sample, text)


def test_a_table_is_judged_by_its_cells():
    sample = Sample(
        family="table",
        key="",
        prompt="",
        response="",
        facts={"rows": [["name", "age"], ["Ana", "31"], ["Ben", "25"]]},
    )
    check = table.FAMILY.check
    assert check(sample, "|name|age|\n|:--|--:|\n|  Ana | 31 |\n| Ben |25|\n")
    assert not check(sample, "| name | age |\n|---|---|\n| Ben | 25 |\n| Ana | 31 |")
    assert not check(sample, "| name | age |\n|---|---|---|\n| Ana | 31 |\n| Ben | 25 |")
    assert not check(sample, "| name | age |\n| Ana | 31 |\n| Ben | 25 |")
    assert not check(sample, "| name | age |\n|---|---|\n| Ana | 31 |\n| Ben | 52 |")
    assert not check(sample, "| name | age |\n|---|---|\n| Ana | 31 | |\n| Ben | 25 |")


@pytest.mark.parametrize("name", FAMILIES)
def test_what_must_be_copied_is_in_the_prompt(name):
    """Cells, facts and values are given, so that exactly one answer is right."""
    for sample in _draws(name, 300):
        if name == "table":
            given = {cell for row in sample.facts["rows"][1:] for cell in row}
        elif name == "extract":
            given = {str(value) for value in json.loads(sample.response).values()}
        elif name == "lists":
            given = (
                set()
                if sample.response == "none"
                else set(sample.response.split("\n")[0].split(", "))
            )
            given = {item.removeprefix("1. ") for item in given}
        elif name == "summarise":
            given = {
                word for word in sample.response.split() if word[0].isupper() or word.isdigit()
            }
            given = {word.rstrip(".,") for word in given} - {"The", "A"}
        else:
            given = set()
        assert all(text in sample.prompt for text in given), sample


def test_filters_of_numbers_keep_the_right_ones_in_their_order():
    rules = {"even": lambda n: n % 2 == 0, "odd": lambda n: n % 2 == 1}
    seen = set()
    for sample in _draws("lists", 1500):
        task, _, items = sample.key.partition(":")
        if task in rules:
            seen.add(task)
            kept = [item for item in items.split(",") if rules[task](int(item))]
            assert sample.response == (", ".join(kept) or "none")
    assert seen == set(rules)


def test_words_to_be_sorted_differ_in_their_first_letters():
    found = [s for s in _draws("lists", 1000) if s.key.startswith("sort words:")]
    assert found
    for sample in found:
        items = sample.response.split(", ")
        assert items == sorted(items)
        assert len({item[0] for item in items}) == len(items)


def test_a_hurried_request_is_understood_as_what_it_means():
    """The wording of the user that the family must cover: "pls write python func that adds even nums"."""
    wanted = {
        "pls write python func that adds even nums",
        "plz write python func that adds even nums",
    }
    plan = code._Plan("numbers", code._NUMBER_REDUCTIONS[0], adjective=code._ADJECTIVES[0])
    rng = random.Random(5)
    form = "Please write a Python function that {task}."
    tasks = {code._verb_statement(rng, plan, "") for _ in range(100)}
    assert "adds even numbers" in tasks
    prompts = {code._request(rng, form, "adds even numbers").rstrip(".") for _ in range(20000)}
    assert prompts & wanted


def test_a_line_of_code_needs_the_lines_that_name_what_it_uses():
    pieces = code._pieces(
        "def f(items):\n    result = 1\n    for x in items:\n        result *= x\n    return result"
    )
    assert [needs for _, needs in pieces] == [(), (), (0,), (1, 2), (1,)]


def test_the_expected_code_computes_what_is_asked():
    def source(prompt_key: str) -> str:
        rng = random.Random(3)
        while True:
            sample = FAMILIES["code"].draw(rng)
            if sample.key == prompt_key:
                return sample.response

    assert run_function(source("numbers/sum_of/squares/"), [[[1, 2, 3]]]) == [14]
    assert run_function(source("numbers/product_of/cubes/x % 2 == 0"), [[[1, 2, 4]]]) == [512]
    assert run_function(source("numbers/all//x > 0"), [[[1, 2]], [[0, 1]]]) == [True, False]
    assert run_function(source("words/longest//"), [[["a", "abc", "ab"]]]) == ["abc"]


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
