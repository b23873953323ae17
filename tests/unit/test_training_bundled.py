"""The shipped model: small, complete, described truthfully, right on the prompt the demo opens with."""

from __future__ import annotations

import hashlib

import pytest

from refusion_core import DecodeConfig, decode, load_checkpoint
from refusion_core.checkpoint import BUNDLED
from refusion_core.training.tasks import FAMILIES
from refusion_core.training.tasks.sandbox import run_function
from refusion_core.training.tokenizer import format_prompt

DEMO_PROMPT = "Write a Python function that returns the sum of the squares of a list."


@pytest.fixture(scope="module")
def bundled():
    return load_checkpoint("bundled")


def test_it_takes_less_than_20_megabytes():
    assert sum(file.stat().st_size for file in BUNDLED.iterdir()) < 20_000_000


def test_the_model_card_names_the_weights_that_are_there():
    digest = hashlib.sha256((BUNDLED / "model.safetensors").read_bytes()).hexdigest()
    assert digest in (BUNDLED / "README.md").read_text(encoding="utf-8")


def test_prompts_are_put_as_in_training(bundled):
    expected = bundled.tokenizer.encode(format_prompt(DEMO_PROMPT), add_special_tokens=False)
    assert bundled.encode_prompt(DEMO_PROMPT) == expected


def test_the_special_tokens_of_config_and_tokenizer_agree(bundled):
    assert bundled.tokenizer.mask_token_id == bundled.facts.mask_id
    assert bundled.tokenizer.eos_token_id == bundled.facts.eos_id
    assert len(bundled.tokenizer) == bundled.facts.vocab_size


def test_the_demo_prompt_is_answered_with_code_that_works(bundled):
    *_, finished = decode(bundled, prompt=DEMO_PROMPT, config=DecodeConfig(), record=None)
    assert run_function(finished.text, [[[1, 2, 3]], [[-4]], [[]]]) == [14, 16, 0]


def test_the_model_card_has_figures_for_every_family():
    card = (BUNDLED / "README.md").read_text(encoding="utf-8")
    assert all(f"| {name} |" in card for name in FAMILIES)
