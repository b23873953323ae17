"""ReFusion against autoregressive and masked-diffusion decoding of the same weights, in turns, in one run.

``python -m benchmarks.speed [--per-family N] [--json]``. Tokens are those of the answer, up to its first eos;
seconds are of decoding alone. Masked diffusion commits one token per step in a response of 256 tokens: to the
end, as published models do, or dropping what is behind an eos.
"""

from __future__ import annotations

import json
import random
import time
from typing import Annotated

import typer
from tqdm import tqdm

from refusion_core import DecodeConfig, decode
from refusion_core.checkpoint import load_checkpoint, use_fitting_threads
from refusion_core.config import AutoregressiveConfig, MaskedDiffusionConfig
from refusion_core.training.tasks import FAMILIES

_CONFIGS = {
    "refusion": DecodeConfig(),
    "refusion_fast": DecodeConfig(slot_threshold=0.9),
    "ar": AutoregressiveConfig(),
    "mdm": MaskedDiffusionConfig(gen_length=256, drop_after_eos=False),
    "mdm_dropping": MaskedDiffusionConfig(gen_length=256),
}


def main(
    model: Annotated[str, typer.Option(help='"bundled", a folder, or a hub id.')] = "bundled",
    per_family: Annotated[int, typer.Option(help="Prompts of each family.")] = 5,
    seed: Annotated[int, typer.Option(help="Of the prompts (test split).")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Decode every prompt with every decoder, one after the other, so that noise hits all alike."""
    checkpoint = load_checkpoint(model)
    use_fitting_threads(checkpoint)
    totals = {name: {"right": 0, "tokens": 0, "forwards": 0, "seconds": 0.0} for name in _CONFIGS}
    rng = random.Random(f"speed {seed}")
    samples = [f.sample(rng, "test") for f in FAMILIES.values() for _ in range(per_family)]
    for sample in tqdm(samples, unit="prompt"):
        for name, config in _CONFIGS.items():
            start = time.perf_counter()
            started, finished = decode(checkpoint, prompt=sample.prompt, config=config, record=None)
            total = totals[name]
            total["seconds"] += time.perf_counter() - start
            total["right"] += FAMILIES[sample.family].check(sample, finished.text)
            total["tokens"] += _answer_tokens(
                finished.output_ids[started.response_start :], checkpoint.facts.eos_id
            )
            total["forwards"] += finished.stats.forwards
    figures = {
        name: {
            "right": round(total["right"] / len(samples), 3),
            "tokens_per_second": round(total["tokens"] / total["seconds"], 1),
            "tokens_per_forward": round(total["tokens"] / total["forwards"], 2),
        }
        for name, total in totals.items()
    }
    speed = {name: values["tokens_per_second"] for name, values in figures.items()}
    ratios = {f"to_{name}": round(speed["refusion"] / speed[name], 1) for name in speed}
    printed = {"prompts": len(samples), "speed_of_refusion": ratios, "decoders": figures}
    typer.echo(json.dumps(printed, indent=None if as_json else 2))


def _answer_tokens(ids: tuple[int, ...], eos_id: int) -> int:
    return ids.index(eos_id) + 1 if eos_id in ids else len(ids)


if __name__ == "__main__":
    typer.run(main)
