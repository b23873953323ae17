"""The ``sweep`` command."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from . import options
from .config import DecodeConfig
from .errors import ConfigError

_STDERR = Console(stderr=True, soft_wrap=True)


def sweep(
    output: Annotated[Path, typer.Option(help="Folder of the sweep; one begun there goes on.")],
    model: options.Model = "bundled",
    prompts: Annotated[
        Path | None,
        typer.Option(help="JSON Lines of objects with prompt and, if wanted, expected."),
    ] = None,
    family: Annotated[
        list[str] | None,
        typer.Option(help="Instead: development prompts of this task family; repeat it."),
    ] = None,
    per_family: Annotated[int, typer.Option(help="Prompts of each family.", min=1)] = 10,
    gen_length: options.GenLength = options.DEFAULTS.gen_length,
    slot_size: Annotated[list[int] | None, typer.Option(help="Repeat every axis.")] = None,
    serial_blocks: Annotated[list[int] | None, typer.Option()] = None,
    slot_threshold: Annotated[list[float] | None, typer.Option()] = None,
    token_threshold: Annotated[list[float] | None, typer.Option()] = None,
    policy: Annotated[list[str] | None, typer.Option()] = None,
    processes: Annotated[int, typer.Option(help="Runs at a time.", min=1)] = os.cpu_count() or 1,
    device: options.Device = "auto",
    csv_file: Annotated[
        Path | None, typer.Option("--csv", help="Write the table to this file.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Decode prompts with every combination of settings. Stopped or killed, it goes on where it was."""
    from .checkpoint import load_checkpoint
    from .sweep import AXES, SweepFolder, grid, run_sweep, summarise, write_csv
    from .sweep_prompts import check_prompts, drawn_prompts, read_prompts
    from .training.tasks import FAMILIES

    if prompts is not None and family:
        raise ConfigError("--family", family, "is given with --prompts", "give one of them")
    asked = read_prompts(prompts) if prompts else drawn_prompts(family or FAMILIES, per_family)
    configs = grid(
        DecodeConfig(gen_length=gen_length),
        slot_size=slot_size,
        serial_blocks=serial_blocks,
        slot_threshold=slot_threshold,
        token_threshold=token_threshold,
        policy=policy,
    )
    if csv_file:  # told before a long sweep, and nothing that is there is lost
        options.open_for_writing(csv_file, "--csv", "a").close()
    checkpoint = load_checkpoint(model, device=device)
    check_prompts(checkpoint, asked, configs)
    folder = SweepFolder(output, checkpoint.facts.checkpoint_hash, asked)
    total = len(folder.missing(configs))
    runs = run_sweep(folder, configs, model, processes=processes, options={"device": device})
    bar = track(
        runs, description="runs", total=total, console=_STDERR, disable=not _STDERR.is_terminal
    )
    for _ in bar:
        pass
    wanted = set(configs)
    rows = summarise(result for result in folder.results if result.config in wanted)
    table = [row.to_dict() for row in rows]
    if csv_file:
        write_csv(rows, csv_file)
    if as_json:
        typer.echo(json.dumps(table))
        return
    columns = [n for n in table[0] if n not in AXES or len({row[n] for row in table}) > 1]
    shown = Table(title=f"{len(asked)} prompts, {len(table)} settings")
    for name in columns:
        shown.add_column(name.replace("_", " "), justify="right")
    for row in table:
        shown.add_row(*(str(row[name]) for name in columns), style="bold" if row["best"] else None)
    Console(width=None if sys.stdout.isatty() else 160).print(shown)
    typer.echo(f"{folder.folder / 'results.jsonl'}: {len(folder.results)} runs", err=True)
