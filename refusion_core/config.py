"""Settings of the decoder and of the model, checked when they are made. Knows no torch."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from .errors import CheckpointError, ConfigError
from .selection import POLICIES, known_policies


def _require_int(field: str, value: Any, minimum: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ConfigError(
            field, value, "is not a whole number", f"give a whole number of at least {minimum}"
        )
    if value < minimum:
        raise ConfigError(field, value, "is too small", f"give at least {minimum}")


def _require_number(field: str, value: Any, low: float, high: float) -> None:
    inside = (
        isinstance(value, (int, float))
        and not isinstance(value, bool)
        and math.isfinite(value)
        and low <= value <= high
    )
    if not inside:
        span = f"from {low:g} to {high:g}" if math.isfinite(high) else f"of at least {low:g}"
        raise ConfigError(field, value, "is out of range", f"give a number {span}")


@dataclass(frozen=True, kw_only=True)
class DecodeConfig:
    """What one decode is asked to do.

    gen_length: response length in tokens; rounded up to fill every serial block with whole slots
    slot_size: tokens per slot
    serial_blocks: number of equal groups of slots, decoded one after the other
    slot_threshold: a slot is chosen when its confidence is strictly above (0 to 1)
    token_threshold: a drafted token passes when its probability is strictly above (0 to 1)
    temperature: Gumbel noise on the plan's drafts; 0 is greedy
    seed: of that noise, and of policies that draw
    policy: how slots are chosen, by name (see ``selection.POLICIES``); the paper's is "threshold"
    policy_count: how many slots the policies choose that choose a number
    dependency_limit: most revealed dependency (0 to ln 2) that "dependency_aware" lets two chosen slots have
    recompute_infill: compute the entries of slots infilled together anew, each seeing those before it, instead
        of reusing them (one more forward; the paper reuses)

    The defaults suit the bundled model. Raises ConfigError on an impossible setting.
    """

    gen_length: int = 64
    slot_size: int = 8
    serial_blocks: int = 1
    slot_threshold: float = 0.9995
    token_threshold: float = 0.4
    temperature: float = 0.0
    seed: int = 0
    policy: str = "threshold"
    policy_count: int = 1
    dependency_limit: float = 0.01
    recompute_infill: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.recompute_infill, bool):
            raise ConfigError(
                "recompute_infill", self.recompute_infill, "is no truth value", "give True or False"
            )
        _require_int("policy_count", self.policy_count, 1)
        _require_number("dependency_limit", self.dependency_limit, 0, math.log(2))
        if self.policy not in POLICIES and self.policy not in known_policies():
            raise ConfigError(
                "policy", self.policy, "is unknown", f"give one of {', '.join(known_policies())}"
            )
        _require_int("gen_length", self.gen_length, 1)
        _require_int("slot_size", self.slot_size, 1)
        _require_int("serial_blocks", self.serial_blocks, 1)
        _require_int("seed", self.seed, 0)
        if self.seed >= 2**63:
            raise ConfigError("seed", self.seed, "is too large", "give less than 2**63")
        _require_number("slot_threshold", self.slot_threshold, 0, 1)
        _require_number("token_threshold", self.token_threshold, 0, 1)
        _require_number("temperature", self.temperature, 0, math.inf)
        whole_slots = math.ceil(self.gen_length / self.slot_size)
        if self.serial_blocks > whole_slots:
            raise ConfigError(
                "serial_blocks",
                self.serial_blocks,
                f"leaves blocks of less than a slot ({self.gen_length} tokens are {whole_slots} "
                f"slot(s) of {self.slot_size})",
                f"give at most {whole_slots}, a longer gen_length or a smaller slot_size",
            )

    @property
    def padded_length(self) -> int:
        """Response length in tokens that is really decoded: whole slots in every block."""
        unit = self.slot_size * self.serial_blocks
        return math.ceil(self.gen_length / unit) * unit

    @property
    def slot_count(self) -> int:
        """Slots in the response."""
        return self.padded_length // self.slot_size

    @property
    def slots_per_block(self) -> int:
        """Slots in one serial block."""
        return self.slot_count // self.serial_blocks

    def to_dict(self) -> dict[str, Any]:
        """The settings as plain values, in the order of the fields."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class AutoregressiveConfig:
    """Left to right, one token per forward, with cache.

    gen_length: response length in tokens, at most
    slot_size: a model trained with slots has never been asked for the next token across a slot border, so the
        first token of every slot of this size is asked of a mask, in the same forward; None is for a
        model trained for plain next-token prediction

    Raises ConfigError on an impossible setting.
    """

    gen_length: int = 64
    slot_size: int | None = 32

    def __post_init__(self) -> None:
        _require_int("gen_length", self.gen_length, 1)
        if self.slot_size is not None:
            _require_int("slot_size", self.slot_size, 1)

    @property
    def padded_length(self) -> int:
        """Response length in tokens."""
        return self.gen_length

    @property
    def slot_count(self) -> int:
        """Slots in the response: to this decoder a slot is a token."""
        return self.gen_length


LAYOUTS = ("clean_first", "reading_order")


@dataclass(frozen=True, kw_only=True)
class MaskedDiffusionConfig:
    """Masks everywhere, the most confident tokens first, everything recomputed in every step, no cache.

    gen_length: response length in tokens; rounded up to a multiple of ``serial_blocks``
    serial_blocks: number of equal groups of positions, decoded one after the other
    tokens_per_step: commit so many of the most confident tokens in every step
    confidence_threshold: instead, commit every token whose confidence is strictly above, at least the best one
    drop_after_eos: whether what is behind a committed eos is dropped; published models decode it to the end
    layout: "clean_first" feeds prompt, committed tokens, masks, each in position order, under causal attention,
        which is what ReFusion weights know; "reading_order" feeds all in position order under attention in both
        directions, for weights trained with that objective

    Raises ConfigError on an impossible setting.
    """

    gen_length: int = 64
    serial_blocks: int = 1
    tokens_per_step: int = 1
    confidence_threshold: float | None = None
    drop_after_eos: bool = True
    layout: str = "clean_first"

    def __post_init__(self) -> None:
        _require_int("gen_length", self.gen_length, 1)
        _require_int("serial_blocks", self.serial_blocks, 1)
        _require_int("tokens_per_step", self.tokens_per_step, 1)
        if self.confidence_threshold is not None:
            _require_number("confidence_threshold", self.confidence_threshold, 0, 1)
        if self.serial_blocks > self.gen_length:
            raise ConfigError(
                "serial_blocks",
                self.serial_blocks,
                f"is more than the {self.gen_length} tokens of the response",
                "give fewer blocks or a longer gen_length",
            )
        if self.layout not in LAYOUTS:
            raise ConfigError(
                "layout", self.layout, "is unknown", f"give one of {', '.join(LAYOUTS)}"
            )

    @property
    def padded_length(self) -> int:
        """Response length in tokens that is really decoded."""
        return math.ceil(self.gen_length / self.serial_blocks) * self.serial_blocks

    @property
    def slot_count(self) -> int:
        """Slots in the response: to this decoder a slot is a token."""
        return self.padded_length


AnyDecodeConfig = DecodeConfig | AutoregressiveConfig | MaskedDiffusionConfig
# The settings of every decoder, by the decoder's name.
CONFIGS: dict[str, type[AnyDecodeConfig]] = {
    "refusion": DecodeConfig,
    "ar": AutoregressiveConfig,
    "mdm": MaskedDiffusionConfig,
}


DEPENDENCY_METHODS = ("attention", "attention_heads", "revealed", "joint")


@dataclass(frozen=True, kw_only=True)
class RecordConfig:
    """What is written down beside the decisions; never changes what is decoded.

    top_k: alternatives kept per proposal; 0 keeps none
    dependency: "attention" reads attention masses off every plan forward, "attention_heads" keeps those of
        every layer and head too; "revealed" measures in forwards of its own what revealing each draft changes
        (n slots cost n * n slots' tokens), "joint" what the chosen ones tell of one another; None measures none
    """

    top_k: int = 4
    dependency: str | None = "attention"

    def __post_init__(self) -> None:
        _require_int("top_k", self.top_k, 0)
        if self.dependency not in (None, *DEPENDENCY_METHODS):
            raise ConfigError(
                "dependency",
                self.dependency,
                "is no method",
                f"give one of {', '.join(DEPENDENCY_METHODS)}, or None",
            )


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """Shape of a decoder-only transformer (Qwen3 block, or Llama block without QK-norm)."""

    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    rms_norm_eps: float = 1e-6
    rope_theta: float = 10000.0
    max_position_embeddings: int = 4096
    tie_word_embeddings: bool = False
    attention_bias: bool = False
    qk_norm: bool = True
    mask_token_id: int | None = None
    eos_token_id: int | None = None
    dtype: str = "float32"

    def __post_init__(self) -> None:
        for field in (
            "vocab_size",
            "hidden_size",
            "intermediate_size",
            "num_hidden_layers",
            "num_attention_heads",
            "num_key_value_heads",
            "head_dim",
            "max_position_embeddings",
        ):
            _require_int(field, getattr(self, field), 1)
        if self.num_attention_heads % self.num_key_value_heads:
            raise ConfigError(
                "num_key_value_heads",
                self.num_key_value_heads,
                f"does not divide num_attention_heads = {self.num_attention_heads}",
                "give a divisor",
            )
        if self.head_dim % 2:
            raise ConfigError("head_dim", self.head_dim, "is odd", "rotary positions need pairs")
        for field in ("mask_token_id", "eos_token_id"):
            token_id = getattr(self, field)
            if token_id is not None and not 0 <= token_id < self.vocab_size:
                raise ConfigError(
                    field,
                    token_id,
                    "is not in the vocabulary",
                    f"give an id below vocab_size = {self.vocab_size}",
                )

    @classmethod
    def from_hf(cls, raw: dict[str, Any]) -> ModelConfig:
        """Read the contents of a Hugging Face ``config.json`` (model types qwen3 and llama).

        Raises CheckpointError for architectures or options that would silently compute
        something else here (scaled RoPE, sliding windows, other activations).
        """
        model_type = raw.get("model_type")
        architecture = " ".join(raw.get("architectures") or [])
        # ReFusion's public checkpoint is a Qwen3 whose config may carry a type of its own.
        is_qwen3 = model_type in ("qwen3", "refusion") or "Qwen3ForCausalLM" in architecture
        if not is_qwen3 and model_type != "llama":
            raise CheckpointError(
                "config.json model_type", model_type, "is not supported", "use qwen3 or llama"
            )
        if raw.get("hidden_act", "silu") != "silu":
            raise CheckpointError(
                "config.json hidden_act", raw["hidden_act"], "is not supported", "use silu"
            )
        if raw.get("mlp_bias"):
            raise CheckpointError("config.json mlp_bias", True, "is not supported", "use false")
        if raw.get("use_sliding_window"):
            raise CheckpointError(
                "config.json use_sliding_window", True, "is not supported", "use false"
            )
        # transformers 5 moved rope_theta and rope_scaling into rope_parameters.
        rope = raw.get("rope_parameters") or raw.get("rope_scaling") or {}
        rope_type = rope.get("rope_type", rope.get("type", "default"))
        if rope_type != "default":
            raise CheckpointError(
                "config.json rope_type", rope_type, "is not supported", "use plain RoPE (default)"
            )
        eos = raw.get("eos_token_id")
        if isinstance(eos, list):
            eos = eos[0] if eos else None
        try:
            return cls(
                vocab_size=raw["vocab_size"],
                hidden_size=raw["hidden_size"],
                intermediate_size=raw["intermediate_size"],
                num_hidden_layers=raw["num_hidden_layers"],
                num_attention_heads=raw["num_attention_heads"],
                num_key_value_heads=raw.get("num_key_value_heads") or raw["num_attention_heads"],
                head_dim=raw.get("head_dim") or raw["hidden_size"] // raw["num_attention_heads"],
                rms_norm_eps=raw.get("rms_norm_eps", 1e-6),
                rope_theta=rope.get("rope_theta") or raw.get("rope_theta") or 10000.0,
                max_position_embeddings=raw.get("max_position_embeddings", 4096),
                tie_word_embeddings=bool(raw.get("tie_word_embeddings", False)),
                attention_bias=bool(raw.get("attention_bias", False)),
                qk_norm=is_qwen3,
                mask_token_id=raw.get("mask_token_id"),
                eos_token_id=eos,
                dtype=raw.get("dtype") or raw.get("torch_dtype") or "float32",
            )
        except KeyError as missing:
            raise CheckpointError(
                f"config.json {missing.args[0]}", None, "is missing", "add it to config.json"
            ) from None

    def to_hf(self) -> dict[str, Any]:
        """The contents of a Hugging Face ``config.json`` that :meth:`from_hf` reads back."""
        raw = asdict(self)
        qwen3 = raw.pop("qk_norm")
        raw |= {
            "model_type": "qwen3" if qwen3 else "llama",
            "architectures": ["Qwen3ForCausalLM" if qwen3 else "LlamaForCausalLM"],
            "hidden_act": "silu",
            "rope_parameters": {"rope_type": "default", "rope_theta": raw.pop("rope_theta")},
        }
        return raw
