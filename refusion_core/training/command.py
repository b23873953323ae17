"""The ``train`` and ``evaluate`` commands. Torch is imported only when one of them runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ..config import DecodeConfig
from ..errors import ConfigError

_DECODE = DecodeConfig()


def train(
    output: Annotated[Path, typer.Option(help="Folder to export the model to.")],
    minutes: Annotated[
        float | None, typer.Option(help="Time to train for; 70 if no budget is given.")
    ] = None,
    tokens: Annotated[int | None, typer.Option(help="Fed tokens to train on instead.")] = None,
    work: Annotated[
        Path | None, typer.Option(help='State and metrics; by default OUTPUT + "-work".')
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue the saved state with its own settings.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Of data, weights and masks.")] = 0,
    vocab_size: Annotated[int, typer.Option(help="Entries of the tokenizer.")] = 2304,
    hidden_size: Annotated[int, typer.Option(help="Width of the model.")] = 256,
    intermediate_size: Annotated[int, typer.Option(help="Width inside the MLPs.")] = 640,
    layers: Annotated[int, typer.Option(help="Number of blocks.")] = 6,
    heads: Annotated[int, typer.Option(help="Query heads.")] = 8,
    kv_heads: Annotated[int, typer.Option(help="Key/value heads.")] = 4,
    batch_tokens: Annotated[int, typer.Option(help="Fed tokens a step, first half.")] = 2048,
    late_batch_tokens: Annotated[int, typer.Option(help="The same, second half.")] = 3072,
    muon_lr: Annotated[float, typer.Option(help="Learning rate of the matrices.")] = 5e-3,
    adamw_lr: Annotated[float, typer.Option(help="Of embeddings and norms.")] = 2e-3,
    threads: Annotated[int, typer.Option(help="CPU threads.")] = 1,
    compile: Annotated[bool, typer.Option(help="Fuse operations (needs a C++ compiler).")] = True,
) -> None:
    """Train the compact model from nothing and export it as a Hugging Face folder."""
    from .train import TrainConfig
    from .train import train as run

    if minutes is None and tokens is None:
        minutes = 70.0
    config = TrainConfig(
        minutes=minutes,
        tokens=tokens,
        seed=seed,
        vocab_size=vocab_size,
        hidden_size=hidden_size,
        intermediate_size=intermediate_size,
        layers=layers,
        heads=heads,
        kv_heads=kv_heads,
        batch_tokens=batch_tokens,
        late_batch_tokens=late_batch_tokens,
        muon_lr=muon_lr,
        adamw_lr=adamw_lr,
        threads=threads,
        compile=compile,
    )
    typer.echo(f"exported to {run(config, output, work=work, resume=resume)}")


def evaluate(
    model: Annotated[str, typer.Option(help='"bundled", a folder, or a hub id.')] = "bundled",
    families: Annotated[str, typer.Option(help="Names separated by commas; empty: all.")] = "",
    per_family: Annotated[int, typer.Option(help="Prompts of each family.")] = 100,
    split: Annotated[str, typer.Option(help="test, dev or train.")] = "test",
    seed: Annotated[int, typer.Option(help="Of the prompts.")] = 0,
    gen_length: Annotated[int, typer.Option(help="Response length.")] = _DECODE.gen_length,
    slot_size: Annotated[int, typer.Option(help="Tokens per slot.")] = _DECODE.slot_size,
    serial_blocks: Annotated[int, typer.Option(help="Serial blocks.")] = _DECODE.serial_blocks,
    slot_threshold: Annotated[float, typer.Option(help="Slot threshold.")] = _DECODE.slot_threshold,
    token_threshold: Annotated[
        float, typer.Option(help="Token threshold.")
    ] = _DECODE.token_threshold,
    show: Annotated[int, typer.Option(help="Print so many wrong answers per family.")] = 0,
) -> None:
    """Measure a model on held-out prompts; prints one JSON line per family."""
    from ..checkpoint import load_checkpoint
    from .evaluate import evaluate as run
    from .tasks import FAMILIES

    names = [name.strip() for name in families.split(",") if name.strip()] or list(FAMILIES)
    for field, value, known in (
        ("split", split, ("test", "dev", "train")),
        *(("families", name, tuple(FAMILIES)) for name in names),
    ):
        if value not in known:
            raise ConfigError(field, value, "is unknown", f"give one of {', '.join(known)}")
    if per_family < 1:
        raise ConfigError("per_family", per_family, "is too small", "give at least 1")
    config = DecodeConfig(
        gen_length=gen_length,
        slot_size=slot_size,
        serial_blocks=serial_blocks,
        slot_threshold=slot_threshold,
        token_threshold=token_threshold,
    )
    results = run(
        load_checkpoint(model),
        config,
        families=names,
        per_family=per_family,
        seed=seed,
        split=split,
    )
    for name, result in results.items():
        typer.echo(json.dumps({"family": name} | result.figures()))
        for prompt, text in result.wrong[:show]:
            typer.echo(f"--- {prompt}\n{text}", err=True)
