"""The page that holds two runs side by side, and the tree of the runs that the browser keeps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import gradio as gr

from refusion_core import RefusionError, parse_trace
from refusion_core.compare import REASONS, Difference, compare, same_prompt
from refusion_core.export import inline_json

from .i18n import Texts
from .player import check_trace, example_text, recorded_examples

NAME = "compare"
_SCRIPTS = [
    Path(__file__).with_name(name) for name in ("compare-tree.js", "compare-view.js", "compare.js")
]
_STYLE = Path(__file__).with_name("compare.css")
TEXTS: Texts = {
    "compare_intro": (
        "Choose a left and a right run of one prompt, a fork and its parent for example, to see where they "
        "first differ and why. Finished runs and forks are kept in this browser only.",
        "选择同一提示词的左右两个运行（例如分叉与其父运行），查看二者最先在哪里不同以及原因。"
        "完成的运行与分叉只保存在此浏览器中。",
    ),
}
# The words of compare.js.
WORDS: Texts = {
    "kept": ("Kept runs", "已保存的运行"),
    "none": (
        "Nothing is kept yet: run or fork something on the first page.",
        "还没有保存任何运行：请先在首页运行或分叉。",
    ),
    "unkept": (
        "This browser keeps no runs; examples and files can be compared.",
        "此浏览器无法保存运行；仍可比较示例与文件。",
    ),
    "save_all": ("Save all", "全部保存为文件"),
    "load": ("Load", "载入"),
    "loaded": ("Loaded {n} runs.", "已载入 {n} 个运行。"),
    "bad_file": (
        "{file} is no file of kept runs ({why}); what is kept stays as it was.",
        "{file} 不是已保存运行的文件（{why}）；现有内容未变。",
    ),
    "left": ("Left", "左"),
    "right": ("Right", "右"),
    "name": ("Name of the run", "运行名称"),
    "open": ("Open", "打开"),
    "remove": ("Remove", "删除"),
    "removed": ("Removed {name}.", "已删除{name}。"),
    "undo": ("Undo", "撤销"),
    "fork_at": ("Fork at iteration {n}", "第 {n} 次迭代处的分叉"),
    "orphan": ("its parent is not kept", "父运行未保存"),
    "force": ("slots forced: {slots}", "强制的槽：{slots}"),
    "forbid": ("slots forbidden: {slots}", "禁止的槽：{slots}"),
    "written": ("slots written: {slots}", "写入的槽：{slots}"),
    "thresholds": ("{policy} {slot} / {token}", "{policy} {slot} / {token}"),
    "slot_size": ("slots of {n}", "槽大小 {n}"),
    "forwards": ("{n} forwards", "{n} 次前向"),
    "per_forward": ("{n} tokens / forward", "每次前向 {n} token"),
    "partial": ("partial", "未完成"),
    "choose": ("Choose a run below, an example or a file.", "在下方选择运行，或选择示例、文件。"),
    "examples": ("Examples", "示例"),
    "open_file": ("Open file", "打开文件"),
    "unknown": (
        "The {side} run of the address is not kept in this browser.",
        "此浏览器没有保存地址中的{side}侧运行。",
    ),
    "bad_trace": ("The {side} run: {why}", "{side}侧运行：{why}"),
    "silent": ("The server does not answer; reload the page.", "服务器没有响应，请刷新页面。"),
    "other_prompt": (
        "The two runs have different prompts, so they are not compared; both play below.",
        "两个运行的提示词不同，因此不做比较；下方仍可播放。",
    ),
    "first": ("Where they first differ", "最先不同之处"),
    "same": ("The runs did the same.", "两个运行完全相同。"),
    "first_at": ("Iteration {n}, {stage}:", "第 {n} 次迭代，{stage}："),
    "go_first": ("Go to the first difference", "跳到最先不同之处"),
    "settings": ("Settings that differ", "不同的设置"),
    "no_settings": ("The settings are the same.", "设置相同。"),
    "figures": ("Figures", "数据"),
    "text": ("Text", "文本"),
    "same_text": ("The texts are the same.", "文本相同。"),
    "slots": ("Slots by position", "按位置对照的槽"),
    "slots_about": (
        "Text positions with different tokens: {n}. Beside a slot stands the iteration that committed it; "
        "≠ marks what differs.",
        "{n} 个文本位置的 token 不同。槽号后为提交它的迭代；≠ 标出不同之处。",
    ),
    "positions": ("positions", "位置"),
    "left_slots": ("left slot: iteration", "左侧槽: 迭代"),
    "right_slots": ("right slot: iteration", "右侧槽: 迭代"),
    "left_text": ("left text", "左侧文本"),
    "right_text": ("right text", "右侧文本"),
    "differs": ("differs", "不同"),
    "players": ("Both on one clock", "同一时钟上的两个运行"),
    "decoder_refusion": ("ReFusion", "ReFusion"),
    "decoder_ar": ("autoregressive", "自回归"),
    "decoder_mdm": ("masked diffusion", "掩码扩散"),
    "threshold": ("thresholds", "阈值"),
}
# Settings, figures, stages and reasons of choice, as core names them.
TERMS: Texts = {
    "gen_length": ("response length", "回答长度"),
    "slot_size": ("slot size", "槽大小"),
    "serial_blocks": ("serial blocks", "串行块数"),
    "slot_threshold": ("slot threshold", "槽阈值"),
    "token_threshold": ("token threshold", "token 阈值"),
    "temperature": ("temperature", "温度"),
    "seed": ("seed", "随机种子"),
    "mask_every": ("mask every", "掩码间隔"),
    "tokens_per_step": ("tokens per step", "每步 token 数"),
    "confidence_threshold": ("confidence threshold", "置信度阈值"),
    "layout": ("layout", "布局"),
    "policy": ("policy", "选择策略"),
    "policy_count": ("slots per iteration", "每次迭代的槽数"),
    "dependency_limit": ("dependency limit", "依赖上限"),
    "recompute_infill": ("recompute after infill", "填充后重新计算"),
    "iterations": ("iterations", "迭代次数"),
    "forwards": ("forwards", "前向次数"),
    "committed_tokens": ("committed tokens", "已提交 token"),
    "tokens_per_forward": ("tokens per forward", "每次前向的 token"),
    "parallel_iterations": ("iterations that committed several slots", "一次提交多个槽的迭代"),
    "out_of_order_slots": ("slots out of reading order", "不按阅读顺序提交的槽"),
    "infill_rounds": ("infill rounds", "填充轮数"),
    "cache_hit_rate": ("cache hit rate", "缓存命中率"),
    "model_seconds": ("seconds of forwards", "前向用时（秒）"),
    "plan": ("plan", "规划"),
    "verify": ("verify", "验证"),
    "infill_round": ("infill", "填充"),
    "commit": ("commit", "提交"),
    "end": ("end", "结束"),
    "above_threshold": ("above the threshold", "高于阈值"),
    "best_of_none": ("best where none is above", "无一高于阈值时的最优"),
    "below_threshold": ("below the threshold", "低于阈值"),
    "among_best": ("among the best", "属于最优的几个"),
    "not_among_best": ("not among the best", "不属于最优的几个"),
    "next": ("next in order", "按顺序的下一个"),
    "forced_by_user": ("forced by you", "由你强制"),
    "forbidden_by_user": ("forbidden by you", "由你禁止"),
    "by_policy": ("by the policy", "由策略选择"),
    "not_by_policy": ("not by the policy", "策略未选"),
    "too_dependent": ("too dependent on a chosen one", "过于依赖已选的槽"),
}
# As REASONS of core, in Chinese.
CHINESE_REASONS = {
    "other_slots": "{name}左为 {left}，右为 {right}",
    "other_step": "下一步左为{left}，右为{right}",
    "chosen_left": "槽 {slot} 只在左侧被选中：{judged}，{why}，间隔 {margin}",
    "chosen_right": "槽 {slot} 只在右侧被选中：{judged}，{why}，间隔 {margin}",
    "draft": "槽 {slot} 的草稿不同",
    "drafts_read": "读取的草稿不同",
    "accepted": "左侧以 {left_limit} 接受 {left} 个 token，右侧以 {right_limit} 接受 {right} 个",
    "decisive": "槽 {slot} 的第 {token} 个 token 概率为 {probability}",
    "infilled_slots": "第 {round} 轮填充的槽左为 {left}，右为 {right}",
    "infilled": "第 {round} 轮为槽 {slot} 填入了不同的 token",
    "infilled_run": "第 {round} 轮中槽 {slot} 左侧接受 {left} 个 token，右侧接受 {right} 个",
    "committed_slots": "提交的槽左为 {left}，右为 {right}",
    "committed": "槽 {slot} 提交的 token 不同",
    "left_ends": "左侧运行结束",
    "right_ends": "右侧运行结束",
}


def reasons(first: Difference, chinese: bool) -> list[str]:
    """The reasons of a difference in words."""
    templates = CHINESE_REASONS if chinese else REASONS
    return [
        templates[reason.key].format(
            **{name: _term(value, chinese) for name, value in reason.values.items()}
        )
        for reason in first.reasons
    ]


def _term(value: Any, chinese: bool) -> Any:
    return TERMS[value][chinese] if value in TERMS else value


def comparison(left: str, right: str, chinese: bool) -> dict[str, Any]:
    """What the page shows of two traces: texts and plain values, or what keeps them from being compared."""
    traces = []
    for side, text in (("left", left), ("right", right)):
        try:
            traces.append(parse_trace(text))
        except RefusionError as problem:
            return {"bad": side, "why": str(problem)}
    if not same_prompt(*traces):
        return {"otherPrompt": True}
    found = compare(*traces)

    def table(pairs: dict[str, tuple[Any, Any]]) -> list[list[str]]:
        return [[_term(name, chinese), *map(_shown, pair)] for name, pair in pairs.items()]

    first = found.first and {
        "iteration": found.first.iteration + 1,
        "stage": _term(found.first.stage, chinese),
        "reasons": reasons(found.first, chinese),
        "events": found.first.events,
    }
    return {
        "settings": table(found.settings),
        "figures": table(found.figures),
        "first": first,
        "positions": found.positions,
        "slots": [asdict(row) for row in found.slots],
        "lines": [asdict(line) for line in found.lines],
    }


def _shown(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def build(t: Callable[[str], Any], model: Any) -> None:
    """Fill the page. It needs no model."""

    def compare_traces(arguments: list) -> dict[str, Any]:
        left, right, chinese = arguments
        return comparison(str(left), str(right), bool(chinese))

    def example(name: str) -> dict[str, str]:
        try:
            return {"text": example_text(str(name))}
        except RefusionError as problem:
            return {"error": str(problem)}

    def check(text: str) -> str | None:
        return check_trace(str(text))

    gr.Markdown(t("compare_intro"))
    scripts = "\n".join(path.read_text(encoding="utf-8") for path in _SCRIPTS)
    facts = inline_json({"words": WORDS, "examples": recorded_examples()})
    gr.HTML(
        html_template='<div class="refusion-message" role="alert" hidden></div>'
        '<div class="refusion-compare"></div>',
        css_template=_STYLE.read_text(encoding="utf-8"),
        js_on_load=f"{scripts}\nwindow.RefusionCompare.mount(element, server, {facts});",
        apply_default_css=False,
        server_functions=[compare_traces, example, check],
        elem_id="player",
    )
