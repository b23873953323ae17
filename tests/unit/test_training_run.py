"""A tiny training from nothing to a folder that loads here and in stock transformers, and its resumption."""

from __future__ import annotations

import json

import pytest
import torch

from refusion_core.checkpoint import load_checkpoint
from refusion_core.config import DecodeConfig
from refusion_core.errors import CheckpointError, ConfigError
from refusion_core.training.batches import training_texts
from refusion_core.training.evaluate import evaluate
from refusion_core.training.tokenizer import train_tokenizer
from refusion_core.training.train import (
    Progress,
    TrainConfig,
    Trainer,
    learning_rate_scale,
    train,
    twin_ids,
)

TINY = {
    "minutes": None,
    "vocab_size": 400,
    "hidden_size": 32,
    "intermediate_size": 64,
    "layers": 2,
    "heads": 2,
    "kv_heads": 1,
    "head_dim": 16,
    "batch_tokens": 1024,
    "late_batch_tokens": 2048,
    "warmup_steps": 5,
    "compile": False,
}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("train") / "model"
    train(TrainConfig(**TINY, tokens=200_000), folder)
    return folder


def test_the_loss_falls_and_the_metrics_tell(trained):
    path = trained.with_name("model-work") / "metrics.jsonl"
    records = [json.loads(line) for line in path.read_text().splitlines()]
    losses = [record["loss"] for record in records if "loss" in record]
    assert losses[-1] < losses[0]
    assert set(records[-1]["accuracy"]) == {"code", "sums", "extract", "lists"}
    assert records[-1]["tokens"] >= 200_000


def test_the_folder_loads_and_agrees_with_stock_transformers(trained):
    """Tolerance: float32 on both sides, other orders of summation."""
    transformers = pytest.importorskip("transformers")
    ours = load_checkpoint(trained, dtype="float32")
    theirs = transformers.Qwen3ForCausalLM.from_pretrained(trained, dtype=torch.float32)
    ids = torch.tensor([ours.encode_prompt("What is 47 + 85?")])
    expected = theirs(ids, use_cache=True).logits
    found = ours.model.logits(ours.model.hidden(ids, torch.arange(ids.shape[1])[None]))
    assert torch.allclose(found, expected, atol=1e-4)


def test_evaluate_counts_right_answers_and_forwards(trained):
    """The figures are sums over prompts, not averages of ratios."""
    results = evaluate(
        load_checkpoint(trained),
        DecodeConfig(gen_length=16, slot_size=8),
        families=["sums", "extract"],
        per_family=2,
    )
    assert set(results) == {"sums", "extract"}
    for result in results.values():
        figures = result.figures()
        assert figures["prompts"] == 2
        assert figures["correct"] + len(result.wrong) / 2 == 1
        assert figures["tokens_per_forward"] == round(result.tokens / result.forwards, 2)


def test_a_saved_state_continues_where_it_was(trained):
    state = trained.with_name("model-work") / "state.pt"
    first, second = Trainer.load(state), Trainer.load(state)
    assert first.progress.tokens >= 200_000
    first.progress.tokens = second.progress.tokens = 50_000
    batch = next(first.batches())
    assert first.step(batch) == second.step(batch)
    for mine, other in zip(first.model.parameters(), second.model.parameters(), strict=True):
        assert torch.equal(mine, other)


def test_resuming_nothing_is_refused(tmp_path):
    with pytest.raises(CheckpointError, match="does not exist"):
        train(TrainConfig(**TINY, tokens=1000), tmp_path / "m", resume=True)


def test_the_schedule_warms_up_stays_and_falls_to_two_percent():
    assert learning_rate_scale(0.0, 0, 10) == pytest.approx(0.1)
    assert learning_rate_scale(0.3, 500, 10) == 1
    assert learning_rate_scale(0.75, 500, 10) == pytest.approx(0.51)
    assert learning_rate_scale(1.0, 500, 10) == pytest.approx(0.02)


def test_progress_follows_the_budget_that_is_given():
    assert Progress(tokens=50).fraction(TrainConfig(minutes=None, tokens=200)) == 0.25
    assert Progress(seconds=60).fraction(TrainConfig(minutes=4)) == 0.25


@pytest.mark.parametrize(
    "settings",
    [
        {"minutes": None},
        {"minutes": 5, "tokens": 5},
        {"minutes": 0},
        {"minutes": float("nan")},
        {"muon_lr": -1},
        {"layers": 0},
        {"seed": -1},
        {"vocab_size": 100},
    ],
)
def test_impossible_settings_are_refused(settings):
    with pytest.raises(ConfigError):
        TrainConfig(**settings)


def test_twins_are_the_same_word_with_and_without_its_space():
    tokenizer = train_tokenizer(training_texts(0, 1000), 800)
    spaced, bare = twin_ids(tokenizer)
    assert len(spaced) == len(bare) > 20
    for one, other in zip(spaced, bare, strict=True):
        assert tokenizer.decode([one]) == " " + tokenizer.decode([other])
