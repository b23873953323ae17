"""Checks against runs of the reference implementation: ``python -m tests.golden [PATH]``."""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).resolve()


def default_folder() -> Path:
    """``shared/golden`` beside the repository, or the smaller set that the repository carries."""
    beside = _HERE.parents[3] / "shared" / "golden"
    return beside if beside.is_dir() else _HERE.parent / "data"
