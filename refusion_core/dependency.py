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
        self._layers = 0

    def see(self, queries: Tensor, keys: Tensor, mask: Tensor | None) -> None:
        """Add one layer: queries [H, T, D], keys [H_kv, L, D], mask [T, L]."""
        heads, _, head_dim = queries.shape
        kv_heads = keys.shape[0]
        watched = queries[:, self._watched].float()  # [H, R, D]
        watched = watched.view(kv_heads, heads // kv_heads, -1, head_dim)
        scores = watched @ keys.float().unsqueeze(1).transpose(-1, -2) / head_dim**0.5
        if mask is not None:
            scores = scores.masked_fill(~mask[self._watched], -torch.inf)
        weights = scores.softmax(-1).mean((0, 1)).cpu()  # [R, L]
        by_column = torch.zeros(weights.shape[0], self._sum.shape[1])
        by_column.index_add_(1, self._columns, weights)
        self._sum.index_add_(0, self._rows, by_column)
        self._layers += 1

    def matrix(self) -> Tensor:
        """The averaged masses, [rows, columns]."""
        tokens = torch.bincount(self._rows, minlength=self._sum.shape[0])
        return self._sum / (tokens[:, None] * self._layers)
