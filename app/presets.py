"""Settings that can be picked as a whole: for the bundled model, and the paper's for its benchmarks."""

from __future__ import annotations

from dataclasses import dataclass

from refusion_core import DecodeConfig

PRESETS = {
    "balanced": DecodeConfig(),
    "careful": DecodeConfig(slot_threshold=0.9999, token_threshold=0.8),
    "fast": DecodeConfig(slot_threshold=0.9, token_threshold=0.4),
    "one_slot": DecodeConfig(slot_threshold=1.0),
    # Small slots, and so strict that one is chosen at a time and that drafts break again and again.
    "slow_motion": DecodeConfig(slot_size=4, slot_threshold=1.0, token_threshold=0.9999),
}
# How fast the player goes with a preset, where that isn't its usual speed.
SPEEDS = {"slow_motion": 0.5}


@dataclass(frozen=True)
class PaperSettings:
    """A row of the paper's table of settings."""

    benchmark: str
    slot_size: int
    serial_blocks: int
    slot_threshold: float
    token_threshold: float


PAPER_LENGTH = 512
PAPER = {
    row.benchmark: row
    for row in (
        PaperSettings("GSM8K", 32, 4, 0.9, 0.4),
        PaperSettings("MATH", 32, 8, 0.8, 0.6),
        PaperSettings("MBPP", 32, 4, 0.9, 0.3),
        PaperSettings("HumanEval", 32, 4, 0.9, 0.4),
        PaperSettings("GPQA", 8, 32, 0.8, 0.2),
        PaperSettings("ARC-C", 8, 64, 0.8, 0.1),
        PaperSettings("MMLU-Pro", 16, 4, 0.9, 0.4),
    )
}
SMALL_LENGTH = 64  # the bundled model's answers fit
SMALL_SLOT = 4  # the smallest slots that it was trained with


def paper_preset(benchmark: str, *, scaled: bool) -> DecodeConfig:
    """The paper's settings for a benchmark; ``scaled`` for the short answers of the bundled model.

    Scaled, the response and its slots are smaller, and the blocks fewer, so that a plan has as many slots of a
    block to choose from as in the paper. The thresholds stay.
    """
    row = PAPER[benchmark]
    length, slot, blocks = PAPER_LENGTH, row.slot_size, row.serial_blocks
    if scaled:
        slots_per_block = length // slot // blocks
        length, slot = SMALL_LENGTH, SMALL_SLOT
        blocks = length // slot // slots_per_block
    return DecodeConfig(
        gen_length=length,
        slot_size=slot,
        serial_blocks=blocks,
        slot_threshold=row.slot_threshold,
        token_threshold=row.token_threshold,
    )
