"""How often a model's decoded answers are right on held-out prompts, and how many forwards they take."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from tqdm import tqdm

from ..api import decode
from ..checkpoint import Checkpoint
from ..config import AnyDecodeConfig
from ..events import RunFinished
from .tasks import FAMILIES, Split


@dataclass
class Result:
    """Sums over prompts; ``wrong`` holds prompts with their wrong answers."""

    prompts: int = 0
    correct: int = 0
    tokens: int = 0
    forwards: int = 0
    seconds: float = 0.0
    iterations: int = 0
    parallel_iterations: int = 0
    prefix_iterations: int = 0
    infill_iterations: int = 0
    slots: int = 0
    out_of_order_slots: int = 0
    wrong: list[tuple[str, str]] = field(default_factory=list)

    def add(self, finished: RunFinished, seconds: float, prompt: str, correct: bool) -> None:
        """Take one run into account."""
        stats = finished.stats
        self.prompts += 1
        self.correct += correct
        self.tokens += stats.committed_tokens
        self.forwards += stats.forwards
        self.seconds += seconds
        self.iterations += stats.iterations
        self.parallel_iterations += stats.parallel_iterations
        self.prefix_iterations += stats.prefix_iterations
        self.infill_iterations += stats.infill_iterations
        self.slots += stats.slots_committed
        self.out_of_order_slots += stats.out_of_order_slots
        if not correct:
            self.wrong.append((prompt, finished.text))

    def figures(self) -> dict[str, float]:
        """Ratios of the sums, never means of ratios; forwards, iterations and tokens are per prompt."""
        return {
            "prompts": self.prompts,
            "correct": round(self.correct / self.prompts, 4),
            "tokens_per_forward": round(self.tokens / self.forwards, 3),
            "forwards": round(self.forwards / self.prompts, 2),
            "tokens_per_second": round(self.tokens / self.seconds, 1),
            "parallel_iterations": round(self.parallel_iterations / self.iterations, 4),
            "out_of_order_slots": round(self.out_of_order_slots / self.slots, 4),
            "prefix_iterations": round(self.prefix_iterations / self.iterations, 4),
            "infill_iterations": round(self.infill_iterations / self.iterations, 4),
            "iterations": round(self.iterations / self.prompts, 2),
            "tokens": round(self.tokens / self.prompts, 1),
        }


def evaluate(
    checkpoint: Checkpoint,
    config: AnyDecodeConfig,
    *,
    families: Iterable[str] = tuple(FAMILIES),
    per_family: int = 100,
    seed: int = 0,
    split: Split = "test",
    progress: bool = False,
) -> dict[str, Result]:
    """Decode ``per_family`` prompts of each family and judge the answers with the family's own check.

    The same seed gives the same prompts, whatever the decoder. Only decoding is timed.
    """
    results = {name: Result() for name in families}
    with tqdm(total=len(results) * per_family, unit="prompt", disable=not progress) as bar:
        for name, result in results.items():
            bar.set_description(name)
            rng = random.Random(f"evaluate {name} {seed}")
            for _ in range(per_family):
                sample = FAMILIES[name].sample(rng, split)
                start = time.perf_counter()
                *_, finished = decode(checkpoint, prompt=sample.prompt, config=config, record=None)
                seconds = time.perf_counter() - start
                correct = FAMILIES[name].check(sample, finished.text)
                result.add(finished, seconds, sample.prompt, correct)
                bar.update()
    return results


def overall(results: Iterable[Result]) -> Result:
    """The sums over all families."""
    total = Result()
    for result in results:
        for name in Result.__dataclass_fields__:
            setattr(total, name, getattr(total, name) + getattr(result, name))
    return total
