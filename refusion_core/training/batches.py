"""An endless, seeded stream of training batches made from the task families."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping

from tokenizers import Tokenizer

from .objective import (
    SLOT_SIZES,
    Batch,
    Layout,
    autoregressive_layout,
    collate,
    draw_layout,
    draw_mask_levels,
    pad_response,
    token_mask_layout,
)
from .tasks import FAMILIES, Sample, Split
from .tokenizer import EOS, MASK, PAD, format_prompt

# How often each family is drawn at first.
MIX: Mapping[str, float] = {
    "code": 0.13,
    "sums": 0.10,
    "translate": 0.08,
    "summarise": 0.11,
    "extract": 0.08,
    "table": 0.08,
    "lists": 0.19,
    "story": 0.03,
    "invent": 0.17,
    "other": 0.03,
}
_WORD = re.compile(r"[A-Za-z]{3,}")
_MIX_FLOOR = 0.03  # share of a family that has nothing more to learn

_POOL = 512  # examples that are sorted by length and cut into batches together
_PAST_END_UNIT, _LONGEST_RESPONSE = 32, 128


def mix_by_error(errors: Mapping[str, float]) -> dict[str, float]:
    """The mix for families with these error rates: half of it as at first, half in proportion to the errors
    (of open ones none, as they stay)."""
    errors = {name: 0.0 if FAMILIES[name].open else error for name, error in errors.items()}
    total = sum(errors.values()) or 1.0
    mix = {
        name: max(_MIX_FLOOR, 0.5 * MIX[name] + 0.5 * error / total)
        for name, error in errors.items()
    }
    return {name: share / sum(mix.values()) for name, share in mix.items()}


def draw_sample(rng: random.Random, split: Split, mix: Mapping[str, float] = MIX) -> Sample:
    """A sample of the family mix."""
    name = rng.choices(tuple(mix), tuple(mix.values()))[0]
    return FAMILIES[name].sample(rng, split)


def training_texts(seed: int, samples: int) -> Iterator[str]:
    """Texts to learn a tokenizer from, of all families alike.

    The words of the answers come again without their space: what is one token in a prompt is then one token
    at the start of an answer and behind a quote too.
    """
    rng = random.Random(f"tokenizer {seed}")
    families = tuple(FAMILIES.values())
    for number in range(samples):
        sample = families[number % len(families)].sample(rng, "train")
        yield sample.prompt
        yield sample.response
        yield from _WORD.findall(sample.response)


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


def draw_slot_size(rng: random.Random) -> int:
    """One of the slot sizes that are trained."""
    return rng.choices(tuple(SLOT_SIZES), tuple(SLOT_SIZES.values()))[0]


def lay_out(
    rng: random.Random,
    tokenizer: Tokenizer,
    sample: Sample,
    *,
    objective: str,
    level: float,
    past_end_weight: float,
    slot_size: int | None = None,
) -> Layout:
    """One example as the objective feeds it; the slot size is drawn unless it is given.

    With ``past_end_weight`` 0 nothing is added behind the last slot.
    """
    prompt, response = encode_sample(tokenizer, sample)
    eos_id, mask_id = tokenizer.token_to_id(EOS), tokenizer.token_to_id(MASK)
    if objective == "ar":
        return autoregressive_layout(prompt, pad_response(response, eos_id=eos_id, slot_size=1))
    size = 1 if objective == "mdm" else slot_size or draw_slot_size(rng)
    past_end = draw_past_end(rng, len(response) + 1) if past_end_weight else 0
    padded = pad_response(response, eos_id=eos_id, slot_size=size, past_end=past_end)
    draw = token_mask_layout if objective == "mdm" else draw_layout
    return draw(rng, prompt, padded, mask_id=mask_id, level=level, past_end_weight=past_end_weight)


def cut_by_tokens(layouts: list[Layout], batch_tokens: int) -> list[list[Layout]]:
    """Layouts of like length together, each group of at most ``batch_tokens`` with its padding."""
    groups: list[list[Layout]] = [[]]
    for layout in sorted(layouts, key=lambda layout: len(layout.ids)):
        if groups[-1] and (len(groups[-1]) + 1) * len(layout.ids) > batch_tokens:
            groups.append([])
        groups[-1].append(layout)
    if len(groups) > 1 and len(groups[-1]) == 1:  # a batch of one row would be compiled anew
        groups[-2] += groups.pop()
    return groups


def training_batches(
    tokenizer: Tokenizer,
    *,
    seed: str,
    batch_tokens: int,
    past_end_weight: float,
    objective: str = "refusion",
    mix: Mapping[str, float] = MIX,
    ordered_share: float = 0.0,
) -> Iterator[Batch]:
    """Batches without end; the same seed gives the same stream. ``mix`` may change while it runs.

    ordered_share: share of examples that are laid out for plain next-token prediction instead
    """
    rng = random.Random(seed)
    pad_id = tokenizer.token_to_id(PAD)
    while True:
        pool = [
            lay_out(
                rng,
                tokenizer,
                draw_sample(rng, "train", mix),
                objective="ar" if rng.random() < ordered_share else objective,
                level=level,
                past_end_weight=past_end_weight,
            )
            for level in draw_mask_levels(rng, _POOL)
        ]
        groups = cut_by_tokens(pool, batch_tokens)
        rng.shuffle(groups)
        for group in groups:
            yield collate(group, pad_id=pad_id, both_directions=objective == "mdm")
