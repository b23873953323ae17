"""The measured figures stand in the docs as the page shows them, and the page is whole in both languages."""

from __future__ import annotations

import hashlib
import re

import pytest

from app.about import LANGUAGES, TEXTS, read_measured, table_text
from app.about import MEASURED as MEASURED_PATH
from docs.measure import write_measured, write_tables
from refusion_core.checkpoint import BUNDLED

ROOT = BUNDLED.parents[1]
MEASURED = read_measured()
ENTRIES = [*MEASURED["tables"], *MEASURED["facts"]]
WORDS = {"two": "2", "three": "3", "four": "4", "five": "5", "six": "6"}


def tables_of(text):
    """The Markdown tables of a page, as the numbers of their rows."""
    return [len(block.splitlines()) for block in re.findall(r"(?:^\|.*\n?)+", text, re.MULTILINE)]


def named(entries):
    return pytest.mark.parametrize("entry", entries, ids=lambda entry: entry["id"])


@named(MEASURED["tables"])
def test_a_table_stands_in_the_docs(entry):
    page = (ROOT / entry["source"]).read_text(encoding="utf-8")
    assert f"<!-- measured: {entry['id']} -->\n{table_text(entry)}\n\n" in page + "\n"


def test_tables_are_written_into_the_pages_and_read_back(tmp_path, monkeypatch):
    measured = read_measured()
    (tmp_path / "docs").mkdir()
    (tmp_path / "assets" / "model").mkdir(parents=True)
    card, page = tmp_path / "assets" / "model" / "README.md", tmp_path / "docs" / "page.md"
    card.write_text("")
    page.write_text("before\n\n<!-- measured: families -->\n| old |\n|---|\n\nbehind\n")
    write_tables(measured, tmp_path)
    families = next(table for table in measured["tables"] if table["id"] == "families")
    assert page.read_text() == (
        f"before\n\n<!-- measured: families -->\n{table_text(families)}\n\nbehind\n"
    )
    monkeypatch.setattr("docs.measure.MEASURED", tmp_path / "measured.json")
    write_measured(measured)
    assert (tmp_path / "measured.json").read_text() == MEASURED_PATH.read_text()


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
    for key in {"what", "title", "about"} & entry.keys():
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
        if "title" in table
        for line in (table["columns"], *table["rows"])
        for cell in line
        if not re.fullmatch(r"[\d.]*|[\d.]+ to [\d.]+|ReFusion|`[^`]*`", str(cell))
    }
    assert words == set(MEASURED["chinese"])


def test_both_languages_have_the_same_parts_and_figures():
    english, chinese = TEXTS["about"]
    for text in (english, chinese):
        assert not re.search(r"\{\w+", text)
    heading = re.compile(r"^#+ ", re.MULTILINE)
    assert heading.findall(english) == heading.findall(chinese)
    assert tables_of(english) == tables_of(chinese)
