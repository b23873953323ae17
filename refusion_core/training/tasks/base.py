"""What a task family is, and which samples may be trained on.

The split belongs to the content of a sample (its ``key``), never to the draw: a key that is held
out is held out for every wording and every seed.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

Split = Literal["train", "dev", "test"]

_TEST_PERCENT, _DEV_PERCENT = 8, 4


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One prompt with its expected response; ``facts`` are what the family's check needs."""

    family: str
    key: str
    prompt: str
    response: str
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Family:
    """A task: ``draw`` makes a sample of any split, ``check`` judges an answer to one."""

    name: str
    draw: Callable[[random.Random], Sample]
    check: Callable[[Sample, str], bool]

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


def vary_case(rng: random.Random, form: str) -> str:
    """A wording as people type it: sometimes a small first letter, sometimes no final stop."""
    if rng.random() < 0.2:
        form = form[0].lower() + form[1:]
    if rng.random() < 0.2 and form[-1] in ".?":
        form = form[:-1]
    return form
