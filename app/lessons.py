"""The lessons: guided tours through recorded runs, and the game of predicting which slots a plan chooses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gradio as gr

from refusion_core import RefusionError
from refusion_core.export import inline_json
from refusion_core.lessons import bundled_lessons, read_lesson, tour

from .i18n import Texts
from .player import example_text, recorded_examples

NAME = "lessons"
_SCRIPT = Path(__file__).with_name("lessons.js")
_STYLE = Path(__file__).with_name("lessons.css")
TEXTS: Texts = {
    "lessons_intro": (
        "Six short lessons on recorded runs, each with a question or two, and a game: predict which slots the "
        "next plan chooses. Teachers can load lessons of their own.",
        "六节短课，每节导览一次录制的运行并附有问题；另有一个游戏：预测下一次规划会选中哪些槽。"
        "教师可以载入自己编写的课程。",
    ),
}
# The words of lessons.js.
WORDS: Texts = {
    "list": ("Lessons", "课程"),
    "all": ("All lessons", "全部课程"),
    "load": ("Load a lesson", "载入课程"),
    "steps": ("{n} steps", "{n} 步"),
    "done": ("finished", "已完成"),
    "next": ("Next lesson: {title}", "下一课：{title}"),
    "then": ("Next: {title}", "接下来：{title}"),
    "predict": ("Predict the next slot", "预测下一个槽"),
    "predict_about": (
        "The run stops before each plan. Pick the slots that you expect to be chosen; hits make your score.",
        "运行在每次规划前暂停。选出您认为会被选中的槽，按猜中与猜错计分。",
    ),
    "example": ("Example", "示例"),
    "unknown": (
        "There is no lesson {name}; choose one below.",
        "没有名为 {name} 的课程，请在下方选择。",
    ),
    "large": (
        "{file} has {n} MB, the limit is 20 MB; record a shorter run.",
        "{file} 有 {n} MB，上限为 20 MB；请录制更短的运行。",
    ),
    "silent": ("The server does not answer; reload the page.", "服务器没有响应，请刷新页面。"),
}


def lesson_of(name: str) -> dict[str, Any]:
    """A lesson of the project as the page shows it, or what is wrong with its name."""
    found = next((lesson for lesson in bundled_lessons() if lesson.id == name), None)
    return {"tour": tour(found, found.id)} if found else {"error": "unknown"}


def lesson_of_file(text: str, name: str) -> dict[str, Any]:
    """A lesson of a visitor's own as the page shows it, or what is wrong with the file."""
    try:
        return {"tour": tour(read_lesson(text, name), name)}
    except RefusionError as problem:
        return {"error": str(problem)}


def build(t: Callable[[str], Any], model: Any) -> None:
    """Fill the page."""

    def lesson(name: str) -> dict[str, Any]:
        return lesson_of(str(name))

    def read(arguments: list) -> dict[str, Any]:
        text, name = arguments
        return lesson_of_file(str(text), str(name))

    def example(name: str) -> dict[str, str]:
        try:
            return {"text": example_text(str(name))}
        except RefusionError as problem:
            return {"error": str(problem)}

    entries = [
        {
            "id": entry.id,
            "title": entry.title.model_dump(),
            "summary": entry.summary.model_dump(),
            "steps": len(entry.steps),
        }
        for entry in bundled_lessons()
    ]
    page = {"lessons": entries, "examples": recorded_examples(), "words": WORDS}
    gr.HTML(f"<style>{_STYLE.read_text(encoding='utf-8')}</style>", elem_id="lessons-style")
    gr.Markdown(t("lessons_intro"), elem_id="lessons-intro")
    gr.HTML(
        html_template='<div class="refusion-message" role="alert" hidden></div>'
        '<div class="refusion-lessons"></div>',
        js_on_load=f"{_SCRIPT.read_text(encoding='utf-8')}\n"
        f"window.RefusionLessons.mount(element, server, {inline_json(page)});",
        apply_default_css=False,
        server_functions=[lesson, read, example],
        elem_id="player",
    )
