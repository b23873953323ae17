"""Records, told in sentences or listed bare, to be set as a Markdown table."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass

from .base import Family, Pieces, Sample, assemble, reword
from .words import COLOURS, FIRST_NAMES, GOODS, JOBS, PETS, SUBJECTS, a_or_an, city, made_up


@dataclass(frozen=True)
class _Column:
    """What stands in a column, what the column may be called, and how a sentence tells it."""

    names: tuple[str, ...]
    draw: Callable[[random.Random], str]
    clauses: tuple[str, ...]


@dataclass(frozen=True)
class _Kind:
    """Records of a kind: who or what they are about (``clauses``: the subject), and what is told of it."""

    subject: _Column
    columns: tuple[_Column, ...]


def _numbers(low: int, high: int) -> Callable[[random.Random], str]:
    return lambda rng: str(rng.randint(low, high))


def _words(
    words: tuple[str, ...] | list[str], share: float = 0.0
) -> Callable[[random.Random], str]:
    """Draws one of the words, or with probability ``share`` a made-up one in the same case."""

    def draw_word(rng: random.Random) -> str:
        word = rng.choice(words)
        if rng.random() < share:
            return made_up(rng) if word[0].isupper() else made_up(rng).lower()
        return word

    return draw_word


def _time(rng: random.Random) -> str:
    return f"{rng.randint(6, 22)}:{rng.choice(('00', '10', '15', '20', '30', '40', '45', '50'))}"


_WEATHER = "cloudy cold dry foggy icy rainy snowy stormy sunny warm wet windy".split()
_NAME = _Column(("name", "person"), _words(FIRST_NAMES, 0.12), ("{}",))
_AGE = _Column(("age",), _numbers(18, 89), ("is {}", "is {} years old"))
_JOB = _Column(("job", "work"), _words(JOBS), ("works as {a}", "is {a}"))
_TOWN = _Column(("city", "town"), city, ("lives in {}", "is from {}", "comes from {}"))
_PLACE = _Column(("city", "place"), city, ("{}",))
_ITEM = _Column(("item", "product"), _words(GOODS, 0.15), ("The {}",))
_PRICE = _Column(("price", "cost"), _numbers(2, 90), ("costs {}", "costs {} euros", "sells for {}"))
_DEGREES = _Column(
    ("temperature", "degrees"), _numbers(2, 38), ("has {} degrees", "is at {} degrees")
)

_KINDS = (
    _Kind(_NAME, (_AGE, _TOWN, _JOB)),
    _Kind(_NAME, (_AGE, _JOB, _TOWN)),
    _Kind(
        _ITEM,
        (
            _PRICE,
            _Column(("quantity", "stock"), _numbers(2, 60), ("has a stock of {}",)),
            _Column(("colour", "color"), _words(COLOURS), ("is {}", "comes in {}")),
        ),
    ),
    _Kind(
        _PLACE, (_DEGREES, _Column(("weather", "sky"), _words(_WEATHER), ("is {}", "will be {}")))
    ),
    _Kind(
        _Column(("city", "destination"), city, ("The train to {}", "The bus to {}")),
        (
            _Column(("time", "departure"), _time, ("leaves at {}", "goes at {}")),
            _Column(("platform",), _numbers(1, 14), ("uses platform {}", "is on platform {}")),
        ),
    ),
    _Kind(
        _Column(("name", "pet"), _words(FIRST_NAMES, 0.15), ("{}",)),
        (
            _Column(("animal",), _words(PETS), ("is {a}",)),
            _Column(("age",), _numbers(2, 16), ("is {}", "is {} years old")),
        ),
    ),
    _Kind(
        _Column(("name", "student"), _words(FIRST_NAMES, 0.12), ("{}",)),
        (
            _Column(("subject", "class"), _words(SUBJECTS), ("studies {}", "takes {}")),
            _Column(("points", "score"), _numbers(2, 100), ("has {} points", "got {} points")),
        ),
    ),
)

# Sentences tell what a column is; column names need not be given then.
_OPEN_FORMS = (
    "Make a table: {records}",
    "Make a Markdown table: {records}",
    "Put this in a table: {records}",
    "Turn this into a table: {records}",
    "Please write this as a table: {records}",
    "Show this as a table: {records}",
    "table: {records}",
    "As a table please: {records}",
    "Can you make a table of this? {records}",
    "{records} Make a table.",
    "{records} Please put this in a table.",
    "{records}\nTurn this into a Markdown table.",
)
_NAMED_FORMS = (
    "Make a table with {columns}: {records}",
    "Make a Markdown table with the columns {columns}: {records}",
    "table with {columns}: {records}",
    "Table of {columns}: {records}",
    "Please write a table with {columns}: {records}",
    "Put this in a table with {columns}: {records}",
    "Columns {columns}. {records}",
    "I need a table with {columns}: {records}",
    "{records} Make a table with {columns}.",
    "{records}\nPut {columns} in a table.",
)
_BARE_FORMS = (
    *_NAMED_FORMS[:6],
    "Make a table. {columns}: {records}",
    "Make a table:\n{columns}\n{records}",
    "table\n{columns}\n{records}",
    "{columns}: {records}",
)
# Separators of the cells of a record, of records, and of the column names before lines.
_LAYOUTS = ((" ", ", "), (" ", "; "), (", ", "; "), (", ", "\n"), (",", "\n"), (": ", ", "))


def _listing(rng: random.Random, names: list[str]) -> str:
    if rng.random() < 0.4:
        return ", ".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _sentence(rng: random.Random, columns: list[_Column], row: list[str]) -> str:
    """A record told: the subject, then a clause per further column."""
    told = [
        rng.choice(column.clauses).format(cell, a=a_or_an(cell))
        for column, cell in zip(columns, row, strict=True)
    ]
    return f"{told[0]} {' and '.join(told[1:])}."


def _bare(rng: random.Random, names: list[str], rows: list[list[str]]) -> str:
    """The prompt with records as lists of cells, in the order of the columns."""
    layouts = [pair for pair in _LAYOUTS if len(names) == 2 or pair[0] != ": "]
    cells, records = rng.choice(layouts)
    form = reword(rng, rng.choice(_BARE_FORMS))
    listed = ("," if cells == "," else ", ").join(names)
    if "\n" not in form:
        listed = _listing(rng, names) if form[0] != "{" else ", ".join(names)
        form = form.replace(": {records}", ":\n{records}") if records == "\n" else form
    return form.format(columns=listed, records=records.join(cells.join(row) for row in rows))


def _told(
    rng: random.Random, columns: list[_Column], names: list[str] | None, rows: list[list[str]]
) -> str:
    """The prompt with a sentence per record; column names may be given."""
    records = rng.choice((" ", " ", "\n")).join(_sentence(rng, columns, row) for row in rows)
    form = reword(rng, rng.choice(_NAMED_FORMS if names else _OPEN_FORMS))
    return form.format(records=records, columns=_listing(rng, names) if names else "")


def _pick_columns(rng: random.Random) -> list[_Column]:
    kind = rng.choice(_KINDS)
    count = 1 if rng.random() < 0.4 else 2
    return [kind.subject, *rng.sample(kind.columns, count)]


def _draw_rows(rng: random.Random, columns: list[_Column]) -> list[list[str]]:
    rows: dict[str, list[str]] = {}
    wanted = rng.choice((2, 3, 3, 4))
    while len(rows) < wanted:
        row = [column.draw(rng) for column in columns]
        rows[row[0]] = row
    return list(rows.values())


def _markdown(names: list[str], rows: list[list[str]]) -> Pieces:
    """The table in pieces: header, rule (which needs the number of columns) and rows."""
    lines = [f"| {' | '.join(cells)} |" for cells in (names, *rows)]
    rule = "|" + "---|" * len(names)
    pieces = [
        (f"{lines[0]}\n", ()),
        (f"{rule}\n", (0,)),
        *((f"{line}\n", ()) for line in lines[1:]),
    ]
    return [*pieces[:-1], (lines[-1], ())]


def draw(rng: random.Random) -> Sample:
    columns = _pick_columns(rng)
    rows = _draw_rows(rng, columns)
    if rng.random() < 0.12:
        rows = [[cell.lower() for cell in row] for row in rows]
    names = [column.names[0] for column in columns]
    bare = rng.random() < 0.5
    named = bare or rng.random() < 0.5
    if named:
        names = [rng.choice(column.names) for column in columns]
        names = [name.capitalize() for name in names] if rng.random() < 0.25 else names
    shown = list(range(len(names)))
    if named and not bare and rng.random() < 0.3:  # asked for in another order than told
        rng.shuffle(shown)
    names, cells = [names[i] for i in shown], [[row[i] for i in shown] for row in rows]
    prompt = (
        _bare(rng, names, rows) if bare else _told(rng, columns, names if named else None, rows)
    )
    response, parts = assemble(_markdown(names, cells))
    return Sample(
        family="table",
        key=";".join(",".join(row) for row in rows),
        prompt=prompt,
        response=response,
        parts=parts,
        facts={"rows": [names, *cells]},
    )


_RULE = re.compile(r"\|?(\s*:?-+:?\s*\|)+\s*(:?-+:?)?")


def _cells(line: str) -> list[str]:
    return [
        " ".join(cell.split())
        for cell in line.strip().removeprefix("|").removesuffix("|").split("|")
    ]


def check(sample: Sample, text: str) -> bool:
    """Whether the text is a Markdown table with the wanted cells, whatever its padding."""
    header, *lines = text.strip().split("\n")
    if not lines or not _RULE.fullmatch(lines[0].strip()) or "|" not in header:
        return False
    if len(_cells(lines[0])) != len(_cells(header)):
        return False
    return [_cells(line) for line in (header, *lines[1:])] == sample.facts["rows"]


FAMILY = Family(name="table", draw=draw, check=check)
