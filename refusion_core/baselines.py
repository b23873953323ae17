"""Autoregressive and masked-diffusion decoding of the same weights, with the same events as the decoder.

To both a slot is a single token: every plan event is about tokens. Greedy. Knows token ids only.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence

import torch
from torch import Tensor

from . import selection
from .config import AutoregressiveConfig, MaskedDiffusionConfig
from .dependency import AttentionMass
from .events import CommittedSlot, Event, Plan, PlannedSlot, Segment, Settings
from .readout import Proposal
from .run import Emits, Run


class _TokenRun(Run):
    """A run that plans and commits single tokens; a token's number in the response is its slot."""

    def _position(self, slot: int) -> int:
        return len(self.prompt_ids) + slot

    def _emit_plan(
        self,
        slots: Sequence[int],
        proposals: Sequence[Proposal],
        choices: Sequence[selection.Choice],
        threshold: float,
    ) -> Emits:
        """The plan event of the forward before it."""
        if not self.record:
            return
        planned = tuple(
            PlannedSlot(
                slot=slot,
                confidence=proposal.probability,
                margin=round(proposal.probability - threshold, 9),
                rank=choice.rank,
                chosen=choice.chosen,
                reason=choice.reason,
                tokens=(proposal.token,),
                probabilities=(proposal.probability,),
                alternatives=(proposal.alternatives,),
                mask_offsets=(0,) if proposal.over_mask else (),
            )
            for slot, proposal, choice in zip(slots, proposals, choices, strict=True)
        )
        ids = [token for slot in planned for token, _ in slot.alternatives[0]]
        yield from self._recorder.emit(
            Plan,
            ids=[proposal.token for proposal in proposals] + ids,
            forward=self._forwards - 1,
            slots=planned,
            chosen_slots=tuple(slot.slot for slot in planned if slot.chosen),
        )


class AutoregressiveDecoder(_TokenRun):
    """Left to right, one token per forward, every key and value computed once.

    The first token of each slot of ``config.slot_size`` is asked of a mask at its position, whose entry is
    dropped again: nothing else was trained to predict it. Every other token is asked of the one before it.
    """

    decoder = "ar"
    config: AutoregressiveConfig

    def _settings(self) -> Settings:
        return Settings(
            gen_length=self.config.gen_length,
            slot_size=1,
            serial_blocks=1,
            slot_threshold=0.0,
            token_threshold=0.0,
            temperature=0.0,
            seed=0,
            mask_every=self.config.slot_size,
        )

    def _decode(self) -> Generator[Event, None, bool]:
        unfed = list(self.prompt_ids)  # known tokens that have no cache entry yet
        for slot in range(self.config.gen_length):
            self._recorder.place = {"block": 0, "iteration": slot}
            self._reused = self._computed = 0
            before, kind = self._cache.length, "draft" if slot else "prompt"
            every = self.config.slot_size
            # An empty prompt leaves nothing to ask but a mask.
            ask_mask = not unfed or (every is not None and slot % every == 0)
            segments = [Segment(kind=kind, tokens=len(unfed), slot=slot - 1 if slot else None)]
            first = self._position(slot) - len(unfed)
            hidden = yield from self._forward(
                "ar",
                unfed + [self.mask_id] * ask_mask,
                list(range(first, self._position(slot) + ask_mask)),
                segments * bool(unfed) + [Segment(kind="mask", tokens=1, slot=slot)] * ask_mask,
            )
            self._cache.rewind(before + len(unfed))
            (proposal,) = self._propose(hidden[-1:], [self._position(slot)])
            choice = selection.Choice(True, "next", 0)
            yield from self._emit_plan([slot], [proposal], [choice], 0.0)
            yield from self._take(slot, proposal.token, "plan" if ask_mask else "next", before)
            unfed = [proposal.token]
            if proposal.token == self.eos_id:
                return True
        return False

    def _take(self, slot: int, token: int, origin: str, before: int) -> Emits:
        """Commit a token; its own entry is computed with the next forward, right behind the others."""
        self._tokens.append(token)
        self._positions.append(self._position(slot))
        ended = token == self.eos_id
        committed = CommittedSlot(
            slot=slot,
            tokens=(token,),
            positions=(self._position(slot),),
            cache_indexes=(self._position(slot),),
            origins=(origin,),
        )
        dropped = tuple(range(slot + 1, self.config.gen_length)) if ended else ()
        eos_position = self._position(slot) if ended else None
        yield from self._emit_commit("ar", [committed], dropped, eos_position, before)


class MaskedDiffusionDecoder(_TokenRun):
    """Token-level masked diffusion: every step recomputes prompt, committed tokens and masks, without cache.

    Tokens behind a committed eos are dropped, unless the config says otherwise; those before it are still
    decoded.
    """

    decoder = "mdm"
    config: MaskedDiffusionConfig

    def _notices(self) -> list[str]:
        asked, padded = self.config.gen_length, self.config.padded_length
        if asked == padded:
            return []
        return [
            f"gen_length {asked} was rounded up to {padded}: {self.config.serial_blocks} equal blocks"
        ]

    def _settings(self) -> Settings:
        config = self.config
        by_threshold = config.confidence_threshold is not None
        return Settings(
            gen_length=config.gen_length,
            slot_size=1,
            serial_blocks=config.serial_blocks,
            slot_threshold=config.confidence_threshold if by_threshold else 0.0,
            token_threshold=0.0,
            temperature=0.0,
            seed=0,
            tokens_per_step=None if by_threshold else config.tokens_per_step,
            confidence_threshold=config.confidence_threshold,
            layout=config.layout,
        )

    def _decode(self) -> Generator[Event, None, bool]:
        per_block = self.config.padded_length // self.config.serial_blocks
        masked = list(range(self.config.padded_length))  # slots, up to the first eos
        iteration = 0
        for block in range(self.config.serial_blocks):
            while any(slot // per_block == block for slot in masked):
                self._recorder.place = {"block": block, "iteration": iteration}
                masked = yield from self._step(masked, (block + 1) * per_block)
                iteration += 1
        return self.eos_id in self._tokens

    def _step(self, masked: list[int], block_end: int) -> Generator[Event, None, list[int]]:
        """One forward and one commit among the masked slots before ``block_end``; those masked after it."""
        self._reused = self._computed = 0
        hidden = yield from self._recompute(masked)
        candidates = [slot for slot in masked if slot < block_end]
        proposals = self._propose(
            hidden[: len(candidates)], [self._position(slot) for slot in candidates]
        )
        threshold = self.config.confidence_threshold
        confidences = [proposal.probability for proposal in proposals]
        if threshold is None:
            choices = selection.choose_best(confidences, self.config.tokens_per_step)
        else:
            choices = selection.choose_slots(confidences, threshold)
        yield from self._emit_plan(candidates, proposals, choices, threshold or 0.0)
        chosen = {
            slot: proposal.token
            for slot, proposal, choice in zip(candidates, proposals, choices, strict=True)
            if choice.chosen
        }
        return (yield from self._commit(masked, chosen))

    def _recompute(self, masked: list[int]) -> Generator[Event, None, Tensor]:
        """A forward over everything; the hidden states [masked, hidden_size] at the masks, in order.

        Masks behind the current block are fed too, as in training.
        """
        prompt = list(range(len(self.prompt_ids)))
        known = dict(zip(self._positions, self._tokens, strict=True))
        masks = [self._position(slot) for slot in masked]
        committed = sorted(known)
        order = [*prompt, *committed, *masks]
        if self.config.layout == "reading_order":
            order.sort()
        given = dict(enumerate(self.prompt_ids)) | known
        segments = [
            Segment(kind=kind, tokens=len(positions))
            for kind, positions in (("prompt", prompt), ("draft", committed), ("mask", masks))
            if positions
        ]
        hidden = yield from self._forward(
            "mdm", [given.get(position, self.mask_id) for position in order], order, segments
        )
        wanted = set(masks)
        return hidden[[i for i, position in enumerate(order) if position in wanted]]

    def _compute(
        self,
        ids: list[int],
        positions: list[int],
        groups: list[int] | None,
        watcher: AttentionMass | None,
    ) -> Tensor:
        device = self.model.device
        both_ways = self.config.layout == "reading_order"
        mask = torch.ones(1, 1, 1, len(ids), dtype=torch.bool, device=device) if both_ways else None
        with torch.no_grad():
            hidden = self.model.hidden(
                torch.tensor([ids], device=device), torch.tensor([positions], device=device), mask
            )
        return hidden[0]

    def _commit(
        self, masked: list[int], chosen: dict[int, int]
    ) -> Generator[Event, None, list[int]]:
        """Commit tokens by slot; returns the slots that remain masked: none behind an eos."""
        drops = self.config.drop_after_eos
        ends = [slot for slot, token in chosen.items() if token == self.eos_id and drops]
        end = min(ends, default=self.config.padded_length)
        kept = {slot: token for slot, token in chosen.items() if slot <= end}
        remaining = [slot for slot in masked if slot not in kept and slot <= end]
        dropped = tuple(slot for slot in masked if slot > end)
        self._tokens += kept.values()
        self._positions += [self._position(slot) for slot in kept]
        slots = [
            CommittedSlot(
                slot=slot,
                tokens=(token,),
                positions=(self._position(slot),),
                cache_indexes=(),
                origins=("plan",),
            )
            for slot, token in kept.items()
        ]
        eos_position = self._position(end) if ends else None
        yield from self._emit_commit("mdm", slots, dropped, eos_position, 0)
        return remaining
