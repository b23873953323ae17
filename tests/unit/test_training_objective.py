"""The hybrid objective: what is fed, what it is asked for, and the loss on numbers worked out by hand."""

from __future__ import annotations

import math
import random

import pytest
import torch

from refusion_core.training.objective import (
    IGNORED,
    Kind,
    autoregressive_layout,
    build_layout,
    collate,
    draw_layout,
    draw_mask_levels,
    masked_count,
    pad_response,
    token_mask_layout,
    weighted_loss,
)

EOS, MASK, PAD = 1, 2, 0


def test_a_response_gets_its_eos_and_is_filled_to_whole_slots():
    response = pad_response([10, 11, 12], eos_id=EOS, slot_size=4)
    assert (response.tokens, response.length, response.slot_count) == ((10, 11, 12, EOS), 4, 1)
    longer = pad_response([10, 11, 12, 13], eos_id=EOS, slot_size=4)
    assert longer.tokens == (10, 11, 12, 13, EOS, EOS, EOS, EOS)
    assert longer.length == 5
    assert pad_response([10], eos_id=EOS, slot_size=4, past_end=3).slot_count == 2


def test_the_layout_is_prompt_then_clean_slots_as_ordered_then_masks_in_position_order():
    response = pad_response([10, 11, 12, 13, 14, 15, 16], eos_id=EOS, slot_size=2)
    layout = build_layout(
        [7, 8], response, clean_slots=[3, 1], mask_id=MASK, mask_weight=2.0, past_end_weight=1.0
    )
    assert layout.ids == [7, 8, 16, EOS, 12, 13, MASK, MASK, MASK, MASK]
    assert layout.positions == [0, 1, 8, 9, 4, 5, 2, 3, 6, 7]
    assert layout.targets == [IGNORED, IGNORED, EOS, IGNORED, 13, IGNORED, 10, 11, 14, 15]
    assert layout.weights == [0, 0, 1 / 8, 0, 1 / 8, 0, *[1 / 4] * 4]
    assert layout.kinds[6:8] == [Kind.SLOT_START, Kind.SLOT_REST]


def test_eos_past_the_end_weighs_less_but_the_first_eos_counts_in_full():
    response = pad_response([10], eos_id=EOS, slot_size=4)
    clean = build_layout(
        [], response, clean_slots=[0], mask_id=MASK, mask_weight=2.0, past_end_weight=0.25
    )
    assert clean.weights == [1 / 2, 1 / 8, 1 / 8, 0]
    masked = build_layout(
        [], response, clean_slots=[], mask_id=MASK, mask_weight=2.0, past_end_weight=0.25
    )
    assert masked.weights == [1, 1, 1 / 4, 1 / 4]


def test_the_loss_on_hand_made_numbers():
    """Two examples: one clean slot (3 of 4 tokens have a next one), one masked slot of weight 2."""
    response = pad_response([3, 3, 3], eos_id=EOS, slot_size=4)
    settings = {"mask_id": MASK, "mask_weight": 2.0, "past_end_weight": 1.0}
    layouts = [build_layout([], response, clean_slots=slots, **settings) for slots in ([0], [])]
    batch = collate(layouts, pad_id=PAD)
    logits = torch.zeros(7, 4)
    logits[:, 3] = math.log(3)  # softmax: 1/6 but for token 3, which has 1/2
    two, six = math.log(2), math.log(6)
    clean = (two + two + six) / 4
    masked = (two + two + two + six) * 2 / 4
    total = weighted_loss(logits, batch.targets, batch.weights).item()
    assert total == pytest.approx(clean + masked, rel=1e-6)


def test_padding_on_the_right_carries_no_target():
    short = pad_response([5], eos_id=EOS, slot_size=2)
    long = pad_response([5, 6, 7], eos_id=EOS, slot_size=2)
    settings = {"clean_slots": [0], "mask_id": MASK, "mask_weight": 2.0, "past_end_weight": 1.0}
    batch = collate([build_layout([9], r, **settings) for r in (short, long)], pad_id=PAD)
    assert batch.ids.tolist() == [[9, 5, EOS, PAD, PAD], [9, 5, 6, MASK, MASK]]
    assert batch.index.tolist() == [1, 6, 8, 9]
    assert batch.targets.tolist() == [EOS, 6, 7, EOS]
    assert batch.kinds.tolist() == [Kind.NEXT, Kind.NEXT, Kind.SLOT_START, Kind.SLOT_REST]
    assert batch.examples == 2


def test_levels_are_stratified_over_the_batch():
    levels = sorted(draw_mask_levels(random.Random(0), 10))
    assert all(i / 10 <= level < (i + 1) / 10 for i, level in enumerate(levels))


@pytest.mark.parametrize("slots", [1, 2, 5, 16])
def test_drawing_the_count_is_the_paper_s_objective(slots):
    """Masking each slot with probability t and weighing by 1/t must have the same mean, count by count."""
    rng, draws = random.Random(0), 200_000
    paper, ours = [0.0] * (slots + 1), [0.0] * (slots + 1)
    for level in draw_mask_levels(rng, draws):
        t = 1e-3 + (1 - 1e-3) * level
        masked = sum(rng.random() < t for _ in range(slots))
        paper[masked] += masked / t / draws
        count, weight = masked_count(level, slots)
        ours[count] += count * weight / draws
    assert ours[0] == 0
    assert ours == pytest.approx(paper, abs=0.05)


def test_every_position_is_fed_once_and_every_count_of_masks_occurs():
    rng, counts = random.Random(0), set()
    response = pad_response(range(10, 25), eos_id=EOS, slot_size=4)
    for level in draw_mask_levels(rng, 40):
        layout = draw_layout(rng, [7], response, mask_id=MASK, level=level, past_end_weight=1.0)
        assert sorted(layout.positions) == list(range(17))
        counts.add(layout.kinds.count(Kind.SLOT_START))
    assert counts == {0, 1, 2, 3, 4}


def test_clean_slots_come_in_random_order():
    response = pad_response(range(10, 25), eos_id=EOS, slot_size=4)
    orders = {
        tuple(
            draw_layout(
                random.Random(seed), [], response, mask_id=MASK, level=0.0, past_end_weight=1.0
            ).positions[::4]
        )
        for seed in range(200)
    }
    assert len(orders) == 24


def test_the_autoregressive_layout_asks_for_every_response_token_in_order():
    """Also for the first, from the last token of the prompt, and for nothing behind eos."""
    response = pad_response([10, 11], eos_id=EOS, slot_size=1)
    layout = autoregressive_layout([7, 8], response)
    assert layout.ids == [7, 8, 10, 11, EOS]
    assert layout.positions == [0, 1, 2, 3, 4]
    assert layout.targets == [IGNORED, 10, 11, EOS, IGNORED]
    assert layout.weights == [0, 1 / 3, 1 / 3, 1 / 3, 0]


def test_the_token_masks_stay_in_reading_order_and_count_the_end_in_full():
    response = pad_response([10, 11], eos_id=EOS, slot_size=1, past_end=1)
    settings = {"mask_id": MASK, "past_end_weight": 0.25}
    full = token_mask_layout(random.Random(0), [7], response, level=0.99, **settings)
    assert full.ids == [7, MASK, MASK, MASK, MASK]
    assert full.targets == [IGNORED, 10, 11, EOS, EOS]
    assert full.weights == pytest.approx(
        [0, 5 / 12, 5 / 12, 5 / 12, 5 / 48]
    )  # 5 / 4 masked, 3 long
    none = token_mask_layout(random.Random(0), [7], response, level=0.01, **settings)
    assert none.ids == [7, 10, 11, EOS, EOS]
    assert set(none.targets) == {IGNORED}


def test_attention_in_both_directions_never_sees_the_padding():
    response = pad_response([10], eos_id=EOS, slot_size=1)
    layouts = [autoregressive_layout(prompt, response) for prompt in ([7], [7, 8, 9])]
    assert collate(layouts, pad_id=PAD).mask is None
    batch = collate(layouts, pad_id=PAD, both_directions=True)
    assert batch.mask.shape == (2, 1, 1, 5)
    assert batch.mask[:, 0, 0].tolist() == [[True] * 3 + [False] * 2, [True] * 5]
