"""ReFusion against autoregressive and masked-diffusion decoding of the same weights, in turns, in one run.

``python -m benchmarks.speed [--per-family N] [--decoder NAME ...] [--json]``. Tokens are those of the answer,
up to its first eos; seconds are of decoding alone. Masked diffusion commits one token per step: in a response
of 256 tokens to the end, as published models do (``mdm``), or dropping what is behind an eos
(``mdm_dropping``); or in the 64 tokens that the others have, dropping (``mdm_64``, as in the page's race).
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Any

import typer
from tqdm import tqdm

from refusion_core import DecodeConfig, decode
from refusion_core.checkpoint import Checkpoint, load_checkpoint, use_fitting_threads
from refusion_core.config import AutoregressiveConfig, MaskedDiffusionConfig
from refusion_core.training.tasks import FAMILIES

CONFIGS = {
    "refusion": DecodeConfig(),
    "refusion_fast": DecodeConfig(slot_threshold=0.9),
    "ar": AutoregressiveConfig(),
    "mdm": MaskedDiffusionConfig(gen_length=256, drop_after_eos=False),
    "mdm_dropping": MaskedDiffusionConfig(gen_length=256),
    "mdm_64": MaskedDiffusionConfig(),
}


def main(
    model: Annotated[str, typer.Option(help='"bundled", a folder, or a hub id.')] = "bundled",
    per_family: Annotated[int, typer.Option(help="Prompts of each family.")] = 5,
    seed: Annotated[int, typer.Option(help="Of the prompts (test split).")] = 0,
    decoder: Annotated[
        list[str] | None, typer.Option(help=f"Of {', '.join(CONFIGS)}; all if left out.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Measure and print."""
    if unknown := set(decoder or ()) - CONFIGS.keys():
        raise typer.BadParameter(f"{', '.join(unknown)}: give some of {', '.join(CONFIGS)}")
    checkpoint = load_checkpoint(model)
    use_fitting_threads(checkpoint)
    found = measure(checkpoint, decoder or tuple(CONFIGS), per_family, seed)
    typer.echo(json.dumps(found, indent=None if as_json else 2))


def measure(
    checkpoint: Checkpoint, decoders: Sequence[str], per_family: int, seed: int = 0
) -> dict[str, Any]:
    """Decode every prompt with every decoder, one after the other, so that noise hits all alike: figures of the
    ``decoders``, over all and by ``families``."""
    rng = random.Random(f"speed {seed}")
    samples = [f.sample(rng, "test") for f in FAMILIES.values() for _ in range(per_family)]
    totals: dict[str, dict[str, _Total]] = {
        family: {name: _Total() for name in decoders} for family in FAMILIES
    }
    for sample in tqdm(samples, unit="prompt"):
        for name in decoders:
            start = time.perf_counter()
            started, finished = decode(
                checkpoint, prompt=sample.prompt, config=CONFIGS[name], record=None
            )
            total = totals[sample.family][name]
            total.seconds += time.perf_counter() - start
            total.prompts += 1
            total.right += FAMILIES[sample.family].check(sample, finished.text)
            total.forwards += finished.stats.forwards
            answer = finished.output_ids[started.response_start :]
            total.tokens += _answer_tokens(answer, checkpoint.facts.eos_id)
    whole = {name: sum((by[name] for by in totals.values()), _Total()) for name in decoders}
    return {
        "prompts": len(samples),
        "decoders": _figures(whole),
        "families": {family: _figures(by) for family, by in totals.items()},
    }


@dataclass
class _Total:
    prompts: int = 0
    right: int = 0
    tokens: int = 0
    forwards: int = 0
    seconds: float = 0.0

    def __add__(self, other: _Total) -> _Total:
        return _Total(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


def _figures(totals: dict[str, _Total]) -> dict[str, dict[str, float]]:
    """Per prompt; ``speed_of_refusion`` is that of ReFusion at default settings over this one's."""
    own = totals.get("refusion")
    figures = {}
    for name, total in totals.items():
        figures[name] = {
            "right": round(total.right / total.prompts, 3),
            "forwards": round(total.forwards / total.prompts, 1),
            "seconds": round(total.seconds / total.prompts, 4),
            "tokens_per_second": round(total.tokens / total.seconds, 1),
            "tokens_per_forward": round(total.tokens / total.forwards, 2),
        }
        if own:
            ratio = (own.tokens / own.seconds) / (total.tokens / total.seconds)
            figures[name]["speed_of_refusion"] = round(ratio, 2)
    return figures


def _answer_tokens(ids: tuple[int, ...], eos_id: int) -> int:
    return ids.index(eos_id) + 1 if eos_id in ids else len(ids)


if __name__ == "__main__":
    typer.run(main)
