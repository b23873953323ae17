"""The page about the method: what the paper claims, what this project measured, and where the two differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gradio as gr

NAME = "about"
TEXTS = {"about_title": ("## About the method", "## 关于该方法")}


def build(t: Callable[[str], Any], model: Any) -> None:
    """Fill the page."""
    gr.Markdown(t("about_title"))
