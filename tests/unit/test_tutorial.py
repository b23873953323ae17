"""The tutorial runs, and its stored outputs are those of a run."""

from __future__ import annotations

import re
from copy import deepcopy

import pytest

from docs.tutorial import NOT_STORED, NOTEBOOK, executed, read

LARGEST = 400_000  # bytes; it travels with every clone
DECIMAL = re.compile(r"\d+\.\d+")


@pytest.fixture(scope="module")
def stored():
    return read()


@pytest.fixture(scope="module")
def run(stored):
    """The notebook as it runs now; a cell that fails raises."""
    fresh = deepcopy(stored)
    for cell in fresh.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    return executed(fresh)


def code(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def is_stored(cell):
    return NOT_STORED not in cell.metadata.get("tags", ())


def shown(cell):
    """What a cell shows, as kinds and texts; pictures differ between machines."""
    return [
        (output.output_type, output.get("name"), sorted(output.get("data", ())), output.get("text"))
        for output in cell.outputs
    ]


def same(left, right):
    """Whether two outputs are equal but for the last digits of probabilities."""
    texts = [[text or "" for *_, text in output] for output in (left, right)]
    words = [[DECIMAL.sub("#", text) for text in side] for side in texts]
    numbers = [[float(n) for text in side for n in DECIMAL.findall(text)] for side in texts]
    kinds = [[kind for *kind, _ in output] for output in (left, right)]
    return (
        kinds[0] == kinds[1]
        and words[0] == words[1]
        and numbers[0] == pytest.approx(numbers[1], abs=2e-3)
    )


def test_it_runs_and_shows_what_is_stored(stored, run):
    pairs = [(a, b) for a, b in zip(code(stored), code(run), strict=True) if is_stored(a)]
    for old, new in pairs:
        assert same(shown(old), shown(new)), (
            f"python -m docs.tutorial stores it anew\n{old.source}\n{shown(old)}\n{shown(new)}"
        )


def test_outputs_are_stored(stored):
    for cell in filter(is_stored, code(stored)):
        kinds = {output.output_type for output in cell.outputs}
        expected = {"stream": "print(" in cell.source, "display_data": "plt.show()" in cell.source}
        assert kinds == {kind for kind, comes in expected.items() if comes}
    counts = [cell.execution_count for cell in code(stored)]
    assert counts == list(range(1, len(counts) + 1))


def test_the_player_is_shown_but_not_stored(stored, run):
    (old,) = [cell for cell in code(stored) if not is_stored(cell)]
    (new,) = [cell for cell in code(run) if not is_stored(cell)]
    assert old.outputs == []
    assert "<iframe" in new.outputs[0].data["text/html"]


def test_it_is_small_and_names_no_machine():
    text = NOTEBOOK.read_text(encoding="utf-8")
    assert len(text) < LARGEST
    assert str(NOTEBOOK.parents[1]) not in text
    assert "site-packages" not in text
    assert '"execution"' not in text


@pytest.mark.parametrize(
    ("other", "equal"),
    [
        ("slot 1 0.9999 passing 4", True),
        ("slot 1 0.9990 passing 4", True),
        ("slot 1 0.9500 passing 4", False),
        ("slot 1 0.9999 passing 3", False),
        ("slot 2 0.9999 passing 4", False),
    ],
)
def test_outputs_that_differ_are_told_apart(other, equal):
    def output(text):
        return [("stream", "stdout", [], text)]

    assert same(output("slot 1 0.9998 passing 4"), output(other)) == equal
