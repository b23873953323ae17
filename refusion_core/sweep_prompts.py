"""The prompts of a sweep: from a file or a task family, and how their answers are judged."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .config import DecodeConfig
from .errors import ConfigError, PromptError

_FORM = 'give lines such as {"prompt": "Add 2 and 3.", "expected": "5"}'
_FIELDS = ("prompt", "expected", "family")


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

    Raises PromptError naming the file and the line.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as problem:
        raise PromptError("prompts", str(path), f"cannot be read ({problem})", _FORM) from None
    return parse_prompts(text.split("\n"), str(path))


def parse_prompts(lines: Iterable[str], source: str = "prompts") -> list[SweepPrompt]:
    """The prompts of JSON Lines; raises PromptError naming the line."""
    prompts = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        where = f"{source} line {number}"
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            raise PromptError(where, line, "is no JSON", _FORM) from None
        texts = entry if isinstance(entry, dict) else {}
        wrong = not str(texts.get("prompt", "")).strip() or not all(
            name in _FIELDS and isinstance(text, str) for name, text in texts.items()
        )
        if wrong:
            raise PromptError(where, entry, "is not of the form", _FORM)
        prompts.append(SweepPrompt(**texts))
    if not prompts:
        raise PromptError(source, "", "hold no prompt", _FORM)
    return prompts


def check_prompts(
    checkpoint: Any, prompts: Sequence[SweepPrompt], configs: Sequence[DecodeConfig]
) -> None:
    """Raises PromptError for a prompt that the model cannot take, before anything is decoded."""
    from .api import decode

    longest = max(configs, key=lambda config: config.padded_length)
    for number, prompt in enumerate(prompts, start=1):
        try:
            decode(checkpoint, prompt=prompt.prompt, config=longest, record=None)
        except PromptError as problem:
            raise PromptError(
                f"prompt {number}, {problem.field}", problem.value, problem.problem, problem.fix
            ) from None
