"""Settings are refused when they are made, with the field, the value and the fix."""

import math

import pytest

from refusion_core import CheckpointError, ConfigError, DecodeConfig
from refusion_core.config import ModelConfig, RecordConfig


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("gen_length", 0),
        ("gen_length", -8),
        ("gen_length", 8.0),
        ("gen_length", True),
        ("gen_length", "64"),
        ("slot_size", 0),
        ("serial_blocks", 0),
        ("slot_threshold", 1.01),
        ("slot_threshold", -0.1),
        ("slot_threshold", math.nan),
        ("token_threshold", 2),
        ("token_threshold", None),
        ("temperature", -1),
        ("temperature", math.inf),
        ("seed", -1),
        ("seed", 2**63),
    ],
)
def test_impossible_settings_are_refused_by_name(field, value):
    with pytest.raises(ConfigError) as caught:
        DecodeConfig(**{field: value})
    assert caught.value.field == field
    assert repr(value) in str(caught.value)
    assert "give" in caught.value.fix


def test_blocks_of_less_than_a_slot_are_refused():
    with pytest.raises(ConfigError, match="blocks of less than a slot") as caught:
        DecodeConfig(gen_length=16, slot_size=8, serial_blocks=3)
    assert caught.value.field == "serial_blocks"


@pytest.mark.parametrize(
    ("gen_length", "slot_size", "blocks", "padded"),
    [(128, 8, 2, 128), (38, 2, 1, 38), (3, 8, 1, 8), (33, 8, 2, 48), (5, 1, 5, 5)],
)
def test_the_length_is_rounded_up_to_whole_slots_in_whole_blocks(
    gen_length, slot_size, blocks, padded
):
    config = DecodeConfig(gen_length=gen_length, slot_size=slot_size, serial_blocks=blocks)
    assert config.padded_length == padded
    assert config.slots_per_block * config.serial_blocks == config.slot_count


def test_record_config_refuses_unknown_methods():
    with pytest.raises(ConfigError, match="dependency"):
        RecordConfig(dependency="gradient")


HF = {
    "model_type": "qwen3",
    "vocab_size": 80,
    "hidden_size": 64,
    "intermediate_size": 160,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
}


def test_rope_theta_is_read_at_its_old_and_its_new_place():
    new = HF | {"rope_parameters": {"rope_type": "default", "rope_theta": 5e5}}
    assert ModelConfig.from_hf(new).rope_theta == 5e5
    assert ModelConfig.from_hf(HF | {"rope_theta": 1e6, "rope_scaling": None}).rope_theta == 1e6


def test_to_hf_reads_back():
    config = ModelConfig.from_hf(HF | {"mask_token_id": 2, "eos_token_id": [1, 3]})
    assert config.eos_token_id == 1
    assert ModelConfig.from_hf(config.to_hf()) == config


@pytest.mark.parametrize(
    "change",
    [
        {"model_type": "mamba"},
        {"rope_scaling": {"rope_type": "yarn", "factor": 4.0}},
        {"use_sliding_window": True},
        {"hidden_act": "gelu"},
        {"hidden_size": None, "vocab_size": 80},
    ],
)
def test_what_would_compute_something_else_is_refused(change):
    with pytest.raises((CheckpointError, ConfigError)):
        ModelConfig.from_hf(HF | change)


def test_a_missing_field_is_named():
    raw = {name: value for name, value in HF.items() if name != "vocab_size"}
    with pytest.raises(CheckpointError, match="vocab_size"):
        ModelConfig.from_hf(raw)
