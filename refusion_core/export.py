"""One HTML file, or a notebook's output, that plays a trace: the player and the events, and nothing else.

Needs no torch, no network and no server. The page of ``assets/player`` is filled in here and by the player.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .errors import RefusionError
from .events import Event, dump_event
from .trace import Trace, read_trace

PLAYER = Path(__file__).resolve().parent.parent / "assets" / "player"
_MARKS = re.compile(r"(/\*(?:PLAYER_JS|TRACE_JSON|OPTIONS_JSON)\*/)")


def inline_json(value: object) -> str:
    """JSON that can stand inside a script element."""
    return json.dumps(value, ensure_ascii=False).replace("<", "\\u003c")


def player_script() -> str:
    """The source of the player, style included."""
    return (PLAYER / "player.js").read_text(encoding="utf-8").strip()


def page_of_text(text: str, lang: str | None = None) -> str:
    """The page that plays this JSON Lines text as it is, damaged or not; "" gives an empty player."""
    fills = {
        "/*PLAYER_JS*/": player_script(),
        "/*TRACE_JSON*/": inline_json(text) if text else "",
        "/*OPTIONS_JSON*/": inline_json({"lang": lang} if lang else {}),
    }
    template = (PLAYER / "page.html").read_text(encoding="utf-8")
    # Split once: the script holds the template, and so the marks, itself.
    return "".join(fills.get(part, part) for part in _MARKS.split(template))


def trace_page(trace: Trace | Iterable[Event] | str | Path, lang: str | None = None) -> str:
    """A self-contained HTML page that plays a trace, given as such, as events, or as a file.

    lang: "en" or "zh"; left out, the reader's browser decides

    Raises TraceError for a file that cannot be read, naming line and field.
    """
    if isinstance(trace, str | Path):
        trace = read_trace(trace)
    if isinstance(trace, Trace):
        return page_of_text(trace.dumps(), lang)
    return page_of_text("".join(dump_event(event) + "\n" for event in trace), lang)


def show(
    trace: Trace | Iterable[Event] | str | Path, *, height: int = 900, lang: str | None = None
) -> Any:
    """The player as the output of a notebook cell, ``height`` pixels tall; static, so it stays in exports.

    Raises RefusionError where IPython is missing, TraceError for a file that cannot be read.
    """
    try:
        from IPython.display import HTML
    except ImportError:
        raise RefusionError(
            "show",
            "IPython",
            "is missing",
            "call it in a notebook, or write trace_page(...) to a file",
        ) from None
    page = html.escape(trace_page(trace, lang), quote=True)
    return HTML(
        f'<div><iframe srcdoc="{page}" sandbox="allow-scripts allow-downloads" title="ReFusion decoding" '
        f'style="width: 100%; height: {int(height)}px; border: 0"></iframe></div>'
    )
