"""How tokens look: whitespace and control characters visible, pieces of characters as raw bytes.

Works on what a Hugging Face tokenizer tells of its tokens; imports none.
"""

from __future__ import annotations

import unicodedata
from typing import Any

from .events import TokenText

_VISIBLE = {" ": "·", "\n": "↵", "\t": "⇥", "\r": "␍", "\x7f": "␡"}
_ZERO_WIDTH_JOINER = "\u200d"


def visible(text: str) -> str:
    """The text with everything that would be invisible, or would reorder its neighbours, made visible."""
    shown = []
    for place, char in enumerate(text):
        if char in _VISIBLE:
            shown.append(_VISIBLE[char])
        elif char < " ":
            shown.append(chr(0x2400 + ord(char)))
        elif char == _ZERO_WIDTH_JOINER and 0 < place < len(text) - 1:
            shown.append(char)  # inside an emoji
        elif unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"):
            shown.append(f"⟨U+{ord(char):04X}⟩")
        else:
            shown.append(char)
    return "".join(shown)


def _byte_alphabet() -> dict[str, int]:
    """Character to byte of byte-level BPE vocabularies: printable Latin-1 stands for itself, the other
    bytes for the characters from U+0100 on."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in printable]
    return {chr(b): b for b in printable} | {chr(256 + i): b for i, b in enumerate(hidden)}


_BYTE_OF = _byte_alphabet()


def token_bytes(piece: str, *, byte_level: bool) -> bytes:
    """The bytes that a vocabulary entry stands for (byte-level BPE, or pieces with ``▁`` and ``<0x..>``)."""
    if byte_level and all(char in _BYTE_OF for char in piece):
        return bytes(_BYTE_OF[char] for char in piece)
    if len(piece) == 6 and piece.startswith("<0x") and piece.endswith(">"):
        return bytes([int(piece[3:5], 16)])
    return piece.replace("▁", " ").encode("utf-8", "surrogatepass")


def describe_tokens(tokenizer: Any, ids: list[int]) -> list[TokenText]:
    """Visible text per id. Special tokens stand as they are; an id without an entry is shown as ``#id``."""
    added = tokenizer.added_tokens_decoder
    byte_level = "ByteLevel" in str(tokenizer.backend_tokenizer.decoder)
    result = []
    for token_id in ids:
        if token_id in added:
            result.append(TokenText(id=token_id, text=visible(str(added[token_id]))))
            continue
        piece = tokenizer.convert_ids_to_tokens(token_id)
        if piece is None:
            result.append(TokenText(id=token_id, text=f"#{token_id}"))
            continue
        raw = token_bytes(piece, byte_level=byte_level)
        try:
            result.append(TokenText(id=token_id, text=visible(raw.decode())))
        except UnicodeDecodeError:
            hexed = raw.hex()
            result.append(TokenText(id=token_id, text=f"⟨{hexed}⟩", bytes=hexed))
    return result
