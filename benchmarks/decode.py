"""What watching costs: seconds of a decode unwatched, recorded, and recorded with dependency, in one run.

``python -m benchmarks.decode [--model bundled] [--rounds N] [--json]``; ratios are to the unwatched decode.
"""

from __future__ import annotations

import json
import statistics
import time
from typing import Annotated

import typer

from refusion_core import DecodeConfig, RecordConfig, decode
from refusion_core.checkpoint import load_checkpoint, use_fitting_threads

_PROMPT = "Write a Python function that returns the sum of the squares of a list."
_MODES = {
    "unwatched": None,
    "recorded": RecordConfig(dependency=None),
    "recorded_with_dependency": RecordConfig(),
}


def main(
    model: Annotated[str, typer.Option(help='"bundled", a folder, or a hub id.')] = "bundled",
    rounds: Annotated[int, typer.Option(help="Decodes of each kind, taken in turn.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Measure and print medians and ratios."""
    checkpoint = load_checkpoint(model)
    use_fitting_threads(checkpoint)
    seconds: dict[str, list[float]] = {name: [] for name in _MODES}
    for number in range(rounds + 1):
        for name, record in _MODES.items():
            start = time.perf_counter()
            *_, finished = decode(checkpoint, prompt=_PROMPT, config=DecodeConfig(), record=record)
            if number:  # the first round warms up
                seconds[name].append(time.perf_counter() - start)
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    result = {
        "forwards": finished.stats.forwards,
        "committed_tokens": finished.stats.committed_tokens,
        "milliseconds": {name: round(1000 * value, 1) for name, value in medians.items()},
        "ratio": {name: round(value / medians["unwatched"], 2) for name, value in medians.items()},
    }
    typer.echo(json.dumps(result, indent=None if as_json else 2))


if __name__ == "__main__":
    typer.run(main)
