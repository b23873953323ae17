"""Prompts that leave something open: a digit to choose, details to make up, items to pick.

All choices are equally right and equally frequent, so what one part of an answer must fit in another is not in
the prompt: only who knows the one can be sure of the other.
"""

from __future__ import annotations

import itertools
import random

from .base import Family, Pieces, Sample, assemble, reword, split_of
from .sums import addition_pieces, subtraction_pieces
from .words import CITIES, COLOURS, DAYS, JOBS, PETS, SUBJECTS, WORDS, person

_CALCULATION = (
    "What is {task}? Choose the missing digit.",
    "{task}, pick the missing digit",
    "{task}, choose ?",
    "Compute {task}. The ? is any digit.",
    "Work out {task} and choose the digit ? yourself.",
    "Please choose a digit for ? and solve {task}.",
    "Fill in the ? and solve: {task}",
)
_RECORD = (
    "Invent {name} as JSON: {first}, {second}.",
    "Make up a person called {name} as JSON with {first} and {second}.",
    "Imagine {name}. Give {first} and {second} as JSON.",
    "json of an invented {name} with {first} and {second}",
    "Please make up JSON about {name}: {first}, {second}",
    "Write JSON for a made-up {name}. Choose {first}, and {second}.",
)
_PICK = (
    "Count three numbers from any start between {low} and {high}, then name two of {items}.",
    "Choose a start from {low} to {high}, count three numbers, and list two of {items} in this order.",
    "three numbers in a row, start {low} to {high}, and two of: {items}",
    "Pick any number from {low} to {high} and count on by two more. Then any two of {items}, in order.",
    "Please count 3 numbers, first one {low} to {high}, and pick 2 of these: {items}",
)
_DETAILS = {
    "pet": PETS,
    "job": JOBS,
    "city": CITIES,
    "colour": COLOURS,
    "day": DAYS,
    "subject": SUBJECTS,
}
_SPAN = 9  # between the lowest and the highest number to start from
_FEWEST = 5  # digits to choose from


def _operands(a: int, adds: bool, gap: str) -> list[int]:
    """The second numbers of a calculation, with a digit for "?": none starts with 0 or is too much to take
    away."""
    filled = [gap.replace("?", digit) for digit in "0123456789"]
    return [int(b) for b in filled if b[0] != "0" and (adds or int(b) <= a)]


def _calculation(rng: random.Random) -> Sample:
    """Of the results none is a sum or difference that the family ``sums`` holds out."""
    while True:
        adds, digits = rng.random() < 0.5, rng.choice((2, 3, 3))
        a, whole = (rng.randint(10 ** (digits - 1), 10**digits - 1) for _ in range(2))
        place, sign = rng.randrange(digits), "+" if adds else "-"
        gap = f"{str(whole)[:place]}?{str(whole)[place + 1 :]}"
        known = [b for b in _operands(a, adds, gap) if split_of("sums", f"{a}{sign}{b}") == "train"]
        if len(known) >= _FEWEST:
            break
    response, parts = assemble(
        (addition_pieces if adds else subtraction_pieces)(a, rng.choice(known))
    )
    spaced = rng.choice((f"{a} {sign} {gap}", f"{a}{sign}{gap}"))
    return Sample(
        family="invent",
        key=f"{a}{sign}{gap}",
        prompt=reword(rng, rng.choice(_CALCULATION)).format(task=spaced),
        response=response,
        parts=parts,
        facts={"kind": "carries", "a": a, "adds": adds, "gap": gap},
    )


def _record_pieces(name: str, *details: tuple[str, str]) -> Pieces:
    """The JSON text in pieces: a value needs its key, a key nothing."""
    pieces: Pieces = [(f'{{\n  "name": "{name}"', ())]
    for key, value in details:
        pieces += [(f',\n  "{key}": "', ()), (f'{value}"', (len(pieces),))]
    return [*pieces, ("\n}", ())]


def _details(keys: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(key, value) for key in keys for value in _DETAILS[key]]


def _record(rng: random.Random) -> Sample:
    name, keys = person(rng), rng.sample(tuple(_DETAILS), 4)
    choices = (tuple(keys[:2]), tuple(keys[2:]))
    details = [rng.choice(_details(pair)) for pair in choices]
    response, parts = assemble(_record_pieces(name, *details))
    first, second = (" or ".join(pair) for pair in choices)
    return Sample(
        family="invent",
        key=f"{name}: {first}, {second}",
        prompt=reword(rng, rng.choice(_RECORD)).format(name=name, first=first, second=second),
        response=response,
        parts=parts,
        facts={"kind": "keys and values", "name": name, "choices": choices},
    )


def _picked_pieces(start: int, items: tuple[str, ...]) -> Pieces:
    """Two lines of which every item needs the one before it."""
    lines = [f"{start}", f", {start + 1}", f", {start + 2}"]
    words = [f"\n{items[0]}", *(f", {item}" for item in items[1:])]
    pieces = [(text, (n - 1,) if n else ()) for n, text in enumerate(lines)]
    return pieces + [(text, (len(lines) + n - 1,) if n else ()) for n, text in enumerate(words)]


def _pick(rng: random.Random) -> Sample:
    low, items = rng.randrange(10, 90, 10), tuple(rng.sample(WORDS, 3))
    picked = rng.choice(tuple(itertools.combinations(items, 2)))
    response, parts = assemble(_picked_pieces(rng.randint(low, low + _SPAN), picked))
    form = reword(rng, rng.choice(_PICK))
    return Sample(
        family="invent",
        key=f"{low} {','.join(items)}",
        prompt=form.format(low=low, high=low + _SPAN, items=", ".join(items)),
        response=response,
        parts=parts,
        facts={"kind": "lists", "low": low, "items": items},
    )


def draw(rng: random.Random) -> Sample:
    return rng.choice((_calculation, _record, _pick))(rng)


def completions(sample: Sample) -> list[str]:
    """Every right answer to a prompt; in training all are equally frequent."""
    facts = sample.facts
    if facts["kind"] == "carries":
        pieces = addition_pieces if facts["adds"] else subtraction_pieces
        operands = _operands(facts["a"], facts["adds"], facts["gap"])
        choices = (pieces(facts["a"], b) for b in operands)
    elif facts["kind"] == "lists":
        starts = range(facts["low"], facts["low"] + _SPAN + 1)
        words = itertools.combinations(facts["items"], 2)
        choices = (_picked_pieces(*both) for both in itertools.product(starts, words))
    else:
        details = itertools.product(*map(_details, facts["choices"]))
        choices = (_record_pieces(facts["name"], *both) for both in details)
    return ["".join(text for text, _ in pieces) for pieces in choices]


def check(sample: Sample, text: str) -> bool:
    """Whether the text is one of the right answers."""
    return text.strip() in completions(sample)


FAMILY = Family(name="invent", draw=draw, check=check, open=True)
