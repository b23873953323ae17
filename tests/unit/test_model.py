"""The model against the library it must equal, and its cache and groups against explicit masks."""

from __future__ import annotations

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM, Qwen3Config, Qwen3ForCausalLM

from refusion_core import CheckpointError, load_checkpoint
from refusion_core.config import ModelConfig
from refusion_core.model import Transformer, visibility

SHAPE = {
    "vocab_size": 40,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 64,
}
IDS = [5, 9, 3, 7, 7, 2, 11, 30]
POSITIONS = [0, 1, 2, 12, 13, 5, 6, 20]  # not in text order


def library_model(kind, tied, bias=False):
    torch.manual_seed(0)
    config_class, model_class = {
        "qwen3": (Qwen3Config, Qwen3ForCausalLM),
        "llama": (LlamaConfig, LlamaForCausalLM),
    }[kind]
    config = config_class(
        **SHAPE,
        tie_word_embeddings=tied,
        attention_bias=bias,
        mask_token_id=2,
        eos_token_id=1,
        bos_token_id=None,
        pad_token_id=0,
    )
    return model_class(config).eval()


@pytest.mark.parametrize("sharded", [False, True])
@pytest.mark.parametrize(
    ("kind", "tied", "bias"),
    [("qwen3", True, False), ("qwen3", False, True), ("llama", False, False)],
)
def test_logits_equal_transformers(kind, tied, bias, sharded, tmp_path):
    theirs = library_model(kind, tied, bias)
    theirs.save_pretrained(tmp_path, max_shard_size="20KB" if sharded else "1GB")
    assert (tmp_path / "model.safetensors.index.json").exists() == sharded
    ours = load_checkpoint(tmp_path, device="cpu").model
    cache = ours.new_cache(len(IDS))
    logits = ours.logits(ours.feed(IDS, POSITIONS, cache))
    with torch.no_grad():
        expected = theirs(
            input_ids=torch.tensor([IDS]),
            position_ids=torch.tensor([POSITIONS]),
            attention_mask=torch.ones(1, len(IDS)),
        ).logits[0]
    assert torch.allclose(logits, expected, atol=1e-5)


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(1)
    return Transformer(ModelConfig(**SHAPE)).eval()


def test_cached_equals_uncached(model):
    """pytorch#144858: is_causal aligned top-left when queries are fewer than keys."""
    whole = model.feed(IDS, POSITIONS, model.new_cache(8))
    cache = model.new_cache(8)
    parts = [model.feed(IDS[a:b], POSITIONS[a:b], cache) for a, b in ((0, 3), (3, 4), (4, 8))]
    assert torch.allclose(torch.cat(parts), whole, atol=1e-5)


def test_a_batch_without_a_mask_equals_the_flat_feed(model):
    flat = model.feed(IDS, POSITIONS, model.new_cache(8))
    with torch.no_grad():
        batch = model.hidden(torch.tensor([IDS, IDS]), torch.tensor([POSITIONS, POSITIONS]))
    assert torch.allclose(batch[1], flat, atol=1e-5)


def test_groups_equal_separate_runs_over_the_same_cache(model):
    """Every group sees the committed cache and itself, whatever the other groups hold."""
    groups, ids = [1, 2, 1, 2, 1], [5, 6, 7, 8, 9]
    positions = [10, 20, 11, 21, 12]
    cache = model.new_cache(8)
    model.feed(IDS[:3], POSITIONS[:3], cache)
    together = model.feed(ids, positions, cache, groups)
    for group in (1, 2):
        own = [i for i, g in enumerate(groups) if g == group]
        alone = model.new_cache(8)
        model.feed(IDS[:3], POSITIONS[:3], alone)
        hidden = model.feed([ids[i] for i in own], [positions[i] for i in own], alone)
        assert torch.allclose(together[own], hidden, atol=1e-5)


def test_what_rewind_and_keep_leave_is_as_if_nothing_else_had_been_fed(model):
    cache = model.new_cache(12)
    model.feed(IDS[:3], POSITIONS[:3], cache)
    model.feed([2, 2], [30, 31], cache)
    cache.rewind(3)
    model.feed([4, 5, 6, 7], [8, 9, 40, 41], cache, [1, 1, 2, 2])
    cache.keep([0, 1, 2, 5, 6])
    cache.commit()
    clean = model.new_cache(12)
    model.feed(IDS[:3], POSITIONS[:3], clean)
    model.feed([6, 7], [40, 41], clean)
    probe = ([9, 10], [50, 51])
    assert torch.allclose(model.feed(*probe, cache), model.feed(*probe, clean), atol=1e-5)


def test_visibility_is_causal_inside_a_group_only():
    seen = visibility(torch.tensor([1, 2, 1]), torch.tensor([0, 1, 2]))
    assert seen.int().tolist() == [[1, 1, 0, 1, 0, 0], [1, 0, 1, 0, 1, 0], [1, 1, 0, 1, 0, 1]]


def test_damaged_folders_are_refused_with_the_field(tmp_path):
    def refused(match):
        with pytest.raises(CheckpointError, match=match):
            load_checkpoint(tmp_path, device="cpu")

    refused("config.json")
    (tmp_path / "config.json").write_text("{")
    refused("cannot be read")
    library_model("qwen3", True).save_pretrained(tmp_path)
    load_checkpoint(tmp_path, device="cpu")
    (tmp_path / "model.safetensors").rename(tmp_path / "pytorch_model.bin")
    refused("convert the .bin")
    (tmp_path / "model.safetensors").write_bytes(b"nonsense")
    refused("cannot be read")
    library_model("llama", False).save_pretrained(tmp_path / "other")
    (tmp_path / "other" / "model.safetensors").replace(tmp_path / "model.safetensors")
    refused("weights")


@pytest.mark.parametrize(
    ("source", "options", "match"),
    [
        ("no/such/folder", {}, "is no folder"),
        ("nowhere", {}, "is no folder"),
        ("owner/name", {}, "could not be fetched"),
        ("folder", {"dtype": "int8"}, "dtype"),
        ("folder", {"device": "tpu9"}, "device"),
        ("folder", {"mask_token_id": 4000}, "mask_token_id"),
    ],
)
def test_what_cannot_be_loaded_is_refused(source, options, match, tmp_path):
    if source == "folder":
        source = tmp_path
        library_model("qwen3", True).save_pretrained(tmp_path)
    with pytest.raises(CheckpointError, match=match):
        load_checkpoint(source, **options)


def test_a_missing_mask_id_is_told_and_can_be_given(tmp_path):
    config = library_model("qwen3", True).config
    del config.mask_token_id
    Qwen3ForCausalLM(config).save_pretrained(tmp_path)
    with pytest.raises(CheckpointError, match="mask_token_id"):
        load_checkpoint(tmp_path, device="cpu")
    assert load_checkpoint(tmp_path, device="cpu", mask_token_id=3).facts.mask_id == 3
