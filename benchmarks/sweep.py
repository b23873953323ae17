"""Settings against speed and accuracy on the development split: what the app's defaults are chosen from.

``python -m benchmarks.sweep [--per-family N] [--json]``; a Markdown table, the best accuracy first.
"""

from __future__ import annotations

import itertools
import json
from typing import Annotated

import typer
from tqdm import tqdm

from refusion_core import DecodeConfig
from refusion_core.checkpoint import load_checkpoint, use_fitting_threads
from refusion_core.training.evaluate import evaluate, overall

_COLUMNS = (
    "correct",
    "tokens_per_forward",
    "tokens_per_second",
    "parallel_iterations",
    "out_of_order_slots",
)


def main(
    model: Annotated[str, typer.Option(help='"bundled", a folder, or a hub id.')] = "bundled",
    per_family: Annotated[int, typer.Option(help="Prompts of each family.")] = 20,
    slot_size: Annotated[list[int], typer.Option()] = [4, 8],  # noqa: B006
    serial_blocks: Annotated[list[int], typer.Option()] = [1, 2],  # noqa: B006
    slot_threshold: Annotated[list[float], typer.Option()] = [0.8, 0.9, 0.95],  # noqa: B006
    token_threshold: Annotated[list[float], typer.Option()] = [0.4, 0.7, 0.9],  # noqa: B006
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON list.")] = False,
) -> None:
    """Decode the same prompts with every combination of the given values."""
    checkpoint = load_checkpoint(model)
    use_fitting_threads(checkpoint)
    grid = list(itertools.product(slot_size, serial_blocks, slot_threshold, token_threshold))
    rows = []
    for size, blocks, slot, token in tqdm(grid, unit="setting"):
        config = DecodeConfig(
            slot_size=size, serial_blocks=blocks, slot_threshold=slot, token_threshold=token
        )
        results = evaluate(checkpoint, config, per_family=per_family, split="dev")
        figures = overall(results.values()).figures()
        settings = {
            "slot_size": size,
            "serial_blocks": blocks,
            "slot_threshold": slot,
            "token_threshold": token,
        }
        rows.append(settings | {name: figures[name] for name in _COLUMNS})
    rows.sort(key=lambda row: (-row["correct"], -row["tokens_per_forward"]))
    if as_json:
        typer.echo(json.dumps(rows))
        return
    typer.echo(f"| {' | '.join(name.replace('_', ' ') for name in rows[0])} |")
    typer.echo("|" + "---|" * len(rows[0]))
    for row in rows:
        typer.echo(f"| {' | '.join(f'{value:g}' for value in row.values())} |")


if __name__ == "__main__":
    typer.run(main)
