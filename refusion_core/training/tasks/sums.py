"""Additions and subtractions worked out digit by digit, bare or as a word problem."""

from __future__ import annotations

import random
import re

from .base import Family, Sample, vary_case
from .words import FIRST_NAMES, ITEMS, made_up

_PLACES = ("ones", "tens", "hundreds")

_BARE_ADD = (
    "What is {a} + {b}?",
    "{a} + {b}",
    "{a} + {b} = ?",
    "Calculate {a} + {b}.",
    "Compute {a} + {b} step by step.",
    "Work out {a} + {b}.",
    "What is {a} plus {b}?",
    "Add {a} and {b}.",
    "What is the sum of {a} and {b}?",
)
_BARE_SUBTRACT = (
    "What is {a} - {b}?",
    "{a} - {b}",
    "{a} - {b} = ?",
    "Calculate {a} - {b}.",
    "Compute {a} - {b} step by step.",
    "Work out {a} - {b}.",
    "What is {a} minus {b}?",
    "Subtract {b} from {a}.",
    "Take {b} away from {a}.",
)
_STORY_ADD = (
    "{name} has {a} {items} and buys {b} more. How many {items} does {name} have now?",
    "{name} has {a} {items} and gets {b} more. How many {items} is that in all?",
    "There are {a} {items} in one room and {b} in another. How many {items} are there in total?",
    "A shop sold {a} {items} on Monday and {b} on Tuesday. How many {items} did it sell in total?",
    "{name} found {a} {items} and later {b} more. How many {items} did {name} find?",
)
_STORY_SUBTRACT = (
    "{name} has {a} {items} and gives away {b}. How many {items} are left?",
    "{name} had {a} {items} and lost {b} of them. How many {items} does {name} have now?",
    "A shop had {a} {items} and sold {b}. How many {items} are left?",
    "There were {a} {items} in a box. {name} took {b} out. How many {items} are still in the box?",
    "{name} needs {a} {items} and has {b}. How many more {items} does {name} need?",
)


def _digits(number: int, places: int) -> list[int]:
    return [number // 10**place % 10 for place in range(places)]


def addition_steps(a: int, b: int) -> str:
    """The worked answer to ``a + b``, one line per digit."""
    places = max(len(str(a)), len(str(b)))
    lines, carry = [], 0
    for place, (x, y) in enumerate(zip(_digits(a, places), _digits(b, places), strict=True)):
        total = x + y + carry
        terms = f"{x} + {y} + 1" if carry else f"{x} + {y}"
        carry = total // 10
        carries = ", carry 1" if carry else ""
        lines.append(f"{_PLACES[place]}: {terms} = {total}{carries}")
    return "\n".join([*lines, f"Answer: {a + b}"])


def subtraction_steps(a: int, b: int) -> str:
    """The worked answer to ``a - b`` (a >= b), one line per digit."""
    places = len(str(a))
    lines, borrow = [], 0
    for place, (x, y) in enumerate(zip(_digits(a, places), _digits(b, places), strict=True)):
        takes = f"{y} - 1" if borrow else f"{y}"
        short = x - y - borrow < 0
        top = x + 10 if short else x
        rest = top - y - borrow
        borrow = int(short)
        borrows = ", borrow 1" if short else ""
        lines.append(f"{_PLACES[place]}: {top} - {takes} = {rest}{borrows}")
    return "\n".join([*lines, f"Answer: {a - b}"])


def _number(rng: random.Random) -> int:
    return rng.randint(10, 99) if rng.random() < 0.5 else rng.randint(100, 999)


def draw(rng: random.Random) -> Sample:
    a, b = _number(rng), _number(rng)
    adds = rng.random() < 0.5
    if not adds:
        a, b = max(a, b), min(a, b)
    story = rng.random() < 0.5
    bare_forms = _BARE_ADD if adds else _BARE_SUBTRACT
    story_forms = _STORY_ADD if adds else _STORY_SUBTRACT
    name = made_up(rng) if rng.random() < 0.1 else rng.choice(FIRST_NAMES)
    form = rng.choice(story_forms) if story else vary_case(rng, rng.choice(bare_forms))
    return Sample(
        family="sums",
        key=f"{a}{'+' if adds else '-'}{b}",
        prompt=form.format(a=a, b=b, name=name, items=rng.choice(ITEMS)),
        response=addition_steps(a, b) if adds else subtraction_steps(a, b),
        facts={"answer": a + b if adds else a - b},
    )


def check(sample: Sample, text: str) -> bool:
    """Whether the final line gives the right answer."""
    final = re.search(r"Answer: (\d+)\s*$", text)
    return final is not None and int(final.group(1)) == sample.facts["answer"]


FAMILY = Family(name="sums", draw=draw, check=check)
