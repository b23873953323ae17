"""Models for tests: one with known distributions, and one that recomputes everything without a cache."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from refusion_core.cache import KVCache
from refusion_core.events import ModelFacts, TokenText
from refusion_core.model import Transformer

GOLDEN = Path(__file__).resolve().parent / "golden" / "data"
PAD, EOS, MASK = 0, 1, 2
VOCAB = 16

Seen = list[tuple[int, int]]  # (position, token id) of what a query sees, in buffer order
Rule = Callable[[int, int, Seen], dict[int, float]]

FACTS = ModelFacts(
    name="fake",
    architecture="fake",
    parameters=0,
    dtype="float32",
    device="cpu",
    vocab_size=VOCAB,
    mask_id=MASK,
    eos_id=EOS,
)


class RuleModel:
    """Predicts what ``rule(token id, position, seen)`` says: probabilities, the rest spread evenly.

    It keeps the fed tokens in a real KVCache (as keys), so a decoder that breaks the cache breaks the answer.
    """

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.fed: list[list[int]] = []

    def new_cache(self, capacity: int) -> KVCache:
        return KVCache(layers=1, kv_heads=1, head_dim=2, capacity=capacity)

    def feed(self, ids, positions, cache, groups=None, watcher=None) -> Tensor:
        self.fed.append(list(ids))
        groups = groups or [0] * len(ids)
        start = cache.length
        pairs = torch.tensor([list(zip(positions, ids, strict=True))], dtype=torch.float32)
        keys, _ = cache.append(0, pairs, pairs)
        cache.advance(torch.tensor(groups))
        owners = cache.groups.tolist()
        entries = [(int(p), int(i)) for p, i in keys[0].tolist()]
        rows = []
        for place, (token, position, group) in enumerate(
            zip(ids, positions, groups, strict=True), start=start
        ):
            seen = [
                entry
                for index, (entry, owner) in enumerate(
                    zip(entries[: place + 1], owners, strict=False)
                )
                if owner == group or (owner == 0 and index < start)
            ]
            rows.append(_distribution(self.rule(token, position, seen)).log())
        return torch.stack(rows)

    def logits(self, hidden: Tensor) -> Tensor:
        return hidden


def _distribution(chances: dict[int, float]) -> Tensor:
    rest = (1 - sum(chances.values())) / (VOCAB - len(chances))
    row = torch.full((VOCAB,), max(rest, 1e-9), dtype=torch.float64)
    for token, chance in chances.items():
        row[token] = chance
    return row


class RecomputingModel:
    """A Transformer without a key/value cache: every forward recomputes all entries from their tokens.

    Its "cache" remembers, for every token, which tokens it could see when it was fed.
    """

    def __init__(self, model: Transformer) -> None:
        self.model = model

    def new_cache(self, capacity: int) -> TokenList:
        return TokenList()

    def logits(self, hidden: Tensor) -> Tensor:
        return self.model.logits(hidden)

    def feed(self, ids, positions, cache, groups=None, watcher=None) -> Tensor:
        for token, position, group in zip(ids, positions, groups or [0] * len(ids), strict=True):
            seen = [e for e in cache.entries if e.group in (0, group)]
            if group:  # group 0 in the same feed is committed only for group 0
                seen = [e for e in seen if e.group == group or not e.fresh]
            cache.entries.append(Entry(token, position, group, seen, fresh=True))
        for entry in cache.entries:
            entry.fresh = False
        every = cache.closure()
        place = {id(entry): index for index, entry in enumerate(every)}
        mask = torch.eye(len(every), dtype=torch.bool)
        for entry in every:
            mask[place[id(entry)], [place[id(e)] for e in entry.seen]] = True
        with torch.no_grad():
            hidden = self.model.hidden(
                torch.tensor([[e.token for e in every]]),
                torch.tensor([[e.position for e in every]]),
                mask,
            )[0]
        return hidden[[place[id(e)] for e in cache.entries[-len(ids) :]]]


class Entry:
    def __init__(self, token, position, group, seen, fresh) -> None:
        self.token, self.position, self.group = token, position, group
        self.seen, self.fresh = seen, fresh


class TokenList:
    """Stands in for a KVCache: the same moves, on tokens."""

    bytes_per_entry = 0

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    @property
    def length(self) -> int:
        return len(self.entries)

    def closure(self) -> list[Entry]:
        return self.entries

    def rewind(self, length: int) -> None:
        del self.entries[length:]

    def keep(self, indices) -> None:
        self.entries = [self.entries[i] for i in indices]

    def commit(self) -> None:
        for entry in self.entries:
            entry.group = 0


def plain_texts(ids: list[int]) -> list[TokenText]:
    """Token texts for decoders without a tokenizer."""
    return [TokenText(id=i, text=f"t{i}") for i in ids]


def run_decoder(decoder, model, *, prompt, config, record, stop=None, to_text=None):
    """All events of a run of a decoder class on a fake model."""
    run = decoder(
        model,
        FACTS,
        prompt_ids=prompt,
        config=config,
        record=record,
        describe=plain_texts,
        to_text=to_text,
        should_stop=stop,
    )
    return list(run.run())
