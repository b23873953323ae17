"""Prompts as strangers type them get a sensible reply from the shipped model at the app's settings.

Written as people type, not taken from the forms of the training data; each comes with what counts as right.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest

from refusion_core import DecodeConfig, decode, load_checkpoint
from refusion_core.training.tasks.sandbox import run_function

Judge = Callable[[str], bool]


def runs(*cases: tuple[list, object]) -> Judge:
    """A Python function that gives these results for these argument lists."""
    arguments, results = zip(*cases, strict=True)
    return lambda text: run_function(text, list(arguments)) == list(results)


def ends_with(number: int) -> Judge:
    """A calculation with this result."""
    return lambda text: re.search(rf"\b{number}\s*$", text) is not None


def says(*words: str) -> Judge:
    """A text with all of these words."""
    return lambda text: all(word.lower() in text.lower() for word in words)


def translates(*renderings: str) -> Judge:
    """One of these sentences, whatever the mark at the end."""
    return lambda text: text.strip().rstrip(".。!！?？").lower() in [r.lower() for r in renderings]


def is_json(expected: dict) -> Judge:
    """A JSON object with at least these values, whatever the keys are called."""

    def judge(text: str) -> bool:
        try:
            values = [str(value) for value in json.loads(text).values()]
        except (ValueError, AttributeError):
            return False
        return all(str(value) in values for value in expected.values())

    return judge


def has_rows(*rows: tuple[str, ...]) -> Judge:
    """A Markdown table whose last rows are these."""

    def judge(text: str) -> bool:
        lines = [line.strip("| ") for line in text.strip().splitlines()]
        found = [tuple(cell.strip() for cell in line.split("|")) for line in lines]
        return len(found) == len(rows) + 2 and tuple(found[2:]) == rows

    return judge


def items(*expected: str) -> Judge:
    """These items in this order and nothing else but numbering and commas."""

    def judge(text: str) -> bool:
        found = re.split(r",\s*|\n", text.strip())
        return tuple(re.sub(r"^\d+\. ", "", item).strip() for item in found) == expected

    return judge


def declines(text: str) -> bool:
    """It says that it can't, and what it can do."""
    return says("more than I can do", "Python functions")(text)


PROMPTS: dict[str, Judge] = {
    "pls write python func that adds even nums": runs(([[1, 2, 3, 4]], 6), ([[5]], 0)),
    "python function to reverse a string": runs((["abc"], "cba")),
    "write a func which checks if a number is prime": runs(([7], True), ([9], False)),
    "function that counts vowels in a string": runs((["banana"], 3), (["xyz"], 0)),
    "write code that returns the biggest number of a list": runs(([[3, 9, 2]], 9)),
    "i need a python function for the average of a list of numbers": runs(([[2, 4, 9]], 5.0)),
    "12+7": ends_with(19),
    "whats 34 plus 58?": ends_with(92),
    "900 - 45": ends_with(855),
    "Tom has 23 apples and buys 19 more. How many apples now?": ends_with(42),
    "mia had 50 coins and lost 8 of them, how many coins are left": ends_with(42),
    "translate: the red cat sleeps": translates("红色的猫在睡觉", "红色的猫睡觉"),
    "how do you say i love you in chinese": translates("我爱你"),
    "translate to english: 她在看书": translates("She is reading a book"),
    "翻译：我喜欢茶": translates("I like tea"),
    "say good morning in chinese": translates("早上好"),
    "json: Ana Silva, baker, 41, lives in Rome": is_json(
        {"name": "Ana Silva", "job": "baker", "age": 41, "city": "Rome"}
    ),
    "get name and city as json: Tom Brown is a 52 year old pilot from Oslo": is_json(
        {"name": "Tom Brown", "city": "Oslo"}
    ),
    "make a table: apple 3, pear 2, milk 4": has_rows(("apple", "3"), ("pear", "2"), ("milk", "4")),
    "table with name and age: Ana 31, Ben 25": has_rows(("Ana", "31"), ("Ben", "25")),
    "sort 5 2 9 1": items("1", "2", "5", "9"),
    "reverse: tea, cake, soup": items("soup", "cake", "tea"),
    "number these: bread, milk, eggs": items("bread", "milk", "eggs"),
    "which of these are even? 3, 8, 12, 7": items("8", "12"),
    "tell me a story about a fox": says("fox", "One day"),
    "story about Mia and a dog on the beach": says("Mia", "dog", "beach", "she"),
    "tldr: Anna Bauer always wanted a bakery. She opened it in Rome in 1998. It is blue.": says(
        "Anna Bauer", "bakery", "Rome", "1998"
    ),
    "hello, who are you?": says("ReFusion model", "Python functions"),
    "hi": says("Hello", "ReFusion model"),
    "你好": says("你好", "ReFusion"),
    "what can you do": says("ReFusion model", "Python functions"),
    "what is the capital of france": declines,
    "write me a poem about the sea": declines,
    "asdf qwerty": declines,
}


# What the shipped weights get wrong. A better model makes these tests fail until the list is shortened.
NOT_YET = {
    "json: Ana Silva, baker, 41, lives in Rome",
    "table with name and age: Ana 31, Ben 25",
    "sort 5 2 9 1",
    "reverse: tea, cake, soup",
    "which of these are even? 3, 8, 12, 7",
}


def _cases() -> list:
    wrong = pytest.mark.xfail(reason="wrong with these weights", strict=True)
    return [pytest.param(p, marks=[wrong] if p in NOT_YET else []) for p in PROMPTS]


@pytest.fixture(scope="module")
def bundled():
    return load_checkpoint("bundled")


@pytest.mark.parametrize("prompt", _cases())
def test_a_stranger_gets_a_sensible_reply(bundled, prompt):
    *_, finished = decode(bundled, prompt=prompt, config=DecodeConfig(), record=None)
    assert PROMPTS[prompt](finished.text), finished.text


def test_there_are_at_least_thirty():
    assert len(PROMPTS) >= 30
