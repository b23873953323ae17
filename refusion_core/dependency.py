"""How slots depend on each other: attention mass, read off the plan forward, and revealed dependency.

Knows nothing of events; the decoder turns the numbers into one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from .cache import KVCache

REVEAL_TOKENS = 512  # fed at once: bounds the attention mask and the room that the cache needs
_ROWS_AT_ONCE = 64  # bounds the float32 distributions of a large vocabulary


class AttentionMass:
    """Watches one forward and averages attention from row owners to column owners.

    query_rows: for each of T fed tokens the row it counts for, or -1
    key_columns: for each of L entries (cached, then fed) the column it counts for
    rows, columns: how many there are

    ``matrix()`` is [rows, columns]: mean over layers, heads and the row's tokens of the attention on all
    entries of a column; each row sums to 1. Costs one more attention product per layer.
    """

    def __init__(
        self, *, query_rows: list[int], key_columns: list[int], rows: int, columns: int
    ) -> None:
        self._watched = [place for place, row in enumerate(query_rows) if row >= 0]
        self._rows = torch.tensor([row for row in query_rows if row >= 0])
        self._columns = torch.tensor(key_columns)
        self._sum = torch.zeros(rows, columns)
        self._heads = 0

    def see(self, queries: Tensor, keys: Tensor, mask: Tensor | None) -> None:
        """Add one layer: queries [H, T, D], keys [H_kv, L, D], mask [T, L]."""
        device = queries.device
        self._rows, self._columns = self._rows.to(device), self._columns.to(device)
        self._sum = self._sum.to(device)
        group = queries.shape[0] // keys.shape[0]  # query heads per key head
        watched = queries[:, self._watched].float() * queries.shape[2] ** -0.5  # [H, R, D]
        for head, own_keys in enumerate(keys.float()):  # one at a time: bounds the [R, L] scores
            scores = watched[head * group : (head + 1) * group] @ own_keys.T  # [group, R, L]
            if mask is not None:
                scores = scores.masked_fill(~mask[self._watched], -torch.inf)
            weights = scores.softmax(-1).sum(0)  # [R, L]
            by_column = weights.new_zeros(weights.shape[0], self._sum.shape[1])
            by_column.index_add_(1, self._columns, weights)
            self._sum.index_add_(0, self._rows, by_column)
        self._heads += queries.shape[0]

    def matrix(self) -> Tensor:
        """The averaged masses, [rows, columns]."""
        tokens = torch.bincount(self._rows, minlength=self._sum.shape[0])
        return self._sum / (tokens[:, None] * self._heads)


def reveal_capacity(slots: int, slot_size: int) -> int:
    """Cache entries that :func:`revealed` needs beyond the committed ones."""
    return max(REVEAL_TOKENS, slots * slot_size)


@torch.no_grad()
def revealed(
    model: Any,
    cache: KVCache,
    drafts: Sequence[tuple[Sequence[int], Sequence[int]]],
    before: Tensor,
    mask_id: int,
) -> Tensor:
    """Revealed dependency M [n, n] of n remaining slots: M[j, i] is the Jensen-Shannon divergence (natural
    logarithm, 0 to ln 2) between the distributions of slot j's first token before and after slot i's draft is
    revealed (the paper's notion of dependency, section 3). The diagonal is 0.

    drafts: tokens and positions of each slot, in position order
    before: hidden states [n, D] of the slots' first masks in the plan forward

    Revealing a slot puts its draft behind the committed entries and the masks of the others behind that, as
    after a commit. Costs n groups of n * S tokens, at most ``REVEAL_TOKENS`` a forward, over the shared cache.
    """
    matrix = torch.zeros(len(drafts), len(drafts))
    start = cache.length
    for batch in _reveal_batches(drafts, mask_id):
        fed = [token for reveal in batch for token in reveal]
        hidden = model.feed(
            [token for token, _, _, _ in fed],
            [position for _, position, _, _ in fed],
            cache,
            [group for _, _, group, _ in fed],
        )
        cache.rewind(start)
        asked = [(place, slot) for place, (_, _, _, slot) in enumerate(fed) if slot is not None]
        columns = [fed[place][2] - 1 for place, _ in asked]
        for at in range(0, len(asked), _ROWS_AT_ONCE):
            part = asked[at : at + _ROWS_AT_ONCE]
            rows = [slot for _, slot in part]
            old = model.logits(before[rows]).float()
            new = model.logits(hidden[[place for place, _ in part]]).float()
            matrix[rows, columns[at : at + _ROWS_AT_ONCE]] = _divergence(old, new).cpu()
    return matrix


_Fed = tuple[int, int, int, int | None]  # token, position, group, slot whose first mask it is


def _reveal_batches(
    drafts: Sequence[tuple[Sequence[int], Sequence[int]]], mask_id: int
) -> Iterator[list[list[_Fed]]]:
    """The reveals, one group each, in batches of at most ``REVEAL_TOKENS`` tokens (or one reveal)."""
    batch: list[list[_Fed]] = []
    for i, (tokens, span) in enumerate(drafts):
        reveal: list[_Fed] = [(t, p, i + 1, None) for t, p in zip(tokens, span, strict=True)]
        for j, (_, masks) in enumerate(drafts):
            if j != i:
                reveal += [(mask_id, p, i + 1, None if k else j) for k, p in enumerate(masks)]
        while reveal and len(reveal) > len(tokens) and reveal[-1][3] is None:
            reveal.pop()  # nothing is asked of what follows the last first mask
        if batch and sum(map(len, batch)) + len(reveal) > REVEAL_TOKENS:
            yield batch
            batch = []
        batch.append(reveal)
    if batch:
        yield batch


def _divergence(left: Tensor, right: Tensor) -> Tensor:
    """Jensen-Shannon divergence of the softmax of logits [N, V], natural logarithm, [N]."""
    p, q = left.log_softmax(-1), right.log_softmax(-1)
    middle = torch.logaddexp(p, q) - torch.log(torch.tensor(2.0))
    divergence = (p.exp() * (p - middle) + q.exp() * (q - middle)).sum(-1) / 2
    return divergence.clamp_min(0)
