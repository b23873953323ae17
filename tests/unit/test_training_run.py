"""A tiny training from nothing to a folder that loads here and in stock transformers, and its resumption."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
import torch

from refusion_core.checkpoint import load_checkpoint
from refusion_core.errors import CheckpointError, ConfigError
from refusion_core.training.batches import MIX, mix_by_error, training_batches, training_texts
from refusion_core.training.objective import Kind
from refusion_core.training.tasks import FAMILIES
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
    assert set(records[-1]["accuracy"]) == set(records[-1]["mix"]) == set(FAMILIES)
    assert records[-1]["tokens"] >= 200_000


def test_the_metrics_are_drawn(trained):
    pytest.importorskip("matplotlib")
    assert (trained.with_name("model-work") / "metrics.png").stat().st_size > 10_000


@pytest.mark.parametrize("objective, label", [("ar", "next"), ("mdm", "slot_start")])
def test_the_other_objectives_learn_too(objective, label, tmp_path):
    records = []
    config = TrainConfig(**TINY, tokens=260_000, objective=objective)
    train(config, tmp_path / "m", report=records.append)
    losses = [record["loss"] for record in records if "loss" in record]
    assert losses[-1] < losses[0]
    assert all(set(shares) == {label} for shares in records[-1]["accuracy"].values())


def test_two_processes_train_one_model(tmp_path):
    """Both must stop at the same step, or one waits for the other for ever."""
    code = (
        "from pathlib import Path; from refusion_core.training.train import *;"
        f"train(TrainConfig(**{TINY!r}, tokens=60_000), Path({str(tmp_path / 'm')!r}))"
    )
    (tmp_path / "two.py").write_text(code)
    subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2"]
        + [str(tmp_path / "two.py")],
        env=os.environ | {"PYTHONPATH": os.getcwd(), "OMP_NUM_THREADS": "1"},
        check=True,
        timeout=300,
    )
    record = json.loads((tmp_path / "m-work" / "metrics.jsonl").read_text().splitlines()[-1])
    assert 60_000 <= record["tokens"] < 75_000
    assert record["tokens"] / record["step"] > 1.3 * TINY["batch_tokens"]  # both fed a batch a step
    assert load_checkpoint(tmp_path / "m").model.parameter_count() > 0


def test_a_warm_start_keeps_what_was_learned_under_another_vocabulary(trained):
    start = load_checkpoint(trained, dtype="float32")
    tokenizer = train_tokenizer(training_texts(0, samples=2_000), 500)
    config = TrainConfig(**TINY | {"vocab_size": 500}, tokens=1000)
    cold, warm = Trainer(config, tokenizer), Trainer(config, tokenizer, start)
    ours, theirs = warm.model.state_dict(), start.model.state_dict()
    table = "model.embed_tokens.weight"
    assert all(torch.equal(ours[name], theirs[name]) for name in ours if name != table)
    old = start.tokenizer.backend_tokenizer
    shared = [piece for piece in tokenizer.get_vocab() if old.token_to_id(piece) is not None]
    assert len(shared) > 300
    mine, yours = (list(map(t.token_to_id, shared)) for t in (tokenizer, old))
    assert torch.equal(ours[table][mine], theirs[table][yours])
    new = next(piece for piece in tokenizer.get_vocab() if old.token_to_id(piece) is None)
    pieces = [token.id for token in old.model.tokenize(new)]
    assert len(pieces) > 1
    mean = theirs[table][pieces].mean(0)
    assert torch.allclose(ours[table][tokenizer.token_to_id(new)], mean)
    batch = next(training_batches(tokenizer, seed="w", batch_tokens=1024, past_end_weight=0.2))
    assert warm.step(batch) < 0.8 * cold.step(batch)


def test_a_warm_start_can_keep_the_tokenizer(trained, tmp_path):
    config = TrainConfig(**TINY | {"vocab_size": 300}, tokens=2000)
    train(config, tmp_path / "m", warm_start=trained, keep_tokenizer=True)
    kept, given = load_checkpoint(tmp_path / "m"), load_checkpoint(trained)
    assert kept.tokenizer.get_vocab() == given.tokenizer.get_vocab()
    assert (
        kept.tokenizer("Add 4 and 7.")["input_ids"] == given.tokenizer("Add 4 and 7.")["input_ids"]
    )


def test_a_warm_start_from_another_shape_is_refused(trained):
    start = load_checkpoint(trained, dtype="float32")
    tokenizer = train_tokenizer(training_texts(0, samples=500), 400)
    config = TrainConfig(**TINY | {"hidden_size": 48}, tokens=1000)
    with pytest.raises(ConfigError, match="warm_start.*other sizes"):
        Trainer(config, tokenizer, start)


def test_the_folder_loads_and_agrees_with_stock_transformers(trained):
    """Tolerance: float32 on both sides, other orders of summation."""
    transformers = pytest.importorskip("transformers")
    ours = load_checkpoint(trained, dtype="float32")
    theirs = transformers.Qwen3ForCausalLM.from_pretrained(trained, dtype=torch.float32)
    ids = torch.tensor([ours.encode_prompt("What is 47 + 85?")])
    expected = theirs(ids, use_cache=True).logits
    found = ours.model.logits(ours.model.hidden(ids, torch.arange(ids.shape[1])[None]))
    assert torch.allclose(found, expected, atol=1e-4)


def test_a_saved_state_continues_where_it_was(trained):
    state = trained.with_name("model-work") / "state.pt"
    first, second = Trainer.load(state), Trainer.load(state)
    assert first.progress.tokens >= 200_000
    first.progress.tokens = second.progress.tokens = 50_000
    batch = next(first.batches())
    assert first.step(batch) == second.step(batch)
    for mine, other in zip(first.model.parameters(), second.model.parameters(), strict=True):
        assert torch.equal(mine, other)


def test_a_training_goes_on_to_a_larger_budget(trained, tmp_path):
    state = trained.with_name("model-work") / "state.pt"
    trainer = Trainer.load(state, minutes=None, tokens=400_000)
    assert trainer.config.tokens == 400_000
    assert 0.49 < trainer.progress.fraction(trainer.config) < 0.55


@pytest.mark.parametrize("fraction, share", [(0.05, 0.5), (0.3, 0.0), (0.7, 0.0)])
def test_reading_order_is_mixed_in_at_first_only(trained, monkeypatch, fraction, share):
    trainer = Trainer.load(trained.with_name("model-work") / "state.pt")
    trainer.progress.tokens = int(200_000 * fraction)
    asked = []

    def watched(*args, ordered_share, **values):
        asked.append(ordered_share)
        return training_batches(*args, ordered_share=ordered_share, **values)

    monkeypatch.setattr("refusion_core.training.train.training_batches", watched)
    next(trainer.batches())
    assert asked == [share]


def test_all_examples_can_be_laid_out_in_reading_order(trained):
    """Without masks: nothing is asked but the next token."""
    tokenizer = Trainer.load(trained.with_name("model-work") / "state.pt").tokenizer
    settings = {"seed": "0", "batch_tokens": 1024, "past_end_weight": 0.2}
    ordered = next(training_batches(tokenizer, ordered_share=1.0, **settings))
    assert set(ordered.kinds.tolist()) == {Kind.NEXT}
    usual = next(training_batches(tokenizer, **settings))
    assert Kind.SLOT_START in usual.kinds.tolist()


def test_families_with_errors_are_drawn_more_often():
    errors = dict.fromkeys(FAMILIES, 0.01) | {"lists": 0.5}
    mix = mix_by_error(errors)
    assert sum(mix.values()) == pytest.approx(1)
    assert mix["lists"] > 2 * MIX["lists"]
    assert mix == mix_by_error(errors | {"invent": 0.9})  # nobody can foresee what is left open
    assert min(mix.values()) > 0.015
    assert mix_by_error(dict.fromkeys(FAMILIES, 0.0))["code"] == pytest.approx(
        MIX["code"], abs=0.05
    )


def test_resuming_nothing_is_refused(tmp_path):
    with pytest.raises(CheckpointError, match="does not exist"):
        train(TrainConfig(**TINY, tokens=1000), tmp_path / "m", resume=True)


def test_the_linear_schedule_warms_up_stays_and_falls_to_two_percent():
    assert learning_rate_scale("linear", 0.0, 0, 10) == pytest.approx(0.1)
    assert learning_rate_scale("linear", 0.3, 500, 10) == 1
    assert learning_rate_scale("linear", 0.75, 500, 10) == pytest.approx(0.51)
    assert learning_rate_scale("linear", 1.0, 500, 10) == pytest.approx(0.02)


def test_the_cosine_schedule_falls_all_along():
    assert learning_rate_scale("cosine", 0.0, 500, 10) == 1
    assert learning_rate_scale("cosine", 0.5, 500, 10) == pytest.approx(0.51)
    assert learning_rate_scale("cosine", 1.0, 500, 10) == pytest.approx(0.02)


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
        {"objective": "diffusion"},
        {"schedule": "step"},
        {"ordered_share": -0.1},
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
