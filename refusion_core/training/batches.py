"""An endless, seeded stream of training batches made from the task families."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping

from tokenizers import Tokenizer

from .objective import (
    SLOT_SIZES,
    Batch,
    Layout,
    collate,
    draw_layout,
    draw_mask_levels,
    pad_response,
)
from .tasks import FAMILIES, Sample, Split
from .tokenizer import EOS, MASK, PAD, format_prompt

# How often each family is drawn.
MIX: Mapping[str, float] = {"code": 0.22, "sums": 0.40, "extract": 0.22, "lists": 0.16}

_POOL = 512  # examples that are sorted by length and cut into batches together
_PAST_END_UNIT, _LONGEST_RESPONSE = 32, 128


def draw_sample(rng: random.Random, split: Split) -> Sample:
    """A sample of the family mix."""
    name = rng.choices(tuple(MIX), tuple(MIX.values()))[0]
    return FAMILIES[name].sample(rng, split)


def training_texts(seed: int, samples: int) -> Iterator[str]:
    """Texts to learn a tokenizer from."""
    rng = random.Random(f"tokenizer {seed}")
    for _ in range(samples):
        sample = draw_sample(rng, "train")
        yield sample.prompt
        yield sample.response


def encode_sample(tokenizer: Tokenizer, sample: Sample) -> tuple[list[int], list[int]]:
    """Token ids of the prompt (in chat format) and of the response (without eos)."""
    prompt = tokenizer.encode(format_prompt(sample.prompt)).ids
    return prompt, tokenizer.encode(sample.response).ids


def draw_past_end(rng: random.Random, length: int) -> int:
    """How many eos to add behind a response, so that slots past the end are known from training.

    Half of the time none, else up to the next multiple of 32, now and then up to 96 more.
    """
    draw = rng.random()
    if draw < 0.5:
        return 0
    end = -(-length // _PAST_END_UNIT) * _PAST_END_UNIT
    if draw > 0.8:
        end += _PAST_END_UNIT * rng.randint(1, 3)
    return max(0, min(end, _LONGEST_RESPONSE) - length)


def draw_example(
    rng: random.Random, tokenizer: Tokenizer, level: float, past_end_weight: float
) -> Layout:
    """One example of the train split, laid out."""
    prompt, response = encode_sample(tokenizer, draw_sample(rng, "train"))
    padded = pad_response(
        response,
        eos_id=tokenizer.token_to_id(EOS),
        slot_size=rng.choice(SLOT_SIZES),
        past_end=draw_past_end(rng, len(response) + 1),
    )
    return draw_layout(
        rng,
        prompt,
        padded,
        mask_id=tokenizer.token_to_id(MASK),
        level=level,
        past_end_weight=past_end_weight,
    )


def cut_by_tokens(layouts: list[Layout], batch_tokens: int) -> list[list[Layout]]:
    """Layouts of like length together, each group of at most ``batch_tokens`` with its padding."""
    groups: list[list[Layout]] = [[]]
    for layout in sorted(layouts, key=lambda layout: len(layout.ids)):
        if groups[-1] and (len(groups[-1]) + 1) * len(layout.ids) > batch_tokens:
            groups.append([])
        groups[-1].append(layout)
    return groups


def training_batches(
    tokenizer: Tokenizer, *, seed: str, batch_tokens: int, past_end_weight: float
) -> Iterator[Batch]:
    """Batches without end; the same seed gives the same stream."""
    rng = random.Random(seed)
    pad_id = tokenizer.token_to_id(PAD)
    while True:
        levels = draw_mask_levels(rng, _POOL)
        pool = [draw_example(rng, tokenizer, level, past_end_weight) for level in levels]
        groups = cut_by_tokens(pool, batch_tokens)
        rng.shuffle(groups)
        for group in groups:
            yield collate(group, pad_id=pad_id)
