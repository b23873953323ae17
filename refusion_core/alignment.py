"""The responses of two runs side by side: slot against slot by position, line against line with the words
that differ. Reads events only; knows no torch.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import lcm

from .events import Commit, Vocabulary
from .trace import Trace

# A Chinese character is a word of its own, and so is a run of spaces or a sign.
_WORDS = re.compile(r"[\u3400-\u9fff]|[^\W\u3400-\u9fff]+|\s+|[^\w\s]")

Pieces = tuple[tuple[str, bool], ...]


@dataclass(frozen=True)
class Cell:
    """What a run has at a stretch of positions: its slots there, each with the iteration that committed it
    (None: it never was), and the text, its spaces visible."""

    slots: tuple[tuple[int, int | None], ...]
    text: str


@dataclass(frozen=True)
class Row:
    """A stretch of text positions, ``start`` to before ``end``, in both runs; None where a run has none there.

    Where both cut the response into the same slots a row is a slot, else the shortest stretch of whole slots
    of both.
    """

    start: int
    end: int
    left: Cell | None
    right: Cell | None
    other_text: bool
    other_order: bool


@dataclass(frozen=True)
class Line:
    """A line of both texts in pieces, each with whether it differs; None where a text has no such line."""

    left: Pieces | None
    right: Pieces | None


class Response:
    """What a run committed, by position."""

    def __init__(self, trace: Trace) -> None:
        started = trace.started
        self.start, self.size = started.response_start, started.settings.slot_size
        self.end = self.start + started.slot_count * self.size
        self.tokens: dict[int, int] = {}
        self._iterations: dict[int, int] = {}
        self._bytes: dict[int, bytes] = {}
        for event in trace:
            if isinstance(event, Vocabulary):
                for token in event.tokens:
                    raw = token.text.encode() if token.bytes is None else bytes.fromhex(token.bytes)
                    self._bytes[token.id] = raw
            elif isinstance(event, Commit):
                for slot in event.slots:
                    self.tokens |= zip(slot.positions, slot.tokens, strict=True)
                    self._iterations[slot.slot] = event.iteration

    def text(self, start: int, end: int) -> str:
        """The committed tokens of a stretch, with spaces and line ends made visible."""
        ids = [self.tokens[place] for place in range(start, end) if place in self.tokens]
        raw = (self._bytes.get(token, f"#{token}".encode()) for token in ids)
        return b"".join(raw).decode(errors="replace")

    def cell(self, start: int, end: int) -> Cell | None:
        """What is at a stretch of whole slots."""
        end = min(end, self.end)
        if start >= end:
            return None
        first = (start - self.start) // self.size
        slots = range(first, first + (end - start) // self.size)
        return Cell(
            tuple((slot, self._iterations.get(slot)) for slot in slots), self.text(start, end)
        )


def rows(left: Response, right: Response) -> Iterator[Row]:
    """Both responses, position against position."""
    step = lcm(left.size, right.size)
    for start in range(left.start, max(left.end, right.end), step):
        end = min(start + step, max(left.end, right.end))
        a, b = left.cell(start, end), right.cell(start, end)
        yield Row(
            start=start,
            end=end,
            left=a,
            right=b,
            other_text=any(left.tokens.get(p) != right.tokens.get(p) for p in range(start, end)),
            other_order=(a and a.slots) != (b and b.slots),
        )


def lines(left: list[str], right: list[str]) -> Iterator[Line]:
    """Two texts, line against line; lines that take each other's place are compared word by word."""
    for kind, a, b, c, d in difflib.SequenceMatcher(None, left, right, False).get_opcodes():
        if kind == "equal":
            for line in left[a:b]:
                yield Line(((line, False),), ((line, False),))
            continue
        paired = min(b - a, d - c)
        for old, new in zip(left[a : a + paired], right[c : c + paired], strict=True):
            yield _words(old, new)
        for line in left[a + paired : b]:
            yield Line(((line, True),), None)
        for line in right[c + paired : d]:
            yield Line(None, ((line, True),))


def _words(left: str, right: str) -> Line:
    words = [_WORDS.findall(line) for line in (left, right)]
    sides: tuple[list[tuple[str, bool]], ...] = ([], [])
    for kind, a, b, c, d in difflib.SequenceMatcher(None, *words, False).get_opcodes():
        for side, part in zip(sides, (words[0][a:b], words[1][c:d]), strict=True):
            if part:
                side.append(("".join(part), kind != "equal"))
    return Line(tuple(sides[0]), tuple(sides[1]))
