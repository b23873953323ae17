"""Trains the compact model from nothing: tokenizer, weights, resumable checkpoints, exported folder.

Muon on the matrices and AdamW on embeddings and norms, one schedule over the whole budget: warm-up, constant
to the middle, then linear down to 2 %. Decoding is none of its business; ``evaluate`` measures that.
"""

from __future__ import annotations

import json
import math
import os
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from tqdm import tqdm

from ..config import ModelConfig
from ..errors import CheckpointError, ConfigError
from ..model import Transformer
from .batches import encode_sample, training_batches, training_texts
from .export import export_folder
from .objective import (
    Batch,
    Kind,
    collate,
    draw_layout,
    draw_mask_levels,
    hybrid_loss,
    pad_response,
)
from .tasks import FAMILIES
from .tokenizer import EOS, MASK, PAD, train_tokenizer

_FINAL_RATE = 0.02  # of the learning rate, at the end of the schedule
_LOG_STEPS = 50


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """The recipe; the defaults are those of the bundled model.

    minutes: time to train for; tokens: instead, how many fed tokens (the budget that is given counts)
    batch_tokens, late_batch_tokens: fed tokens a step in the first and in the second half
    past_end_weight: weight of the loss of eos behind the first eos
    """

    minutes: float | None = 70.0
    tokens: int | None = None
    seed: int = 0
    vocab_size: int = 2304
    hidden_size: int = 256
    intermediate_size: int = 640
    layers: int = 6
    heads: int = 8
    kv_heads: int = 4
    head_dim: int = 32
    max_positions: int = 2048
    batch_tokens: int = 2048
    late_batch_tokens: int = 3072
    muon_lr: float = 5e-3
    adamw_lr: float = 2e-3
    weight_decay: float = 0.01
    warmup_steps: int = 100
    clip_norm: float = 1.0
    past_end_weight: float = 0.2
    threads: int = 1
    compile: bool = True
    checkpoint_minutes: float = 5.0

    def __post_init__(self) -> None:
        if (self.minutes is None) == (self.tokens is None):
            raise ConfigError(
                "minutes", self.minutes, "is not the only budget", "give minutes or tokens"
            )
        for field, value in asdict(self).items():
            if isinstance(value, bool) or value is None or field in ("seed", "warmup_steps"):
                continue
            if not (math.isfinite(value) and value > 0):
                raise ConfigError(field, value, "is not positive", "give a positive number")
        for field in ("seed", "warmup_steps"):
            if getattr(self, field) < 0:
                raise ConfigError(field, getattr(self, field), "is negative", "give 0 or more")
        if self.vocab_size < 300:
            raise ConfigError(
                "vocab_size",
                self.vocab_size,
                "has no room for bytes and merges",
                "give at least 300",
            )

    def model_config(self, tokenizer: Tokenizer) -> ModelConfig:
        """The shape of the model for this tokenizer."""
        return ModelConfig(
            vocab_size=tokenizer.get_vocab_size(),
            hidden_size=self.hidden_size,
            intermediate_size=self.intermediate_size,
            num_hidden_layers=self.layers,
            num_attention_heads=self.heads,
            num_key_value_heads=self.kv_heads,
            head_dim=self.head_dim,
            max_position_embeddings=self.max_positions,
            tie_word_embeddings=True,
            mask_token_id=tokenizer.token_to_id(MASK),
            eos_token_id=tokenizer.token_to_id(EOS),
            dtype="bfloat16",
        )


@dataclass
class Progress:
    """How far a training has come."""

    step: int = 0
    tokens: int = 0
    seconds: float = 0.0

    def fraction(self, config: TrainConfig) -> float:
        """Share of the budget that is used, 0 to 1."""
        if config.tokens is not None:
            return min(1.0, self.tokens / config.tokens)
        return min(1.0, self.seconds / (60 * config.minutes))


def learning_rate_scale(fraction: float, step: int, warmup_steps: int) -> float:
    """Factor on the learning rates: warm-up, 1 to half of the budget, then linear to the final rate."""
    warm = min(1.0, (step + 1) / max(1, warmup_steps))
    decay = max(0.0, fraction - 0.5) / 0.5
    return warm * (1 - (1 - _FINAL_RATE) * decay)


def initialize(model: Transformer, tokenizer: Tokenizer, seed: int) -> None:
    """Small normal weights; what writes into the residual stream starts smaller, by depth.

    A word with its space and the same word without start as neighbours (one shared vector, one common
    difference): what is learned about copying the one then holds for the other, behind a quote for instance.
    """
    torch.manual_seed(seed)
    depth_scale = (2 * model.config.num_hidden_layers) ** -0.5
    for name, parameter in model.named_parameters():
        if parameter.dim() == 2:
            residual = name.endswith(("o_proj.weight", "down_proj.weight"))
            nn.init.normal_(parameter, std=0.02 * (depth_scale if residual else 1.0))
    spaced, bare = twin_ids(tokenizer)
    table = model.model.embed_tokens.weight.data
    table[bare] = table[spaced] + 0.02 * torch.randn(table.shape[1])


def twin_ids(tokenizer: Tokenizer) -> tuple[list[int], list[int]]:
    """Ids of the words that the vocabulary has both with a leading space and without."""
    vocabulary = tokenizer.get_vocab()
    twins = [
        (spaced, vocabulary[piece[1:]])
        for piece, spaced in sorted(vocabulary.items())
        if piece.startswith("Ġ") and piece[1:].isalpha() and piece[1:] in vocabulary
    ]
    return [spaced for spaced, _ in twins], [bare for _, bare in twins]


def make_optimizers(model: Transformer, config: TrainConfig) -> list[torch.optim.Optimizer]:
    """Muon for the matrices of the blocks, AdamW for embeddings and norms."""
    matrices, others = [], []
    for name, parameter in model.named_parameters():
        in_block = parameter.dim() == 2 and "layers." in name
        (matrices if in_block else others).append(parameter)
    return [
        torch.optim.Muon(matrices, lr=config.muon_lr, weight_decay=config.weight_decay),
        torch.optim.AdamW(
            others, lr=config.adamw_lr, betas=(0.9, 0.95), weight_decay=config.weight_decay
        ),
    ]


def batch_logits(model: Transformer, batch: Batch) -> Tensor:
    """Logits [N, V] at the tokens of the batch that have a target."""
    hidden = model.hidden(batch.ids, batch.positions)  # [B, T, D]
    return model.logits(hidden.flatten(0, 1).index_select(0, batch.index))


def batch_loss(model: Transformer, batch: Batch) -> Tensor:
    """Hybrid loss of a batch in bfloat16 autocast.

    On CPUs the backward of fused attention takes five times as long as that of plain attention.
    """
    with torch.autocast(batch.ids.device.type, dtype=torch.bfloat16), sdpa_kernel(SDPBackend.MATH):
        logits = batch_logits(model, batch)
    return hybrid_loss(logits, batch)


@torch.no_grad()
def teacher_forced_accuracy(
    model: Transformer, tokenizer: Tokenizer, *, per_family: int = 64, slot_size: int = 8
) -> dict[str, dict[str, float]]:
    """Per family on the dev split: share of right next tokens in clean slots, and of right first tokens of
    masked slots; nothing past the end counts."""
    eos_id, mask_id = tokenizer.token_to_id(EOS), tokenizer.token_to_id(MASK)
    figures = {}
    for name, family in FAMILIES.items():
        rng = random.Random(f"accuracy {name}")
        layouts = []
        for level in draw_mask_levels(rng, per_family):
            prompt, tokens = encode_sample(tokenizer, family.sample(rng, "dev"))
            response = pad_response(tokens, eos_id=eos_id, slot_size=slot_size)
            layouts.append(
                draw_layout(
                    rng, prompt, response, mask_id=mask_id, level=level, past_end_weight=0.0
                )
            )
        batch = collate(layouts, pad_id=tokenizer.token_to_id(PAD))
        right = (batch_logits(model, batch).argmax(-1) == batch.targets).float()
        inside = batch.weights > 0
        figures[name] = {
            label: round(right[inside & (batch.kinds == kind)].mean().item(), 4)
            for label, kind in (("next", Kind.NEXT), ("slot_start", Kind.SLOT_START))
        }
    return figures


class Trainer:
    """A training in progress, with all that a resumed one needs."""

    def __init__(self, config: TrainConfig, tokenizer: Tokenizer) -> None:
        self.config, self.tokenizer = config, tokenizer
        self.model = Transformer(config.model_config(tokenizer))
        initialize(self.model, tokenizer, config.seed)
        self.optimizers = make_optimizers(self.model, config)
        self.progress = Progress()
        self.loss = batch_loss
        if config.compile:
            self.loss = torch.compile(batch_loss, dynamic=True)

    def save(self, path: Path) -> None:
        """Write everything, atomically."""
        state = {
            "config": asdict(self.config),
            "tokenizer": self.tokenizer.to_str(),
            "model": self.model.state_dict(),
            "optimizers": [optimizer.state_dict() for optimizer in self.optimizers],
            "progress": asdict(self.progress),
        }
        partial = path.with_suffix(".partial")
        torch.save(state, partial)
        os.replace(partial, path)

    @classmethod
    def load(cls, path: Path) -> Trainer:
        """Continue from a saved state, with the settings of that training."""
        if not path.is_file():
            raise CheckpointError("resume", str(path), "does not exist", "train without --resume")
        state = torch.load(path, weights_only=True)
        trainer = cls(TrainConfig(**state["config"]), Tokenizer.from_str(state["tokenizer"]))
        trainer.model.load_state_dict(state["model"])
        for optimizer, saved in zip(trainer.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(saved)
        trainer.progress = Progress(**state["progress"])
        return trainer

    def step(self, batch: Batch) -> float:
        """One update; the loss of the batch."""
        scale = learning_rate_scale(
            self.progress.fraction(self.config), self.progress.step, self.config.warmup_steps
        )
        rates = (self.config.muon_lr, self.config.adamw_lr)
        for optimizer, rate in zip(self.optimizers, rates, strict=True):
            optimizer.param_groups[0]["lr"] = rate * scale
        loss = self.loss(self.model, batch)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.config.clip_norm)
        for optimizer in self.optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        self.progress.step += 1
        self.progress.tokens += batch.tokens
        return loss.item()

    def batches(self) -> Iterator[Batch]:
        """Batches until the budget is used; larger ones in the second half. Counts the time."""
        late, stream = None, iter(())
        last = time.monotonic()
        while (fraction := self.progress.fraction(self.config)) < 1:
            if late != (fraction >= 0.5):
                late = fraction >= 0.5
                sizes = (self.config.batch_tokens, self.config.late_batch_tokens)
                stream = training_batches(
                    self.tokenizer,
                    seed=f"{self.config.seed} step {self.progress.step}",
                    batch_tokens=sizes[late],
                    past_end_weight=self.config.past_end_weight,
                )
            yield next(stream)
            now = time.monotonic()
            self.progress.seconds += now - last
            last = now


def train(
    config: TrainConfig,
    output: Path,
    *,
    work: Path | None = None,
    resume: bool = False,
    report: Callable[[dict[str, Any]], None] | None = None,
) -> Path:
    """Train and export to ``output``; state and metrics live in ``work`` (default: ``output`` + "-work").

    ``resume`` continues the state in ``work`` with its own settings. ``report`` sees every metrics record.
    """
    work = work or output.with_name(output.name + "-work")
    work.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(config.threads)
    state = work / "state.pt"
    if resume:
        trainer = Trainer.load(state)
    else:
        texts = training_texts(config.seed, samples=24_000)
        trainer = Trainer(config, train_tokenizer(texts, config.vocab_size))
    with (work / "metrics.jsonl").open("a" if resume else "w") as metrics:

        def record(**values: Any) -> None:
            values = asdict(trainer.progress) | values
            metrics.write(json.dumps(values) + "\n")
            metrics.flush()
            if report:
                report(values)

        _run(trainer, state, record)
    return export_folder(trainer.model, trainer.tokenizer, output)


def _run(trainer: Trainer, state: Path, record: Callable[..., None]) -> None:
    config, progress = trainer.config, trainer.progress
    last_save, losses = progress.seconds, []
    with tqdm(total=100, unit="%", bar_format="{l_bar}{bar}| {elapsed} {postfix}") as bar:
        for batch in trainer.batches():
            losses.append(trainer.step(batch))
            if progress.step % _LOG_STEPS == 0:
                mean_loss = round(sum(losses) / len(losses), 4)
                losses.clear()
                record(loss=mean_loss)
                bar.n = round(100 * progress.fraction(config), 1)
                bar.set_postfix(loss=mean_loss, tokens=f"{progress.tokens / 1e6:.2f}M")
            if progress.seconds - last_save > 60 * config.checkpoint_minutes:
                last_save = progress.seconds
                trainer.save(state)
                record(accuracy=teacher_forced_accuracy(trainer.model, trainer.tokenizer))
    trainer.save(state)
    record(accuracy=teacher_forced_accuracy(trainer.model, trainer.tokenizer))
