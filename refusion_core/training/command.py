"""The ``train`` and ``evaluate`` commands. Torch is imported only when one of them runs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from .. import options
from ..errors import ConfigError


def train(
    output: Annotated[Path, typer.Option(help="Folder to export the model to.")],
    minutes: Annotated[
        float | None, typer.Option(help="Time to train for; 150 if no budget is given.")
    ] = None,
    tokens: Annotated[int | None, typer.Option(help="Fed tokens to train on instead.")] = None,
    work: Annotated[
        Path | None, typer.Option(help='State and metrics; by default OUTPUT + "-work".')
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="Continue the saved state with its own settings to this budget."
        ),
    ] = False,
    warm_start: Annotated[
        str | None, typer.Option(help="Begin with the weights of this model (folder or bundled).")
    ] = None,
    keep_tokenizer: Annotated[
        bool, typer.Option(help="With --warm-start: keep its tokenizer, and do not make one.")
    ] = False,
    objective: Annotated[
        str, typer.Option(help="refusion, ar (plain next token) or mdm (token-level masks).")
    ] = "refusion",
    schedule: Annotated[
        str, typer.Option(help="linear (constant to half, then falling) or cosine.")
    ] = "linear",
    seed: Annotated[int, typer.Option(help="Of data, weights and masks.")] = 0,
    vocab_size: Annotated[int, typer.Option(help="Entries of the tokenizer.")] = 4608,
    hidden_size: Annotated[int, typer.Option(help="Width of the model.")] = 256,
    intermediate_size: Annotated[int, typer.Option(help="Width inside the MLPs.")] = 640,
    layers: Annotated[int, typer.Option(help="Number of blocks.")] = 6,
    heads: Annotated[int, typer.Option(help="Query heads.")] = 8,
    kv_heads: Annotated[int, typer.Option(help="Key/value heads.")] = 4,
    batch_tokens: Annotated[int, typer.Option(help="Fed tokens a step, first half.")] = 2048,
    late_batch_tokens: Annotated[int, typer.Option(help="The same, second half.")] = 4096,
    muon_lr: Annotated[float, typer.Option(help="Learning rate of the matrices.")] = 5e-3,
    adamw_lr: Annotated[float, typer.Option(help="Of embeddings and norms.")] = 2e-3,
    threads: Annotated[int, typer.Option(help="CPU threads.")] = 1,
    compile: Annotated[bool, typer.Option(help="Fuse operations (needs a C++ compiler).")] = True,
) -> None:
    """Train the compact model from nothing and export it as a Hugging Face folder."""
    from .train import TrainConfig
    from .train import train as run

    if minutes is None and tokens is None:
        minutes = 150.0
    config = TrainConfig(
        minutes=minutes,
        tokens=tokens,
        objective=objective,
        schedule=schedule,
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
    folder = run(
        config,
        output,
        work=work,
        resume=resume,
        warm_start=warm_start,
        keep_tokenizer=keep_tokenizer,
    )
    typer.echo(f"exported to {folder}")


def evaluate(
    model: options.Model = "bundled",
    family: Annotated[
        list[str] | None, typer.Option(help="A task family; may be given again. All without it.")
    ] = None,
    per_family: Annotated[int, typer.Option(help="Prompts of each family.")] = 100,
    split: Annotated[str, typer.Option(help="test, dev or train.")] = "test",
    seed: Annotated[int, typer.Option(help="Of the prompts.")] = 0,
    decoder: options.Decoder = "refusion",
    gen_length: options.GenLength = options.DEFAULTS.gen_length,
    slot_size: options.SlotSize = None,
    serial_blocks: options.SerialBlocks = None,
    slot_threshold: options.SlotThreshold = options.DEFAULTS.slot_threshold,
    token_threshold: options.TokenThreshold = options.DEFAULTS.token_threshold,
    policy: options.Policy = "threshold",
    policy_count: options.PolicyCount = 1,
    dependency_limit: options.DependencyLimit = options.DEFAULTS.dependency_limit,
    recompute_infill: options.RecomputeInfill = False,
    tokens_per_step: options.TokensPerStep = 1,
    confidence_threshold: options.ConfidenceThreshold = None,
    layout: options.Layout = "clean_first",
    show: Annotated[int, typer.Option(help="Print so many wrong answers per family.")] = 0,
    as_json: options.Json = False,
) -> None:
    """Measure a model on held-out prompts of the task families.

    Forwards, iterations and tokens are per prompt; tokens per second counts the time of decoding alone.
    """
    from ..checkpoint import load_checkpoint, use_fitting_threads
    from .evaluate import evaluate as run
    from .evaluate import overall
    from .tasks import FAMILIES

    names = list(family or FAMILIES)
    for field, value, known in (
        ("split", split, ("test", "dev", "train")),
        *(("family", name, tuple(FAMILIES)) for name in names),
    ):
        if value not in known:
            raise ConfigError(field, value, "is unknown", f"give one of {', '.join(known)}")
    if per_family < 1:
        raise ConfigError("per_family", per_family, "is too small", "give at least 1")
    config = options.decode_config(
        decoder,
        gen_length=gen_length,
        slot_size=slot_size,
        serial_blocks=serial_blocks,
        slot_threshold=slot_threshold,
        token_threshold=token_threshold,
        policy=policy,
        policy_count=policy_count,
        dependency_limit=dependency_limit,
        recompute_infill=recompute_infill,
        tokens_per_step=tokens_per_step,
        confidence_threshold=confidence_threshold,
        layout=layout,
    )
    checkpoint = load_checkpoint(model)
    use_fitting_threads(checkpoint)
    results = run(
        checkpoint,
        config,
        families=names,
        per_family=per_family,
        seed=seed,
        split=split,
        progress=sys.stderr.isatty(),
    )
    figures = {name: result.figures() for name, result in results.items()}
    total = overall(results.values()).figures()
    if as_json:
        typer.echo(json.dumps({"overall": total, "families": figures}))
    else:
        _print_table(figures | {"overall": total})
    for result in results.values():
        for prompt, text in result.wrong[:show]:
            typer.echo(f"--- {prompt}\n{text}", err=True)


def _print_table(rows: dict[str, dict[str, float]]) -> None:
    table = Table("family")
    for name in rows["overall"]:
        table.add_column(name.replace("_", " "), justify="right")
    for family, figures in rows.items():
        table.add_row(family, *(f"{value:g}" for value in figures.values()))
    Console(width=None if sys.stdout.isatty() else 160).print(table)
