"""Plotly figures of sweeps and calibration, on transparent grounds that suit either theme."""

from __future__ import annotations

import math
from collections.abc import Sequence

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from refusion_core.calibration import BINS, Calibration
from refusion_core.sweep import Row

from .sweeps import key_of

PLAN, CHOSEN, VERIFIED = "#0072b2", "#e69f00", "#009e73"
_REJECTED, _FORCED, _SKY, _GREY = "#d55e00", "#cc79a7", "#56b4e9", "#8a8a8a"
_COLOURS = (PLAN, CHOSEN, VERIFIED, _REJECTED, _FORCED, _SKY, _GREY)
# Groups beyond the colours have one again, but another symbol, and hatched bars.
_SYMBOLS = ("circle", "diamond", "square", "cross", "x", "triangle-up", "star", "hexagon")
_FAINT = "rgba(128, 128, 128, 0.35)"


def _layout(figure: go.Figure, height: int) -> go.Figure:
    """What all figures share. The page gives their texts the colour of its theme."""
    axes = {"gridcolor": _FAINT, "linecolor": _FAINT, "zeroline": False, "automargin": True}
    return (
        figure.update_layout(
            height=height,
            margin={"l": 60, "r": 20, "t": 20, "b": 50},
            paper_bgcolor="rgba(0,0,0,0)",
            plot_bgcolor="rgba(0,0,0,0)",
            font={"color": "#777777", "family": "system-ui, sans-serif"},
            showlegend=False,
            dragmode=False,
        )
        .update_xaxes(**axes)
        .update_yaxes(**axes)
    )


def heatmap(rows: Sequence[Row], metric: str, names: dict[str, str]) -> go.Figure:
    """``metric`` over slot threshold (right) and token threshold (up); cells carry the keys of their settings.
    ``names``: texts of metrics and settings."""
    columns = sorted({row.config.slot_threshold for row in rows})
    lines = sorted({row.config.token_threshold for row in rows})
    values: list[list[float | None]] = [[None] * len(columns) for _ in lines]
    keys: list[list[str]] = [[""] * len(columns) for _ in lines]
    for row in rows:
        line = lines.index(row.config.token_threshold)
        column = columns.index(row.config.slot_threshold)
        values[line][column] = getattr(row, metric)
        keys[line][column] = key_of(row.config)
    figure = go.Figure(
        go.Heatmap(
            x=[f"{value:g}" for value in columns],
            y=[f"{value:g}" for value in lines],
            z=values,
            customdata=keys,
            texttemplate="%{z:.3g}",
            colorscale="Cividis",  # even, and the same to the colour-blind
            xgap=2,
            ygap=2,
            hovertemplate=f"{names['slot_threshold']} %{{x}}<br>{names['token_threshold']} %{{y}}<br>"
            f"{names[metric]} %{{z:.4g}}<extra></extra>",
        )
    )
    figure.update_xaxes(type="category", title=names["slot_threshold"])
    figure.update_yaxes(type="category", title=names["token_threshold"])
    return _layout(figure, 340)


def pareto(rows: Sequence[Row], names: dict[str, str]) -> go.Figure:
    """How often right (up) against tokens per forward (right); the best settings are joined. Points carry the
    keys of their settings. Without answers to judge, forwards take the place of right."""
    judged = any(row.judged for row in rows)
    up = "right" if judged else "forwards"
    known = [row for row in rows if getattr(row, up) is not None]
    best = sorted((row for row in known if row.best), key=lambda row: row.tokens_per_forward)
    figure = go.Figure(
        go.Scatter(
            x=[row.tokens_per_forward for row in best],
            y=[getattr(row, up) for row in best],
            mode="lines",
            line={"color": CHOSEN, "width": 2},
            hoverinfo="skip",
        )
    )
    figure.add_scatter(
        x=[row.tokens_per_forward for row in known],
        y=[getattr(row, up) for row in known],
        customdata=[key_of(row.config) for row in known],
        mode="markers",
        marker={
            "size": [13 if row.best else 9 for row in known],
            "symbol": ["diamond" if row.best else "circle" for row in known],
            "color": [CHOSEN if row.best else PLAN for row in known],
        },
        text=[describe(row, names) for row in known],
        hovertemplate="%{text}<br>%{y:.3f} · %{x:.2f}<extra></extra>",
    )
    figure.update_xaxes(title=names["tokens_per_forward"])
    figure.update_yaxes(title=names[up], range=[-0.05, 1.05] if judged else None)
    return _layout(figure, 340)


def describe(row: Row, names: dict[str, str]) -> str:
    """The settings of a row in a line."""
    config = row.config
    return (
        f"{config.policy} · {names['slot_size']} {config.slot_size} · {names['serial_blocks']} "
        f"{config.serial_blocks} · {config.slot_threshold:g} / {config.token_threshold:g}"
    )


def reliability(groups: dict[str, Calibration], names: dict[str, str]) -> go.Figure:
    """Above, the share of slots accepted whole against their mean confidence, bin by bin: on the diagonal
    confidence says what it means. Below, how many slots each bin has."""
    figure = make_subplots(rows=2, cols=1, row_heights=[0.66, 0.34], vertical_spacing=0.16)
    figure.add_scatter(
        x=[0, 1],
        y=[0, 1],
        mode="lines",
        line={"color": _GREY, "dash": "dot"},
        hoverinfo="skip",
        showlegend=False,
        row=1,
        col=1,
    )
    for place, (name, found) in enumerate(groups.items()):
        colour = _COLOURS[place % len(_COLOURS)]
        counts = [entry.count for entry in found.bins]
        figure.add_scatter(
            name=f"{name} ({found.count}, {names['error']} {found.error:.3f})",
            legendgroup=name,
            x=[entry.confidence for entry in found.bins],
            y=[entry.accepted for entry in found.bins],
            customdata=counts,
            mode="lines+markers",
            line={"color": colour, "width": 1},
            marker={"symbol": _SYMBOLS[place % len(_SYMBOLS)], "size": 9},
            hovertemplate=f"{name}<br>%{{x:.4f}} → %{{y:.3f}}<br>"
            f"{names['slots']} %{{customdata}}<extra></extra>",
            row=1,
            col=1,
        )
        figure.add_bar(
            name=name,
            legendgroup=name,
            showlegend=False,
            x=[_up_to(entry.high) for entry in found.bins],
            y=counts,
            marker={"color": colour, "pattern": {"shape": "/" if place >= len(_COLOURS) else ""}},
            hovertemplate=f"{name}<br>%{{x}}<br>{names['slots']} %{{y}}<extra></extra>",
            row=2,
            col=1,
        )
    bins = [entry for found in groups.values() for entry in found.bins]
    lowest = min((entry.confidence for entry in bins), default=0.0)
    most = max((entry.count for entry in bins), default=1)
    figure = _layout(figure, 640)
    span = [max(0.0, lowest - 0.05), 1.02]
    figure.update_xaxes(title=names["confidence"], range=span, row=1, col=1)
    figure.update_yaxes(title=names["accepted"], range=[-0.03, 1.05], row=1, col=1)
    heights = [-0.3, math.log10(most) + 0.2]  # powers of ten, from below 1
    order = [_up_to(high) for high in BINS]
    figure.update_xaxes(
        title=names["up_to"],
        type="category",
        categoryorder="array",
        categoryarray=order,
        row=2,
        col=1,
    )
    figure.update_yaxes(title=names["slots"], type="log", dtick=1, range=heights, row=2, col=1)
    return figure.update_layout(showlegend=True, legend={"orientation": "h", "y": -0.2})


def _up_to(high: float) -> str:
    return f"≤ {high:g}"
