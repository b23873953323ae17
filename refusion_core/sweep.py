"""Many settings on many prompts: what they cost and how often the answer is right.

A sweep lives in a folder: ``sweep.json`` says of which model and prompts it is, ``results.jsonl`` holds a line
for every finished run, ``traces/`` its events. Whatever ends it, finished runs stay, and the next start does
the rest.
"""

from __future__ import annotations

import csv
import hashlib
import itertools
import json
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from .config import DecodeConfig, RecordConfig
from .errors import ConfigError
from .sweep_prompts import SweepPrompt
from .trace import TRACE_SUFFIX, write_trace

AXES = ("slot_size", "serial_blocks", "slot_threshold", "token_threshold", "policy")
_AHEAD = 4  # runs that wait for each process


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


def _whole_lines(path: Path) -> bytes:
    """What a file holds up to its last line break: a line that was cut off is left out."""
    return b"".join(path.read_bytes().rpartition(b"\n")[:2]) if path.exists() else b""


def read_results(folder: Path) -> list[Result]:
    """The finished runs in a folder, without a last line that was cut off.

    Raises ConfigError naming another line that is damaged.
    """
    results = []
    path = folder / "results.jsonl"
    # Only b"\n" ends a line: answers may hold other characters that count as line breaks.
    for number, line in enumerate(_whole_lines(path).split(b"\n")[:-1], start=1):
        try:
            results.append(Result.from_line(line.decode()))
        except (ValueError, TypeError, KeyError) as problem:
            raise ConfigError(
                f"results.jsonl line {number}",
                str(path),
                f"is damaged ({problem})",
                "remove that line: its run is then done again",
            ) from None
    return results


_OTHER = {"model": "another model", "prompts": "other prompts"}


class SweepFolder:
    """The finished runs of a sweep in a folder.

    Raises ConfigError where the folder cannot be used, or holds a sweep of another model or of other prompts.
    """

    def __init__(self, folder: Path, model: str | None, prompts: Sequence[SweepPrompt]) -> None:
        self.folder, self.prompts = folder, list(prompts)
        self._path = folder / "results.jsonl"
        try:
            (folder / "traces").mkdir(parents=True, exist_ok=True)
            self._claim(model)
        except OSError as problem:
            raise ConfigError(
                "output", str(folder), f"cannot be written ({problem.strerror})", "check the path"
            ) from None
        self.results = read_results(folder)
        if self._path.exists():  # a line that was cut off goes: its run is done again
            os.truncate(self._path, len(_whole_lines(self._path)))

    def _claim(self, model: str | None) -> None:
        """Note of which sweep the folder is; the file appears whole or not at all."""
        prompts = json.dumps([asdict(prompt) for prompt in self.prompts])
        about = {"model": model, "prompts": hashlib.sha256(prompts.encode()).hexdigest()}
        path = self.folder / "sweep.json"
        if not path.exists():
            unfinished = path.with_suffix(".part")
            unfinished.write_text(json.dumps(about), encoding="utf-8")
            unfinished.replace(path)
            return
        try:
            found = json.loads(path.read_bytes())
            others = [text for name, text in _OTHER.items() if found[name] != about[name]]
        except (ValueError, TypeError, KeyError):
            raise ConfigError(
                "sweep.json", str(path), "is damaged", "remove it if the sweep is this one"
            ) from None
        if others:
            raise ConfigError(
                "output",
                str(self.folder),
                f"holds a sweep of {' and '.join(others)}",
                "give another folder",
            )

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
    # Only the parent is asked to stop; and a parent that was killed cannot end its processes.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    import torch

    from .checkpoint import load_checkpoint

    torch.set_num_threads(1)
    checkpoint = load_checkpoint(source, **options)
    _worker.update(checkpoint=checkpoint, prompts=prompts, folder=Path(folder))


def _end_with_parent() -> None:
    multiprocessing.parent_process().join()
    os._exit(1)


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

    Raises ConfigError when one of the processes was ended from outside.
    """
    jobs = iter(sweep.missing(configs))
    pool = ProcessPoolExecutor(
        processes,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_start_worker,
        initargs=(source, options or {}, sweep.prompts, str(sweep.folder)),
    )
    running = set()
    try:
        running |= {pool.submit(_work, job) for job in itertools.islice(jobs, _AHEAD * processes)}
        while running:
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                result = future.result()
                running.remove(future)
                sweep.add(result)
                running |= {pool.submit(_work, job) for job in itertools.islice(jobs, 1)}
                yield result
    except BrokenProcessPool:
        raise ConfigError(
            "processes",
            processes,
            "did not all live to the end; memory may be short",
            "run it again, with fewer: what is finished stays",
        ) from None
    finally:  # stopped on the way: what is being decoded is still finished and noted
        pool.shutdown(cancel_futures=True)
        for future in running:
            if not future.cancelled() and future.exception() is None:
                sweep.add(future.result())


@dataclass(frozen=True, kw_only=True)
class Row:
    """The runs of one setting together: ratios of sums, never means of ratios.

    right: share of the ``judged`` answers, None without any
    forwards, iterations, seconds: per prompt
    parallel_iterations, out_of_order_slots: shares of iterations and slots
    best: of the settings with the most prompts done no other is better in one of right and tokens per forward
        and as good in the other; without answers to judge, none has more tokens per forward
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


def _is_best(row: Row, rows: Sequence[Row]) -> bool:
    most = max(other.prompts for other in rows)
    own = (row.right or 0.0, row.tokens_per_forward)
    pairs = [(o.right or 0.0, o.tokens_per_forward) for o in rows if o.prompts == most]
    return row.prompts == most and not any(
        right >= own[0] and speed >= own[1] and (right, speed) != own for right, speed in pairs
    )


def write_csv(rows: Sequence[Row], path: Path) -> None:
    """The rows as a table with a heading."""
    with path.open("w", encoding="utf-8", newline="") as file:
        table = [row.to_dict() for row in rows]
        writer = csv.DictWriter(file, list(table[0]))
        writer.writeheader()
        writer.writerows(table)
