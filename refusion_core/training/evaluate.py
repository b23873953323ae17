"""How often a model's decoded answers are right on held-out prompts, and how many forwards they take."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, field

from ..api import decode
from ..checkpoint import Checkpoint
from ..config import DecodeConfig
from ..events import RunFinished
from .tasks import FAMILIES, Split


@dataclass
class FamilyResult:
    """Sums over the prompts of one family; ``wrong`` holds prompts with their wrong answers."""

    prompts: int = 0
    correct: int = 0
    tokens: int = 0
    forwards: int = 0
    iterations: int = 0
    out_of_order_slots: int = 0
    slots: int = 0
    wrong: list[tuple[str, str]] = field(default_factory=list)

    def figures(self) -> dict[str, float]:
        """Ratios of the sums, rounded."""
        return {
            "prompts": self.prompts,
            "correct": round(self.correct / self.prompts, 3),
            "tokens_per_forward": round(self.tokens / self.forwards, 2),
            "tokens": round(self.tokens / self.prompts, 1),
            "forwards": round(self.forwards / self.prompts, 1),
            "iterations": round(self.iterations / self.prompts, 1),
            "out_of_order": round(self.out_of_order_slots / self.slots, 2),
        }


def evaluate(
    checkpoint: Checkpoint,
    config: DecodeConfig,
    *,
    families: Iterable[str] = tuple(FAMILIES),
    per_family: int = 100,
    seed: int = 0,
    split: Split = "test",
) -> dict[str, FamilyResult]:
    """Decode ``per_family`` prompts of each family and judge the answers with the family's own check."""
    results = {}
    for name in families:
        rng = random.Random(f"evaluate {name} {seed}")
        result = results[name] = FamilyResult()
        for _ in range(per_family):
            sample = FAMILIES[name].sample(rng, split)
            *_, finished = decode(checkpoint, prompt=sample.prompt, config=config, record=None)
            _add(result, finished, sample.prompt, FAMILIES[name].check(sample, finished.text))
    return results


def _add(result: FamilyResult, finished: RunFinished, prompt: str, correct: bool) -> None:
    stats = finished.stats
    result.prompts += 1
    result.correct += correct
    result.tokens += stats.committed_tokens
    result.forwards += stats.forwards
    result.iterations += stats.iterations
    result.out_of_order_slots += stats.out_of_order_slots
    result.slots += stats.slots_committed
    if not correct:
        result.wrong.append((prompt, finished.text))
