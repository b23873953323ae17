"""From hidden states to proposals and probabilities. Computes in float32, in chunks of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

_ROWS_AT_ONCE = 64  # bounds the float32 logits of a large vocabulary (151k × 64 rows: 39 MB)


class LogitsModel(Protocol):
    """What is needed of a model here."""

    def logits(self, hidden: Tensor) -> Tensor:
        """[..., hidden_size] to [..., vocab_size]."""


@dataclass(frozen=True)
class Proposal:
    """What a mask position proposes. ``over_mask``: the mask itself came first and was passed over."""

    token: int
    probability: float
    alternatives: tuple[tuple[int, float], ...]
    over_mask: bool


def exact(value: float) -> float:
    """A float32 number in the shortest decimals that give it back, so that traces lose nothing."""
    return float(f"{value:.9g}")


def _noise(vocab_size: int, seed: int, iteration: int, position: int) -> Tensor:
    """Gumbel noise, float64 [vocab_size], fixed by seed, iteration and position (so forks repeat it)."""
    mixed = ((seed * 1_000_003 + iteration) * 1_000_003 + position) % 2**63
    generator = torch.Generator().manual_seed(mixed)
    uniform = torch.rand(vocab_size, dtype=torch.float64, generator=generator)
    return -torch.log(-torch.log(uniform))


@torch.no_grad()
def propose(
    model: LogitsModel,
    hidden: Tensor,
    *,
    mask_id: int,
    top_k: int = 0,
    temperature: float = 0.0,
    seed: int = 0,
    iteration: int = 0,
    positions: Sequence[int] = (),
) -> list[Proposal]:
    """The best token at each mask position, hidden [N, hidden_size]; never the mask itself.

    Probabilities are of the plain distribution; the temperature only scales Gumbel noise on the choice, in
    float64, and needs the ``positions`` of the rows. ``top_k`` best ids come along as alternatives.
    """
    proposals = []
    for start, logits in _chunks(model, hidden):
        probabilities = logits.softmax(-1)  # [R, V]
        scores = logits
        if temperature > 0:
            rows = range(start, start + logits.shape[0])
            noise = [_noise(logits.shape[1], seed, iteration, positions[row]) for row in rows]
            scores = logits.double() + temperature * torch.stack(noise).to(logits.device)
        over_mask = (scores.argmax(-1) == mask_id).tolist()
        scores = scores.index_fill(-1, torch.tensor([mask_id], device=scores.device), -torch.inf)
        tokens = scores.argmax(-1)
        chances = probabilities.gather(-1, tokens[:, None])[:, 0].tolist()
        best = probabilities.topk(min(top_k, logits.shape[1]), -1) if top_k else None
        for row, token in enumerate(tokens.tolist()):
            alternatives = ()
            if best is not None:
                pairs = zip(best.indices[row].tolist(), best.values[row].tolist(), strict=True)
                alternatives = tuple((i, exact(p)) for i, p in pairs)
            proposals.append(Proposal(token, exact(chances[row]), alternatives, over_mask[row]))
    return proposals


@torch.no_grad()
def spread(model: LogitsModel, hidden: Tensor) -> list[tuple[float, float]]:
    """Entropy in nats and probability of the second best token, per row of hidden [N, hidden_size]."""
    result: list[tuple[float, float]] = []
    for _, logits in _chunks(model, hidden):
        logs = logits.log_softmax(-1)
        entropies = -(logs.exp() * logs).nan_to_num().sum(-1)
        second = logs.topk(2, -1).values[:, 1].exp()
        result += zip(map(exact, entropies.tolist()), map(exact, second.tolist()), strict=True)
    return result


@torch.no_grad()
def token_probabilities(model: LogitsModel, hidden: Tensor, tokens: Sequence[int]) -> list[float]:
    """Probability of ``tokens[i]`` under the distribution of ``hidden[i]``, hidden [N, hidden_size]."""
    result: list[float] = []
    for start, logits in _chunks(model, hidden):
        wanted = torch.tensor(tokens[start : start + logits.shape[0]], device=logits.device)
        result += logits.softmax(-1).gather(-1, wanted[:, None])[:, 0].tolist()
    return [exact(probability) for probability in result]


def _chunks(model: LogitsModel, hidden: Tensor) -> Iterator[tuple[int, Tensor]]:
    for start in range(0, hidden.shape[0], _ROWS_AT_ONCE):
        yield start, model.logits(hidden[start : start + _ROWS_AT_ONCE]).float()
