"""The measured figures stand in the docs as the page shows them, and the page is whole in both languages."""

from __future__ import annotations

import hashlib
import re

import pytest

from app.about import LANGUAGES, TEXTS, read_measured
from refusion_core.checkpoint import BUNDLED

ROOT = BUNDLED.parents[1]
MEASURED = read_measured()
ENTRIES = [*MEASURED["tables"], *MEASURED["facts"]]
WORDS = {"two": "2", "three": "3", "four": "4", "five": "5", "six": "6"}


def plain(cell):
    """A number where a cell starts with one ("1.8 ×", ".96"), its text otherwise."""
    text = str(cell).strip()
    number = re.fullmatch(r"(-?\d*\.?\d+)( ×)?", text)
    return float(number[1]) if number else text


def docs_tables(text):
    """The Markdown tables of a page, each as a list of rows by column."""
    tables = []
    for block in re.findall(r"(?:^\|.*\n?)+", text, flags=re.MULTILINE):
        heading, _, *rows = [line.strip()[1:-1].split("|") for line in block.splitlines()]
        names = [name.strip() for name in heading]
        tables.append([dict(zip(names, map(plain, row), strict=True)) for row in rows])
    return tables


def named(entries):
    return pytest.mark.parametrize("entry", entries, ids=lambda entry: entry["id"])


def stands_in_docs(entry, text):
    """Whether one table of the page has every row of the entry."""
    rows = [
        dict(zip(entry["columns"], map(plain, row), strict=True)) | entry.get("where", {})
        for row in entry["rows"]
    ]
    return any(
        all(any(row.items() <= told.items() for told in table) for row in rows)
        for table in docs_tables(text)
    )


@named(MEASURED["tables"])
def test_a_table_stands_in_the_docs(entry):
    assert stands_in_docs(entry, (ROOT / entry["source"]).read_text(encoding="utf-8"))


def test_a_figure_that_has_drifted_is_found():
    entry = next(entry for entry in MEASURED["tables"] if entry["id"] == "speed")
    text = (ROOT / entry["source"]).read_text(encoding="utf-8")
    assert "| 8.7 × |" in text
    assert not stands_in_docs(entry, text.replace("| 8.7 × |", "| 8.8 × |"))


@named(MEASURED["facts"])
def test_a_fact_stands_in_the_docs(entry):
    text = (ROOT / entry["source"]).read_text(encoding="utf-8")
    assert entry["quote"] in " ".join(text.split())
    digits = re.sub(r"[a-z]+", lambda word: WORDS.get(word[0], word[0]), entry["quote"])
    told = {float(number) for number in re.findall(r"\d*\.?\d+", digits)}
    assert {float(number) for number in re.findall(r"\d*\.?\d+", entry["value"])} <= told


@named(ENTRIES)
def test_an_entry_says_where_it_comes_from(entry):
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", entry["date"])
    assert entry["command"].strip()
    for key in ("what",) if "what" in entry else ("title", "about"):
        assert sorted(entry[key]) == sorted(LANGUAGES)
        assert all(entry[key].values())


@named([entry for entry in ENTRIES if entry["weights"]])
def test_a_figure_is_of_the_weights_that_are_there(entry):
    digest = hashlib.sha256((BUNDLED / "model.safetensors").read_bytes()).hexdigest()
    assert digest.startswith(entry["weights"])


def test_every_word_of_the_tables_has_a_translation():
    words = {
        cell
        for table in MEASURED["tables"]
        for line in (table["columns"], *table["rows"])
        for cell in line
        if isinstance(plain(cell), str) and not re.fullmatch(r"|ReFusion|`[^`]*`", cell)
    }
    assert words == set(MEASURED["chinese"])


def test_both_languages_have_the_same_parts_and_figures():
    english, chinese = TEXTS["about"]
    for text in (english, chinese):
        assert not re.search(r"\{\w+", text)
    heading = re.compile(r"^#+ ", re.MULTILINE)
    assert heading.findall(english) == heading.findall(chinese)
    assert [len(t) for t in docs_tables(english)] == [len(t) for t in docs_tables(chinese)]
