"""The ReFusion decoder: plan, verify, infill, commit, as a generator of events (paper, section 3.3).

Parallel slots are groups of one flat forward over one cache, never rows of a copied one. Knows token ids only;
every decision is a function of ``selection``. What is watched never changes what is decoded.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import torch
from torch import Tensor

from . import selection
from .dependency import AttentionMass, joint, reveal_capacity, revealed
from .events import (
    Commit,
    CommittedSlot,
    Dependency,
    Event,
    Forward,
    InfilledSlot,
    InfillRound,
    Parent,
    Plan,
    PlannedSlot,
    Segment,
    Settings,
    VerifiedSlot,
    Verify,
)
from .fork import Fork
from .readout import Proposal, spread, token_probabilities
from .run import Emits, Run


@dataclass
class Draft:
    """A remaining slot in a plan; ``tokens`` beyond the first are filled in when they are needed."""

    slot: int
    proposals: list[Proposal]
    choice: selection.Choice | None = None

    @property
    def tokens(self) -> list[int]:
        return [proposal.token for proposal in self.proposals]

    @property
    def confidence(self) -> float:
        return self.proposals[0].probability

    @property
    def judged_by(self) -> float:
        """The policy's score, or the confidence."""
        return self.confidence if self.choice.score is None else self.choice.score


@dataclass
class Row:
    """A chosen slot while it is infilled: ``run`` tokens are accepted, ``entries`` are their cache indexes."""

    slot: int
    tokens: list[int]
    run: int
    origins: list[str]
    group: int
    entries: list[int] = field(default_factory=list)
    last_hidden: Tensor | None = None
    ended_by_eos: bool = False

    @property
    def complete(self) -> bool:
        return self.ended_by_eos or self.run == len(self.tokens)


class SlotDecoder(Run):
    """One run of the ReFusion decoder."""

    decoder = "refusion"

    def __init__(self, *args: Any, fork: Fork | None = None, **values: Any) -> None:
        super().__init__(*args, **values)
        self.fork = fork
        self._owners: list[int] = []  # the slots of the committed tokens
        self._eos_slot: int | None = None
        self._prompt_fed = False

    # Coordinates

    def _span(self, slot: int) -> range:
        """Positions of a slot."""
        start = len(self.prompt_ids) + slot * self.config.slot_size
        return range(start, start + self.config.slot_size)

    @property
    def _committed(self) -> int:
        """Entries of the cache that are final: the prompt (once fed) and the committed tokens."""
        return self._prompt_fed * len(self.prompt_ids) + len(self._tokens)

    # The run

    def _notices(self) -> Iterator[str]:
        config = self.config
        if config.padded_length != config.gen_length:
            yield (
                f"gen_length {config.gen_length} was rounded up to {config.padded_length}: "
                f"{config.serial_blocks} block(s) of {config.slots_per_block} slot(s) of "
                f"{config.slot_size} tokens"
            )

    def _settings(self) -> Settings:
        settings = self.config.to_dict()
        if self.config.policy == "threshold":  # what others go by says nothing then
            for name in ("policy", "policy_count", "dependency_limit"):
                del settings[name]
        if not self.config.recompute_infill:
            del settings["recompute_infill"]
        return Settings(**settings)

    def _decode(self) -> Generator[Event, None, bool]:
        per_block = self.config.slots_per_block
        start, iteration, left = 0, 0, None
        if self.fork is not None:
            start, iteration, left = self.fork.block, self.fork.iteration, self.fork.remaining
            yield from self._restore(self.fork)
        for block in range(start, self.config.serial_blocks):
            remaining = left or list(range(block * per_block, (block + 1) * per_block))
            left = None
            while remaining:
                self._recorder.place = {"block": block, "iteration": iteration}
                committed = yield from self._iterate(remaining)
                end = self._eos_slot if self._eos_slot is not None else self.config.slot_count
                remaining = [s for s in remaining if s not in committed and s < end]
                iteration += 1
            if self._eos_slot is not None:
                return True
        return False

    def _parent(self) -> Parent | None:
        return self.fork.parent if self.fork is not None else None

    def _restore(self, fork: Fork) -> Emits:
        """Repeat the parent's events and bring the cache to what it was: the same entries in the same order,
        each computed from what it saw then. Slots of an infill could not see one another unless they were
        recomputed, those of a prefix saw the ones before them."""
        yield from self._recorder.repeat(fork.past())
        self._forwards = sum(isinstance(event, Forward) for event in fork.past())
        if not self._forwards:
            return
        self._feed(self.prompt_ids, range(len(self.prompt_ids)), [0] * len(self.prompt_ids))
        self._prompt_fed = True
        for commit in fork.commits():
            self._restore_commit(commit, apart=not fork.config.recompute_infill)

    def _restore_commit(self, commit: Commit, *, apart: bool) -> None:
        """``apart``: slots of an infill don't see one another."""
        ids, positions, groups = [], [], []
        for place, slot in enumerate(commit.slots):
            ids += slot.tokens
            positions += slot.positions
            groups += [place + 1 if apart and commit.branch == "infill" else 0] * len(slot.tokens)
            self._owners += [slot.slot] * len(slot.tokens)
        self._feed(ids, positions, groups)
        self._cache.commit()
        self._tokens += ids
        self._positions += positions
        if commit.eos_position is not None:
            self._eos_slot = commit.slots[-1].slot

    def _feed(self, ids: Sequence[int], positions: Sequence[int], groups: list[int]) -> None:
        if ids:
            self.model.feed(list(ids), list(positions), self._cache, groups)

    def _iterate(self, remaining: list[int]) -> Generator[Event, None, list[int]]:
        """One iteration; returns the slots it committed."""
        self._reused = self._computed = 0
        before = self._committed
        drafts = yield from self._plan(remaining)
        chosen = [draft for draft in drafts if draft.choice.chosen]
        runs, prefix, outcome = yield from self._verify(chosen)
        if outcome == "infill":
            rows = yield from self._infill(chosen, runs)
            if self.config.recompute_infill and len(rows) > 1:
                yield from self._recompute(rows)
        else:
            rows = self._prefix_rows(chosen, prefix)
        yield from self._commit("infill" if outcome == "infill" else "prefix", rows, before)
        return [row.slot for row in rows]

    # Plan

    def _plan(self, remaining: list[int]) -> Generator[Event, None, list[Draft]]:
        size = self.config.slot_size
        prompt = [] if self._prompt_fed else self.prompt_ids
        positions = [p for slot in remaining for p in self._span(slot)]
        segments = [Segment(kind="prompt", tokens=len(prompt))] if prompt else []
        segments += [Segment(kind="mask", tokens=size, slot=slot) for slot in remaining]
        watcher = self._attention_mass(remaining, len(prompt))
        hidden = yield from self._forward(
            "plan",
            prompt + [self.mask_id] * len(positions),
            list(range(len(prompt))) + positions,
            segments,
            watcher=watcher,
        )
        self._prompt_fed = True
        self._cache.rewind(self._committed)
        masks = hidden[len(prompt) :].unflatten(0, (len(remaining), size))  # [slots, S, D]
        drafts = self._drafts(remaining, masks)
        self._write(drafts, masks)
        if self.record:
            yield from self._emit_plan(drafts)
            yield from self._emit_dependency(drafts, masks[:, 0], watcher)
        return drafts

    def _drafts(self, remaining: list[int], masks: Tensor) -> list[Draft]:
        """Drafts with their choices. To the paper's policy only first tokens matter, so its unwatched runs read
        no more than those and the tokens of the chosen slots."""
        noise = {"temperature": self.config.temperature, "seed": self.config.seed}
        starts = [self._span(slot)[0] for slot in remaining]
        first = self._propose(masks[:, 0], starts, **noise)
        drafts = [Draft(slot, [p]) for slot, p in zip(remaining, first, strict=True)]
        if self.config.policy == "threshold":
            confidences = [draft.confidence for draft in drafts]
            self._decide(drafts, selection.choose_slots(confidences, self.config.slot_threshold))
            needed = [i for i, draft in enumerate(drafts) if self.record or draft.choice.chosen]
        else:
            needed = list(range(len(drafts)))
        rest = self._propose(
            masks[needed, 1:].flatten(0, 1),
            [p for i in needed for p in self._span(remaining[i])[1:]],
            **noise,
        )
        per_slot = self.config.slot_size - 1
        for place, i in enumerate(needed):
            drafts[i].proposals += rest[place * per_slot : (place + 1) * per_slot]
        if self.config.policy != "threshold":
            self._decide(drafts, self._ask_policy(drafts, masks))
        return drafts

    def _ask_policy(self, drafts: list[Draft], masks: Tensor) -> list[selection.Choice]:
        config, size = self.config, self.config.slot_size
        spreads = spread(self.model, masks.flatten(0, 1))
        candidates = [
            selection.Candidate(
                slot=draft.slot,
                probabilities=[p.probability for p in draft.proposals],
                entropies=[entropy for entropy, _ in spreads[i * size : (i + 1) * size]],
                runner_up=spreads[i * size][1],
            )
            for i, draft in enumerate(drafts)
        ]
        number = self._recorder.place["iteration"]
        limits = selection.Limits(
            slot_threshold=config.slot_threshold,
            count=config.policy_count,
            dependency_limit=config.dependency_limit,
            random=lambda: Random(f"{config.seed} {number}"),
            dependency=lambda: self._revealed(drafts, masks[:, 0]).tolist(),
        )
        return selection.POLICIES[config.policy](candidates, limits)

    def _decide(self, drafts: list[Draft], choices: list[selection.Choice]) -> None:
        """Note the choices, with what a fork forces or forbids in its first iteration."""
        if self._is_forked:
            slots = [draft.slot for draft in drafts]
            force, forbid = (
                list(map(slots.index, chosen)) for chosen in (self.fork.force, self.fork.forbid)
            )
            if self._written:
                force = [slots.index(slot) for slot in self._written]
                forbid = [index for index in range(len(slots)) if index not in force]
            if force or forbid:
                choices = selection.overrule(choices, force, forbid)
        for draft, choice in zip(drafts, choices, strict=True):
            draft.choice = choice

    @property
    def _is_forked(self) -> bool:
        """Whether this is the iteration in which a fork changes something."""
        return self.fork is not None and self._recorder.place["iteration"] == self.fork.iteration

    @property
    def _written(self) -> Mapping[int, tuple[int, ...]]:
        """Tokens that the user gives for slots in this iteration."""
        return self.fork.write if self._is_forked else {}

    def _write(self, drafts: list[Draft], masks: Tensor) -> None:
        """Put the user's tokens in place of drafts, with the probabilities that the plan gave them."""
        for place, draft in enumerate(drafts):
            tokens = self._written.get(draft.slot)
            if tokens is None:
                continue
            chances = token_probabilities(self.model, masks[place], tokens)
            draft.proposals = [
                replace(proposal, token=token, probability=chance, over_mask=False)
                for proposal, token, chance in zip(draft.proposals, tokens, chances, strict=True)
            ]

    def _emit_plan(self, drafts: list[Draft]) -> Emits:
        slots = []
        for draft in drafts:
            watched = draft.proposals if draft.choice.chosen else draft.proposals[:1]
            slots.append(
                PlannedSlot(
                    slot=draft.slot,
                    confidence=draft.confidence,
                    margin=round(draft.judged_by - self.config.slot_threshold, 9),
                    score=draft.choice.score,
                    rank=draft.choice.rank,
                    chosen=draft.choice.chosen,
                    reason=draft.choice.reason,
                    tokens=tuple(draft.tokens),
                    probabilities=tuple(p.probability for p in draft.proposals),
                    alternatives=tuple(p.alternatives for p in watched),
                    mask_offsets=tuple(i for i, p in enumerate(draft.proposals) if p.over_mask),
                )
            )
        yield from self._recorder.emit(
            Plan,
            ids=[token for slot in slots for token in _ids_of(slot)],
            forward=self._forwards - 1,
            slots=tuple(slots),
            chosen_slots=tuple(slot.slot for slot in slots if slot.chosen),
        )

    # Verify

    def _verify(self, chosen: list[Draft]) -> Generator[Event, None, tuple[list[int], int, str]]:
        """Returns each chosen slot's own accepted run, the accepted prefix, and the outcome."""
        size, threshold = self.config.slot_size, self.config.token_threshold
        hidden = yield from self._forward(
            "verify",
            [token for draft in chosen for token in draft.tokens],
            [p for draft in chosen for p in self._span(draft.slot)],
            [Segment(kind="draft", tokens=size, slot=draft.slot) for draft in chosen],
        )
        shifted = hidden.unflatten(0, (len(chosen), size))[:, :-1].flatten(0, 1)
        wanted = [token for draft in chosen for token in draft.tokens[1:]]
        flat = token_probabilities(self.model, shifted, wanted)
        probabilities = [
            [draft.confidence, *flat[i * (size - 1) : (i + 1) * (size - 1)]]
            for i, draft in enumerate(chosen)
        ]
        runs = [
            size if self._written else selection.accepted_run(p, threshold) for p in probabilities
        ]
        prefix = selection.accepted_prefix(runs, size)
        flat_tokens = [token for draft in chosen for token in draft.tokens]
        if selection.end_at_eos(flat_tokens, prefix, self.eos_id) is not None:
            outcome = "eos"
        else:
            outcome = "prefix" if prefix >= size else "infill"
        if self.record:
            yield from self._emit_verify(chosen, probabilities, runs, prefix, outcome)
        return runs, prefix, outcome

    def _emit_verify(
        self,
        chosen: list[Draft],
        probabilities: list[list[float]],
        runs: list[int],
        prefix: int,
        outcome: str,
    ) -> Emits:
        size = self.config.slot_size
        committed = {row.slot for row in self._prefix_rows(chosen, prefix)}
        slots = []
        for draft, chances, run in zip(chosen, probabilities, runs, strict=True):
            if outcome == "infill":
                fate = "infill"
            elif draft.slot in committed:
                fate = "committed"
            else:
                fate = "dropped" if outcome == "eos" else "returned"
            slots.append(
                VerifiedSlot(
                    slot=draft.slot,
                    tokens=tuple(draft.tokens),
                    probabilities=tuple(chances),
                    statuses=("forced",) * size
                    if self._written
                    else ("first", *_statuses(run - 1, size - 1)),
                    accepted_run=run,
                    outcome=fate,
                )
            )
        yield from self._recorder.emit(
            Verify,
            forward=self._forwards - 1,
            slots=tuple(slots),
            accepted_prefix=prefix,
            outcome=outcome,
        )

    def _prefix_rows(self, chosen: list[Draft], prefix: int) -> list[Row]:
        """The slots that the accepted prefix commits: whole ones, or all up to the first eos in it.

        Their entries are those of the verify forward, right behind the committed ones.
        """
        size, rows, at = self.config.slot_size, [], self._committed
        for draft in chosen:
            run = min(prefix, size)
            end = selection.end_at_eos(draft.tokens, run, self.eos_id)
            if end is None and run < size:
                break
            row = Row(
                slot=draft.slot,
                tokens=draft.tokens,
                run=end or size,
                origins=["forced"] * size
                if self._written
                else ["plan"] + ["verified"] * (size - 1),
                group=0,
                entries=list(range(at, at + (end or size))),
                ended_by_eos=end is not None,
            )
            rows.append(row)
            if row.ended_by_eos:
                break
            prefix, at = prefix - size, at + size
        return rows

    # Infill

    def _infill(self, chosen: list[Draft], runs: list[int]) -> Generator[Event, None, list[Row]]:
        """Predict-and-verify rounds of all chosen slots; returns those that survive eos, complete."""
        size = self.config.slot_size
        self._cache.rewind(self._committed)  # what verify computed saw the other slots
        rows = [
            Row(
                slot=draft.slot,
                tokens=list(draft.tokens),
                run=run,
                origins=["plan"] + ["verified"] * (size - 1),
                group=place + 1,
            )
            for place, (draft, run) in enumerate(zip(chosen, runs, strict=True))
        ]
        rows = self._cut_at_eos(rows)
        number = 0
        while not all(row.complete for row in rows):
            self._recorder.place["round"] = number
            rows = yield from self._infill_round(rows, first=number == 0)
            number += 1
        del self._recorder.place["round"]
        return rows

    def _cut_at_eos(self, rows: list[Row]) -> list[Row]:
        """End the first slot that accepted eos there, and drop the chosen slots behind it."""
        for place, row in enumerate(rows):
            end = selection.end_at_eos(row.tokens, row.run, self.eos_id)
            if end is not None:
                row.run, row.ended_by_eos = end, True
                row.entries = row.entries[:end]
                return rows[: place + 1]
        return rows

    def _infill_round(self, rows: list[Row], *, first: bool) -> Generator[Event, None, list[Row]]:
        active = [row for row in rows if not row.complete]
        before = {row.slot: row.run for row in active}
        proposals = yield from self._infill_predict(rows, active, first=first)
        predict_forward = self._forwards - 1
        verified, forced = yield from self._infill_verify(rows, active)
        survivors = self._cut_at_eos(rows)
        slots = [
            self._infilled_slot(
                row,
                before[row.slot],
                proposals[row.slot],
                verified[row.slot],
                forced[row.slot],
                dropped=row not in survivors,
            )
            for row in active
        ]
        waiting = [row for row in survivors if not row.complete]
        yield from self._recorder.emit(
            InfillRound,
            ids=[token for slot in slots for token in _ids_of(slot)],
            forward=self._forwards - 1,
            slots=tuple(slots),
            predict_forward=predict_forward,
            verify_forward=self._forwards - 1,
            straggler=min(waiting, key=lambda row: row.run).slot if waiting else None,
        )
        return survivors

    def _infill_predict(
        self, rows: list[Row], active: list[Row], *, first: bool
    ) -> Generator[Event, None, dict[int, list[Proposal]]]:
        """Fill the masks behind every accepted run.

        In the first round the accepted runs are fed too, since each slot must now see only itself; their
        entries stay. They go in front, so that the masks can be dropped from the end.
        """
        size = self.config.slot_size
        known = rows if first else []
        ids, positions, groups, segments = [], [], [], []
        for kind, feed in (("draft", known), ("mask", active)):
            for row in feed:
                span = range(row.run) if kind == "draft" else range(row.run, size)
                ids += [row.tokens[o] if kind == "draft" else self.mask_id for o in span]
                positions += [self._span(row.slot)[o] for o in span]
                groups += [row.group] * len(span)
                segments.append(
                    Segment(kind=kind, tokens=len(span), slot=row.slot, group=row.group)
                )
        at = self._cache.length
        hidden = yield from self._forward("infill_predict", ids, positions, segments, groups)
        fed = 0
        for row in known:
            row.entries = list(range(at + fed, at + fed + row.run))
            fed += row.run
            row.last_hidden = hidden[fed - 1]
        self._cache.rewind(at + fed)
        proposals = self._propose(hidden[fed:], positions[fed:])
        result: dict[int, list[Proposal]] = {}
        for row in active:
            count = size - row.run
            result[row.slot], proposals = proposals[:count], proposals[count:]
            row.tokens[row.run :] = [proposal.token for proposal in result[row.slot]]
        return result

    def _infill_verify(
        self, rows: list[Row], active: list[Row]
    ) -> Generator[Event, None, tuple[dict[int, list[float]], dict[int, bool]]]:
        """Verify the filled tokens and grow the runs; only entries of accepted tokens stay.

        The first filled token is judged by the hidden state of the last accepted one, which an earlier
        forward left.
        """
        size = self.config.slot_size
        fills = [row.tokens[row.run :] for row in active]
        at = self._cache.length
        hidden = yield from self._forward(
            "infill_verify",
            [token for fill in fills for token in fill],
            [p for row in active for p in self._span(row.slot)[row.run :]],
            [
                Segment(kind="draft", tokens=size - row.run, slot=row.slot, group=row.group)
                for row in active
            ],
            [row.group for row in active for _ in range(row.run, size)],
        )
        verified: dict[int, list[float]] = {}
        forced: dict[int, bool] = {}
        for row, fill in zip(active, fills, strict=True):
            own, hidden = hidden[: len(fill)], hidden[len(fill) :]  # [len(fill), D]
            judges = torch.cat((row.last_hidden[None], own[:-1]))
            chances = token_probabilities(self.model, judges, fill)
            grown, was_forced = selection.grow_run(row.run, chances, self.config.token_threshold)
            added = grown - row.run
            row.origins[row.run :] = ["infill"] * (size - row.run)
            if was_forced:
                row.origins[row.run] = "forced"
            row.entries += range(at, at + added)
            row.last_hidden = own[added - 1]
            row.run = grown
            verified[row.slot], forced[row.slot] = chances, was_forced
            at += len(fill)
        self._keep([row.entries for row in rows], into=rows)
        return verified, forced

    def _recompute(self, rows: list[Row]) -> Emits:
        """Compute the entries of infilled slots anew, each seeing those before it, instead of reusing them."""
        self._cache.rewind(self._committed)
        at = self._committed
        yield from self._forward(
            "recompute",
            [token for row in rows for token in row.tokens[: row.run]],
            [p for row in rows for p in self._span(row.slot)[: row.run]],
            [Segment(kind="draft", tokens=row.run, slot=row.slot) for row in rows],
        )
        for row in rows:
            row.entries = list(range(at, at + row.run))
            at += row.run

    def _keep(self, entries: list[list[int]], *, into: list[Row]) -> None:
        """Keep the committed entries and these, slot after slot, and note where they went."""
        at = self._committed
        self._cache.keep([*range(at), *(index for slot in entries for index in slot)])
        for row in into:
            row.entries = list(range(at, at + len(row.entries)))
            at += len(row.entries)

    def _infilled_slot(
        self,
        row: Row,
        before: int,
        proposals: list[Proposal],
        verified: list[float],
        forced: bool,
        *,
        dropped: bool,
    ) -> InfilledSlot:
        grown = selection.grow_run(before, verified, self.config.token_threshold)[0] - before
        statuses = _statuses(grown, len(proposals))
        return InfilledSlot(
            slot=row.slot,
            run_before=before,
            run_after=row.run,
            tokens=tuple(row.tokens),
            predicted=tuple(p.probability for p in proposals),
            verified=tuple(verified),
            statuses=("forced", *statuses[1:]) if forced else statuses,
            complete=row.complete,
            ended_by_eos=row.ended_by_eos,
            dropped=dropped,
            alternatives=tuple(p.alternatives for p in proposals),
            mask_offsets=tuple(before + i for i, p in enumerate(proposals) if p.over_mask),
        )

    # Commit

    def _commit(self, branch: str, rows: list[Row], before: int) -> Emits:
        self._keep([row.entries[: row.run] for row in rows], into=rows)
        self._cache.commit()
        slots = []
        for row in rows:
            positions = self._span(row.slot)[: row.run]
            self._tokens += row.tokens[: row.run]
            self._positions += positions
            self._owners += [row.slot] * row.run
            slots.append(
                CommittedSlot(
                    slot=row.slot,
                    tokens=tuple(row.tokens[: row.run]),
                    positions=tuple(positions),
                    cache_indexes=tuple(row.entries),
                    origins=tuple(row.origins[: row.run]),
                )
            )
        dropped, eos_position = self._drop_after_eos(rows)
        yield from self._emit_commit(branch, slots, dropped, eos_position, before)

    def _drop_after_eos(self, rows: list[Row]) -> tuple[tuple[int, ...], int | None]:
        """The slots that an eos committed just now ends, and its position."""
        if not rows[-1].ended_by_eos:
            return (), None
        end = self._eos_slot if self._eos_slot is not None else self.config.slot_count
        self._eos_slot = rows[-1].slot
        gone = range(self._eos_slot + 1, end)
        dropped = tuple(slot for slot in gone if slot not in self._owners)
        return dropped, self._span(self._eos_slot)[rows[-1].run - 1]

    # Dependency

    def _attention_mass(self, remaining: list[int], prompt_length: int) -> AttentionMass | None:
        """A watcher for the plan forward: rows are the remaining slots; columns the prompt, then the
        committed slots and the remaining ones in position order."""
        method = self.record.dependency if self.record else None
        if method not in ("attention", "attention_heads"):
            return None
        size = self.config.slot_size
        columns = self._dependency_columns(remaining)
        place = {slot: index + 1 for index, slot in enumerate(columns)}
        fed = [place[slot] for slot in remaining for _ in range(size)]
        owners = [place[slot] for slot in self._owners]
        return AttentionMass(
            query_rows=[-1] * prompt_length
            + [r for r in range(len(remaining)) for _ in range(size)],
            key_columns=[0] * len(self.prompt_ids) + owners + fed,
            rows=len(remaining),
            columns=len(columns) + 1,
            by_head=method == "attention_heads",
        )

    def _dependency_columns(self, remaining: list[int]) -> list[int]:
        return sorted({*self._owners, *remaining})

    def _room_for_watching(self) -> int:
        measures = self.record is not None and self.record.dependency in ("revealed", "joint")
        if not measures and self.config.policy == "threshold":
            return 0
        return reveal_capacity(self.config.slots_per_block, self.config.slot_size)

    def _slots_of(self, drafts: list[Draft]) -> list[tuple[list[int], range]]:
        return [(draft.tokens, self._span(draft.slot)) for draft in drafts]

    def _revealed(self, drafts: list[Draft], before: Tensor) -> Tensor:
        """Revealed dependency [n, n] of the drafted slots, over the committed entries."""
        return revealed(self.model, self._cache, self._slots_of(drafts), before, self.mask_id)

    def _emit_dependency(
        self, drafts: list[Draft], before: Tensor, watcher: AttentionMass | None
    ) -> Emits:
        """How the slots of a plan depend on one another; before [n, D]: the hidden states of their first masks.

        Of a single slot only attention has something to say.
        """
        method, values = self.record.dependency, {}
        rows = columns = [draft.slot for draft in drafts]
        chosen = [draft.slot for draft in drafts if draft.choice.chosen]
        if watcher is not None:
            masses = watcher.matrix()
            matrix, columns = masses[:, 1:], self._dependency_columns(rows)
            values["prompt"] = _rounded(masses[:, 0])
            if method == "attention_heads":
                values["heads"] = tuple(
                    tuple(tuple(map(_rounded, head[:, 1:])) for head in layer)
                    for layer in watcher.heads()
                )
            method = "attention"
        elif method == "revealed" and len(drafts) > 1:
            matrix = self._revealed(drafts, before)
        elif method == "joint" and len(chosen) > 1:
            rows = columns = chosen
            own = [draft for draft in drafts if draft.choice.chosen]
            matrix, gains = joint(self.model, self._cache, self._slots_of(own), self.mask_id)
            values["gains"] = _rounded(gains)
        else:
            return
        if method == "joint":
            violated = gains.abs().sum()
        else:
            inside = matrix[[rows.index(slot) for slot in chosen]]
            inside = inside[:, [columns.index(slot) for slot in chosen]]
            violated = inside.sum() - inside.diagonal().sum()
        yield from self._recorder.emit(
            Dependency,
            forward=self._forwards - 1,
            method=method,
            rows=tuple(rows),
            columns=tuple(columns),
            matrix=tuple(map(_rounded, matrix)),
            violated=round(violated.item(), 6),
            **values,
        )


def _rounded(values: Tensor) -> tuple[float, ...]:
    return tuple(round(value, 6) for value in values.tolist())


def _statuses(accepted: int, total: int) -> tuple[str, ...]:
    """Accepted tokens, the one that broke the run, and those behind it."""
    broken = min(1, total - accepted)
    return (
        *["accepted"] * accepted,
        *["rejected"] * broken,
        *["behind"] * (total - accepted - broken),
    )


def _ids_of(slot: PlannedSlot | InfilledSlot) -> Iterator[int]:
    """Token ids that an event shows for a slot."""
    yield from slot.tokens
    for alternatives in slot.alternatives:
        for token, _ in alternatives:
            yield token
