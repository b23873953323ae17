"""What a task family is, which samples may be trained on, and how people really type.

The split belongs to the content of a sample (its ``key``), never to the draw: a key that is held
out is held out for every wording and every seed.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

Split = Literal["train", "dev", "test"]
Pieces = list[
    tuple[str, tuple[int, ...]]
]  # texts of a response, with the indexes of those each needs

_TEST_PERCENT, _DEV_PERCENT = 8, 4


@dataclass(frozen=True, kw_only=True)
class Part:
    """A piece of a response, characters ``start`` to ``end``, with the indexes of the parts that one must
    know, besides the prompt, to write it."""

    start: int
    end: int
    needs: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One prompt with its expected response and the structure of that; ``facts`` are what the family's check
    needs beyond the response."""

    family: str
    key: str
    prompt: str
    response: str
    parts: tuple[Part, ...] = ()
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Family:
    """A task: ``draw`` makes a sample of any split, ``check`` judges an answer to one. An ``open`` one has many
    right answers to a prompt, so that nobody can foresee every token."""

    name: str
    draw: Callable[[random.Random], Sample]
    check: Callable[[Sample, str], bool]
    open: bool = False

    def sample(self, rng: random.Random, split: Split) -> Sample:
        """A sample of ``split``."""
        while True:
            drawn = self.draw(rng)
            if split_of(drawn.family, drawn.key) == split:
                return drawn


def split_of(family: str, key: str) -> Split:
    """The split of a content key: the same in every process and on every machine."""
    digest = hashlib.blake2b(f"{family}\0{key}".encode(), digest_size=8).digest()
    percent = int.from_bytes(digest, "big") % 100
    if percent < _TEST_PERCENT:
        return "test"
    return "dev" if percent < _TEST_PERCENT + _DEV_PERCENT else "train"


def assemble(pieces: Iterable[tuple[str, Iterable[int]]]) -> tuple[str, tuple[Part, ...]]:
    """The response and its parts, from consecutive texts with the indexes of the pieces that each needs."""
    text, parts = "", []
    for piece, needs in pieces:
        parts.append(Part(start=len(text), end=len(text) + len(piece), needs=tuple(needs)))
        text += piece
    return text, tuple(parts)


_WORD = re.compile(r"\{[^}]*\}|[A-Za-z]+")


def reword(rng: random.Random, form: str) -> str:
    """A wording as people type it: small letters, no final stop, "pls", a slip of the fingers.

    Fields in braces stay as they are.
    """
    if rng.random() < 0.15:
        form = form.replace("Please ", rng.choice(("pls ", "plz "))).replace("please", "pls")
    if rng.random() < 0.3:
        form = "".join(
            piece if piece.startswith("{") else piece.lower()
            for piece in re.split(r"(\{[^}]*\})", form)
        )
    if rng.random() < 0.25 and form[-1] in ".?":
        form = form[:-1]
    if rng.random() < 0.15:
        form = _with_slip(rng, form)
    return form


def _with_slip(rng: random.Random, form: str) -> str:
    """One word with a letter dropped, doubled or swapped with the next one."""
    words = [m for m in _WORD.finditer(form) if len(m[0]) > 3 and not m[0].startswith("{")]
    if not words:
        return form
    word = rng.choice(words)
    at = rng.randrange(word.start() + 1, word.end() - 1)
    pair = form[at : at + 2]
    slipped = rng.choice((pair[1:], pair[0] + pair, pair[::-1]))
    return form[:at] + slipped + form[at + 2 :]
