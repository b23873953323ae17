"""The race: one prompt, decoded by the same weights in three ways, on one clock."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gradio as gr

from refusion_core import RecordConfig, RefusionError
from refusion_core.config import CONFIGS
from refusion_core.trace import TRACE_SUFFIX
from refusion_core.training.tasks import FAMILIES

from .i18n import Texts
from .runs import Request

NAME = "race"
_RACES = Path(__file__).resolve().parent.parent / "assets" / "traces" / "race"
_BRIDGE = Path(__file__).with_name("race.js")
# In the order of the lanes.
DECODERS = ("ar", "mdm", "refusion")
# Dependencies cost time of their own; of masked diffusion the alternatives of all masks would be most of
# the file.
RECORD = {
    "refusion": RecordConfig(dependency=None),
    "ar": RecordConfig(dependency=None),
    "mdm": RecordConfig(dependency=None, top_k=0),
}
FAMILY_TEXTS: Texts = {
    "family_code": ("Code", "代码"),
    "family_sums": ("Sums", "算术"),
    "family_translate": ("Translation", "翻译"),
    "family_summarise": ("Summary", "摘要"),
    "family_extract": ("Sentence to JSON", "句子转 JSON"),
    "family_table": ("Table", "表格"),
    "family_lists": ("Lists", "列表"),
    "family_story": ("Story", "故事"),
    "family_invent": ("Made up", "自由编写"),
    "family_other": ("Anything else", "其他"),
}
TEXTS: Texts = FAMILY_TEXTS | {
    "race_intro": (
        "Three ways to decode the same weights. **Autoregressive**: one token per forward, cached. "
        "**Masked diffusion**: the surest tokens of the whole response, everything computed anew in every "
        "step. **ReFusion**: slots planned together, verified and infilled in parallel, cached.",
        "同一权重的三种解码方式。**自回归**：每次前向一个 token，有缓存。**掩码扩散**：每步从整个回答中提交"
        "最有把握的 token，每步全部重新计算。**ReFusion**：一起规划多个槽，并行验证与填充，有缓存。",
    ),
    "race_run": ("Race", "开始比赛"),
    "race_task": ("Held-out prompt", "未见过的提示词"),
    "race_task_info": (
        "Draws one whose answer can be checked",
        "抽取一个可以检查答案的提示词",
    ),
    "race_recorded": ("Recorded", "已录制"),
    "race_tokens_per_step": ("Masked diffusion: tokens per step", "掩码扩散：每步 token 数"),
    "race_slot_threshold": ("ReFusion: slot threshold", "ReFusion：槽阈值"),
}


def recorded_races() -> dict[str, str]:
    """Prompts of the recorded races by name; the traces of one are NAME-DECODER."""
    entries = json.loads((_RACES / "races.json").read_text(encoding="utf-8"))
    return {entry["name"].rpartition("-")[0]: entry["prompt"] for entry in entries}


def recorded_race(name: str) -> list[str]:
    """The traces of a recorded race, in the order of DECODERS."""
    return [
        (_RACES / f"{name}-{decoder}{TRACE_SUFFIX}").read_text(encoding="utf-8")
        for decoder in DECODERS
    ]


def draw_task(family: str, seed: int) -> Any:
    """A held-out prompt of a family; the same seed gives the same one."""
    return FAMILIES[family].sample(random.Random(f"race {family} {seed}"), "test")


def judge(task: list | None, prompt: str, text: str) -> bool | None:
    """Whether an answer is right, None where ``prompt`` is not that of the task drawn, (family, seed)."""
    if not task or task[0] not in FAMILIES:
        return None
    family, seed = str(task[0]), int(task[1])
    sample = draw_task(family, seed)
    return FAMILIES[family].check(sample, text) if sample.prompt == prompt else None


def build(t: Callable[[str], Any], model: Any) -> None:
    """Fill the page."""

    def start(arguments: list) -> dict[str, Any]:
        """Start a run of every decoder; answers their ids, or what is wrong with the request.

        They wait for each other, so that none slows another.
        """
        prompt, settings = arguments
        try:
            requests = [
                Request(str(prompt), CONFIGS[name](**settings.get(name, {})), RECORD[name])
                for name in DECODERS
            ]
            return {"runs": [model.runs.start(request).id for request in requests]}
        except RefusionError as problem:
            return {"error": str(problem)}

    async def poll(arguments: list) -> dict[str, Any]:
        run_id, have = arguments
        return await model.runs.poll(str(run_id), int(have))

    def verdict(arguments: list) -> bool | None:
        return judge(*arguments)

    def race(name: str) -> list[str]:
        return recorded_race(name) if name in recorded_races() else []

    gr.Markdown(t("race_intro"))
    races = recorded_races()
    with gr.Row(elem_id="bar"):
        prompt = gr.Textbox(
            next(iter(races.values())),
            show_label=False,
            label=t("prompt"),
            container=False,
            max_lines=4,
            scale=8,
            min_width=280,
            elem_id="prompt",
        )
        run_button = gr.Button(t("race_run"), variant="primary", min_width=100, elem_id="run")
    with gr.Row():
        family = gr.Dropdown(
            [(t(f"family_{name}"), name) for name in FAMILIES],
            value=None,
            label=t("race_task"),
            info=t("race_task_info"),
            elem_id="family",
        )
        recorded = gr.Dropdown(
            [(text, name) for name, text in races.items()],
            value=next(iter(races)),
            label=t("race_recorded"),
            elem_id="recorded-race",
        )
        per_step = gr.Number(1, label=t("race_tokens_per_step"), precision=0, minimum=1)
        threshold = gr.Slider(
            0, 1, CONFIGS["refusion"]().slot_threshold, step=0.0001, label=t("race_slot_threshold")
        )
    task = gr.JSON(None, visible="hidden")
    gr.HTML(
        html_template='<div class="refusion-message" role="alert" hidden></div>'
        '<div class="refusion-race"></div>',
        js_on_load=f"{_BRIDGE.read_text(encoding='utf-8')}\nwindow.RefusionRace.mount(element, server);",
        apply_default_css=False,
        server_functions=[start, poll, verdict, race],
        elem_id="player",
    )

    def drawn(family: str | None) -> tuple[Any, Any, None]:
        seed = random.randrange(10**6)
        return draw_task(family, seed).prompt, [family, seed], None

    family.input(
        drawn,
        family,
        [prompt, task, family],
        queue=False,
        show_progress="hidden",
        api_visibility="private",
    )
    recorded.input(
        lambda name: races[name],
        recorded,
        prompt,
        queue=False,
        show_progress="hidden",
        api_visibility="private",
    )
    recorded.input(
        None, recorded, js="(name) => { window.refusionRace.show(name); }", api_visibility="private"
    )
    gr.on(
        [run_button.click, prompt.submit],
        None,
        [prompt, task, per_step, threshold],
        js="(...request) => { window.refusionRace.run(...request); }",
        api_visibility="private",
    )
