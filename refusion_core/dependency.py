"""How slots depend on each other. Here: attention mass, read off the plan forward.

Knows nothing of events; the decoder turns the numbers into one.
"""

from __future__ import annotations

import torch
from torch import Tensor


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
