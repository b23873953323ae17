"""Plotly figures of sweeps and calibration, on transparent grounds that suit either theme."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from refusion_core.calibration import Calibration
from refusion_core.sweep import Row

PLAN, CHOSEN, VERIFIED = "#0072b2", "#e69f00", "#009e73"
_GREY = "rgba(128, 128, 128, 0.35)"
METRICS = ("right", "tokens_per_forward", "forwards", "iterations", "seconds")


def _layout(figure: go.Figure, x: str, y: str, height: int) -> go.Figure:
    figure.update_layout(
        height=height,
        margin={"l": 60, "r": 20, "t": 20, "b": 50},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"color": "#777777", "family": "system-ui, sans-serif"},
        showlegend=False,
        dragmode=False,
    )
    axes = {"gridcolor": _GREY, "linecolor": _GREY, "zeroline": False}
    figure.update_xaxes(title=x, **axes)
    figure.update_yaxes(title=y, **axes)
    return figure


def heatmap(rows: Sequence[Row], metric: str, names: dict[str, str]) -> go.Figure:
    """``metric`` over slot threshold (right) and token threshold (up); each cell carries the place of its row
    in ``rows``. ``names``: texts of metrics and settings."""
    columns = sorted({row.config.slot_threshold for row in rows})
    lines = sorted({row.config.token_threshold for row in rows})
    values: list[list[Any]] = [[None] * len(columns) for _ in lines]
    places: list[list[Any]] = [[None] * len(columns) for _ in lines]
    for place, row in enumerate(rows):
        line = lines.index(row.config.token_threshold)
        column = columns.index(row.config.slot_threshold)
        values[line][column] = getattr(row, metric)
        places[line][column] = place
    figure = go.Figure(
        go.Heatmap(
            x=[f"{value:g}" for value in columns],
            y=[f"{value:g}" for value in lines],
            z=values,
            customdata=places,
            texttemplate="%{z:.3g}",
            colorscale="Cividis",  # even, and the same to the colour-blind
            xgap=2,
            ygap=2,
            hovertemplate=f"{names['slot_threshold']} %{{x}}<br>{names['token_threshold']} %{{y}}<br>"
            f"{names[metric]} %{{z:.4g}}<extra></extra>",
        )
    )
    figure.update_xaxes(type="category")
    figure.update_yaxes(type="category")
    return _layout(figure, names["slot_threshold"], names["token_threshold"], 340)


def pareto(rows: Sequence[Row], names: dict[str, str]) -> go.Figure:
    """How often right (up) against tokens per forward (right); the best settings are joined. Points carry the
    places of their rows. Without answers that can be judged all lie on one line."""
    best = sorted((row for row in rows if row.best), key=lambda row: row.tokens_per_forward)
    figure = go.Figure(
        go.Scatter(
            x=[row.tokens_per_forward for row in best],
            y=[row.right or 0 for row in best],
            mode="lines",
            line={"color": CHOSEN, "width": 2},
            hoverinfo="skip",
        )
    )
    figure.add_scatter(
        x=[row.tokens_per_forward for row in rows],
        y=[row.right or 0 for row in rows],
        customdata=list(range(len(rows))),
        mode="markers",
        marker={
            "size": [12 if row.best else 9 for row in rows],
            "symbol": ["diamond" if row.best else "circle" for row in rows],
            "color": [CHOSEN if row.best else PLAN for row in rows],
        },
        text=[describe(row, names) for row in rows],
        hovertemplate="%{text}<br>%{y:.3f} · %{x:.2f}<extra></extra>",
    )
    return _layout(figure, names["tokens_per_forward"], names["right"], 340)


def describe(row: Row, names: dict[str, str]) -> str:
    """The settings of a row in a line."""
    config = row.config
    return (
        f"{config.policy} · {names['slot_size']} {config.slot_size} · {names['serial_blocks']} "
        f"{config.serial_blocks} · {config.slot_threshold:g} / {config.token_threshold:g}"
    )


def reliability(groups: dict[str, Calibration], names: dict[str, str]) -> go.Figure:
    """Share of slots accepted whole against their mean confidence, bin by bin; sizes of points are counts. On
    the diagonal confidence says what it means."""
    figure = go.Figure(
        go.Scatter(
            x=[0, 1], y=[0, 1], mode="lines", line={"color": _GREY, "dash": "dot"}, hoverinfo="skip"
        )
    )
    colours = (
        PLAN,
        CHOSEN,
        VERIFIED,
        "#d55e00",
        "#cc79a7",
        "#56b4e9",
        "#808080",
        "#f0e442",
        "#404040",
    )
    symbols = (
        "circle",
        "diamond",
        "square",
        "cross",
        "x",
        "triangle-up",
        "star",
        "hexagon",
        "pentagon",
    )
    for place, (name, found) in enumerate(groups.items()):
        counts = [entry.count for entry in found.bins]
        figure.add_scatter(
            name=f"{name} ({found.count}, {names['error']} {found.error:.3f})",
            x=[entry.confidence for entry in found.bins],
            y=[entry.accepted for entry in found.bins],
            customdata=counts,
            mode="lines+markers",
            line={"color": colours[place % len(colours)], "width": 1},
            marker={
                "symbol": symbols[place % len(symbols)],
                "size": [6 + 14 * (count / max(counts)) ** 0.5 for count in counts],
            },
            hovertemplate=f"{name}<br>%{{x:.4f}} → %{{y:.3f}}<br>%{{customdata}}<extra></extra>",
        )
    figure = _layout(figure, names["confidence"], names["accepted"], 460)
    figure.data[0].showlegend = False
    return figure.update_layout(showlegend=True, legend={"orientation": "h", "y": -0.25})
