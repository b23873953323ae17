"""Short lists to repeat, number, reverse, count, sort or filter: an answer is mostly copied from its prompt."""

from __future__ import annotations

import random

from .base import Family, Pieces, Sample, assemble, reword
from .words import ITEMS, JOBS, WORDS, made_up

_NOUNS = tuple(dict.fromkeys((*WORDS, *ITEMS, *JOBS)))
_NONE = "none"

_FORMS = {
    "repeat": (
        "Repeat this list: {items}.",
        "Say this again: {items}.",
        "Copy these items: {items}.",
        "Please repeat: {items}",
        "repeat {items}",
        "list: {items}. Repeat it.",
    ),
    "number": (
        "Number these items: {items}.",
        "Make a numbered list: {items}.",
        "Write these as a numbered list: {items}.",
        "Please number this list: {items}",
        "number these: {items}",
        "numbered list: {items}",
        "list: {items}. Number the items.",
    ),
    "reverse": (
        "Reverse this list: {items}.",
        "Put this list in reverse order: {items}.",
        "Write these backwards: {items}.",
        "reverse: {items}",
        "reverse {items}",
        "Please turn this list around: {items}",
        "list: {items}. Reverse it.",
        "What is {items} in reverse order?",
    ),
    "count": (
        "How many items are in this list: {items}?",
        "Count these items: {items}.",
        "count: {items}",
        "How many items are there? {items}",
        "Please count the items: {items}",
        "list: {items}. How many items?",
    ),
    "sort": (
        "Sort these numbers: {items}.",
        "Put these numbers in order: {items}.",
        "Sort from smallest to largest: {items}.",
        "sort {items}",
        "sort these: {items}",
        "Please sort {items}",
        "numbers: {items}. Sort them.",
        "Order these numbers from low to high: {items}",
    ),
    "sort down": (
        "Sort from largest to smallest: {items}.",
        "Sort these numbers in descending order: {items}.",
        "sort descending: {items}",
        "Order these numbers from high to low: {items}",
        "Please sort with the biggest first: {items}",
        "numbers: {items}. Sort them from largest to smallest.",
    ),
    "sort words": (
        "Sort these words: {items}.",
        "Sort alphabetically: {items}.",
        "Put these words in alphabetical order: {items}.",
        "sort {items}",
        "sort these: {items}",
        "Please sort these words from a to z: {items}",
        "words: {items}. Sort them.",
        "alphabetical order: {items}",
    ),
    "even": (
        "Which of these numbers are even: {items}?",
        "Keep the even numbers: {items}.",
        "even numbers in {items}",
        "Which numbers are even? {items}",
        "Please list the even ones: {items}",
        "numbers: {items}. Which are even?",
        "Remove the odd numbers: {items}",
    ),
    "odd": (
        "Which of these numbers are odd: {items}?",
        "Keep the odd numbers: {items}.",
        "odd numbers in {items}",
        "Which numbers are odd? {items}",
        "Please list the odd ones: {items}",
        "numbers: {items}. Which are odd?",
        "Remove the even numbers: {items}",
    ),
    "above": (
        "Keep the numbers above {n}: {items}.",
        "Which of these numbers are greater than {n}: {items}?",
        "Which numbers are over {n}? {items}",
        "numbers larger than {n}: {items}",
        "Please list the numbers bigger than {n}: {items}",
        "numbers: {items}. Which are above {n}?",
    ),
    "below": (
        "Keep the numbers below {n}: {items}.",
        "Which of these numbers are less than {n}: {items}?",
        "Which numbers are under {n}? {items}",
        "numbers smaller than {n}: {items}",
        "Please list the numbers less than {n}: {items}",
        "numbers: {items}. Which are below {n}?",
    ),
    "starts": (
        "Which words start with {c}: {items}?",
        "Keep the words that start with {c}: {items}.",
        "words starting with {c}: {items}",
        "Which of these begin with {c}? {items}",
        "Please list the words beginning with {c}: {items}",
        "words: {items}. Which start with {c}?",
        "Find the words with first letter {c}: {items}",
    ),
}
_SHARES = {
    "repeat": 2,
    "number": 2,
    "reverse": 2.5,
    "count": 1.5,
    "sort": 2.5,
    "sort words": 1.5,
    "starts": 1.5,
}
_OF_NUMBERS = frozenset(("sort", "sort down", "even", "odd", "above", "below"))


def _word(rng: random.Random) -> str:
    return made_up(rng).lower() if rng.random() < 0.08 else rng.choice(_NOUNS)


def _distinct_words(rng: random.Random, length: int, first_letters: bool) -> list[str]:
    """Different words; with ``first_letters`` even these differ, so that the order is told by them."""
    words: dict[str, str] = {}
    while len(words) < length:
        word = _word(rng)
        words.setdefault(word[0] if first_letters else word, word)
    return list(words.values())


def _words_with(rng: random.Random, letter: str, length: int) -> list[str]:
    """Words of which some start with the letter, rarely none."""
    matching = [word for word in _NOUNS if word[0] == letter]
    some = rng.randint(1, min(3, len(matching), length - 1)) if rng.random() < 0.92 else 0
    words = rng.sample(matching, some)
    while len(words) < length:
        word = _word(rng)
        if word not in words and (some or word[0] != letter):
            words.append(word)
    rng.shuffle(words)
    return words


def _answer(task: str, items: list[str], n: int, letter: str) -> list[str]:
    """The items of the answer, in order."""
    answers = {
        "reverse": lambda: items[::-1],
        "sort": lambda: sorted(items, key=int),
        "sort down": lambda: sorted(items, key=int, reverse=True),
        "sort words": lambda: sorted(items),
        "even": lambda: [item for item in items if int(item) % 2 == 0],
        "odd": lambda: [item for item in items if int(item) % 2 == 1],
        "above": lambda: [item for item in items if int(item) > n],
        "below": lambda: [item for item in items if int(item) < n],
        "starts": lambda: [item for item in items if item[0] == letter],
    }
    return answers[task]() if task in answers else items


def _pieces(task: str, items: list[str]) -> Pieces:
    """The answer in pieces, an item each, which the prompt alone determines."""
    if not items:
        return [(_NONE, ())]
    if task == "number":
        texts = [f"{i}. {item}" for i, item in enumerate(items, 1)]
        return [*((f"{text}\n", ()) for text in texts[:-1]), (texts[-1], ())]
    pieces = [
        (f"{' ' if i else ''}{item},", ()) for i, item in enumerate(items)
    ]  # a token has its space
    pieces[-1] = (pieces[-1][0][:-1], ())
    if task == "count":
        return [*pieces, (f"\nCount: {len(items)}", ())]
    return pieces


def draw(rng: random.Random) -> Sample:
    task = rng.choices(tuple(_FORMS), [_SHARES.get(name, 1) for name in _FORMS])[0]
    length, letter = rng.randint(3, 7), rng.choice("bcdfglmprstw")
    numbers = task in _OF_NUMBERS or (
        task in ("reverse", "repeat", "count") and rng.random() < 0.25
    )
    if numbers:
        items = [str(n) for n in rng.sample(range(1, 100), length)]
    elif task == "starts":
        items = _words_with(rng, letter, length)
    else:
        items = _distinct_words(rng, length, task == "sort words")
    n = rng.choice([n for n in range(5, 95) if str(n) not in items])
    separator = " " if numbers and rng.random() < 0.35 else ", "
    form = reword(rng, rng.choice(_FORMS[task]))
    response, parts = assemble(_pieces(task, _answer(task, items, n, letter)))
    return Sample(
        family="lists",
        key=f"{task}:{','.join(items)}",
        prompt=form.format(items=separator.join(items), n=n, c=letter),
        response=response,
        parts=parts,
    )


def _normal(text: str) -> str:
    return "\n".join(line.strip() for line in text.strip().splitlines())


def check(sample: Sample, text: str) -> bool:
    """Whether the text is the expected list, but for white space at the ends of lines."""
    return _normal(text) == sample.response


FAMILY = Family(name="lists", draw=draw, check=check)
