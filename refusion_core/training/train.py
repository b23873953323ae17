"""Trains the compact model from nothing: tokenizer, weights, resumable checkpoints, exported folder.

Muon on the matrices and AdamW on embeddings and norms, one schedule over the whole budget. Devices and
processes are accelerate's business (``accelerate launch -m refusion_core train ...`` for several); decoding is
that of ``evaluate``.
"""

from __future__ import annotations

import json
import math
import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import broadcast_object_list
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from tqdm import tqdm

from ..checkpoint import Checkpoint, load_checkpoint
from ..config import ModelConfig
from ..errors import CheckpointError, ConfigError
from ..model import Transformer
from .batches import MIX, lay_out, mix_by_error, training_batches, training_texts
from .export import export_folder
from .objective import OBJECTIVES, Batch, Kind, collate, draw_mask_levels, weighted_loss
from .plot import plot_metrics
from .tasks import FAMILIES
from .tokenizer import EOS, MASK, PAD, train_tokenizer

SCHEDULES = ("linear", "cosine")
_MAY_BE_ZERO = ("seed", "warmup_steps", "ordered_share", "ordered_until")
_FINAL_RATE = 0.02  # of the learning rate, at the end of the schedule
_LOG_STEPS = 50


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """The recipe; the defaults are those of the bundled model.

    minutes: time to train for; tokens: instead, how many fed tokens (the budget that is given counts)
    objective: "refusion", "ar" or "mdm", see ``objective``
    schedule: of the learning rates: "linear" is constant to half of the budget, "cosine" falls all along
    batch_tokens, late_batch_tokens: fed tokens a step and process, in the first and in the second half
    ordered_share, ordered_until: share of examples that are laid out for plain next-token prediction up to this
        share of the budget: copying is learned sooner in reading order (objective "refusion" only)
    past_end_weight: weight of the loss of eos behind the first eos
    """

    minutes: float | None = 150.0
    tokens: int | None = None
    objective: str = "refusion"
    schedule: str = "linear"
    seed: int = 0
    vocab_size: int = 4608
    hidden_size: int = 256
    intermediate_size: int = 640
    layers: int = 6
    heads: int = 8
    kv_heads: int = 4
    head_dim: int = 32
    max_positions: int = 2048
    batch_tokens: int = 2048
    late_batch_tokens: int = 3072
    ordered_share: float = 0.5
    ordered_until: float = 0.15
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
            if isinstance(value, bool | str | None) or field in _MAY_BE_ZERO:
                continue
            if not (math.isfinite(value) and value > 0):
                raise ConfigError(field, value, "is not positive", "give a positive number")
        for field, known in (("objective", OBJECTIVES), ("schedule", SCHEDULES)):
            if getattr(self, field) not in known:
                raise ConfigError(
                    field, getattr(self, field), "is unknown", f"give one of {', '.join(known)}"
                )
        for field in _MAY_BE_ZERO:
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
    """How far a training has come, over all processes."""

    step: int = 0
    tokens: int = 0
    seconds: float = 0.0

    def fraction(self, config: TrainConfig) -> float:
        """Share of the budget that is used, 0 to 1."""
        if config.tokens is not None:
            return min(1.0, self.tokens / config.tokens)
        return min(1.0, self.seconds / (60 * config.minutes))


def learning_rate_scale(schedule: str, fraction: float, step: int, warmup_steps: int) -> float:
    """Factor on the learning rates after ``fraction`` of the budget, warm-up included."""
    warm = min(1.0, (step + 1) / max(1, warmup_steps))
    if schedule == "cosine":
        decay = (1 - math.cos(math.pi * fraction)) / 2
    else:
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


@torch.no_grad()
def warm_start_from(model: Transformer, tokenizer: Tokenizer, start: Checkpoint) -> None:
    """Take over the weights of a checkpoint of this shape, whose vocabulary may be another.

    A token that the other vocabulary lacks starts as the mean of the pieces that this one has for it there.
    Raises ConfigError for another shape or a checkpoint without a tokenizer.
    """
    table = "model.embed_tokens.weight"
    given = start.model.state_dict()
    if start.tokenizer is None or any(
        given[name].shape != own.shape and (name != table or given[name].shape[1] != own.shape[1])
        for name, own in model.state_dict().items()
    ):
        raise ConfigError(
            "warm_start",
            start.facts.name,
            "has other sizes or no tokenizer",
            "train with its sizes",
        )
    other = start.tokenizer.backend_tokenizer
    rows = []
    for index in range(tokenizer.get_vocab_size()):
        piece = tokenizer.id_to_token(index)
        known = other.token_to_id(piece)
        ids = [token.id for token in other.model.tokenize(piece)] if known is None else [known]
        rows.append(given[table][ids].mean(0))
    model.load_state_dict(given | {table: torch.stack(rows)})


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


def bfloat16_pays(device: torch.device) -> bool:
    """Whether the device multiplies bfloat16 matrices natively."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    return device.type == "cpu" and torch.ops.mkldnn._is_mkldnn_bf16_supported()


class Objective(nn.Module):
    """The loss of a model on the tensors of a batch, as a module, which is what compile and accelerate wrap."""

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.model = model

    def logits(self, ids: Tensor, positions: Tensor, mask: Tensor | None, index: Tensor) -> Tensor:
        """Logits [N, V] at the ``index`` [N] of the flattened tokens [B * T]."""
        hidden = self.model.hidden(ids, positions, mask)  # [B, T, D]
        return self.model.logits(hidden.flatten(0, 1).index_select(0, index))

    def forward(
        self,
        ids: Tensor,
        positions: Tensor,
        mask: Tensor | None,
        index: Tensor,
        targets: Tensor,
        weights: Tensor,
    ) -> Tensor:
        device, fused_is_slow = ids.device, ids.device.type == "cpu"
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=bfloat16_pays(device)):
            # On CPUs the backward of fused attention takes five times as long as that of plain attention.
            with sdpa_kernel(SDPBackend.MATH) if fused_is_slow else nullcontext():
                logits = self.logits(ids, positions, mask, index)
        return weighted_loss(logits, targets, weights)


@torch.no_grad()
def teacher_forced_accuracy(
    model: Transformer,
    tokenizer: Tokenizer,
    *,
    objective: str = "refusion",
    per_family: int = 64,
    slot_size: int = 8,
) -> dict[str, dict[str, float]]:
    """Per family on the dev split: shares of right next tokens at clean ones, and of right tokens at those
    masks that start a slot, as far as the objective has such. Nothing past the end counts."""
    figures = {}
    for name, family in FAMILIES.items():
        rng = random.Random(f"accuracy {name}")
        layouts = [
            lay_out(
                rng,
                tokenizer,
                family.sample(rng, "dev"),
                objective=objective,
                level=level,
                past_end_weight=0.0,
                slot_size=slot_size,
            )
            for level in draw_mask_levels(rng, per_family)
        ]
        pad_id = tokenizer.token_to_id(PAD)
        batch = collate(layouts, pad_id=pad_id, both_directions=objective == "mdm").to(model.device)
        logits = Objective(model).logits(batch.ids, batch.positions, batch.mask, batch.index)
        right = (logits.argmax(-1) == batch.targets).float()
        counted = {
            label: (batch.weights > 0) & (batch.kinds == kind)
            for label, kind in (("next", Kind.NEXT), ("slot_start", Kind.SLOT_START))
        }
        figures[name] = {
            label: round(right[tokens].mean().item(), 4)
            for label, tokens in counted.items()
            if tokens.any()
        }
    return figures


class Trainer:
    """A training in progress, with all that a resumed one needs."""

    def __init__(
        self, config: TrainConfig, tokenizer: Tokenizer, start: Checkpoint | None = None
    ) -> None:
        self.config, self.tokenizer = config, tokenizer
        self.accelerator = Accelerator(cpu=not torch.accelerator.is_available())
        self.model = Transformer(config.model_config(tokenizer))
        initialize(self.model, tokenizer, config.seed)
        if start:
            warm_start_from(self.model, tokenizer, start)
        self.progress = Progress()
        self.mix = dict(MIX)
        objective = Objective(self.model)
        if config.compile:
            objective.compile(dynamic=True)
        self.objective, *self.optimizers = self.accelerator.prepare(
            objective, *make_optimizers(self.model, config)
        )

    def save(self, path: Path) -> None:
        """Write everything, atomically."""
        state = {
            "config": asdict(self.config),
            "tokenizer": self.tokenizer.to_str(),
            "model": self.model.state_dict(),
            "optimizers": [optimizer.state_dict() for optimizer in self.optimizers],
            "progress": asdict(self.progress),
            "mix": self.mix,
        }
        partial = path.with_suffix(".partial")
        torch.save(state, partial)
        os.replace(partial, path)

    @classmethod
    def load(cls, path: Path, **budget: Any) -> Trainer:
        """Continue from a saved state, with the settings of that training but for another ``budget``."""
        if not path.is_file():
            raise CheckpointError("resume", str(path), "does not exist", "train without --resume")
        state = torch.load(path, weights_only=True, map_location="cpu")
        config = TrainConfig(**(state["config"] | budget))
        trainer = cls(config, Tokenizer.from_str(state["tokenizer"]))
        trainer.model.load_state_dict(state["model"])
        for optimizer, saved in zip(trainer.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(saved)
        trainer.progress, trainer.mix = Progress(**state["progress"]), state["mix"]
        return trainer

    def step(self, batch: Batch) -> float:
        """One update; the loss of the batch."""
        config, progress = self.config, self.progress
        fraction = progress.fraction(config)
        scale = learning_rate_scale(config.schedule, fraction, progress.step, config.warmup_steps)
        for optimizer, rate in zip(self.optimizers, (config.muon_lr, config.adamw_lr), strict=True):
            optimizer.param_groups[0]["lr"] = rate * scale
        batch = batch.to(self.accelerator.device)
        loss = self.objective(
            batch.ids,
            batch.positions,
            batch.mask,
            batch.index,
            batch.targets,
            batch.weights / batch.examples,
        )
        self.accelerator.backward(loss)
        self.accelerator.clip_grad_norm_(self.model.parameters(), config.clip_norm)
        for optimizer in self.optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        progress.step += 1
        progress.tokens += batch.tokens * self.accelerator.num_processes
        return loss.item()

    def batches(self) -> Iterator[Batch]:
        """Batches until the budget is used; larger ones in the second half. Counts the time."""
        config, progress = self.config, self.progress
        stage, stream = None, iter(())
        last = time.monotonic()
        while (fraction := progress.fraction(config)) < 1:
            late = fraction >= 0.5
            ordered = config.objective == "refusion" and fraction < config.ordered_until
            if stage != (late, ordered):
                stage = (late, ordered)
                stream = training_batches(
                    self.tokenizer,
                    seed=f"{config.seed} step {progress.step} {self.accelerator.process_index}",
                    batch_tokens=config.late_batch_tokens if late else config.batch_tokens,
                    past_end_weight=config.past_end_weight,
                    objective=config.objective,
                    mix=self.mix,
                    ordered_share=config.ordered_share if ordered else 0.0,
                )
            yield next(stream)
            now = time.monotonic()
            progress.seconds += now - last
            last = now
            if self.accelerator.num_processes > 1:  # all must agree on when it ends
                told = [progress.tokens, progress.seconds]
                progress.tokens, progress.seconds = broadcast_object_list(told)

    def measure(self) -> dict[str, dict[str, float]]:
        """Accuracies on the dev split; from here on the families are drawn by their errors."""
        accuracy = teacher_forced_accuracy(
            self.model, self.tokenizer, objective=self.config.objective
        )
        errors = {name: 1 - sum(shares.values()) / len(shares) for name, shares in accuracy.items()}
        self.mix.update(mix_by_error(errors))
        return accuracy


def train(
    config: TrainConfig,
    output: Path,
    *,
    work: Path | None = None,
    resume: bool = False,
    warm_start: str | Path | None = None,
    keep_tokenizer: bool = False,
    report: Callable[[dict[str, Any]], None] | None = None,
) -> Path:
    """Train and export to ``output``; state and metrics live in ``work`` (default: ``output`` + "-work").

    ``resume`` continues the state in ``work`` with its own settings, but up to the budget of ``config``.
    ``warm_start`` is a checkpoint to begin with, not random weights; ``keep_tokenizer``: with its tokenizer.
    ``report`` sees every metrics record.
    """
    work = work or output.with_name(output.name + "-work")
    work.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(config.threads)
    state, metrics = work / "state.pt", work / "metrics.jsonl"
    if resume:
        trainer = Trainer.load(state, minutes=config.minutes, tokens=config.tokens)
    else:
        start = load_checkpoint(warm_start, dtype="float32") if warm_start else None
        if keep_tokenizer and start and start.tokenizer:
            tokenizer = start.tokenizer.backend_tokenizer
        else:
            tokenizer = train_tokenizer(
                training_texts(config.seed, samples=18_000), config.vocab_size
            )
        trainer = Trainer(config, tokenizer, start)
        metrics.unlink(missing_ok=True)

    def record(**values: Any) -> None:
        if not trainer.accelerator.is_main_process:
            return
        values = asdict(trainer.progress) | values
        with metrics.open("a") as lines:
            lines.write(json.dumps(values) + "\n")
        if report:
            report(values)

    _run(trainer, state, record)
    if trainer.accelerator.is_main_process:
        plot_metrics(metrics, work / "metrics.png")
        export_folder(trainer.model, trainer.tokenizer, output)
    return output


def _run(trainer: Trainer, state: Path, record: Callable[..., None]) -> None:
    config, progress = trainer.config, trainer.progress
    main = trainer.accelerator.is_main_process
    last_save, losses = progress.seconds, []

    def checkpoint() -> None:
        record(accuracy=trainer.measure(), mix=trainer.mix)
        if main:
            trainer.save(state)

    with tqdm(
        total=100, unit="%", bar_format="{l_bar}{bar}| {elapsed} {postfix}", disable=not main
    ) as bar:
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
                checkpoint()
    checkpoint()
