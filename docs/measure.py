"""Measures the figures of the docs anew and writes them: ``python -m docs.measure [ID ...]``.

``assets/measured.json`` holds every table with its date and weights; pages show a table where a comment
``measured: ID`` stands, and the page About shows those with a title. Without IDs all are measured (an hour on
two cores); each is written when it is done. ``--tables`` only writes the tables of the file into the pages.
"""

from __future__ import annotations

import datetime
import json
import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import typer

from app.about import MEASURED, read_measured, table_text
from benchmarks import dependency, speed
from refusion_core import DecodeConfig, load_checkpoint, read_trace
from refusion_core.calibration import calibrate, judged_slots
from refusion_core.checkpoint import BUNDLED, Checkpoint, use_fitting_threads
from refusion_core.sweep import Row, SweepFolder, grid, run_sweep, summarise
from refusion_core.sweep_prompts import drawn_prompts
from refusion_core.training.evaluate import Result, evaluate, overall
from refusion_core.training.tasks import FAMILIES

ROOT = BUNDLED.parents[1]
Rows = dict[str, list[list[Any]]]  # by table


def families(checkpoint: Checkpoint) -> Rows:
    found = evaluate(checkpoint, DecodeConfig(), per_family=100, progress=True)
    names = (
        "tokens_per_forward",
        "forwards",
        "parallel_iterations",
        "out_of_order_slots",
        "prefix_iterations",
    )
    rows = []
    for family, result in (found | {"overall": overall(found.values())}).items():
        figures = result.figures()
        digits = (1, 1, 2, 2, 2)
        rest = [told(figures[name], n) for name, n in zip(names, digits, strict=True)]
        rows.append([family, told(figures["correct"], 2), *rest])
    return {"families": rows}


def speeds(checkpoint: Checkpoint) -> Rows:
    names = {
        "refusion": "ReFusion, default settings",
        "refusion_fast": 'ReFusion, preset "fast" (slot threshold .9)',
        "ar": "autoregressive, same weights (AR)",
        "mdm": "masked diffusion, one token per step in 256 tokens (MDM), to the end",
        "mdm_dropping": "the same, dropping what is behind an eos",
    }
    found = speed.measure(checkpoint, tuple(names), per_family=3)["decoders"]
    rows = []
    for name, title in names.items():
        own = found[name]
        times = (
            own["tokens_per_second"] / found[other]["tokens_per_second"]
            for other in ("ar", "mdm", "mdm_dropping")
        )
        rows.append(
            [title, told(own["right"], 2), told(own["tokens_per_forward"], 2), *map(short, times)]
        )
    return {"speed": rows}


def race(checkpoint: Checkpoint) -> Rows:
    decoders = ("refusion", "refusion_fast", "ar", "mdm_64")
    found = speed.measure(checkpoint, decoders, per_family=12)
    return {
        "race": [
            [
                family,
                *(
                    told(figures[name][figure], digits)
                    for figure, digits in (("forwards", 1), ("seconds", 2), ("right", 2))
                    for name in decoders
                ),
            ]
            for family, figures in (found["families"] | {"overall": found["decoders"]}).items()
        ]
    }


def thresholds(checkpoint: Checkpoint) -> Rows:
    rows = swept(
        14,
        slot_size=[4, 8],
        serial_blocks=[1, 2],
        slot_threshold=[0.9, 0.99, 0.999, 0.9995],
        token_threshold=[0.4],
    )
    lines = [
        [
            *(getattr(row.config, name) for name in ("slot_size", "serial_blocks")),
            *(str(getattr(row.config, name)) for name in ("slot_threshold", "token_threshold")),
            told(row.right, 2),
            told(row.tokens_per_forward, 1),
            told(row.parallel_iterations, 2),
            told(row.out_of_order_slots, 2),
        ]
        for row in rows
    ]
    short_lines = [line[2:3] + line[4:] for line in lines if line[:2] == [8, 1]]
    return {"sweep": lines, "thresholds": sorted(short_lines)}


def dependencies(checkpoint: Checkpoint) -> Rows:
    rows = []
    for kind in dependency.KINDS:
        found = dependency.measure(checkpoint, kind)
        figures = [
            told(found[f"{method}{suffix}"], 2)
            for suffix in ("", ", i before j")
            for method in dependency.METHODS
        ]
        rows.append([kind, *figures])
    return {"dependency": rows}


def recompute(checkpoint: Checkpoint) -> Rows:
    rows = []
    for slot, token in ((0.9995, 0.4), (0.9, 0.9), (0.9, 0.99)):
        config = DecodeConfig(slot_threshold=slot, token_threshold=token)
        reused, anew = (
            total(checkpoint, replace(config, recompute_infill=on)).figures()
            for on in (False, True)
        )
        rows.append(
            [
                str(slot),
                str(token),
                told(reused["infill_iterations"], 2),
                *(told(one["correct"], 3) for one in (reused, anew)),
                *(told(one["tokens_per_forward"], 2) for one in (reused, anew)),
            ]
        )
    return {"recompute": rows}


def policies(checkpoint: Checkpoint) -> Rows:
    aware = {"policy": "dependency_aware", "slot_threshold": 0.9}
    rows = []
    for name, settings in (
        ("threshold", {"slot_threshold": 0.9}),
        ("threshold", {"slot_threshold": 0.99}),
        ("threshold", {"slot_threshold": 0.999}),
        ("dependency_aware, limit .01", aware | {"dependency_limit": 0.01}),
        ("dependency_aware, limit .001", aware | {"dependency_limit": 0.001}),
    ):
        config = DecodeConfig(**settings)
        invented = evaluate(checkpoint, config, families=["invent"], per_family=200, progress=True)
        rows.append(
            [
                name,
                str(config.slot_threshold),
                *(
                    told(result.figures()[figure], digits)
                    for result in (total(checkpoint, config), invented["invent"])
                    for figure, digits in (("correct", 3), ("tokens_per_forward", 1))
                ),
            ]
        )
    return {"policies": rows}


def calibration(checkpoint: Checkpoint) -> Rows:
    with tempfile.TemporaryDirectory() as folder:
        swept(10, Path(folder), slot_size=[8], slot_threshold=[0.5, 0.9995])
        traces = sorted(Path(folder, "traces").iterdir())
        found = calibrate(pair for path in traces for pair in judged_slots(read_trace(path)))
    return {
        "calibration": [
            [f"{b.low:g} to {b.high:g}", b.count, told(b.confidence, 3), told(b.accepted, 3)]
            for b in found.bins
        ]
    }


MEASURES: dict[str, Callable[[Checkpoint], Rows]] = {
    "families": families,
    "speed": speeds,
    "race": race,
    "thresholds": thresholds,
    "dependency": dependencies,
    "recompute": recompute,
    "policies": policies,
    "calibration": calibration,
}


def total(checkpoint: Checkpoint, config: DecodeConfig) -> Result:
    """Over 23 test prompts of every family."""
    return overall(evaluate(checkpoint, config, per_family=23, progress=True).values())


def swept(per_family: int, folder: Path | None = None, **axes: Sequence[Any]) -> list[Row]:
    """The rows of a sweep of the bundled model over development prompts."""
    with tempfile.TemporaryDirectory() as own:
        sweep = SweepFolder(folder or Path(own), None, drawn_prompts(FAMILIES, per_family))
        return summarise(run_sweep(sweep, grid(DecodeConfig(), **axes), "bundled"))


def told(value: float, digits: int) -> Decimal:
    """A number as the tables show it."""
    return Decimal(f"{value:.{digits}f}")


def short(value: float) -> Decimal:
    """A factor, with no more digits than it is sure of."""
    return told(value, 0 if value >= 20 else 1 if value >= 0.95 else 3)


def write_measured(measured: dict[str, Any]) -> None:
    """The file, a row of a table in a line."""
    rows: list[str] = []

    def kept(line: list[Any]) -> str:
        cells = (
            str(c) if isinstance(c, Decimal) else json.dumps(c, ensure_ascii=False) for c in line
        )
        rows.append(f"[{', '.join(cells)}]")
        return f"row {len(rows) - 1}"

    tables = [
        table | {"columns": kept(table["columns"]), "rows": [kept(row) for row in table["rows"]]}
        for table in measured["tables"]
    ]
    text = json.dumps(measured | {"tables": tables}, ensure_ascii=False, indent=2)
    text = re.sub(r'"row (\d+)"', lambda match: rows[int(match[1])], text)
    MEASURED.write_text(text + "\n", encoding="utf-8")


def write_tables(measured: dict[str, Any], root: Path = ROOT) -> None:
    """Put every table into the pages that have its mark."""
    pages = sorted({*(root / "docs").glob("*.md"), root / "assets" / "model" / "README.md"})
    for page in pages:
        text = page.read_text(encoding="utf-8")
        for table in measured["tables"]:
            mark = f"<!-- measured: {table['id']} -->\n"
            shown = mark + table_text(table) + "\n"
            text = re.sub(re.escape(mark) + r"(\|.*\n)*", lambda _, shown=shown: shown, text)
        page.write_text(text, encoding="utf-8")


def main(
    ids: Annotated[list[str] | None, typer.Argument(help=f"Of {', '.join(MEASURES)}.")] = None,
    tables: Annotated[bool, typer.Option(help="Measure nothing, write the pages.")] = False,
) -> None:
    """Measure the bundled model and write what was found."""
    if unknown := set(ids or ()) - MEASURES.keys():
        raise typer.BadParameter(f"{', '.join(unknown)}: give some of {', '.join(MEASURES)}")
    if tables:
        return write_tables(read_measured())
    checkpoint = load_checkpoint()
    use_fitting_threads(checkpoint)
    weights = checkpoint.facts.checkpoint_hash[:12]
    for name in ids or MEASURES:
        found = MEASURES[name](checkpoint)
        measured = read_measured()  # another process may have written its own
        for table in measured["tables"]:
            if table["id"] in found:
                today = datetime.date.today().isoformat()
                table |= {"rows": found[table["id"]], "date": today, "weights": weights}
        write_measured(measured)
        write_tables(measured)
        typer.echo(json.dumps(found, default=str))


if __name__ == "__main__":
    typer.run(main)
