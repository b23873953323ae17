"""The tokenizer keeps any text, cuts it into the intended pieces, and speaks the trained chat format."""

from __future__ import annotations

import json

import pytest

from refusion_core.training.batches import training_texts
from refusion_core.training.tokenizer import (
    SPECIAL_TOKENS,
    format_prompt,
    tokenizer_config,
    train_tokenizer,
)


@pytest.fixture(scope="module")
def tokenizer():
    return train_tokenizer(training_texts(0, 2000), 1024)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "Write a Python function.",
        "def f(x):\n    return x\r\n\n\t  y  ",
        "你好，世界。",
        "👩‍👩‍👧 e\u0301 ÿ \x00 ﷺ",
        '"""a""" __init__ a_b _ 3.14 007',
        "\u2028 \u00a0 trailing  ",
    ],
)
def test_any_text_comes_back(tokenizer, text):
    assert tokenizer.decode(tokenizer.encode(text).ids) == text


def test_pieces_are_those_that_keep_slots_informative(tokenizer):
    """A bare space or a split indent would make slots start with a token that says nothing."""
    pieces = tokenizer.encode("def f(x):\n    return 42").tokens
    assert pieces[-2:] == ["Ġ4", "2"]
    assert "ĊĠĠĠĠ" in pieces
    assert "Ġ" not in pieces


def test_special_tokens_have_the_first_ids_and_are_never_split(tokenizer):
    assert [tokenizer.token_to_id(token) for token in SPECIAL_TOKENS] == [0, 1, 2, 3, 4]
    ids = tokenizer.encode(format_prompt("hi")).ids
    assert (ids[0], ids[-1]) == (3, 4)


def test_training_it_twice_gives_the_same_tokenizer(tokenizer):
    assert train_tokenizer(training_texts(0, 2000), 1024).to_str() == tokenizer.to_str()


def test_the_chat_template_gives_the_prompt_that_is_trained_on(tokenizer, tmp_path):
    transformers = pytest.importorskip("transformers")
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(tokenizer_config(512)))
    loaded = transformers.AutoTokenizer.from_pretrained(tmp_path)
    message = [{"role": "user", "content": "What is 4 + 5?\n 你好"}]
    text = loaded.apply_chat_template(message, add_generation_prompt=True, tokenize=False)
    assert text == format_prompt("What is 4 + 5?\n 你好")
    ids = loaded.apply_chat_template(message, add_generation_prompt=True, return_dict=False)
    assert ids == tokenizer.encode(format_prompt("What is 4 + 5?\n 你好")).ids
    assert (loaded.pad_token_id, loaded.eos_token_id, loaded.mask_token_id) == (0, 1, 2)
