"""The command line: ``python -m refusion_core COMMAND``. Bad input ends with one line and exit code 2."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TimeElapsedColumn, track
from rich.table import Table
from rich.text import Text

from . import options
from .alignment import Cell
from .calibration import grouped, slot_size_of
from .compare import compare
from .config import CONFIGS, DEPENDENCY_METHODS, RecordConfig
from .errors import ConfigError, PromptError, RefusionError
from .events import Commit, Event, RunFinished, RunStarted, Statistics, dump_event
from .export import trace_page
from .sweep_command import sweep
from .trace import TRACE_SUFFIX, Trace, read_trace, write_trace
from .training.command import evaluate, train

if TYPE_CHECKING:
    from typing import TextIO

app = typer.Typer(
    help="ReFusion decoding, instrumented.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.command("train")(train)
app.command("evaluate")(evaluate)
app.command("sweep")(sweep)

_STDERR = Console(stderr=True, soft_wrap=True)
TraceFile = Annotated[Path, typer.Argument(help="A .trace.jsonl file.")]


@app.command("decode")
def decode_command(
    model: options.Model = "bundled",
    prompt: Annotated[str | None, typer.Option(help="Text, put into the chat template.")] = None,
    prompt_ids: Annotated[
        str | None, typer.Option(help="Token ids as they are, separated by commas.")
    ] = None,
    decoder: options.Decoder = "refusion",
    gen_length: options.GenLength = options.DEFAULTS.gen_length,
    slot_size: options.SlotSize = None,
    serial_blocks: options.SerialBlocks = None,
    slot_threshold: options.SlotThreshold = options.DEFAULTS.slot_threshold,
    token_threshold: options.TokenThreshold = options.DEFAULTS.token_threshold,
    temperature: options.Temperature = options.DEFAULTS.temperature,
    seed: options.Seed = options.DEFAULTS.seed,
    policy: options.Policy = "threshold",
    policy_count: options.PolicyCount = 1,
    dependency_limit: options.DependencyLimit = options.DEFAULTS.dependency_limit,
    recompute_infill: options.RecomputeInfill = False,
    tokens_per_step: options.TokensPerStep = 1,
    confidence_threshold: options.ConfidenceThreshold = None,
    layout: options.Layout = "clean_first",
    device: options.Device = "auto",
    dtype: Annotated[str, typer.Option(help='"auto", float32, float16 or bfloat16.')] = "auto",
    mask_token_id: Annotated[
        int | None, typer.Option(help="For checkpoints whose config.json does not name it.")
    ] = None,
    trace: Annotated[Path | None, typer.Option(help="Write the events to this file.")] = None,
    dependency: Annotated[
        str,
        typer.Option(
            help=f"Between slots, for the trace: {', '.join(DEPENDENCY_METHODS)} or none."
        ),
    ] = "attention",
    as_json: options.Json = False,
) -> None:
    """Decode a prompt and print the text."""
    config = options.decode_config(
        decoder,
        gen_length=gen_length,
        slot_size=slot_size,
        serial_blocks=serial_blocks,
        slot_threshold=slot_threshold,
        token_threshold=token_threshold,
        temperature=temperature,
        seed=seed,
        policy=policy,
        policy_count=policy_count,
        dependency_limit=dependency_limit,
        recompute_infill=recompute_infill,
        tokens_per_step=tokens_per_step,
        confidence_threshold=confidence_threshold,
        layout=layout,
    )
    ids = None if prompt_ids is None else _parse_ids(prompt_ids)
    if (prompt is None) == (ids is None):
        raise PromptError("--prompt", prompt, "is not one of two", "give --prompt or --prompt-ids")

    from . import decode
    from .checkpoint import load_checkpoint, use_fitting_threads

    checkpoint = load_checkpoint(model, device=device, dtype=dtype, mask_token_id=mask_token_id)
    use_fitting_threads(checkpoint)
    # Without a file the events only move the progress bar, so nothing else is measured for them.
    watched = RecordConfig(dependency=None if dependency == "none" else dependency)
    record = watched if trace else RecordConfig(top_k=0, dependency=None)
    events = decode(checkpoint, prompt=prompt, prompt_ids=ids, config=config, record=record)
    if trace:
        with options.open_for_writing(trace, "--trace") as file:
            finished = _consume(_written(events, file))
    else:
        finished = _consume(events)
    if as_json:
        typer.echo(dump_event(finished))
        return
    ids_text = " ".join(map(str, finished.output_ids))
    typer.echo(finished.text if finished.text is not None else ids_text)
    typer.echo(_one_line(finished), err=True)


@app.command("record")
def record_command(
    examples: Annotated[
        Path,
        typer.Argument(help="JSON list of objects with name, prompt, decoder, settings, record."),
    ],
    output: Annotated[Path, typer.Option(help="Folder for NAME.trace.jsonl.")],
    model: options.Model = "bundled",
    device: options.Device = "auto",
) -> None:
    """Decode a list of examples and write their traces."""
    wanted = [
        (
            entry["name"],
            entry["prompt"],
            CONFIGS[entry.get("decoder", "refusion")](**entry.get("settings", {})),
            RecordConfig(**entry.get("record", {})),
        )
        for entry in _read_examples(examples)
    ]

    from . import decode
    from .checkpoint import load_checkpoint, use_fitting_threads

    checkpoint = load_checkpoint(model, device=device)
    use_fitting_threads(checkpoint)
    output.mkdir(parents=True, exist_ok=True)
    for name, prompt, config, record in track(wanted, description="recording", console=_STDERR):
        path = output / f"{name}{TRACE_SUFFIX}"
        write_trace(decode(checkpoint, prompt=prompt, config=config, record=record), path)
        typer.echo(path)


@app.command("summarize")
def summarize_command(file: TraceFile, as_json: options.Json = False) -> None:
    """Print the figures of a recorded run."""
    trace = read_trace(file)
    finished = trace.finished
    if as_json:
        typer.echo(json.dumps(_summary(trace), ensure_ascii=False))
        return
    table = Table(title=file.name, show_header=False)
    for name, value in _summary(trace).items():
        table.add_row(name, json.dumps(value) if isinstance(value, dict) else str(value))
    Console().print(table)
    if finished is not None and finished.text is not None:
        typer.echo(finished.text)


@app.command("validate")
def validate_command(file: TraceFile) -> None:
    """Check a trace file; exit code 2 and the line and field if it is damaged."""
    trace = read_trace(file)
    state = "complete" if trace.finished else "partial: it has no run_finished"
    typer.echo(f"{file}: valid, {len(trace)} events, {state}")


@app.command("export")
def export_command(
    file: TraceFile,
    output: Annotated[Path | None, typer.Option(help="By default the trace's name, .html.")] = None,
) -> None:
    """Write one HTML page that plays a trace offline."""
    page = trace_page(file)
    path = output or file.with_name(f"{file.name.removesuffix(TRACE_SUFFIX)}.html")
    with options.open_for_writing(path, "--output") as target:
        target.write(page)
    typer.echo(path)


@app.command("calibrate")
def calibrate_command(
    files: Annotated[
        list[Path], typer.Argument(help="Traces of the ReFusion decoder, or folders of sweeps.")
    ],
    by: Annotated[
        str,
        typer.Option(help="slot_size, or family: of a sweep's prompt, or FAMILY-name of a file."),
    ] = "slot_size",
    as_json: options.Json = False,
) -> None:
    """Hold slot confidence against how often verify accepted the slot whole."""
    if by not in ("slot_size", "family"):
        raise ConfigError("--by", by, "is unknown", "give slot_size or family")
    runs = ((family, read_trace(path)) for path in files for family, path in _runs_of(path))
    results = grouped(
        (family if by == "family" else slot_size_of(trace), trace) for family, trace in runs
    )
    if as_json:
        typer.echo(json.dumps({group: asdict(found) for group, found in results.items()}))
        return
    for group, found in results.items():
        title = f"{group}: {found.count} chosen, calibration error {found.error:.3f}"
        table = Table("confidence", "slots", "mean confidence", "accepted whole", title=title)
        for entry in found.bins:
            table.add_row(
                f"{entry.low:g} to {entry.high:g}",
                str(entry.count),
                f"{entry.confidence:.3f}",
                f"{entry.accepted:.3f}",
            )
        Console().print(table)


@app.command("compare")
def compare_command(left: TraceFile, right: TraceFile, as_json: options.Json = False) -> None:
    """Tell where two runs of one prompt first differ, and why."""
    found = compare(read_trace(left), read_trace(right))
    if as_json:
        typer.echo(json.dumps(asdict(found), ensure_ascii=False))
        return
    table = Table("", "left", "right")
    for name, (a, b) in (found.settings | found.figures).items():
        table.add_row(name, str(a), str(b))
    Console().print(table)
    first = found.first
    typer.echo(
        "the runs did the same"
        if first is None
        else f"iteration {first.iteration + 1}, {first.stage}: {first.reason}"
    )
    other = [row for row in found.slots if row.other_text or row.other_order]
    if other:
        title = "slots that differ, and the iterations that committed them"
        table = Table("positions", "left", "text", "right", "text", title=title)
        for row in other:
            sides = chain.from_iterable(map(_cell, (row.left, row.right)))
            table.add_row(f"{row.start} to {row.end - 1}", *sides)
        Console().print(table)
    typer.echo("\n".join(found.text))


def _cell(cell: Cell | None) -> tuple[Text, Text]:
    """The slots of a cell with their iterations, and its text."""
    if cell is None:
        return Text(), Text()
    slots = (
        f"{slot}: {'never' if iteration is None else iteration + 1}"
        for slot, iteration in cell.slots
    )
    return Text(", ".join(slots)), Text(cell.text)


def _runs_of(path: Path) -> Iterator[tuple[str, Path]]:
    """Family and trace file of the runs that a path stands for."""
    if not path.is_dir():
        yield path.name.partition("-")[0], path
        return
    from .sweep import read_results

    for result in read_results(path):
        yield result.family or "none", path / result.trace


def _summary(trace: Trace) -> dict[str, object]:
    started, finished = trace.started, trace.finished
    statistics: Statistics = trace.statistics
    return {
        "run_id": started.run_id,
        "model": started.model.name,
        "decoder": started.decoder,
        "prompt_tokens": len(started.prompt_ids),
        "response_length": started.response_length,
        "events": len(trace),
        "stop_reason": finished.stop_reason if finished else "none: the trace is partial",
    } | {name: getattr(statistics, name) for name in statistics.__dataclass_fields__}


def _read_examples(path: Path) -> list[dict[str, Any]]:
    """The entries of an examples file; raises PromptError when one of them is not of the form."""
    fix = "give a JSON list of objects with name, prompt and, if wanted, decoder, settings, record"
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise PromptError("examples", str(path), f"cannot be read ({problem})", fix) from None
    for entry in entries if isinstance(entries, list) else [entries]:
        settings = entry.get("settings", {}) if isinstance(entry, dict) else None
        texts = isinstance(settings, dict) and (entry.get("name"), entry.get("prompt"))
        if not texts or not all(isinstance(text, str) for text in texts):
            raise PromptError("examples", entry, "is not of the form", fix)
        decoder, record = entry.get("decoder", "refusion"), entry.get("record", {})
        if decoder not in CONFIGS:
            raise PromptError(
                "examples decoder", decoder, "is unknown", f"give one of {', '.join(CONFIGS)}"
            )
        if not isinstance(record, dict):
            raise PromptError("examples record", record, "is not of the form", fix)
        for field, given, known in (
            ("settings", settings, CONFIGS[decoder]),
            ("record", record, RecordConfig),
        ):
            unknown = given.keys() - known.__dataclass_fields__.keys()
            if unknown:
                raise PromptError(f"examples {field}", sorted(unknown), "are unknown", fix)
    return entries


def _parse_ids(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise PromptError("--prompt-ids", text, "are not numbers", "give e.g. 1,2,3") from None


def _written(events: Iterator[Event], file: TextIO) -> Iterator[Event]:
    for event in events:
        file.write(dump_event(event) + "\n")
        yield event


def _consume(events: Iterator[Event]) -> RunFinished:
    """Run to the end with a progress bar on the terminal; returns the last event."""
    columns = (*Progress.get_default_columns()[:2], MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(
        *columns, console=_STDERR, transient=True, disable=not _STDERR.is_terminal
    ) as bar:
        task = bar.add_task("tokens", total=None)
        for event in events:
            if isinstance(event, RunStarted):
                bar.update(task, total=event.response_length)
            elif isinstance(event, Commit):
                bar.advance(task, sum(len(slot.tokens) for slot in event.slots))
    return event


def _one_line(finished: RunFinished) -> str:
    stats = finished.stats
    return (
        f"[{finished.stop_reason}] {stats.committed_tokens} tokens in {stats.forwards} forwards "
        f"({stats.tokens_per_forward:.2f} per forward), {stats.iterations} iterations, "
        f"cache hit rate {stats.cache_hit_rate:.0%}"
    )


def main() -> None:
    """Run the command line."""
    try:
        app()
    except RefusionError as problem:
        Console(stderr=True, soft_wrap=True).print(
            f"error: {problem}", markup=False, highlight=False
        )
        sys.exit(2)


if __name__ == "__main__":
    main()
