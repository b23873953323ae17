"""Checkpoints: the bundled one, a local Hugging Face folder, or a hub id, to model, tokenizer and facts.

Reads safetensors only, never pickles, and runs no code from a checkpoint.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from .config import ModelConfig
from .errors import CheckpointError, PromptError
from .events import ModelFacts, TokenText
from .model import Transformer
from .tokens import describe_tokens

BUNDLED = Path(__file__).resolve().parent.parent / "assets" / "model"
_DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}
_SMALL_MODEL = 50_000_000  # parameters
_HUB_FILES = ["*.json", "*.safetensors", "*.jinja", "merges.txt", "vocab.txt", "*.model"]


@dataclass(frozen=True)
class Checkpoint:
    """A loaded model with its tokenizer (None where the folder has none) and the facts about it."""

    model: Transformer
    tokenizer: Any | None
    facts: ModelFacts

    def encode_prompt(self, prompt: str) -> list[int]:
        """Token ids of a prompt, through the chat template where the tokenizer has one.

        Raises PromptError for an unusable prompt or a folder without a tokenizer.
        """
        if not isinstance(prompt, str):
            raise PromptError("prompt", prompt, "is not text", "give a string")
        try:
            prompt.encode()
        except UnicodeEncodeError:
            raise PromptError(
                "prompt", prompt, "is not valid Unicode", "remove the lone surrogate"
            ) from None
        if self.tokenizer is None:
            raise PromptError(
                "prompt",
                prompt,
                f"needs a tokenizer, which {self.facts.name} has not",
                "give prompt_ids",
            )
        if not self.tokenizer.chat_template:
            return self.tokenizer.encode(prompt, add_special_tokens=False)
        return self.tokenizer.apply_chat_template(
            [{"role": "user", "content": prompt}], add_generation_prompt=True, return_dict=False
        )

    def encode_slot(self, text: str) -> tuple[int, ...]:
        """Token ids of a piece of a response as it is.

        Raises PromptError for a folder without a tokenizer.
        """
        if self.tokenizer is None:
            raise PromptError(
                "slot text", text, "needs a tokenizer, and the folder has none", "give token ids"
            )
        return tuple(self.tokenizer.encode(text, add_special_tokens=False))

    def check_ids(self, prompt_ids: Any) -> list[int]:
        """The ids as a list of plain integers; raises PromptError naming the one that is out of range."""
        ids = []
        for place, token_id in enumerate(prompt_ids):
            if isinstance(token_id, bool) or not hasattr(token_id, "__index__"):
                raise PromptError(
                    f"prompt_ids[{place}]", token_id, "is not a whole number", "give token ids"
                )
            token_id = token_id.__index__()
            if not 0 <= token_id < self.facts.vocab_size:
                raise PromptError(
                    f"prompt_ids[{place}]",
                    token_id,
                    "is not in the vocabulary",
                    f"give ids from 0 to {self.facts.vocab_size - 1}",
                )
            ids.append(token_id)
        return ids

    def describe(self, ids: list[int]) -> list[TokenText]:
        """Visible texts of ids."""
        return describe_tokens(self.tokenizer, ids)

    def decode_text(self, ids: list[int]) -> str:
        """The text of ids, special tokens included as they are."""
        return self.tokenizer.decode(
            ids, skip_special_tokens=False, clean_up_tokenization_spaces=False
        )


def load_checkpoint(
    source: str | Path = "bundled",
    *,
    device: str = "auto",
    dtype: str = "auto",
    mask_token_id: int | None = None,
) -> Checkpoint:
    """Load ``"bundled"``, a folder with ``config.json`` and safetensors, or a hub id such as ``owner/name``.

    device: "auto" (CUDA, else MPS, else CPU) or a torch device
    dtype: "auto" (the checkpoint's on an accelerator, float32 on a CPU), float32, float16, bfloat16
    mask_token_id: for checkpoints whose config.json does not name it

    Raises CheckpointError with the field, the value and the fix.
    """
    folder, name = _find(source)
    raw = _read_config(folder)
    config = ModelConfig.from_hf(raw)
    tokenizer = _load_tokenizer(folder)
    mask_id = _special_id("mask_token_id", mask_token_id, config.mask_token_id, tokenizer)
    eos_id = _special_id("eos_token_id", None, config.eos_token_id, tokenizer)
    for field, token_id in (("mask_token_id", mask_id), ("eos_token_id", eos_id)):
        if not 0 <= token_id < config.vocab_size:
            raise CheckpointError(
                field, token_id, "is not in the vocabulary", f"give 0 to {config.vocab_size - 1}"
            )
    torch_device = _pick_device(device)
    torch_dtype = _pick_dtype(dtype, config.dtype, torch_device)
    files = _weight_files(folder)
    model = _build(config, files, torch_dtype, torch_device)
    facts = ModelFacts(
        name=name,
        architecture=(raw.get("architectures") or [str(raw.get("model_type"))])[0],
        parameters=model.parameter_count(),
        dtype=str(torch_dtype).removeprefix("torch."),
        device=str(torch_device),
        vocab_size=config.vocab_size,
        mask_id=mask_id,
        eos_id=eos_id,
        checkpoint_hash=_hash(files),
        tokenizer=type(tokenizer).__name__ if tokenizer is not None else None,
    )
    return Checkpoint(model, tokenizer, facts)


def use_fitting_threads(checkpoint: Checkpoint) -> None:
    """Let a small model on a CPU use one thread of this process, which is all that it can use.

    More of them only wait for one another; on busy cores that made a decode seventeen times slower.
    """
    if checkpoint.facts.device == "cpu" and checkpoint.facts.parameters < _SMALL_MODEL:
        torch.set_num_threads(1)


def _find(source: str | Path) -> tuple[Path, str]:
    """The folder of a checkpoint (downloaded from the hub if need be) and its name."""
    if source == "bundled":
        return BUNDLED, "bundled"
    folder = Path(source)
    if folder.is_dir():
        return folder, folder.resolve().name
    if str(source).count("/") != 1 or str(source).startswith((".", "/", "~")):
        raise CheckpointError(
            "model",
            str(source),
            "is no folder",
            'give "bundled", a folder or a hub id (owner/name)',
        )
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError

    try:
        return Path(snapshot_download(str(source), allow_patterns=_HUB_FILES)), str(source)
    except (OSError, HFValidationError) as problem:
        reason = str(problem).strip().splitlines()[0]
        raise CheckpointError(
            "model",
            str(source),
            f"could not be fetched from the hub ({reason})",
            "check the id and the network, or give a local folder",
        ) from None


def _read_config(folder: Path) -> dict[str, Any]:
    path = folder / "config.json"
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CheckpointError(
            "config.json", str(path), "is missing", "give a Hugging Face model folder"
        ) from None
    except (OSError, ValueError) as problem:
        raise CheckpointError(
            "config.json", str(path), f"cannot be read ({problem})", "restore the file"
        ) from None
    if not isinstance(raw, dict):
        raise CheckpointError("config.json", raw, "is not an object", "restore the file")
    return raw


def _load_tokenizer(folder: Path) -> Any | None:
    if not (folder / "tokenizer.json").exists():
        return None
    # transformers takes a second to import, and folders without a tokenizer do not need it.
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
    except Exception as problem:  # any library error is about the files
        raise CheckpointError(
            "tokenizer", str(folder), f"cannot be loaded ({problem})", "restore the tokenizer files"
        ) from None


def _special_id(field: str, given: int | None, configured: int | None, tokenizer: Any) -> int:
    fallback = getattr(tokenizer, field, None) if tokenizer is not None else None
    for token_id in (given, configured, fallback):
        if token_id is not None:
            return token_id
    raise CheckpointError(
        f"config.json {field}", None, "is missing", f"add it to config.json, or pass {field}"
    )


def _pick_device(device: str) -> torch.device:
    if device == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        chosen = torch.device(device)
        torch.zeros(1, device=chosen)
        return chosen
    except (RuntimeError, AssertionError) as problem:
        reason = str(problem).strip().splitlines()[0]
        raise CheckpointError("device", device, f"cannot be used ({reason})", 'try "cpu"') from None


def _pick_dtype(dtype: str, stored: str, device: torch.device) -> torch.dtype:
    if dtype == "auto":
        dtype = "float32" if device.type == "cpu" else stored
    if dtype not in _DTYPES:
        raise CheckpointError(
            "dtype", dtype, "is not supported", f"give one of {', '.join(_DTYPES)}"
        )
    return _DTYPES[dtype]


def _weight_files(folder: Path) -> list[Path]:
    """The safetensors files of a folder, sharded or not."""
    index = folder / "model.safetensors.index.json"
    if index.exists():
        try:
            names = sorted(
                set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
            )
        except (ValueError, KeyError, AttributeError) as problem:
            raise CheckpointError(
                index.name, str(index), f"cannot be read ({problem!r})", "restore the file"
            ) from None
        files = [folder / Path(name).name for name in names]
    else:
        files = [folder / "model.safetensors"]
    for file in files:
        if not file.exists():
            pickled = any(folder.glob("*.bin"))
            fix = "convert the .bin weights to safetensors" if pickled else "add the file"
            raise CheckpointError("weights", str(file), "are missing", fix)
    return files


def _build(
    config: ModelConfig, files: list[Path], dtype: torch.dtype, device: torch.device
) -> Transformer:
    with torch.device("meta"):
        model = Transformer(config)
    weights: dict[str, torch.Tensor] = {}
    for file in files:
        try:
            weights |= load_file(file, device="cpu")
        except (SafetensorError, OSError) as problem:
            raise CheckpointError(
                "weights", str(file), f"cannot be read ({problem})", "restore the file"
            ) from None
    if config.tie_word_embeddings:
        weights.pop("lm_head.weight", None)
    expected = model.state_dict()
    missing = sorted(expected.keys() - weights.keys())
    unknown = sorted(weights.keys() - expected.keys())
    if missing or unknown:
        name, problem = (missing[0], "is missing") if missing else (unknown[0], "is unknown")
        raise CheckpointError(
            "weights", name, problem, "check that config.json belongs to these weights"
        )
    for name, tensor in weights.items():
        if tensor.shape != expected[name].shape:
            raise CheckpointError(
                f"weights {name}",
                tuple(tensor.shape),
                f"do not fit config.json, which says {tuple(expected[name].shape)}",
                "check that config.json belongs to these weights",
            )
        weights[name] = tensor.to(device=device, dtype=dtype)
    model.load_state_dict(weights, assign=True)
    return model.eval().requires_grad_(False)


def _hash(files: list[Path]) -> str:
    """SHA-256 over the weight files."""
    digest = hashlib.sha256()
    for file in files:
        with file.open("rb") as opened:
            while block := opened.read(1 << 22):
                digest.update(block)
    return digest.hexdigest()
