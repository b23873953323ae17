"""How slots depend on each other: attention mass, read off the plan forward; revealed dependency; and what a
parallel step lost, joint gain.

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
    by_head: keep every head's own masses too

    ``matrix()`` is [rows, columns]: mean over layers, heads and the row's tokens of the attention on all
    entries of a column; each row sums to 1. ``heads()`` is [layers, heads, rows, columns], the means over
    tokens alone. Costs one more attention product per layer.
    """

    def __init__(
        self,
        *,
        query_rows: list[int],
        key_columns: list[int],
        rows: int,
        columns: int,
        by_head: bool = False,
    ) -> None:
        self._watched = [place for place, row in enumerate(query_rows) if row >= 0]
        self._rows = torch.tensor([row for row in query_rows if row >= 0])
        self._columns = torch.tensor(key_columns)
        self._sum = torch.zeros(rows, columns)
        self._heads = 0
        self._layers: list[list[Tensor]] | None = [] if by_head else None

    def see(self, queries: Tensor, keys: Tensor, mask: Tensor | None) -> None:
        """Add one layer: queries [H, T, D], keys [H_kv, L, D], mask [T, L]."""
        device = queries.device
        self._rows, self._columns = self._rows.to(device), self._columns.to(device)
        self._sum = self._sum.to(device)
        group = queries.shape[0] // keys.shape[0]  # query heads per key head
        if self._layers is not None:
            self._layers.append([])
        watched = queries[:, self._watched].float() * queries.shape[2] ** -0.5  # [H, R, D]
        for head, own_keys in enumerate(keys.float()):  # one at a time: bounds the [R, L] scores
            scores = watched[head * group : (head + 1) * group] @ own_keys.T  # [group, R, L]
            if mask is not None:
                scores = scores.masked_fill(~mask[self._watched], -torch.inf)
            weights = scores.softmax(-1)  # [group, R, L]
            if self._layers is None:
                self._sum += self._by_slot(weights.sum(0))
                continue
            masses = [self._by_slot(own) for own in weights]
            self._sum += torch.stack(masses).sum(0)
            self._layers[-1] += masses
        self._heads += queries.shape[0]

    def _by_slot(self, weights: Tensor) -> Tensor:
        """Attention [R, L] added up over the tokens of a row and the entries of a column."""
        by_column = weights.new_zeros(weights.shape[0], self._sum.shape[1])
        by_column.index_add_(1, self._columns, weights)
        return torch.zeros_like(self._sum).index_add_(0, self._rows, by_column)

    @property
    def _tokens(self) -> Tensor:
        return torch.bincount(self._rows, minlength=self._sum.shape[0])[:, None]

    def matrix(self) -> Tensor:
        """The averaged masses, [rows, columns]."""
        return self._sum / (self._tokens * self._heads)

    def heads(self) -> Tensor:
        """The masses of every head, [layers, heads, rows, columns]."""
        return torch.stack([torch.stack(masses) for masses in self._layers]) / self._tokens


def reveal_capacity(slots: int, slot_size: int) -> int:
    """Cache entries that :func:`revealed` and :func:`joint` need beyond the committed ones."""
    return max(REVEAL_TOKENS, slots * slot_size)


Slot = tuple[Sequence[int], Sequence[int]]  # tokens of a draft, and their positions


@torch.no_grad()
def revealed(
    model: Any, cache: KVCache, drafts: Sequence[Slot], before: Tensor, mask_id: int
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
    groups = []
    for i, draft in enumerate(drafts):
        group = _known(draft)
        for j, (_, positions) in enumerate(drafts):
            if j != i:
                group += [(mask_id, p, None if k else (j, i)) for k, p in enumerate(positions)]
        groups.append(group)
    for logits, cells in _answers(model, cache, groups):
        rows = [j for j, _ in cells]
        old = model.logits(before[rows]).float()
        matrix[rows, [i for _, i in cells]] = _divergence(old, logits).cpu()
    return matrix


@torch.no_grad()
def joint(
    model: Any, cache: KVCache, drafts: Sequence[Slot], mask_id: int
) -> tuple[Tensor, Tensor]:
    """What n slots that were chosen together tell of one another: the gain in log probability (nats) of a
    slot's draft when others are known, its pointwise mutual information with them. Below 0 the others speak
    against it.

    drafts: tokens and positions of each slot, in position order

    Answers (M [n, n], gains [n]): M[j, i] is slot j's gain when slot i's draft alone is known, diagonal 0;
    gains[j] that when all the others are. A draft's log probability is that of its first token at a mask, as
    the plan reads it, and of the others each given those before, as verify reads them, behind the committed
    entries and the known drafts (paper, section 3.3; the masks of further slots are left out). Costs
    n * (n + 1) queries of up to 2 * n * S tokens.
    """
    n = len(drafts)
    knowns = [[(), *((i,) for i in range(n) if i != j), _others(n, j)] for j in range(n)]
    chances = [[0.0] * len(known) for known in knowns]
    groups = []
    for j, (tokens, positions) in enumerate(drafts):
        for q, known in enumerate(knowns[j]):
            head = [fed for i in known for fed in _known(drafts[i])]
            groups.append([*head, (mask_id, positions[0], (j, q, tokens[0]))])
            given = zip(tokens[:-1], positions[:-1], tokens[1:], strict=True)
            groups.append([*head, *((t, p, (j, q, following)) for t, p, following in given)])
    for logits, asked in _answers(model, cache, groups):
        wanted = torch.tensor([token for _, _, token in asked], device=logits.device)
        found = logits.log_softmax(-1).gather(1, wanted[:, None])[:, 0]
        for (j, q, _), chance in zip(asked, found.tolist(), strict=True):
            chances[j][q] += chance
    matrix, gains = torch.zeros(n, n), torch.zeros(n)
    for j, (alone, *pairs, together) in enumerate(chances):
        matrix[j, list(_others(n, j))] = torch.tensor(pairs) - alone
        gains[j] = together - alone
    return matrix, gains


def _others(n: int, j: int) -> tuple[int, ...]:
    return tuple(i for i in range(n) if i != j)


# A token that is fed: its id, its position, and what is asked of it.
_Fed = tuple[int, int, Any]


def _known(draft: Slot) -> list[_Fed]:
    return [(token, position, None) for token, position in zip(*draft, strict=True)]


def _answers(
    model: Any, cache: KVCache, groups: list[list[_Fed]]
) -> Iterator[tuple[Tensor, list[Any]]]:
    """Feed groups side by side over the cache, which stays as it is: the logits [N, V] of the tokens of which
    something is asked, and what that is."""
    start = cache.length
    for batch in _batches(groups):
        fed = [(*entry, number) for number, group in enumerate(batch) for entry in group]
        hidden = model.feed(
            [token for token, _, _, _ in fed],
            [position for _, position, _, _ in fed],
            cache,
            [number for _, _, _, number in fed],
        )
        cache.rewind(start)
        places = [place for place, (_, _, asked, _) in enumerate(fed) if asked is not None]
        for at in range(0, len(places), _ROWS_AT_ONCE):
            part = places[at : at + _ROWS_AT_ONCE]
            yield model.logits(hidden[part]).float(), [fed[place][2] for place in part]


def _batches(groups: list[list[_Fed]]) -> Iterator[list[list[_Fed]]]:
    """The groups in batches of at most ``REVEAL_TOKENS`` tokens (or one group), without what follows the last
    token of which something is asked."""
    batch: list[list[_Fed]] = []
    for group in groups:
        asked = [place for place, (_, _, what) in enumerate(group) if what is not None]
        if not asked:
            continue
        needed = group[: asked[-1] + 1]
        if batch and sum(map(len, batch)) + len(needed) > REVEAL_TOKENS:
            yield batch
            batch = []
        batch.append(needed)
    if batch:
        yield batch


def _divergence(left: Tensor, right: Tensor) -> Tensor:
    """Jensen-Shannon divergence of the softmax of logits [N, V], natural logarithm, [N]."""
    p, q = left.log_softmax(-1), right.log_softmax(-1)
    middle = torch.logaddexp(p, q) - torch.log(torch.tensor(2.0))
    divergence = (p.exp() * (p - middle) + q.exp() * (q - middle)).sum(-1) / 2
    return divergence.clamp_min(0)
