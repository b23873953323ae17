"""Short lists to repeat, number, reverse, count or sort: most of an answer is copied from its prompt."""

from __future__ import annotations

import random

from .base import Family, Sample, vary_case
from .words import ITEMS, JOBS, WORDS, made_up

_SHARES = (3, 3, 2, 2, 1)
_NOUNS = (*WORDS, *ITEMS, *JOBS)

_FORMS = {
    "repeat": (
        "Repeat this list: {items}.",
        "Say this again: {items}.",
        "Copy these items: {items}.",
    ),
    "number": (
        "Number these items: {items}.",
        "Make a numbered list: {items}.",
        "Write these as a numbered list: {items}.",
    ),
    "reverse": (
        "Reverse this list: {items}.",
        "Put this list in reverse order: {items}.",
        "Write these backwards: {items}.",
    ),
    "count": (
        "How many items are in this list: {items}?",
        "Count these items: {items}.",
    ),
    "sort": (
        "Sort these numbers: {items}.",
        "Put these numbers in order: {items}.",
        "Sort from smallest to largest: {items}.",
    ),
}


def _answer(task: str, items: list[str]) -> str:
    if task == "number":
        return "\n".join(f"{i}. {item}" for i, item in enumerate(items, 1))
    if task == "count":
        return f"{', '.join(items)}\nCount: {len(items)}"
    orders = {"repeat": items, "reverse": items[::-1]}
    return ", ".join(orders[task] if task in orders else sorted(items, key=int))


def draw(rng: random.Random) -> Sample:
    task = rng.choices(tuple(_FORMS), _SHARES)[0]
    length = rng.randint(3, 7)
    if task == "sort":
        items = [str(n) for n in rng.sample(range(1, 100), length)]
    else:
        items = rng.sample(_NOUNS, length)
        items = [made_up(rng).lower() if rng.random() < 0.1 else item for item in items]
    return Sample(
        family="lists",
        key=f"{task}:{','.join(items)}",
        prompt=vary_case(rng, rng.choice(_FORMS[task])).format(items=", ".join(items)),
        response=_answer(task, items),
    )


def check(sample: Sample, text: str) -> bool:
    """Whether the text is the expected list, but for white space at the ends."""
    return text.strip() == sample.response


FAMILY = Family(name="lists", draw=draw, check=check)
