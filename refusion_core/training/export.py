"""Writes a trained model as an ordinary Hugging Face folder."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from safetensors.torch import save
from tokenizers import Tokenizer

from ..model import Transformer
from .tokenizer import tokenizer_config


def export_folder(model: Transformer, tokenizer: Tokenizer, folder: Path) -> Path:
    """``config.json``, ``model.safetensors`` (bfloat16), ``tokenizer.json`` and ``tokenizer_config.json``."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = {name: w.to(torch.bfloat16).contiguous() for name, w in model.state_dict().items()}
    # Written here and not by save_file, which makes files that only their owner can read.
    (folder / "model.safetensors").write_bytes(save(weights, metadata={"format": "pt"}))
    tokenizer.save(str(folder / "tokenizer.json"))
    _write_json(folder / "config.json", model.config.to_hf())
    limit = model.config.max_position_embeddings
    _write_json(folder / "tokenizer_config.json", tokenizer_config(limit))
    return folder


def _write_json(path: Path, values: dict) -> None:
    path.write_text(json.dumps(values, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
