"""Puts the player of assets/player into a Gradio page. Decides nothing about what it shows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import gradio as gr

from refusion_core.errors import TraceError
from refusion_core.export import inline_json, player_script
from refusion_core.trace import TRACE_SUFFIX, parse_trace

_ROOT = Path(__file__).resolve().parent.parent
TRACES = _ROOT / "assets" / "traces"
_BRIDGE = Path(__file__).with_name("bridge.js")
_KEPT = Path(__file__).with_name("kept.js")


def recorded_examples() -> dict[str, dict[str, str]]:
    """Name of every recorded example that is there, with its title per language, in the order offered."""
    entries = json.loads((TRACES / "examples.json").read_text(encoding="utf-8"))
    return {entry["name"]: entry["title"] for entry in entries if _path(entry["name"]).exists()}


def _path(name: str) -> Path:
    return TRACES / f"{name}{TRACE_SUFFIX}"


def example_text(name: str) -> str:
    """The trace of a recorded example. Raises TraceError for a name that is none."""
    if name not in recorded_examples():
        raise TraceError("example", name, "is not recorded", "pick one from the list")
    return _path(name).read_text(encoding="utf-8")


def check_trace(text: str) -> str | None:
    """What is wrong with a trace, naming line and field, or None."""
    try:
        parse_trace(text)
    except TraceError as problem:
        return str(problem)
    return None


def page_head(first_example: str | None) -> str:
    """Scripts of the page, with the example that plays first, so that nothing else is fetched."""
    trace = example_text(first_example) if first_example else None
    first = {"name": first_example, "trace": trace}
    scripts = [
        player_script(),
        _KEPT.read_text(encoding="utf-8"),
        _BRIDGE.read_text(encoding="utf-8"),
        f"window.refusionFirstExample = {inline_json(first)};",
    ]
    return "".join(f"<script>{script}</script>" for script in scripts)


def player_component(server_functions: list[Callable]) -> gr.HTML:
    """The one mounted player. The template is constant: what a model wrote never passes through it."""
    return gr.HTML(
        html_template='<div class="refusion-message" role="alert" hidden></div>'
        '<div class="refusion-mount"></div>',
        js_on_load="window.RefusionBridge.mount(element, server);",
        apply_default_css=False,
        server_functions=server_functions,
        elem_id="player",
    )
