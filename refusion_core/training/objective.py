"""Training objectives: how an example is fed and what each fed token is asked for.

``refusion`` (paper, section 3): prompt, clean slots in random order, masked slots in position order, causal,
each token with its true position; masked prediction between slots, next-token prediction inside them. For
comparison ``ar``, plain next-token prediction in reading order, and ``mdm``, single masked tokens in reading
order under attention in both directions. Pure functions; knows nothing of models or text.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

import torch
import torch.nn.functional as F
from torch import Tensor

OBJECTIVES = ("refusion", "ar", "mdm")
# How often each slot size is drawn: the paper's four, the small ones more often, since short answers are
# decoded in small slots and a large masked slot says little that can be learned.
SLOT_SIZES = {4: 0.4, 8: 0.3, 16: 0.2, 32: 0.1}
IGNORED = -1


class Kind(IntEnum):
    """What a fed token is asked for."""

    NOTHING = 0
    NEXT = 1  # a clean token: the next one of its slot
    SLOT_START = (
        2  # a mask: the first token of its slot, which decides the plan (in mdm, any token)
    )
    SLOT_REST = 3  # a mask: any other token of its slot


@dataclass(frozen=True)
class Response:
    """A response padded with eos to whole slots.

    ``length`` counts the tokens up to the first eos, that one included; those behind it are past the end.
    """

    tokens: tuple[int, ...]
    length: int
    slot_size: int

    @property
    def slot_count(self) -> int:
        return len(self.tokens) // self.slot_size

    def span(self, slot: int) -> range:
        """Offsets of a slot's tokens."""
        return range(slot * self.slot_size, (slot + 1) * self.slot_size)


@dataclass(frozen=True)
class Layout:
    """One example as it is fed. Per fed token: id, true position, target, weight of its loss, kind.

    A clean token's target is the next one of its slot (none for the last), a mask's target is the token that
    it hides. Weights hold everything but the batch mean, so the loss of the example is their weighted sum.
    """

    ids: list[int]
    positions: list[int]
    targets: list[int]
    weights: list[float]
    kinds: list[int]


def pad_response(
    tokens: Sequence[int], *, eos_id: int, slot_size: int, past_end: int = 0
) -> Response:
    """The response with its eos, filled with eos to whole slots and by at least ``past_end`` more tokens."""
    length = len(tokens) + 1
    slots = -(-(length + past_end) // slot_size)
    filled = [*tokens, *[eos_id] * (slots * slot_size - len(tokens))]
    return Response(tuple(filled), length, slot_size)


def draw_mask_levels(rng: random.Random, count: int) -> list[float]:
    """Numbers t in (0, 1), stratified over the batch, in random order."""
    levels = [(i + rng.random()) / count for i in range(count)]
    rng.shuffle(levels)
    return levels


def masked_count(level: float, slot_count: int) -> tuple[int, float]:
    """How many slots to mask at this level, and the weight of each masked token.

    The paper masks every slot with probability t and weighs by 1/t, t uniform on (0, 1). Then the count m is
    uniform on 0 to K, and given m, the mean of 1/t is (K + 1) / m. Drawing m itself is the same objective
    without the rare huge weights of a small t.
    """
    count = int(level * (slot_count + 1))
    return count, (slot_count + 1) / max(1, count)


def _prompt_layout(prompt: Sequence[int]) -> Layout:
    """The beginning of every layout: a prompt is asked for nothing."""
    length = len(prompt)
    return Layout(
        ids=list(prompt),
        positions=list(range(length)),
        targets=[IGNORED] * length,
        weights=[0.0] * length,
        kinds=[Kind.NOTHING] * length,
    )


def draw_layout(
    rng: random.Random,
    prompt: Sequence[int],
    response: Response,
    *,
    mask_id: int,
    level: float,
    past_end_weight: float,
) -> Layout:
    """A layout with random slots masked, as many as the level says, and the clean ones shuffled."""
    count, weight = masked_count(level, response.slot_count)
    return build_layout(
        prompt,
        response,
        clean_slots=rng.sample(range(response.slot_count), response.slot_count - count),
        mask_id=mask_id,
        mask_weight=weight,
        past_end_weight=past_end_weight,
    )


def build_layout(
    prompt: Sequence[int],
    response: Response,
    *,
    clean_slots: Sequence[int],
    mask_id: int,
    mask_weight: float,
    past_end_weight: float,
) -> Layout:
    """Prompt, the clean slots in the given order, then all others as masks in position order."""
    start = len(prompt)
    layout = _prompt_layout(prompt)

    def feed(token: int, offset: int, kind: Kind, target: int | None, weight: float) -> None:
        """``offset`` and ``target`` are offsets in the response, of the token and of what it predicts."""
        layout.ids.append(token)
        layout.positions.append(start + offset)
        layout.kinds.append(kind)
        if target is None:
            layout.targets.append(IGNORED)
            layout.weights.append(0.0)
            return
        share = 1.0 if target < response.length else past_end_weight
        layout.targets.append(response.tokens[target])
        layout.weights.append(share * weight / response.length)

    for slot in clean_slots:
        *inner, last = response.span(slot)
        for offset in inner:
            feed(response.tokens[offset], offset, Kind.NEXT, offset + 1, 1.0)
        feed(response.tokens[last], last, Kind.NOTHING, None, 1.0)
    for slot in sorted(set(range(response.slot_count)) - set(clean_slots)):
        first, *rest = response.span(slot)
        feed(mask_id, first, Kind.SLOT_START, first, mask_weight)
        for offset in rest:
            feed(mask_id, offset, Kind.SLOT_REST, offset, mask_weight)
    return layout


def autoregressive_layout(prompt: Sequence[int], response: Response) -> Layout:
    """Prompt and response in reading order; each token from the last of the prompt on is asked for the next."""
    tokens = response.tokens[: response.length]
    ids = [*prompt, *tokens]
    asked = range(len(prompt) - 1, len(ids) - 1)
    return Layout(
        ids=ids,
        positions=list(range(len(ids))),
        targets=[ids[i + 1] if i in asked else IGNORED for i in range(len(ids))],
        weights=[1.0 / response.length if i in asked else 0.0 for i in range(len(ids))],
        kinds=[Kind.NEXT if i in asked else Kind.NOTHING for i in range(len(ids))],
    )


def token_mask_layout(
    rng: random.Random,
    prompt: Sequence[int],
    response: Response,
    *,
    mask_id: int,
    level: float,
    past_end_weight: float,
) -> Layout:
    """Prompt and response in reading order with random tokens masked, as many as the level says.

    ``response`` has slots of one token: a token is to this objective what a slot is to the hybrid one.
    """
    count, weight = masked_count(level, response.slot_count)
    start, masked = len(prompt), set(rng.sample(range(response.slot_count), count))
    layout = _prompt_layout(prompt)
    for offset, token in enumerate(response.tokens):
        hidden = offset in masked
        share = 1.0 if offset < response.length else past_end_weight
        layout.ids.append(mask_id if hidden else token)
        layout.positions.append(start + offset)
        layout.targets.append(token if hidden else IGNORED)
        layout.weights.append(share * weight / response.length if hidden else 0.0)
        layout.kinds.append(Kind.SLOT_START if hidden else Kind.NOTHING)
    return layout


@dataclass(frozen=True)
class Batch:
    """Layouts side by side, padded on the right: ids and positions [B, T]; ``index`` [N] points into the
    flattened [B * T] tokens that have a target, with ``targets``, ``weights`` and ``kinds`` [N].

    mask: bool [B, 1, 1, T], which tokens every token sees; None is causal attention.
    """

    ids: Tensor
    positions: Tensor
    index: Tensor
    targets: Tensor
    weights: Tensor
    kinds: Tensor
    examples: int
    mask: Tensor | None = None

    @property
    def tokens(self) -> int:
        return self.ids.numel()

    def to(self, device: torch.device) -> Batch:
        """The batch with its tensors on a device."""
        tensors = {
            name: value.to(device)
            for name, value in vars(self).items()
            if isinstance(value, Tensor) and value.device != device
        }
        return replace(self, **tensors)


def collate(layouts: Sequence[Layout], *, pad_id: int, both_directions: bool = False) -> Batch:
    """A batch of layouts. Padding on the right is never seen by real tokens: under causal attention it comes
    later, otherwise the mask hides it."""
    width = max(len(layout.ids) for layout in layouts)

    def padded(name: str, fill: float) -> Tensor:
        rows = [getattr(layout, name) for layout in layouts]
        return torch.tensor([row + [fill] * (width - len(row)) for row in rows])

    mask = None
    if both_directions:
        lengths = torch.tensor([len(layout.ids) for layout in layouts])
        mask = (torch.arange(width) < lengths[:, None])[:, None, None]  # [B, 1, 1, T]
    targets = padded("targets", IGNORED).flatten()
    index = (targets != IGNORED).nonzero().squeeze(1)
    return Batch(
        ids=padded("ids", pad_id),
        positions=padded("positions", 0),
        index=index,
        targets=targets[index],
        weights=padded("weights", 0.0).flatten()[index],
        kinds=padded("kinds", Kind.NOTHING).flatten()[index],
        examples=len(layouts),
        mask=mask,
    )


def weighted_loss(logits: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
    """Sum of the cross entropies of logits [N, V] at targets [N], weighted by weights [N]."""
    losses = F.cross_entropy(logits.float(), targets, reduction="none")
    return (losses * weights).sum()
