"""ReFusion against autoregressive and masked-diffusion decoding of the same weights, in turns, in one run.

``python -m benchmarks.speed [--per-family N] [--json]``. Tokens are those up to eos; seconds are of decoding
alone. Masked diffusion commits one token per step in a response of 256 tokens.
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
from refusion_core.training.evaluate import Result
from refusion_core.training.tasks import FAMILIES

_CONFIGS = {
    "refusion": DecodeConfig(),
    "ar": AutoregressiveConfig(),
    "mdm_256": MaskedDiffusionConfig(gen_length=256),
    "refusion_256": DecodeConfig(gen_length=256),
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
    results = {name: Result() for name in _CONFIGS}
    rng = random.Random(f"speed {seed}")
    samples = [f.sample(rng, "test") for f in FAMILIES.values() for _ in range(per_family)]
    for sample in tqdm(samples, unit="prompt"):
        for name, config in _CONFIGS.items():
            start = time.perf_counter()
            *_, finished = decode(checkpoint, prompt=sample.prompt, config=config, record=None)
            seconds = time.perf_counter() - start
            correct = FAMILIES[sample.family].check(sample, finished.text)
            results[name].add(finished, seconds, sample.prompt, correct)
    figures = {name: result.figures() for name, result in results.items()}
    speed = {name: values["tokens_per_second"] for name, values in figures.items()}
    ratios = {
        "refusion_to_ar": round(speed["refusion"] / speed["ar"], 2),
        "refusion_to_mdm_256": round(speed["refusion"] / speed["mdm_256"], 1),
        "refusion_256_to_mdm_256": round(speed["refusion_256"] / speed["mdm_256"], 1),
    }
    printed = {"ratios": ratios, "decoders": figures}
    typer.echo(json.dumps(printed, indent=None if as_json else 2))


if __name__ == "__main__":
    typer.run(main)
