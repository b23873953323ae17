"""The presets: valid, the paper's numbers, and true to what their names promise on the bundled model."""

from __future__ import annotations

import pytest

from app.presets import PAPER, PRESETS, paper_preset
from refusion_core import decode, load_checkpoint

PROMPT = "Compute 347 + 586 step by step."
# Slot size, serial blocks, slot threshold and token threshold, as the paper states them for 512 tokens.
PAPER_TABLE = """
GSM8K     32  4 0.9 0.4
MATH      32  8 0.8 0.6
MBPP      32  4 0.9 0.3
HumanEval 32  4 0.9 0.4
GPQA       8 32 0.8 0.2
ARC-C      8 64 0.8 0.1
MMLU-Pro  16  4 0.9 0.4
"""
ROWS = [row.split() for row in PAPER_TABLE.strip().splitlines()]


@pytest.fixture(scope="module")
def checkpoint():
    return load_checkpoint("bundled", device="cpu")


def run(checkpoint, config):
    return list(decode(checkpoint, prompt=PROMPT, config=config))


def test_every_benchmark_of_the_paper_is_there():
    assert list(PAPER) == [name for name, *_ in ROWS]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_unscaled_settings_are_those_of_the_paper(row):
    name, *numbers = row
    config = paper_preset(name, scaled=False)
    assert config.gen_length == config.padded_length == 512
    told = [
        config.slot_size,
        config.serial_blocks,
        config.slot_threshold,
        config.token_threshold,
    ]
    assert told == [float(number) for number in numbers]
    assert config.policy == "threshold" and config.temperature == 0


@pytest.mark.parametrize("name", PAPER)
def test_scaled_settings_keep_thresholds_and_slots_per_block_and_decode(name, checkpoint):
    small, paper = paper_preset(name, scaled=True), paper_preset(name, scaled=False)
    assert small.slots_per_block == paper.slots_per_block
    assert small.slot_threshold == paper.slot_threshold
    assert small.token_threshold == paper.token_threshold
    assert small.gen_length == small.padded_length == 64
    assert small.slot_size == 4
    started, *_, finished = run(checkpoint, small)
    assert started.slot_count == 16 and started.settings.serial_blocks == small.serial_blocks
    assert finished.stop_reason in ("eos", "length") and finished.text


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_decodes(name, checkpoint):
    finished = run(checkpoint, PRESETS[name])[-1]
    assert finished.stop_reason in ("eos", "length") and finished.text


def test_slow_motion_shows_many_iterations_and_infill_rounds(checkpoint):
    slow = run(checkpoint, PRESETS["slow_motion"])
    usual = run(checkpoint, PRESETS["balanced"])
    iterations = [events[-1].stats.iterations for events in (slow, usual)]
    rounds = [sum(event.type == "infill_round" for event in events) for events in (slow, usual)]
    assert iterations[0] >= 10 and iterations[0] > iterations[1]
    assert rounds[0] >= 5 and rounds[0] > rounds[1]
