"""Whether measured dependency finds the one that a task has: area under the ROC curve, per family and method.

``python -m benchmarks.dependency [--family NAME ...] [--per-family N] [--json]``. The expected answer of a
held-out prompt is cut into slots. Every ordered pair of slots in different parts of it counts: dependent if the
one's part needs the other's, independent if neither needs the other, even over others. In sums a line's terms
need the carry of the line before, its total needs its terms; in extract a value needs its key; in lists an item
needs the one before it. What is further apart in sums and lists counts as independent. Elsewhere the parts are
those of the task (a header, a name bound before). Revealed are the expected tokens, so that a wrong draft
cannot make a link.
"""

from __future__ import annotations

import json
import random
import re
import time
from typing import Annotated

import torch
import typer
from rich.console import Console
from rich.table import Table
from tqdm import tqdm

from refusion_core import load_checkpoint
from refusion_core.checkpoint import Checkpoint, use_fitting_threads
from refusion_core.dependency import AttentionMass, joint, reveal_capacity, revealed
from refusion_core.training.tasks import FAMILIES, Part, Sample
from refusion_core.training.tasks.base import assemble

METHODS = ("revealed", "attention", "joint")
_SMALLEST = 2  # slots that a pair needs
_KEY = re.compile(r'("[^"]+": )')
_DIGIT_LINE = re.compile(r"(\w+: [^=]*)(= .*)", re.DOTALL)


def structure(sample: Sample) -> tuple[Part, ...]:
    """The parts of an answer and what each needs directly."""
    pieces: list[tuple[str, tuple[int, ...]]] = []
    if sample.family == "extract":
        for text in filter(None, _KEY.split(sample.response)):
            is_value = not _KEY.fullmatch(text) and pieces
            pieces.append((text, (len(pieces) - 1,) if is_value else ()))
    elif sample.family == "lists":
        for text in filter(None, re.split(r"(?<=,)|(?=\n)", sample.response)):
            pieces.append((text, (len(pieces) - 1,) if pieces else ()))
    elif sample.family == "sums":
        carry: tuple[int, ...] = ()
        for line in sample.response.splitlines(keepends=True):
            if terms := _DIGIT_LINE.fullmatch(line):
                pieces += [(terms[1], carry), (terms[2], (len(pieces),))]
            else:
                pieces.append((line, carry))
            carry = (len(pieces) - 1,)
    else:
        return sample.parts
    return assemble(pieces)[1]


def slot_relations(
    checkpoint: Checkpoint, sample: Sample, size: int
) -> list[tuple[int, int, bool]]:
    """(j, i, whether j's part needs i's) for the ordered pairs of slots that count. A slot belongs to the part
    of its first token."""
    encoded = checkpoint.tokenizer(sample.response, return_offsets_mapping=True)
    starts = [start for start, _ in encoded["offset_mapping"]][::size]
    parts = structure(sample)
    owner = [max((n for n, p in enumerate(parts) if p.start <= at), default=0) for at in starts]
    direct_only = sample.family in ("sums", "lists")  # else each piece needs all before it
    reached = [
        set(part.needs) if direct_only else _reached(n, parts) for n, part in enumerate(parts)
    ]
    pairs = []
    for j, a in enumerate(owner):
        for i, b in enumerate(owner):
            if a == b:
                continue
            if b in parts[a].needs:
                pairs.append((j, i, True))
            elif b not in reached[a] and a not in reached[b]:
                pairs.append((j, i, False))
    return pairs


def _reached(part: int, parts: tuple[Part, ...]) -> set[int]:
    """All parts that a part needs, over others too."""
    found: set[int] = set()
    waiting = [part]
    while waiting:
        for needed in parts[waiting.pop()].needs:
            if needed not in found:
                found.add(needed)
                waiting.append(needed)
    return found


@torch.no_grad()
def matrices(checkpoint: Checkpoint, sample: Sample, size: int) -> dict[str, torch.Tensor]:
    """Dependency [n, n] of the slots of the expected answer, all masked, by each method; of joint gains the
    absolute values."""
    model, mask = checkpoint.model, checkpoint.facts.mask_id
    prompt = checkpoint.encode_prompt(sample.prompt)
    tokens = checkpoint.tokenizer(sample.response)["input_ids"]
    tokens = tokens + [checkpoint.facts.eos_id] * (-len(tokens) % size)
    count, first = len(tokens) // size, len(prompt)
    cache = model.new_cache(first + len(tokens) + reveal_capacity(count, size))
    watcher = AttentionMass(
        query_rows=[-1] * first + [s for s in range(count) for _ in range(size)],
        key_columns=[0] * first + [s + 1 for s in range(count) for _ in range(size)],
        rows=count,
        columns=count + 1,
    )
    positions = list(range(first + len(tokens)))
    hidden = model.feed(prompt + [mask] * len(tokens), positions, cache, watcher=watcher)
    cache.rewind(first)
    spans = [positions[first + s * size : first + (s + 1) * size] for s in range(count)]
    drafts = [(tokens[s * size : (s + 1) * size], span) for s, span in enumerate(spans)]
    return {
        "revealed": revealed(model, cache, drafts, hidden[first::size], mask),
        "attention": watcher.matrix()[:, 1:],
        "joint": joint(model, cache, drafts, mask)[0].abs(),
    }


def area(dependent: list[float], independent: list[float]) -> float:
    """Probability that a dependent pair has the larger value; ties count half."""
    values = sorted(
        (value, kind) for kind, group in enumerate((independent, dependent)) for value in group
    )
    total, seen, at = 0.0, 0, 0
    while at < len(values):
        end = at
        while end < len(values) and values[end][0] == values[at][0]:
            end += 1
        new = sum(kind == 0 for _, kind in values[at:end])
        total += (end - at - new) * (seen + new / 2)
        seen, at = seen + new, end
    return total / (len(dependent) * len(independent))


def measure(
    checkpoint: Checkpoint, family: str, per_family: int, size: int
) -> dict[str, float] | None:
    """Areas of a family, None where its answers have no dependent or no independent pairs."""
    rng = random.Random(f"dependency {family}")
    groups = {method: ([], []) for method in METHODS}
    seconds = 0.0
    for _ in range(per_family):
        sample = FAMILIES[family].sample(rng, "test")
        pairs = slot_relations(checkpoint, sample, size)
        if len(pairs) < _SMALLEST:
            continue
        start = time.perf_counter()
        found = matrices(checkpoint, sample, size)
        seconds += time.perf_counter() - start
        for method, matrix in found.items():
            for j, i, needs in pairs:
                groups[method][not needs].append(matrix[j, i].item())
    if not all(map(len, groups["revealed"])):
        return None
    counts = {"dependent": len(groups["revealed"][0]), "independent": len(groups["revealed"][1])}
    areas = {method: round(area(*groups[method]), 3) for method in METHODS}
    return areas | counts | {"seconds": round(seconds, 1)}


def main(
    model: Annotated[str, typer.Option(help='"bundled", a folder, or a hub id.')] = "bundled",
    family: Annotated[list[str] | None, typer.Option(help="Only these; repeat it.")] = None,
    per_family: Annotated[int, typer.Option(help="Held-out prompts of each family.")] = 100,
    slot_size: Annotated[int, typer.Option(help="Tokens per slot.")] = 4,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Measure and print the areas under the ROC curve."""
    checkpoint = load_checkpoint(model)
    use_fitting_threads(checkpoint)
    names = family or list(FAMILIES)
    rows = {name: measure(checkpoint, name, per_family, slot_size) for name in tqdm(names)}
    rows = {name: row for name, row in rows.items() if row}
    if as_json:
        typer.echo(json.dumps(rows))
        return
    table = Table("family", *next(iter(rows.values())))
    for name, row in rows.items():
        table.add_row(name, *map(str, row.values()))
    Console().print(table)


if __name__ == "__main__":
    typer.run(main)
