"""The byte-level BPE tokenizer of the compact model: training it, and its chat format.

Any text survives encode and decode, since bytes are the fallback. Knows no torch.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

PAD, EOS, MASK, USER, ASSISTANT = "<|pad|>", "<|eos|>", "<|mask|>", "<|user|>", "<|assistant|>"
SPECIAL_TOKENS = (PAD, EOS, MASK, USER, ASSISTANT)  # ids 0 to 4

CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{{ ('<|user|>' if message['role'] == 'user' else '<|assistant|>') + message['content'] }}"
    "{% if message['role'] == 'assistant' %}{{ '<|eos|>' }}{% endif %}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)

# Pieces that merges never cross. A newline keeps its indent, a word its space or underscore, a digit stands
# alone with its space, a Chinese character alone, three quotes are one piece: answers get short, and no token
# is a bare space before a word, which would make the first token of a slot trivially certain.
_PIECES = "|".join(
    (
        r"\r?\n *",
        r'"{3}',
        r"\p{Han}",
        r" ?_?[\p{L}&&[^\p{Han}]]+",
        r" ?\p{N}",
        r" ?[^\s\p{L}\p{N}]+",
        r"\s+(?=\S)",
        r"\s+",
    )
)

_HAN = re.compile(r"[\u4e00-\u9fff]")


def train_tokenizer(texts: Iterable[str], vocab_size: int) -> Tokenizer:
    """A tokenizer with the special tokens, all 256 bytes, and merges learned from the texts.

    Every Chinese character of the texts becomes one token: it is three bytes, and a third of a character shows
    nothing.
    """
    texts = list(texts)
    characters = sorted(set(_HAN.findall("".join(texts))))
    texts += [character * (len(texts) // 4) for character in characters]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_PIECES), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        min_frequency=2,
        special_tokens=list(SPECIAL_TOKENS),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def format_prompt(content: str) -> str:
    """The text of a one-message conversation that asks for an answer, as the chat template gives it."""
    return f"{USER}{content}{ASSISTANT}"


def tokenizer_config(max_length: int) -> dict:
    """The contents of ``tokenizer_config.json``, chat template included."""
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": max_length,
        "clean_up_tokenization_spaces": False,
        "pad_token": PAD,
        "eos_token": EOS,
        "mask_token": MASK,
        "chat_template": CHAT_TEMPLATE,
    }
