"""Whether measured dependency finds the one that a task has: area under the ROC curve, by kind of prompt.

``python -m benchmarks.dependency [--per-kind N] [--slot-size S] [--json]``. The prompts are held-out ones of
the family ``invent``, which leave something open. All their right answers are known, and with them how the
slots depend on each other: the divergence that *revealed* measures on the model is computed exactly, over the
right answers before and after slot i has the text of one of them. A pair of slots is dependent from .01 nats
on, independent below .0001; those between are left out. Rank correlation takes all pairs. A second area is
over the pairs with i before j: no mask attends to what is behind it, which makes the others easy for attention.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Sequence
from typing import Annotated

import torch
import typer
from rich.console import Console
from rich.table import Table
from torch import Tensor
from tqdm import tqdm

from refusion_core import load_checkpoint
from refusion_core.checkpoint import Checkpoint, use_fitting_threads
from refusion_core.dependency import AttentionMass, joint, reveal_capacity, revealed
from refusion_core.training.tasks import FAMILIES, Sample
from refusion_core.training.tasks.invent import completions

KINDS = ("carries", "keys and values", "lists")
METHODS = ("revealed", "attention", "joint")
DEPENDENT, INDEPENDENT = 1e-2, 1e-4  # nats


def true_dependency(
    answers: list[list[int]], own: list[int], slot_size: int, eos_id: int
) -> Tensor:
    """Exact revealed dependency [n, n] of the n slots of the answer ``own``, when all ``answers`` (token ids)
    are equally likely: [j, i] is the Jensen-Shannon divergence (nats) of slot j's first token before and after
    slot i is known to have the tokens of ``own``. Answers end with eos without end."""
    count = -(-len(own) // slot_size)
    width = count * slot_size
    table = torch.tensor([(ids + [eos_id] * width)[:width] for ids in answers])
    fits = table.view(len(answers), count, slot_size).eq(
        torch.tensor((own + [eos_id] * width)[:width]).view(count, slot_size)
    )
    matrix = torch.zeros(count, count)
    for j, firsts in enumerate(table[:, ::slot_size].T):
        values, tokens = firsts.unique(return_inverse=True)
        before = torch.bincount(tokens, minlength=len(values)).double()
        for i, known in enumerate(fits.all(2).T):
            if i != j:
                after = torch.bincount(tokens[known], minlength=len(values)).double()
                matrix[j, i] = _divergence(before / before.sum(), after / after.sum())
    return matrix


def _divergence(p: Tensor, q: Tensor) -> float:
    middle = (p + q) / 2
    halves = [torch.special.xlogy(one, one / middle).nansum() for one in (p, q)]
    return max(0.0, sum(halves).item() / 2)


@torch.no_grad()
def matrices(
    checkpoint: Checkpoint, sample: Sample, slot_size: int, methods: Sequence[str] = METHODS
) -> dict[str, Tensor]:
    """Dependency [n, n] of the slots of the sample's answer, all masked, by each of the methods; of
    joint gains the absolute values."""
    model, mask = checkpoint.model, checkpoint.facts.mask_id
    prompt = checkpoint.encode_prompt(sample.prompt)
    tokens = checkpoint.tokenizer(sample.response)["input_ids"]
    tokens = tokens + [checkpoint.facts.eos_id] * (-len(tokens) % slot_size)
    count, first = len(tokens) // slot_size, len(prompt)
    cache = model.new_cache(first + len(tokens) + reveal_capacity(count, slot_size))
    watcher = AttentionMass(
        query_rows=[-1] * first + [s for s in range(count) for _ in range(slot_size)],
        key_columns=[0] * first + [s + 1 for s in range(count) for _ in range(slot_size)],
        rows=count,
        columns=count + 1,
    )
    positions = list(range(first + len(tokens)))
    hidden = model.feed(prompt + [mask] * len(tokens), positions, cache, watcher=watcher)
    cache.rewind(first)
    spans = [positions[first + s * slot_size : first + (s + 1) * slot_size] for s in range(count)]
    drafts = [(tokens[s * slot_size : (s + 1) * slot_size], span) for s, span in enumerate(spans)]
    by_name = {
        "revealed": lambda: revealed(model, cache, drafts, hidden[first::slot_size], mask),
        "attention": lambda: watcher.matrix()[:, 1:],
        "joint": lambda: joint(model, cache, drafts, mask)[0].abs(),
    }
    return {method: by_name[method]() for method in methods}


def area(dependent: Tensor, independent: Tensor) -> float:
    """Probability that a dependent pair has the larger value; ties count half."""
    ranks = _ranks(torch.cat([dependent, independent]))[: len(dependent)]
    least = len(dependent) * (len(dependent) - 1) / 2
    return (ranks.sum().item() - least) / (len(dependent) * len(independent))


def rank_correlation(a: Tensor, b: Tensor) -> float:
    """Spearman's."""
    return torch.corrcoef(torch.stack([_ranks(a), _ranks(b)]))[0, 1].item()


def _ranks(values: Tensor) -> Tensor:
    """Ranks from 0, the mean one for ties."""
    _, place, counts = values.double().unique(return_inverse=True, return_counts=True)
    return (counts.cumsum(0) - (counts + 1) / 2)[place]


def pairs(
    checkpoint: Checkpoint, kind: str, prompts: int, slot_size: int, methods: Sequence[str]
) -> tuple[dict[str, Tensor], float]:
    """All ordered pairs of slots of ``prompts`` held-out prompts of a kind: the true dependency, what the
    methods say, and whether i is ``before`` j; and the seconds of the methods."""
    rng, encode = random.Random(f"dependency {kind}"), checkpoint.tokenizer
    found: dict[str, list[Tensor]] = {name: [] for name in ("true", "before", *methods)}
    seconds = 0.0
    while len(found["true"]) < prompts:
        sample = FAMILIES["invent"].sample(rng, "test")
        if sample.facts["kind"] != kind:
            continue
        answers = encode(completions(sample))["input_ids"]
        own = encode(sample.response)["input_ids"]
        true = true_dependency(answers, own, slot_size, checkpoint.facts.eos_id)
        start = time.perf_counter()
        measured = matrices(checkpoint, sample, slot_size, methods)
        seconds += time.perf_counter() - start
        others = ~torch.eye(len(true), dtype=torch.bool)
        before = torch.ones_like(others).tril(-1)
        for name, matrix in ({"true": true, "before": before} | measured).items():
            found[name].append(matrix[others])
    return {name: torch.cat(parts) for name, parts in found.items()}, seconds


def measure(
    checkpoint: Checkpoint,
    kind: str,
    prompts: int = 100,
    slot_size: int = 2,
    methods: Sequence[str] = METHODS,
) -> dict[str, float]:
    """Areas and rank correlations of a kind."""
    found, seconds = pairs(checkpoint, kind, prompts, slot_size, methods)
    true, before = found["true"], found["before"]
    dependent, independent = true >= DEPENDENT, true < INDEPENDENT
    row: dict[str, float] = {}
    for method in methods:
        values = found[method]
        row[method] = area(values[dependent], values[independent])
        row[f"{method}, i before j"] = area(
            values[dependent & before], values[independent & before]
        )
        row[f"{method}, ranks"] = rank_correlation(values, true)
    row = {name: round(value, 3) for name, value in row.items()}
    counts = {"dependent": int(dependent.sum()), "independent": int(independent.sum())}
    return row | counts | {"seconds": round(seconds, 1)}


def main(
    model: Annotated[str, typer.Option(help='"bundled", a folder, or a hub id.')] = "bundled",
    per_kind: Annotated[int, typer.Option(help="Held-out prompts of each kind.")] = 100,
    slot_size: Annotated[int, typer.Option(help="Tokens per slot.")] = 2,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Measure and print the areas under the ROC curve."""
    checkpoint = load_checkpoint(model)
    use_fitting_threads(checkpoint)
    rows = {kind: measure(checkpoint, kind, per_kind, slot_size) for kind in tqdm(KINDS)}
    if as_json:
        typer.echo(json.dumps(rows))
        return
    table = Table("", *KINDS)
    for name in rows[KINDS[0]]:
        table.add_row(name, *(str(row[name]) for row in rows.values()))
    Console().print(table)


if __name__ == "__main__":
    typer.run(main)
