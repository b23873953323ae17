"""Every token is visible, whole and plain text."""

import pytest

from refusion_core.tokens import token_bytes, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (" the", "·the"),
        ("\n    ", "↵····"),
        ("\t\r\x7f", "⇥␍␡"),
        ("\x00\x1b", "␀␛"),
        ("a\u200bb", "a⟨U+200B⟩b"),
        ("\u202eabc", "⟨U+202E⟩abc"),
        ("\u00a0", "⟨U+00A0⟩"),
        ("👩\u200d👧", "👩\u200d👧"),
        ("\u200d", "⟨U+200D⟩"),
        ("<script>${x}", "<script>${x}"),
        ("你好", "你好"),
    ],
)
def test_whitespace_and_control_characters_are_visible(text, shown):
    """gradio#12611: whitespace tokens vanished."""
    assert visible(text) == shown


def test_vocabulary_entries_give_their_bytes_back():
    assert token_bytes("Ġthe", byte_level=True) == b" the"
    assert token_bytes("Ċ", byte_level=True) == b"\n"
    assert token_bytes("ä½", byte_level=True) == bytes.fromhex("e4bd")
    assert token_bytes("▁the", byte_level=False) == b" the"
    assert token_bytes("<0xE4>", byte_level=False) == b"\xe4"
