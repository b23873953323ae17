"""Every decision of the decoder as a pure function on plain numbers. Knows no torch and no text.

The decoder, the tests and what-if views call the same functions, so they cannot disagree.
Source: paper, section 3.3; thresholds are strict.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import entry_points
from math import exp
from random import Random
from statistics import fmean


@dataclass(frozen=True)
class Choice:
    """Why a slot was chosen or not. ``rank`` 0 is the best slot. ``score``: what a policy judged it by, where
    that is not the confidence."""

    chosen: bool
    reason: str
    rank: int
    score: float | None = None


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


@dataclass(frozen=True)
class Candidate:
    """A remaining slot as a policy sees it; all from the plan forward.

    probabilities: of the draft's tokens; the first one is the slot's confidence
    entropies: of the distributions at the slot's positions, in nats
    runner_up: probability of the second best first token
    """

    slot: int
    probabilities: Sequence[float]
    entropies: Sequence[float] = ()
    runner_up: float = 0.0

    @property
    def confidence(self) -> float:
        return self.probabilities[0]


@dataclass(frozen=True)
class Limits:
    """What else a policy may go by: the settings, and on demand random numbers that a seed and the iteration
    fix, and the revealed dependency M[j][i] of candidate j on candidate i."""

    slot_threshold: float
    count: int = 1
    dependency_limit: float = 0.0
    random: Callable[[], Random] = Random
    dependency: Callable[[], Sequence[Sequence[float]]] = tuple


Policy = Callable[[Sequence[Candidate], Limits], list[Choice]]
POLICIES: dict[str, Policy] = {}
ENTRY_POINTS = "refusion.policies"


def register(policy: Policy) -> Policy:
    """Make a policy known by its function's name; it must choose at least one candidate."""
    POLICIES[policy.__name__] = policy
    return policy


def known_policies() -> dict[str, Policy]:
    """All policies by name, with those that installed packages name as entry points ``refusion.policies``."""
    for entry in entry_points(group=ENTRY_POINTS):
        if entry.name not in POLICIES:
            POLICIES[entry.name] = entry.load()
    return POLICIES


@register
def threshold(candidates: Sequence[Candidate], limits: Limits) -> list[Choice]:
    """First-token probability above the slot threshold, or the best one (paper, section 3.3)."""
    return choose_slots([c.confidence for c in candidates], limits.slot_threshold)


@register
def best_k(candidates: Sequence[Candidate], limits: Limits) -> list[Choice]:
    """The ``count`` most confident slots, as masked diffusion unmasks a fixed number of tokens."""
    return choose_best([c.confidence for c in candidates], limits.count)


@register
def mean_probability(candidates: Sequence[Candidate], limits: Limits) -> list[Choice]:
    """Mean probability of the draft's tokens above the slot threshold (paper, ablation)."""
    return _scored([fmean(c.probabilities) for c in candidates], limits)


@register
def mean_entropy(candidates: Sequence[Candidate], limits: Limits) -> list[Choice]:
    """exp(-mean entropy) of the slot's distributions, 1 where all is certain, above the slot threshold (paper,
    ablation)."""
    return _scored([exp(-fmean(c.entropies)) for c in candidates], limits)


@register
def margin(candidates: Sequence[Candidate], limits: Limits) -> list[Choice]:
    """First-token probability minus that of the second best above the slot threshold (margin sampling, as known
    from active learning)."""
    return _scored([c.confidence - c.runner_up for c in candidates], limits)


@register
def left_to_right(candidates: Sequence[Candidate], limits: Limits) -> list[Choice]:
    """The first ``count`` slots, whatever their confidence: semi-autoregressive decoding."""
    return _picked(range(min(limits.count, len(candidates))), candidates)


@register
def random_slots(candidates: Sequence[Candidate], limits: Limits) -> list[Choice]:
    """``count`` slots drawn at random: what confidence is worth."""
    count = min(limits.count, len(candidates))
    return _picked(limits.random().sample(range(len(candidates)), count), candidates)


@register
def dependency_aware(candidates: Sequence[Candidate], limits: Limits) -> list[Choice]:
    """Of the slots above the threshold, the most confident first, each whose revealed dependency on a chosen
    one, either way, is at most ``dependency_limit`` (after the paper's notion of dependency)."""
    choices = threshold(candidates, limits)
    order = sorted((i for i, c in enumerate(choices) if c.chosen), key=lambda i: choices[i].rank)
    if len(order) < 2:
        return choices
    matrix = limits.dependency()
    kept: list[int] = []
    for i in order:
        if all(max(matrix[i][j], matrix[j][i]) <= limits.dependency_limit for j in kept):
            kept.append(i)
    for i in order:
        if i not in kept:
            choices[i] = replace(choices[i], chosen=False, reason="too_dependent")
    return choices


def _scored(scores: Sequence[float], limits: Limits) -> list[Choice]:
    choices = choose_slots(scores, limits.slot_threshold)
    return [replace(c, score=score) for c, score in zip(choices, scores, strict=True)]


def _picked(indexes: Collection[int], candidates: Sequence[Candidate]) -> list[Choice]:
    ranks = _ranks([c.confidence for c in candidates])
    reasons = {True: "by_policy", False: "not_by_policy"}
    return [Choice(i in indexes, reasons[i in indexes], rank) for i, rank in enumerate(ranks)]


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
