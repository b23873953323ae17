"""ReFusion decoding, instrumented: a compact model, a decoder that emits events, and traces of them.

Reading traces needs no torch; the names that do are imported when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .config import DecodeConfig, RecordConfig
from .errors import CheckpointError, ConfigError, PromptError, RefusionError, TraceError
from .export import show, trace_page
from .fork import Fork
from .trace import Trace, parse_trace, read_trace, write_trace

if TYPE_CHECKING:
    from .api import decode
    from .checkpoint import Checkpoint, load_checkpoint

__all__ = [
    "Checkpoint",
    "CheckpointError",
    "ConfigError",
    "DecodeConfig",
    "Fork",
    "PromptError",
    "RecordConfig",
    "RefusionError",
    "Trace",
    "TraceError",
    "decode",
    "load_checkpoint",
    "parse_trace",
    "read_trace",
    "show",
    "trace_page",
    "write_trace",
]

_WITH_TORCH = {"decode": "api", "Checkpoint": "checkpoint", "load_checkpoint": "checkpoint"}


def __getattr__(name: str) -> Any:
    if name not in _WITH_TORCH:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f".{_WITH_TORCH[name]}", __name__), name)
