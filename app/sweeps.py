"""What the page of many runs works on: a visitor's sweep, its tables, calibrations. Knows nothing of Gradio."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from refusion_core import DecodeConfig, parse_trace, read_trace
from refusion_core.calibration import Calibration, grouped, slot_size_of
from refusion_core.errors import ConfigError, PromptError
from refusion_core.sweep import AXES, Result, Row, grid, summarise
from refusion_core.sweep_prompts import SweepPrompt, drawn_prompts, parse_prompts

from .player import example_text, recorded_examples

MAX_RUNS = 2000
_MAX_UPLOAD = 2**20
METRICS = ("right", "tokens_per_forward", "forwards", "iterations", "seconds")
# Columns of the tables, by the names of their headings.
ROW_COLUMNS = ("best", *AXES, "prompts", *METRICS)
RUN_COLUMNS = ("number", "prompt", "text", "right", "forwards", "tokens_per_forward", "seconds")
BIN_COLUMNS = ("group", "between", "slots", "confidence", "accepted")
_VERDICTS = {True: "✓", False: "✗", None: "–"}


@dataclass
class Sweep:
    """A sweep of a visitor, and how it is looked at: metric and group of its heatmap, key of the setting whose
    runs are listed. ``folder`` is its own, and gone with the visitor's session."""

    folder: tempfile.TemporaryDirectory = field(
        default_factory=lambda: tempfile.TemporaryDirectory(prefix="refusion-sweep-")
    )
    prompts: list[str] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    stopped: bool = False
    metric: str = "tokens_per_forward"
    group: str | None = None
    chosen: str = ""

    def __deepcopy__(self, _: Any) -> Sweep:
        """Gradio copies the first value of a state for every visitor."""
        return Sweep()

    @property
    def path(self) -> Path:
        """Where its files are."""
        return Path(self.folder.name)

    @property
    def rows(self) -> list[Row]:
        """The settings that have runs so far."""
        return summarise(list(self.results))

    def halt(self) -> None:
        """Ask it to end after the run that is being decoded."""
        self.stopped = True

    def runs(self, key: str) -> list[Result]:
        """The runs of a setting, in the order of the prompts."""
        own = (result for result in self.results if key_of(result.config) == key)
        return sorted(own, key=lambda result: result.prompt)

    def trace(self, key: str, number: int) -> str:
        """The trace of a setting's run of prompt ``number``, counted from 1; empty if there is none."""
        for result in self.runs(key):
            if result.prompt == number - 1:
                return (self.path / result.trace).read_text(encoding="utf-8")
        return ""


def key_of(config: DecodeConfig) -> str:
    """What names a setting among those of a sweep, in tables and figures."""
    return key_of_cells([getattr(config, name) for name in AXES])


def key_of_cells(cells: Sequence[Any]) -> str:
    """The key of a setting from the cells of its row behind the star, as numbers or as text."""
    *numbers, policy = cells[: len(AXES)]
    return " ".join([*(repr(float(number)) for number in numbers), str(policy)])


def group_of(config: DecodeConfig) -> str:
    """What a heatmap is about: the values of the axes that it does not show."""
    return f"{config.slot_size}, {config.serial_blocks}, {config.policy}"


def read_values(name: str, text: str) -> list[Any]:
    """The values of an axis, "0.5, 0.9"; raises ConfigError naming the axis for what is no number."""
    kind = int if name in ("slot_size", "serial_blocks") else float
    try:
        return [kind(part) for part in text.replace("，", ",").split(",") if part.strip()]
    except ValueError:
        example = "4, 8" if kind is int else "0.5, 0.9"
        raise ConfigError(
            name, text, "are not all numbers", f"give values such as {example}"
        ) from None


def read_upload(path: Path) -> str:
    """The text of a file of prompts. Raises PromptError for one that is too large or no text."""
    if path.stat().st_size > _MAX_UPLOAD:
        raise PromptError("file", path.name, "is larger than 1 MB", "use the command line")
    try:
        return path.read_text(encoding="utf-8-sig")
    except ValueError:
        raise PromptError("file", path.name, "is no UTF-8 text", "choose a .jsonl file") from None


def asked(
    text: str, families: Sequence[str], per_family: int | None, axes: dict[str, list[Any]]
) -> tuple[list[SweepPrompt], list[DecodeConfig]]:
    """The prompts and settings that the page asks for: of task families, or else of a text with a prompt or a
    JSON object a line.

    Raises RefusionError for none, for bad ones, and for too many.
    """
    lines = [line for line in text.split("\n") if line.strip()]
    if families and (per_family is None or per_family < 1):
        raise ConfigError("per_family", per_family, "is too small", "give at least 1")
    prompts = len(families) * per_family if families else len(lines)
    settings = math.prod(len(values) or 1 for values in axes.values())
    if prompts * settings > MAX_RUNS:
        raise ConfigError(
            "sweep",
            f"{prompts} prompts, {settings} settings",
            f"are more than {MAX_RUNS} runs",
            "give fewer, or use the command line",
        )
    configs = grid(DecodeConfig(), **axes)
    if families:
        return drawn_prompts(families, per_family), configs
    if not any(line.lstrip().startswith("{") for line in lines):
        lines = [json.dumps({"prompt": line.strip()}) for line in lines]
    return parse_prompts(lines), configs


def calibrated(source: str, by: str, sweep: Sweep) -> dict[str, Calibration]:
    """Reliability of the recorded examples or of a sweep's runs, by "slot_size" or "family"."""
    if source == "sweep":
        runs = ((r.family or "–", read_trace(sweep.path / r.trace)) for r in list(sweep.results))
    else:
        runs = (
            (name.partition("-")[0], parse_trace(example_text(name)))
            for name in recorded_examples()
        )
    return grouped((family if by == "family" else slot_size_of(run), run) for family, run in runs)


def row_cells(row: Row) -> list[Any]:
    """A setting as a line of the table."""
    values = row.to_dict() | {"best": "★" if row.best else ""}
    return ["–" if values[name] is None else values[name] for name in ROW_COLUMNS]


def run_cells(sweep: Sweep, run: Result) -> list[Any]:
    """A run as a line of the table."""
    return [
        run.prompt + 1,
        sweep.prompts[run.prompt],
        run.text,
        _VERDICTS[run.right],
        run.forwards,
        round(run.tokens / max(1, run.forwards), 2),
        round(run.seconds, 3),
    ]


def bin_cells(groups: dict[str, Calibration]) -> Iterable[list[Any]]:
    """Calibrations as lines of the table."""
    for group, found in groups.items():
        for entry in found.bins:
            between = f"{entry.low:g} – {entry.high:g}"
            shares = (round(entry.confidence, 4), round(entry.accepted, 4))
            yield [group, between, entry.count, *shares]
