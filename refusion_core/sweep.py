"""Many settings on many prompts: what they cost and how often the answer is right.

A sweep lives in a folder: ``sweep.json`` says of which model and prompts it is, ``results.jsonl`` holds a line
for every finished run, ``traces/`` its events. Whatever ends it, finished runs stay, and the next start does
the rest.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import multiprocessing
import os
import random
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from .config import DecodeConfig, RecordConfig
from .errors import ConfigError, PromptError
from .trace import TRACE_SUFFIX, write_trace

AXES = ("slot_size", "serial_blocks", "slot_threshold", "token_threshold", "policy")
_AHEAD = 4  # runs that wait for each process


@dataclass(frozen=True, kw_only=True)
class SweepPrompt:
    """A prompt and how its answer is judged: by what is ``expected`` (spaces and line breaks aside), or, where
    ``draw`` numbers a held-out sample of a task ``family``, by the family's own check."""

    prompt: str
    expected: str | None = None
    family: str | None = None
    draw: int | None = None

    def judge(self, text: str) -> bool | None:
        """Whether an answer is right, None where nobody can tell."""
        if self.draw is not None:
            from .training.tasks import FAMILIES

            return FAMILIES[self.family].check(_sample(self.family, self.draw), text)
        return None if self.expected is None else text.split() == self.expected.split()


def _sample(family: str, draw: int) -> Any:
    from .training.tasks import FAMILIES

    return FAMILIES[family].sample(random.Random(f"sweep {family} {draw}"), "dev")


def drawn_prompts(families: Iterable[str], per_family: int) -> list[SweepPrompt]:
    """Prompts of the development split of task families. Raises ConfigError for an unknown family."""
    from .training.tasks import FAMILIES

    prompts = []
    for family in families:
        if family not in FAMILIES:
            raise ConfigError("family", family, "is unknown", f"give one of {', '.join(FAMILIES)}")
        for draw in range(per_family):
            prompt = _sample(family, draw).prompt
            prompts.append(SweepPrompt(prompt=prompt, family=family, draw=draw))
    return prompts


def read_prompts(path: Path) -> list[SweepPrompt]:
    """Prompts of a JSON Lines file of objects with ``prompt`` and, if wanted, ``expected`` and ``family``.

    Raises PromptError naming the line.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as problem:
        raise PromptError("prompts", str(path), f"cannot be read ({problem})", _FORM) from None
    return parse_prompts(lines, str(path))


_FORM = 'give lines such as {"prompt": "Add 2 and 3.", "expected": "5"}'


def parse_prompts(lines: Iterable[str], source: str = "prompts") -> list[SweepPrompt]:
    """The prompts of JSON Lines; raises PromptError naming the line."""
    prompts = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        where = f"{source} line {number}"
        try:
            entry = json.loads(line)
        except ValueError:
            raise PromptError(where, line, "is no JSON", _FORM) from None
        texts = entry if isinstance(entry, dict) else {}
        wrong = not str(texts.get("prompt", "")).strip() or not all(
            name in ("prompt", "expected", "family") and isinstance(text, str)
            for name, text in texts.items()
        )
        if wrong:
            raise PromptError(where, entry, "is not of the form", _FORM)
        prompts.append(SweepPrompt(**texts))
    if not prompts:
        raise PromptError(source, "", "hold no prompt", _FORM)
    return prompts


def grid(base: DecodeConfig, **axes: Sequence[Any]) -> list[DecodeConfig]:
    """``base`` with every combination of the values of ``axes``, each once. Raises ConfigError for one that is
    impossible."""
    names = [name for name, values in axes.items() if values]
    combinations = itertools.product(*(axes[name] for name in names))
    configs = (
        DecodeConfig(**base.to_dict() | dict(zip(names, values, strict=True)))
        for values in combinations
    )
    return list(dict.fromkeys(configs))


@dataclass(frozen=True, kw_only=True)
class Result:
    """One finished run. ``prompt`` numbers the sweep's prompts, ``trace`` lies in its folder; ``seconds`` are
    those of decoding."""

    config: DecodeConfig
    prompt: int
    family: str | None
    text: str | None
    right: bool | None
    tokens: int
    forwards: int
    iterations: int
    parallel_iterations: int
    slots: int
    out_of_order_slots: int
    seconds: float
    trace: str

    @property
    def job(self) -> tuple[DecodeConfig, int]:
        """What was run."""
        return self.config, self.prompt

    def to_line(self) -> str:
        """As a line of JSON."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def from_line(cls, line: str) -> Result:
        """Back from a line of JSON; raises ValueError or TypeError where it is none."""
        values = json.loads(line)
        return cls(**values | {"config": DecodeConfig(**values["config"])})


def read_results(folder: Path) -> list[Result]:
    """The finished runs in a folder, without a last line that was cut off.

    Raises ConfigError where another line is damaged.
    """
    path = folder / "results.jsonl"
    whole = path.read_text(encoding="utf-8").rpartition("\n")[0] if path.exists() else ""
    try:
        return [Result.from_line(line) for line in whole.splitlines()]
    except (ValueError, TypeError, KeyError) as problem:
        raise ConfigError(
            "results.jsonl", str(path), f"is damaged ({problem})", "repair or remove it"
        ) from None


class SweepFolder:
    """The finished runs of a sweep in a folder.

    Raises ConfigError where the folder holds a sweep of another model or of other prompts.
    """

    def __init__(self, folder: Path, model: str, prompts: Sequence[SweepPrompt]) -> None:
        self.folder, self.prompts = folder, list(prompts)
        (folder / "traces").mkdir(parents=True, exist_ok=True)
        digest = hashlib.sha256(json.dumps([asdict(p) for p in self.prompts]).encode()).hexdigest()
        about, path = {"model": model, "prompts": digest}, folder / "sweep.json"
        if path.exists() and (found := json.loads(path.read_text("utf-8"))) != about:
            other = "model" if found.get("model") != model else "prompts"
            raise ConfigError(
                "output", str(folder), f"holds a sweep of another {other}", "give another folder"
            )
        path.write_text(json.dumps(about), encoding="utf-8")
        self._path = folder / "results.jsonl"
        self.results = read_results(folder)
        self._mend()

    def _mend(self) -> None:
        """Take away a last line that was cut off: its run is done again."""
        if self._path.exists() and not self._path.read_bytes().endswith(b"\n"):
            mended = self._path.with_suffix(".part")
            mended.write_text("".join(f"{r.to_line()}\n" for r in self.results), encoding="utf-8")
            mended.replace(self._path)

    def missing(self, configs: Iterable[DecodeConfig]) -> list[tuple[DecodeConfig, int]]:
        """The runs that are still to be done, prompt by prompt within every setting."""
        done = {result.job for result in self.results}
        jobs = itertools.product(configs, range(len(self.prompts)))
        return [job for job in jobs if job not in done]

    def add(self, result: Result) -> None:
        """Note a finished run, on the disk before anything else."""
        with self._path.open("a", encoding="utf-8") as file:
            file.write(result.to_line() + "\n")
            file.flush()
            os.fsync(file.fileno())
        self.results.append(result)


def run_job(
    checkpoint: Any, prompt: SweepPrompt, number: int, config: DecodeConfig, folder: Path
) -> Result:
    """Decode one prompt with one setting and write its trace, which appears whole or not at all."""
    from .api import decode

    settings = hashlib.sha256(repr(config).encode()).hexdigest()[:12]
    name = f"traces/{settings}-{number:04d}{TRACE_SUFFIX}"
    started = time.perf_counter()
    record = RecordConfig(top_k=0, dependency=None)
    events = list(decode(checkpoint, prompt=prompt.prompt, config=config, record=record))
    seconds = time.perf_counter() - started
    unfinished = folder / f"{name}.part"
    write_trace(events, unfinished)
    unfinished.replace(folder / name)
    finished = events[-1]
    return Result(
        config=config,
        prompt=number,
        family=prompt.family,
        text=finished.text,
        right=prompt.judge(finished.text or ""),
        tokens=finished.stats.committed_tokens,
        forwards=finished.stats.forwards,
        iterations=finished.stats.iterations,
        parallel_iterations=finished.stats.parallel_iterations,
        slots=finished.stats.slots_committed,
        out_of_order_slots=finished.stats.out_of_order_slots,
        seconds=round(seconds, 6),
        trace=name,
    )


_worker: dict[str, Any] = {}


def _start_worker(source: str, options: dict[str, Any], prompts: list[SweepPrompt], folder: str):
    """Every process loads the model once and computes with one thread."""
    import torch

    from .checkpoint import load_checkpoint

    torch.set_num_threads(1)
    checkpoint = load_checkpoint(source, **options)
    _worker.update(checkpoint=checkpoint, prompts=prompts, folder=Path(folder))


def _work(job: tuple[DecodeConfig, int]) -> Result:
    config, number = job
    checkpoint, prompts = _worker["checkpoint"], _worker["prompts"]
    return run_job(checkpoint, prompts[number], number, config, _worker["folder"])


def run_sweep(
    sweep: SweepFolder,
    configs: Iterable[DecodeConfig],
    source: str,
    *,
    processes: int = 1,
    options: dict[str, Any] | None = None,
) -> Iterator[Result]:
    """Do what is missing, in processes of their own; yields results as they come, each already on the disk.

    source, options: the model, as for ``load_checkpoint``
    """
    jobs = iter(sweep.missing(configs))
    with ProcessPoolExecutor(
        processes,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_start_worker,
        initargs=(source, options or {}, sweep.prompts, str(sweep.folder)),
    ) as pool:
        running = {pool.submit(_work, job) for job in itertools.islice(jobs, _AHEAD * processes)}
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                sweep.add(result := future.result())
                running |= {pool.submit(_work, job) for job in itertools.islice(jobs, 1)}
                yield result


@dataclass(frozen=True, kw_only=True)
class Row:
    """The runs of one setting together: ratios of sums, never means of ratios.

    right: share of the ``judged`` answers, None without any
    forwards, iterations, seconds: per prompt
    parallel_iterations, out_of_order_slots: shares of iterations and slots
    best: no other setting is better in one of right and tokens per forward and as good in the other
    """

    config: DecodeConfig
    prompts: int
    judged: int
    right: float | None
    tokens_per_forward: float
    forwards: float
    iterations: float
    parallel_iterations: float
    out_of_order_slots: float
    seconds: float
    best: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Settings of the axes and figures, side by side."""
        figures = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "config"}
        return {name: getattr(self.config, name) for name in AXES} | figures


def summarise(results: Iterable[Result]) -> list[Row]:
    """A row for every setting, the most tokens per forward first."""
    by_config: dict[DecodeConfig, list[Result]] = {}
    for result in results:
        by_config.setdefault(result.config, []).append(result)
    rows = []
    for config, runs in by_config.items():
        verdicts = [run.right for run in runs if run.right is not None]
        sums = {name: sum(getattr(run, name) for run in runs) for name in _SUMMED}
        rows.append(
            Row(
                config=config,
                prompts=len(runs),
                judged=len(verdicts),
                right=round(sum(verdicts) / len(verdicts), 4) if verdicts else None,
                tokens_per_forward=round(sums["tokens"] / max(1, sums["forwards"]), 3),
                forwards=round(sums["forwards"] / len(runs), 2),
                iterations=round(sums["iterations"] / len(runs), 2),
                parallel_iterations=_share(sums["parallel_iterations"], sums["iterations"]),
                out_of_order_slots=_share(sums["out_of_order_slots"], sums["slots"]),
                seconds=round(sums["seconds"] / len(runs), 4),
            )
        )
    rows.sort(key=lambda row: -row.tokens_per_forward)
    return [replace(row, best=_is_best(row, rows)) for row in rows]


_SUMMED = (
    "tokens",
    "forwards",
    "iterations",
    "parallel_iterations",
    "slots",
    "out_of_order_slots",
    "seconds",
)


def _share(part: float, whole: float) -> float:
    return round(part / whole, 4) if whole else 0.0


def _is_best(row: Row, rows: Iterable[Row]) -> bool:
    own = (row.right or 0.0, row.tokens_per_forward)
    pairs = [(other.right or 0.0, other.tokens_per_forward) for other in rows]
    return not any(a >= own[0] and b >= own[1] and (a, b) != own for a, b in pairs)
