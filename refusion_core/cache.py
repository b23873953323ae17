"""A preallocated key/value cache in buffer order: append, rewind, keep. Knows nothing of slots or tokens.

Every entry belongs to a group: 0 is committed and visible to all queries, any other group is visible to
queries of that group only. So slots decoded in parallel share one cache and nothing is ever copied.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from .errors import ConfigError


class KVCache:
    """Keys and values of up to ``capacity`` tokens for every layer; ``length`` entries are valid."""

    def __init__(
        self,
        *,
        layers: int,
        kv_heads: int,
        head_dim: int,
        capacity: int,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> None:
        shape = (layers, 2, kv_heads, capacity, head_dim)
        self._entries = torch.zeros(shape, dtype=dtype, device=device)
        self._groups = torch.zeros(capacity, dtype=torch.long, device=device)
        self.capacity = capacity
        self.length = 0

    @property
    def groups(self) -> Tensor:
        """Group of every valid entry, [length]."""
        return self._groups[: self.length]

    @property
    def bytes_per_entry(self) -> int:
        """Bytes that one token's keys and values take over all layers."""
        layers, pair, heads, _, head_dim = self._entries.shape
        return layers * pair * heads * head_dim * self._entries.element_size()

    def append(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Write one layer's keys and values [kv_heads, T, head_dim] behind the valid entries.

        Returns that layer's keys and values including them, [kv_heads, length + T, head_dim]. The entries
        become valid for all layers with :meth:`advance`.
        """
        end = self.length + keys.shape[1]
        self._check_room(end)
        self._entries[layer, 0, :, self.length : end] = keys
        self._entries[layer, 1, :, self.length : end] = values
        return self._entries[layer, 0, :, :end], self._entries[layer, 1, :, :end]

    def advance(self, groups: Tensor) -> None:
        """Make the entries just appended valid; ``groups`` [T] says whose they are."""
        end = self.length + groups.shape[0]
        self._check_room(end)
        self._groups[self.length : end] = groups
        self.length = end

    def rewind(self, length: int) -> None:
        """Forget every entry from ``length`` on. Raises ConfigError outside 0 ≤ length ≤ self.length."""
        if not 0 <= length <= self.length:
            raise ConfigError(
                "rewind length", length, "is outside the cache", f"give 0 to {self.length}"
            )
        self.length = length

    def keep(self, indices: Sequence[int]) -> None:
        """Keep just these entries, in this order; they become the whole cache. Groups go along.

        Raises ConfigError when an index is outside the cache or given twice.
        """
        if len(set(indices)) != len(indices) or not all(0 <= i < self.length for i in indices):
            raise ConfigError(
                "keep indices",
                list(indices),
                "repeat or are outside the cache",
                f"give distinct indices below {self.length}",
            )
        # Entries that stay where they are (the committed ones) are not touched.
        still = 0
        while still < len(indices) and indices[still] == still:
            still += 1
        moved = torch.tensor(indices[still:], dtype=torch.long, device=self._entries.device)
        self._entries[:, :, :, still : len(indices)] = self._entries[:, :, :, moved]
        self._groups[still : len(indices)] = self._groups[moved]
        self.length = len(indices)

    def commit(self) -> None:
        """Make all valid entries visible to every group."""
        self._groups[: self.length] = 0

    def _check_room(self, end: int) -> None:
        if end > self.capacity:
            raise ConfigError(
                "cache length", end, f"exceeds the capacity of {self.capacity}", "make it larger"
            )
