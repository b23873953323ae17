"""The errors of this project.

RefusionError (a ValueError)
├── ConfigError      a setting of DecodeConfig, ModelConfig or the trainer is impossible
├── PromptError      a prompt or token id cannot be used
├── CheckpointError  a model folder or hub id cannot be loaded
└── TraceError       a trace file is damaged, too new or too large

Every error names what is wrong, the value found and what to do, and reads as one line.
"""

from __future__ import annotations

from typing import Any

_LONGEST_VALUE = 80


class RefusionError(ValueError):
    """Bad input. ``field`` names it, ``value`` is what was given, ``fix`` says what to do."""

    def __init__(self, field: str, value: Any, problem: str, fix: str) -> None:
        self.field, self.value, self.problem, self.fix = field, value, problem, fix
        shown = repr(value)
        if len(shown) > _LONGEST_VALUE:
            shown = shown[: _LONGEST_VALUE - 1] + "…"
        super().__init__(f"{field} = {shown}: {problem}; {fix}")


class ConfigError(RefusionError):
    """A setting is impossible."""


class PromptError(RefusionError):
    """A prompt or a token id cannot be used."""


class CheckpointError(RefusionError):
    """A model folder or hub id cannot be loaded."""


class TraceError(RefusionError):
    """A trace cannot be read. ``line`` is the 1-based line of the file, where one is to blame."""

    def __init__(
        self, field: str, value: Any, problem: str, fix: str, *, line: int | None = None
    ) -> None:
        where = f"line {line}, {field}" if line is not None else field
        super().__init__(where, value, problem, fix)
        self.field, self.line = field, line
