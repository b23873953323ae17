"""Draws the metrics of a training as one picture."""

from __future__ import annotations

import json
import warnings
from pathlib import Path


def plot_metrics(metrics: Path, picture: Path) -> None:
    """Loss and accuracies by family over the fed tokens, from ``metrics.jsonl`` to a PNG.

    Needs matplotlib (requirements-dev.txt); a training without it is told so and loses nothing else.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        warnings.warn("no metrics.png: install matplotlib for it", stacklevel=2)
        return
    records = [json.loads(line) for line in metrics.read_text().splitlines()]
    losses = [(record["tokens"], record["loss"]) for record in records if "loss" in record]
    measured = [
        (record["tokens"], record["accuracy"]) for record in records if "accuracy" in record
    ]
    figure = Figure(figsize=(12, 4), layout="constrained")
    loss_axes, *accuracy_axes = figure.subplots(1, 3)
    loss_axes.plot(*zip(*losses, strict=True) if losses else ((), ()))
    loss_axes.set(title="loss", yscale="log")
    for axes, label in zip(accuracy_axes, ("next", "slot_start"), strict=True):
        for family in measured[-1][1] if measured else ():
            points = [(n, all_[family][label]) for n, all_ in measured if label in all_[family]]
            if points:
                axes.plot(*zip(*points, strict=True), marker=".", label=family)
        axes.set(title=f"teacher-forced accuracy, {label}", ylim=(0, 1.02))
        if axes.lines:
            axes.legend(fontsize="small")
    for axes in (loss_axes, *accuracy_axes):
        axes.set_xlabel("fed tokens")
    figure.savefig(picture, dpi=110)
