"""Additions and subtractions worked out digit by digit, bare or as a word problem, in one step or two."""

from __future__ import annotations

import random
import re

from .base import Family, Pieces, Sample, assemble, reword
from .words import FIRST_NAMES, ITEMS, city, made_up

_PLACES = ("ones", "tens", "hundreds")

_BARE_ADD = (
    "What is {a} + {b}?",
    "what is {a}+{b}",
    "{a} + {b}",
    "{a}+{b}",
    "{a} + {b} = ?",
    "{a}+{b}=",
    "Calculate {a} + {b}.",
    "Compute {a} + {b} step by step.",
    "Work out {a}+{b}.",
    "What is {a} plus {b}?",
    "{a} plus {b}?",
    "Add {a} and {b}.",
    "Add {b} to {a}.",
    "What is the sum of {a} and {b}?",
    "How much is {a} + {b}?",
    "Please add {a} and {b}.",
)
_BARE_SUBTRACT = (
    "What is {a} - {b}?",
    "what is {a}-{b}",
    "{a} - {b}",
    "{a}-{b}",
    "{a} - {b} = ?",
    "{a}-{b}=",
    "Calculate {a} - {b}.",
    "Compute {a} - {b} step by step.",
    "Work out {a}-{b}.",
    "What is {a} minus {b}?",
    "{a} minus {b}?",
    "Subtract {b} from {a}.",
    "Take {b} away from {a}.",
    "What is the difference between {a} and {b}?",
    "How much is {a} - {b}?",
    "Please subtract {b} from {a}.",
)
_STORY_ADD = (
    "{name} has {a} {items} and buys {b} more. How many {items} does {name} have now?",
    "{name} has {a} {items} and gets {b} more. How many {items} is that in all?",
    "There are {a} {items} in one room and {b} in another. How many {items} are there in total?",
    "A shop sold {a} {items} on Monday and {b} on Tuesday. How many {items} did it sell in total?",
    "{name} found {a} {items} and later {b} more. How many {items} did {name} find?",
    "{name} has {a} {items} and {other} has {b}. How many {items} do they have together?",
    "If {name} has {a} {items} and {other} gives {name} {b}, how many {items} does {name} have?",
    "A box holds {a} {items} and a bag holds {b}. How many {items} are there?",
    "{name} packed {a} {items} in the morning and {b} in the evening. How many {items} in all?",
    "We ordered {a} {items} and then {b} more. How many {items} did we order?",
    "A truck brings {a} {items} to {city}, another brings {b}. How many {items} arrive?",
    "{name} had {a} {items}. Then {other} sent {b} more. How many are there now?",
    "{a} {items} are on the table and {b} on the floor. How many {items} are there?",
    "{name} made {a} {items} last year and {b} this year. What is the total?",
)
_STORY_SUBTRACT = (
    "{name} has {a} {items} and gives away {b}. How many {items} are left?",
    "{name} had {a} {items} and lost {b} of them. How many {items} does {name} have now?",
    "A shop had {a} {items} and sold {b}. How many {items} are left?",
    "There were {a} {items} in a box. {name} took {b} out. How many {items} are still in the box?",
    "{name} needs {a} {items} and has {b}. How many more {items} does {name} need?",
    "{name} has {a} {items} and {other} has {b}. How many more {items} does {name} have?",
    "If {name} has {a} {items} and gives {other} {b}, how many {items} does {name} keep?",
    "Of {a} {items}, {b} are broken. How many {items} are fine?",
    "{name} bought {a} {items} and used {b}. How many {items} remain?",
    "We had {a} {items} and threw away {b}. How many {items} do we still have?",
    "A truck carries {a} {items} to {city} and drops {b} on the way. How many {items} arrive?",
    "{name} had {a} {items}. Then {other} took {b}. How many are left?",
    "{a} {items} were on the table. {b} fell down. How many {items} are still there?",
    "{name} wants to sell {a} {items} and has sold {b}. How many {items} are left to sell?",
)
# First a sum, then a difference.
_TWO_STEPS = (
    "{name} has {a} {items}, buys {b} more and gives away {c}. How many {items} are left?",
    "{name} has {a} {items}, gets {b} more and loses {c}. How many {items} does {name} have now?",
    "A shop had {a} {items}, got {b} more and sold {c}. How many {items} are left?",
    "There were {a} {items} in a box. {name} put {b} in and took {c} out. How many are in the box?",
    "{name} found {a} {items} and then {b} more, but {other} took {c}. How many are left?",
    "{name} had {a} {items} and bought {b}. Then {name} sold {c}. How many {items} remain?",
    "{a} + {b} - {c}",
    "what is {a}+{b}-{c}",
    "What is {a} plus {b} minus {c}?",
    "Add {a} and {b}, then subtract {c}.",
)


def _digits(number: int, places: int) -> list[int]:
    return [number // 10**place % 10 for place in range(places)]


def _addition_lines(a: int, b: int) -> list[str]:
    """``a + b``, a line per digit."""
    places = max(len(str(a)), len(str(b)))
    lines, carry = [], 0
    for place, (x, y) in enumerate(zip(_digits(a, places), _digits(b, places), strict=True)):
        total = x + y + carry
        terms = f"{x} + {y} + 1" if carry else f"{x} + {y}"
        carry = total // 10
        carries = ", carry 1" if carry else ""
        lines.append(f"{_PLACES[place]}: {terms} = {total}{carries}")
    return lines


def _subtraction_lines(a: int, b: int) -> list[str]:
    """``a - b`` (a >= b), a line per digit."""
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
    return lines


def _block(lines: list[str], final: str, first: int = 0, given: tuple[int, ...] = ()) -> Pieces:
    """The pieces of one calculation whose first has index ``first``: every line needs the line before (its
    carry or borrow) and what is ``given``, the final line needs all of them."""
    pieces = [
        (f"{line}\n", (*given, *((first + i - 1,) if i else ()))) for i, line in enumerate(lines)
    ]
    return [*pieces, (final, tuple(range(first, first + len(lines))))]


def addition_pieces(a: int, b: int) -> Pieces:
    """The worked answer to ``a + b`` in pieces, a line each, with the pieces that each needs."""
    return _block(_addition_lines(a, b), f"Answer: {a + b}")


def subtraction_pieces(a: int, b: int) -> Pieces:
    """The same of ``a - b`` (a >= b)."""
    return _block(_subtraction_lines(a, b), f"Answer: {a - b}")


def _add_and_subtract(a: int, b: int, c: int) -> Pieces:
    """``a + b - c``: the sum, its total, then the difference, which needs that total."""
    steps = _block(_addition_lines(a, b), f"Total: {a + b}\n")
    total = len(steps) - 1
    rest = _subtraction_lines(a + b, c)
    return steps + _block(rest, f"Answer: {a + b - c}", total + 1, (total,))


def addition_steps(a: int, b: int) -> str:
    """The worked answer to ``a + b``, one line per digit."""
    return assemble(addition_pieces(a, b))[0]


def subtraction_steps(a: int, b: int) -> str:
    """The worked answer to ``a - b`` (a >= b), one line per digit."""
    return assemble(subtraction_pieces(a, b))[0]


def _number(rng: random.Random, digits: int) -> int:
    return rng.randint(10 ** (digits - 1) if digits > 1 else 2, 10**digits - 1)


def _pair(rng: random.Random) -> tuple[int, int]:
    """Two numbers, mostly of the same length, so that most lines have two real digits."""
    digits = rng.choices((1, 2, 3), (1, 5, 5))[0]
    other = digits if rng.random() < 0.75 else rng.randint(1, 3)
    return _number(rng, digits), _number(rng, other)


def _crossings(a: int, b: int, adds: bool) -> int:
    """How many carries or borrows there are: drawing must prefer them, or they get rare."""
    lines = _addition_lines(a, b) if adds else _subtraction_lines(max(a, b), min(a, b))
    return sum("," in line for line in lines)


def _people(rng: random.Random) -> dict[str, str]:
    """Names and things for a story."""
    name, other = rng.sample(FIRST_NAMES, 2)
    if rng.random() < 0.15:
        name = made_up(rng)
    return {"name": name, "other": other, "items": rng.choice(ITEMS), "city": city(rng)}


def _draw_two_steps(rng: random.Random) -> Sample:
    a = rng.randint(10, 80)
    b = rng.randint(10, 99 - a)
    c = rng.randint(10, a + b)
    response, parts = assemble(_add_and_subtract(a, b, c))
    form = reword(rng, rng.choice(_TWO_STEPS))
    return Sample(
        family="sums",
        key=f"{a}+{b}-{c}",
        prompt=form.format(a=a, b=b, c=c, **_people(rng)),
        response=response,
        parts=parts,
        facts={"answer": a + b - c},
    )


def _draw_one_step(rng: random.Random) -> Sample:
    adds = rng.random() < 0.5
    candidates = [_pair(rng) for _ in range(rng.choice((1, 2, 4)))]
    a, b = max(candidates, key=lambda pair: _crossings(*pair, adds))
    if not adds:
        a, b = max(a, b), min(a, b)
    if rng.random() < 0.5:
        form = rng.choice(_BARE_ADD if adds else _BARE_SUBTRACT)
    else:
        form = rng.choice(_STORY_ADD if adds else _STORY_SUBTRACT)
    response, parts = assemble(addition_pieces(a, b) if adds else subtraction_pieces(a, b))
    return Sample(
        family="sums",
        key=f"{a}{'+' if adds else '-'}{b}",
        prompt=reword(rng, form).format(a=a, b=b, **_people(rng)),
        response=response,
        parts=parts,
        facts={"answer": a + b if adds else a - b},
    )


def draw(rng: random.Random) -> Sample:
    return _draw_two_steps(rng) if rng.random() < 0.15 else _draw_one_step(rng)


def check(sample: Sample, text: str) -> bool:
    """Whether the final line gives the right answer."""
    final = re.search(r"Answer: (\d+)\s*$", text)
    return final is not None and int(final.group(1)) == sample.facts["answer"]


FAMILY = Family(name="sums", draw=draw, check=check)
