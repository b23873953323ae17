"""Compares our decoder with recorded runs of the reference, case by case.

The format of a folder is described in docs/golden.md: ``models/NAME/``, ``cases.jsonl`` and, optionally,
``logits.json``.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from refusion_core import Checkpoint, DecodeConfig, decode, load_checkpoint
from refusion_core.events import (
    CacheState,
    Commit,
    Event,
    Forward,
    Plan,
    RunFinished,
    Verify,
)

TOLERANCE = 1e-4


@lru_cache(maxsize=16)
def _checkpoint(folder: Path) -> Checkpoint:
    return load_checkpoint(folder, device="cpu", dtype="float32")


def find_checks(folder: Path) -> Iterator[tuple[str, Any]]:
    """Name and callable of every check of a folder; a callable returns the list of differences."""
    for line in (folder / "cases.jsonl").read_text(encoding="utf-8").splitlines():
        if line.strip():
            case = json.loads(line)
            yield f"case {case['case']}", lambda case=case: check_case(folder, case)
    logits = folder / "logits.json"
    if logits.exists():
        for number, entry in enumerate(json.loads(logits.read_text(encoding="utf-8"))):
            name = f"logits {number} ({entry['model']})"
            yield name, lambda entry=entry: check_logits(folder, entry)


def check_logits(folder: Path, entry: dict[str, Any]) -> list[str]:
    """Differences between our logits and the recorded ones."""
    model = _checkpoint(folder / "models" / entry["model"]).model
    cache = model.new_cache(len(entry["context_ids"]) + len(entry["query_ids"]))
    differences = []
    for part in ("context", "query"):
        if not entry[f"{part}_ids"]:
            continue
        hidden = model.feed(entry[f"{part}_ids"], entry[f"{part}_positions"], cache)
        worst = (model.logits(hidden) - torch.tensor(entry[f"{part}_logits"])).abs().max().item()
        if not worst <= TOLERANCE:
            differences.append(f"{part}_logits differ by {worst:.2g}")
    return differences


def check_case(folder: Path, case: dict[str, Any]) -> list[str]:
    """Differences between our decode of a case and the recorded one."""
    checkpoint = _checkpoint(folder / "models" / case["model"])
    facts = replace(checkpoint.facts, mask_id=case["mask_id"], eos_id=case["eos_id"])
    checkpoint = replace(checkpoint, facts=facts)
    config = DecodeConfig(
        gen_length=case["gen_length"],
        slot_size=case["slot_size"],
        serial_blocks=case["serial_blocks"],
        slot_threshold=case["slot_threshold"],
        token_threshold=case["token_threshold"],
        temperature=case["temperature"],
    )
    events = list(decode(checkpoint, prompt_ids=case["prompt_ids"], config=config))
    compare = Comparison()
    _compare_output(compare, case, events)
    iterations = _by_iteration(events)
    compare.equal("number of iterations", len(case["iterations"]), len(iterations))
    for number, (theirs, ours) in enumerate(zip(case["iterations"], iterations, strict=False)):
        _compare_iteration(compare, f"iteration {number}", theirs, ours, config)
    phases = Counter(event.phase for event in events if isinstance(event, Forward))
    compare.equal("forwards", Counter(f["phase"] for f in case["forwards"]), phases)
    return compare.differences


class Comparison:
    """Collects differences."""

    def __init__(self) -> None:
        self.differences: list[str] = []

    def equal(self, name: str, theirs: Any, ours: Any) -> None:
        if theirs != ours:
            self.differences.append(f"{name}: expected {theirs}, got {ours}")

    def close(self, name: str, theirs: Any, ours: Any) -> None:
        """Nested lists of numbers within TOLERANCE; null in the record means not computed there."""
        if isinstance(theirs, list):
            ours = list(ours)
            self.equal(f"length of {name}", len(theirs), len(ours))
            for index, (a, b) in enumerate(zip(theirs, ours, strict=False)):
                self.close(f"{name}[{index}]", a, b)
        elif theirs is not None and not abs(theirs - ours) <= TOLERANCE:
            self.differences.append(f"{name}: expected {theirs}, got {ours}")


def _compare_output(compare: Comparison, case: dict[str, Any], events: list[Event]) -> None:
    finished = events[-1]
    assert isinstance(finished, RunFinished)
    compare.equal("output_ids", case["output_ids"], list(finished.output_ids))
    compare.equal("output_positions", case["output_positions"], list(finished.output_positions))
    slots = [slot for event in events if isinstance(event, Commit) for slot in event.slots]
    tokens = [token for slot in slots for token in slot.tokens]
    positions = [position for slot in slots for position in slot.positions]
    compare.equal("commit_tokens", case["commit_tokens"], tokens)
    compare.equal("commit_positions", case["commit_positions"], positions)


def _by_iteration(events: list[Event]) -> list[dict[type, Event]]:
    """The plan, verify, commit and cache event of each iteration."""
    iterations: dict[int, dict[type, Event]] = {}
    for event in events:
        if event.iteration is not None:
            iterations.setdefault(event.iteration, {})[type(event)] = event
    return list(iterations.values())


def _compare_iteration(
    compare: Comparison,
    name: str,
    theirs: dict[str, Any],
    ours: dict[type, Any],
    config: DecodeConfig,
) -> None:
    plan, verify, commit, cache = (ours[t] for t in (Plan, Verify, Commit, CacheState))
    chosen = [slot for slot in plan.slots if slot.chosen]
    reason = {"above_threshold": "threshold", "best_of_none": "fallback_top1"}[chosen[0].reason]
    exact = {
        "block": plan.block,
        "remaining_slots": [slot.slot for slot in plan.slots],
        "drafts": [list(slot.tokens) for slot in plan.slots],
        "chosen_slots": list(plan.chosen_slots),
        "chosen_reason": reason,
        "accepted_prefix_tokens": verify.accepted_prefix,
        "branch": commit.branch,
        "eos": commit.branch if commit.eos_position is not None else None,
        "committed_slots": [slot.slot for slot in commit.slots],
        "cached_len_before": cache.length - cache.kept,
        "cached_len_after": cache.length,
    }
    for field, value in exact.items():
        compare.equal(f"{name} {field}", theirs[field], value)
    # The record lists dropped slots of the current block only.
    block_end = (plan.block + 1) * config.slots_per_block
    dropped = [slot for slot in commit.dropped_slots if slot < block_end]
    compare.equal(f"{name} dropped_slots", theirs["dropped_slots"], dropped)
    compare.close(
        f"{name} draft_probs", theirs["draft_probs"], [s.probabilities for s in plan.slots]
    )
    compare.close(
        f"{name} slot_confidence", theirs["slot_confidence"], [s.confidence for s in plan.slots]
    )
    compare.close(
        f"{name} verify_probs", theirs["verify_probs"], [s.probabilities for s in verify.slots]
    )
