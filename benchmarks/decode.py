"""What watching costs: seconds of a decode unwatched, recorded, and recorded with dependency; and of one
revealed dependency matrix, 16 slots of 8 tokens, and the plan forward that it goes with.

``python -m benchmarks.decode [--model bundled] [--rounds N] [--json]``; ratios are to the unwatched decode and
to the plan forward.
"""

from __future__ import annotations

import json
import statistics
import time
from typing import Annotated

import typer

from refusion_core import DecodeConfig, RecordConfig, decode
from refusion_core.checkpoint import Checkpoint, load_checkpoint, use_fitting_threads
from refusion_core.dependency import reveal_capacity, revealed

_PROMPT = "Write a Python function that returns the sum of the squares of a list."
_MODES = {
    "unwatched": None,
    "recorded": RecordConfig(dependency=None),
    "recorded_with_dependency": RecordConfig(),
}
_SLOTS, _SLOT_SIZE = 16, 8


def reveal_seconds(checkpoint: Checkpoint) -> tuple[float, float]:
    """Of a plan forward, and of the matrix of its slots."""
    model, mask = checkpoint.model, checkpoint.facts.mask_id
    prompt = checkpoint.encode_prompt(_PROMPT)
    first, masked = len(prompt), _SLOTS * _SLOT_SIZE
    cache = model.new_cache(first + masked + reveal_capacity(_SLOTS, _SLOT_SIZE))
    model.feed(prompt, list(range(first)), cache)
    positions = list(range(first, first + masked))
    started = time.perf_counter()
    hidden = model.feed([mask] * masked, positions, cache)
    tokens = model.logits(hidden).argmax(-1).tolist()
    planned = time.perf_counter()
    cache.rewind(first)
    starts = range(0, masked, _SLOT_SIZE)
    drafts = [(tokens[at : at + _SLOT_SIZE], positions[at : at + _SLOT_SIZE]) for at in starts]
    revealed(model, cache, drafts, hidden[::_SLOT_SIZE], mask)
    return planned - started, time.perf_counter() - planned


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
    pairs = [reveal_seconds(checkpoint) for _ in range(rounds + 1)][1:]
    plan, matrix = (statistics.median(times) for times in zip(*pairs, strict=True))
    result = {
        "forwards": finished.stats.forwards,
        "committed_tokens": finished.stats.committed_tokens,
        "milliseconds": {name: round(1000 * value, 1) for name, value in medians.items()},
        "ratio": {name: round(value / medians["unwatched"], 2) for name, value in medians.items()},
        "revealed": {
            "milliseconds": round(1000 * matrix, 1),
            "ratio_to_plan_forward": round(matrix / plan, 1),
        },
    }
    typer.echo(json.dumps(result, indent=None if as_json else 2))


if __name__ == "__main__":
    typer.run(main)
