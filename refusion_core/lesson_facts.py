"""Figures of a run that the sentences of a lesson can name, so that nobody has to type a number.

What does not apply at a moment is left out: a sentence that names it anyway is refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from .events import Commit, Event, Forward, InfillRound, Plan, Verify, Vocabulary
from .trace import Trace, fold_statistics

LANGUAGES = ("en", "zh")
_COMMA = {"en": ", ", "zh": "、"}
_AND = {"en": " and ", "zh": " 和 "}


def run_facts(trace: Trace) -> dict[str, Any]:
    """Figures of a whole run."""
    settings, figures = trace.started.settings, trace.statistics
    facts = {
        "forwards": figures.forwards,
        "iterations": figures.iterations,
        "tokens": figures.committed_tokens,
        "tokens_per_forward": f"{figures.tokens_per_forward:.2f}",
        "computed": figures.tokens_computed,
        "hits": figures.cache_hits,
        "hit_rate": f"{figures.cache_hit_rate:.0%}",
        "discarded": figures.entries_discarded,
        "out_of_order": figures.out_of_order_slots,
        "parallel": figures.parallel_iterations,
        "infill_rounds": figures.infill_rounds,
        "slots": trace.started.slot_count,
        "slot_size": settings.slot_size,
        "response_length": trace.started.response_length,
        "slot_threshold": shown(settings.slot_threshold),
        "token_threshold": shown(settings.token_threshold),
        "prompt_tokens": len(trace.started.prompt_ids),
    }
    if trace.started.prompt_text is not None:
        facts["prompt"] = _quoted(trace.started.prompt_text)
    if trace.finished is not None and trace.finished.text is not None:
        facts["answer"] = _quoted(trace.finished.text)
    return _texts(facts)


def moment_facts(trace: Trace, at: int, lang: str) -> dict[str, Any]:
    """Figures of the iteration that the event at ``at`` belongs to, and of the run up to that event."""
    event = trace.events[at]
    so_far = fold_statistics(trace.events[: at + 1])
    facts: dict[str, Any] = {
        "forwards_so_far": so_far.forwards,
        "tokens_so_far": so_far.committed_tokens,
    }
    if isinstance(event, Forward):
        facts |= {"forward_computed": event.tokens_computed, "forward_hits": event.cache_hits}
    iteration = getattr(event, "iteration", None)
    if iteration is None:
        return _texts(facts)
    facts["iteration"] = iteration + 1
    texts = _token_texts(trace)
    for other in trace.events:
        if other.iteration != iteration:
            continue
        match other:
            case Plan():
                facts |= _plan_facts(other, texts, lang)
            case Verify():
                facts |= _verify_facts(other, texts, lang)
            case Commit():
                facts |= _commit_facts(other, texts, lang)
    if isinstance(event, InfillRound):
        facts |= _round_facts(event, lang)
    return _texts(facts)


def _plan_facts(plan: Plan, texts: dict[int, str], lang: str) -> dict[str, Any]:
    ranked = sorted(plan.slots, key=lambda slot: slot.rank)
    left = [slot for slot in ranked if not slot.chosen]
    facts: dict[str, Any] = {
        "candidates": len(plan.slots),
        "chosen": joined(plan.chosen_slots, lang),
        "chosen_count": len(plan.chosen_slots),
        "best_slot": ranked[0].slot,
        "best_confidence": shown(ranked[0].confidence),
        "lowest_chosen": shown(min(slot.confidence for slot in ranked if slot.chosen)),
    }
    if left:
        facts |= {"next_slot": left[0].slot, "next_confidence": shown(left[0].confidence)}
    for slot in plan.slots:
        facts[f"confidence_{slot.slot}"] = shown(slot.confidence)
        facts[f"first_{slot.slot}"] = _quoted(texts.get(slot.tokens[0], "?"))
        facts[f"draft_{slot.slot}"] = _quoted("".join(texts.get(t, "?") for t in slot.tokens))
        others = [
            pair for pair in slot.alternatives[:1] for pair in pair if pair[0] != slot.tokens[0]
        ]
        if others:
            token, probability = others[0]
            facts[f"other_{slot.slot}"] = _quoted(texts.get(token, "?"))
            facts[f"other_confidence_{slot.slot}"] = shown(probability)
    return facts


def _verify_facts(verify: Verify, texts: dict[int, str], lang: str) -> dict[str, Any]:
    returned = [slot.slot for slot in verify.slots if slot.outcome == "returned"]
    facts: dict[str, Any] = {
        "drafted": sum(len(slot.tokens) for slot in verify.slots),
        "accepted": verify.accepted_prefix,
        "returned": joined(returned, lang),
        "returned_count": len(returned),
    }
    for slot in verify.slots:
        facts[f"accepted_{slot.slot}"] = slot.accepted_run
    broken = next((slot for slot in verify.slots if slot.accepted_run < len(slot.tokens)), None)
    if broken is not None:
        place = broken.accepted_run
        facts |= {
            "refused_slot": broken.slot,
            "refused_token": _quoted(texts.get(broken.tokens[place], "?")),
            "refused_after": _quoted(texts.get(broken.tokens[place - 1], "?")),
            "refused_probability": shown(broken.probabilities[place]),
        }
    return facts


def _round_facts(event: InfillRound, lang: str) -> dict[str, Any]:
    gained = sum(slot.run_after - slot.run_before for slot in event.slots)
    facts: dict[str, Any] = {
        "round": event.round + 1,
        "round_slots": joined([slot.slot for slot in event.slots], lang),
        "round_gained": gained,
    }
    for slot in event.slots:
        facts |= {
            f"run_before_{slot.slot}": slot.run_before,
            f"run_after_{slot.slot}": slot.run_after,
        }
    if event.straggler is not None:
        facts["straggler"] = event.straggler
    return facts


def _commit_facts(commit: Commit, texts: dict[int, str], lang: str) -> dict[str, Any]:
    tokens = [token for slot in commit.slots for token in slot.tokens]
    return {
        "committed": joined([slot.slot for slot in commit.slots], lang),
        "committed_count": len(commit.slots),
        "committed_tokens": len(tokens),
        "committed_text": _quoted("".join(texts.get(token, "?") for token in tokens)),
        "dropped_count": len(commit.dropped_slots),
    }


def slots_of(trace: Trace, at: int, which: str) -> list[int]:
    """The slots chosen, committed or returned in the iteration that the event at ``at`` belongs to."""
    iteration = trace.events[at].iteration
    for event in trace.events:
        if iteration is None or event.iteration != iteration:
            continue
        if which == "chosen" and isinstance(event, Plan):
            return list(event.chosen_slots)
        if which == "committed" and isinstance(event, Commit):
            return [slot.slot for slot in event.slots]
        if which == "returned" and isinstance(event, Verify):
            return [slot.slot for slot in event.slots if slot.outcome == "returned"]
    return []


def shown(probability: float) -> str:
    """A probability in few digits that never make it 1 where it is less, nor 0 where it is more."""
    if probability in (0, 1):
        return str(int(probability))
    if 0.01 <= probability < 0.995:
        return f"{probability:.2f}"
    if probability < 0.01:
        return f"{probability:.1g}" if probability >= 0.0001 else "<0.0001"
    for digits in range(4, 7):
        cut = math.floor(probability * 10**digits + 1e-6) / 10**digits
        if abs(cut - probability) < (1 - probability) / 4:
            return f"{cut:.{digits}f}".rstrip("0")
    return ">0.99999"


def joined(numbers: Iterable[int], lang: str) -> str:
    """``0, 2 and 5``, as the language writes it."""
    *most, last = map(str, numbers) if numbers else [""]
    return _AND[lang].join([_COMMA[lang].join(most), last]) if most else last


def _token_texts(trace: Trace) -> dict[int, str]:
    def learned(event: Event) -> dict[int, str]:
        return (
            {token.id: token.text for token in event.tokens}
            if isinstance(event, Vocabulary)
            else {}
        )

    return {id: text for event in trace.events for id, text in learned(event).items()}


def _quoted(text: str) -> dict[str, str]:
    """A text that the model read or wrote: the page sets it apart and takes nothing in it for markup."""
    return {"token": text}


def _texts(facts: dict[str, Any]) -> dict[str, Any]:
    return {name: str(value) if isinstance(value, int) else value for name, value in facts.items()}
