"""``python -m tests.golden [PATH]``: check every case of a folder; exit code 1 if one fails."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from . import default_folder
from .check import find_checks


def main(
    path: Annotated[
        Path, typer.Argument(help="Folder with cases.jsonl and models/.")
    ] = default_folder(),  # noqa: B008
) -> None:
    """Compare the decoder with recorded runs of the reference implementation."""
    if not (path / "cases.jsonl").exists():
        typer.echo(f"PATH = {path}: has no cases.jsonl; give a folder of golden runs", err=True)
        raise typer.Exit(2)
    passed = failed = 0
    for name, check in find_checks(path):
        try:
            differences = check()
        except Exception as problem:  # one broken case must not hide the others
            differences = [f"{type(problem).__name__}: {problem}"]
        passed, failed = passed + (not differences), failed + bool(differences)
        for difference in differences[:5]:
            typer.echo(f"{name}: {difference}")
        if len(differences) > 5:
            typer.echo(f"{name}: and {len(differences) - 5} more")
    typer.echo(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    typer.run(main)
