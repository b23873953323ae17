"""Every decision of the decoder as a pure function on plain numbers. Knows no torch and no text.

The decoder, the tests and what-if views call the same functions, so they cannot disagree.
Source: paper, section 3.3; thresholds are strict.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Choice:
    """Why a slot was chosen or not. ``rank`` 0 is the most confident slot."""

    chosen: bool
    reason: str
    rank: int


def choose_slots(confidences: Sequence[float], slot_threshold: float) -> list[Choice]:
    """Choose every slot whose confidence is above the threshold, or the single best one if none is.

    confidences: one per remaining slot, in position order. Of equal ones the earlier slot ranks first.
    """
    rank = _ranks(confidences)
    any_above = any(confidence > slot_threshold for confidence in confidences)
    choices = []
    for index, confidence in enumerate(confidences):
        above = confidence > slot_threshold
        best_of_none = not any_above and rank[index] == 0
        reason = (
            "above_threshold" if above else "best_of_none" if best_of_none else "below_threshold"
        )
        choices.append(Choice(above or best_of_none, reason, rank[index]))
    return choices


def overrule(
    choices: Sequence[Choice], force: Collection[int], forbid: Collection[int]
) -> list[Choice]:
    """The choices with those at the indexes ``force`` chosen and those at ``forbid`` not; if that leaves none,
    the best one that is not forbidden is chosen."""
    ruled = []
    for index, choice in enumerate(choices):
        if index in force:
            choice = Choice(True, "forced_by_user", choice.rank)
        elif index in forbid:
            choice = Choice(False, "forbidden_by_user", choice.rank)
        elif choice.reason == "best_of_none" and force:
            choice = Choice(False, "below_threshold", choice.rank)
        ruled.append(choice)
    if not any(choice.chosen for choice in ruled):
        free = [index for index in range(len(ruled)) if index not in forbid]
        best = min(free, key=lambda index: ruled[index].rank)
        ruled[best] = Choice(True, "best_of_none", ruled[best].rank)
    return ruled


def choose_best(confidences: Sequence[float], count: int) -> list[Choice]:
    """Choose the ``count`` most confident; of equal ones the earlier ranks first."""
    return [
        Choice(rank < count, "among_best" if rank < count else "not_among_best", rank)
        for rank in _ranks(confidences)
    ]


def _ranks(confidences: Sequence[float]) -> list[int]:
    """The place of each confidence from the highest, 0; of equal ones the earlier comes first."""
    ranks = [0] * len(confidences)
    for rank, index in enumerate(sorted(range(len(ranks)), key=lambda i: -confidences[i])):
        ranks[index] = rank
    return ranks


def passing_run(probabilities: Sequence[float], token_threshold: float) -> int:
    """Number of leading tokens whose probability is above the threshold."""
    for count, probability in enumerate(probabilities):
        if not probability > token_threshold:
            return count
    return len(probabilities)


def accepted_run(probabilities: Sequence[float], token_threshold: float) -> int:
    """Accepted tokens of a drafted slot from its start: the first needs no check."""
    return 1 + passing_run(probabilities[1:], token_threshold)


def accepted_prefix(runs: Sequence[int], slot_size: int) -> int:
    """Accepted tokens from the start of the concatenated drafts, given each slot's own accepted run.

    A slot's first token always passes, so the prefix goes on over whole slots into the first broken one.
    """
    total = 0
    for run in runs:
        total += run
        if run < slot_size:
            break
    return total


def end_at_eos(tokens: Sequence[int], run: int, eos_id: int) -> int | None:
    """Number of tokens up to and including the first eos among the first ``run`` tokens, or None."""
    for offset, token in enumerate(tokens[:run]):
        if token == eos_id:
            return offset + 1
    return None


def grow_run(run: int, probabilities: Sequence[float], token_threshold: float) -> tuple[int, bool]:
    """New accepted run after an infill round, and whether its first new token had to be forced.

    probabilities: of the tokens behind the run, each given the one before it. The first of them is accepted
    in any case, so that every round makes progress; the run goes on over passing tokens.
    """
    forced = not probabilities[0] > token_threshold
    return run + accepted_run(probabilities, token_threshold), forced


def text_end(tokens: Sequence[int], positions: Sequence[int], eos_id: int) -> int | None:
    """Position of the first eos in position order, behind which nothing is text; None without one."""
    return min((p for t, p in zip(tokens, positions, strict=True) if t == eos_id), default=None)
