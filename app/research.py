"""The page for many runs: sweeps over settings, and how far confidence can be trusted."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gradio as gr

from refusion_core import DecodeConfig, RefusionError
from refusion_core.errors import ConfigError
from refusion_core.selection import known_policies
from refusion_core.sweep import Row, SweepFolder, run_job, write_csv
from refusion_core.sweep_prompts import check_prompts
from refusion_core.training.tasks import FAMILIES

from . import figures
from .i18n import MAIN_TEXTS, Texts
from .race import FAMILY_TEXTS
from .sweeps import (
    BIN_COLUMNS,
    METRICS,
    ROW_COLUMNS,
    RUN_COLUMNS,
    Sweep,
    asked,
    bin_cells,
    calibrated,
    group_of,
    key_of_cells,
    read_upload,
    read_values,
    row_cells,
    run_cells,
)

NAME = "research"
TEXTS: Texts = {
    "sweep_title": (
        "## Sweep\nThe same prompts with every combination of settings. Choose a row, or click a cell or a "
        "point, to see its runs; choose a run to play it.",
        "## 扫描\n用所有设置组合解码同一批提示词。选择一行，或点击单元格、数据点，查看其中的运行；"
        "选择一个运行即可播放。",
    ),
    "sweep_prompts": ("Prompts", "提示词"),
    "sweep_prompts_info": (
        'A prompt a line, or JSON lines such as {"prompt": "Add 2 and 3.", "expected": "5"}',
        '每行一个提示词，或 JSON 行，例如 {"prompt": "Add 2 and 3.", "expected": "5"}',
    ),
    "sweep_upload": ("Prompts from a file (.jsonl)", "从文件读取提示词 (.jsonl)"),
    "sweep_families": ("Held-out prompts of", "未见过的提示词，来自"),
    "sweep_families_info": ("Instead: answers are checked", "代替上项：答案会被检查"),
    "sweep_per_family": ("of each", "每类数量"),
    "sweep_values": ("Values, separated by commas", "取值，用逗号分隔"),
    "sweep_run": ("Run sweep", "开始扫描"),
    "sweep_metric": ("Colour", "颜色"),
    "sweep_of": ("Slot size, blocks, policy", "槽大小、块数、策略"),
    "sweep_rows": ("Settings", "设置"),
    "sweep_runs": ("Runs of the setting", "该设置的运行"),
    "sweep_csv": ("Table (.csv)", "表格 (.csv)"),
    "sweep_jsonl": ("Runs (.jsonl)", "运行 (.jsonl)"),
    "calibration_title": (
        "## Calibration\nHow often verify accepted the whole draft of a chosen slot, against the confidence of "
        "the plan. On the dotted line confidence says what it means.",
        "## 校准\n被选中的槽，其整段草稿被验证接受的比例，与规划给出的置信度对照。"
        "落在虚线上表示置信度名副其实。",
    ),
    "calibration_source": ("Runs", "运行"),
    "calibration_examples": ("recorded examples", "录制的示例"),
    "calibration_sweep": ("the sweep above", "上面的扫描"),
    "calibration_by": ("By", "分组"),
    "calibration_slot_size": ("slot size", "槽大小"),
    "calibration_family": ("task family", "任务类别"),
    "calibration_run": ("Measure", "测量"),
}
# What figures call their axes and tables their columns, on the server, in the visitor's language.
NAMES: Texts = {
    "right": ("answers right", "答案正确率"),
    "tokens_per_forward": ("tokens per forward", "每次前向 token 数"),
    "forwards": ("forwards", "前向次数"),
    "iterations": ("iterations", "迭代次数"),
    "seconds": ("seconds", "秒"),
    "prompts": ("prompts", "提示词数"),
    "best": ("best", "最优"),
    "number": ("no.", "序号"),
    "prompt": ("prompt", "提示词"),
    "text": ("answer", "回答"),
    "group": ("group", "分组"),
    "up_to": ("confidence, up to", "置信度（至多）"),
    "between": ("confidence", "置信度"),
    "slots": ("slots", "槽数"),
    "accepted": ("accepted whole", "整段接受率"),
    "confidence": ("mean confidence", "平均置信度"),
    "error": ("calibration error", "校准误差"),
    "running": ("running", "运行中"),
    "stopped": ("stopped: what is finished stays", "已停止：已完成的运行会保留"),
    "slot_size": ("slot size", "槽大小"),
    "serial_blocks": ("blocks", "块数"),
    "slots_of": ("slots of {n}", "槽大小 {n}"),
}
NAMES |= {name: MAIN_TEXTS[name] for name in ("slot_threshold", "token_threshold", "policy")}
NAMES |= FAMILY_TEXTS
TEXTS |= {f"metric_{name}": NAMES[name] for name in METRICS}
_SHOWN_EVERY = 0.7  # seconds
_BRIDGE = Path(__file__).with_name("research.js")
# Texts of the figures have the colour of the theme, but for those in coloured boxes.
_CSS = """
.js-plotly-plot text:not(.heatmap-label text, .hoverlayer text) {
  fill: var(--body-text-color) !important;
}
"""


def _names(request: gr.Request) -> dict[str, str]:
    language = request.headers.get("accept-language", "")[:2]
    return {key: pair[language == "zh"] for key, pair in NAMES.items()}


def group_name(group: str, names: dict[str, str]) -> str:
    """A group of ``calibrated`` in the visitor's language; families of a visitor's own keep their names."""
    size = group.removeprefix("slots of ")
    if size != group:
        return names["slots_of"].format(n=size)
    return names.get(f"family_{group}", group)


def _table(columns: tuple[str, ...], lines: list[list[Any]], names: dict[str, str]) -> Any:
    """A table with headings in the visitor's language, which has no place without lines."""
    headings = [names[name] for name in columns]
    return gr.Dataframe({"headers": headings, "data": lines}, visible=bool(lines))


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """What is wrong becomes a message of the page."""
    try:
        yield
    except RefusionError as problem:
        raise gr.Error(str(problem), duration=None, print_exception=False) from None


def build(t: Callable[[str], Any], model: Any) -> None:
    """Fill the page."""
    gr.HTML(f"<style>{_CSS}</style>")
    sweep = gr.State(Sweep())
    gr.Markdown(t("sweep_title"))
    with gr.Row():
        with gr.Column(scale=3, min_width=300):
            prompts = gr.Textbox(
                "Compute 347 + 586 step by step.\nMake a table: Emma is 31 and lives in Rome.",
                label=t("sweep_prompts"),
                info=t("sweep_prompts_info"),
                lines=4,
                elem_id="sweep-prompts",
            )
            upload = gr.UploadButton(
                t("sweep_upload"),
                file_types=[".jsonl", ".json", ".txt"],
                size="sm",
                elem_id="sweep-upload",
            )
            with gr.Row():
                families = gr.Dropdown(
                    [(t(f"family_{name}"), name) for name in FAMILIES],
                    value=[],
                    multiselect=True,
                    label=t("sweep_families"),
                    info=t("sweep_families_info"),
                    scale=3,
                    elem_id="sweep-families",
                )
                per_family = gr.Number(5, label=t("sweep_per_family"), precision=0, minimum=1)
        with gr.Column(scale=4, min_width=300):
            defaults = {
                "slot_size": str(DecodeConfig().slot_size),
                "serial_blocks": str(DecodeConfig().serial_blocks),
                "slot_threshold": "0.9, 0.99, 0.999",
                "token_threshold": "0.4, 0.9",
            }
            with gr.Row():
                axes = {
                    name: gr.Textbox(
                        value, label=t(name), info=t("sweep_values"), elem_id=f"sweep-{name}"
                    )
                    for name, value in defaults.items()
                }
            policies = gr.Dropdown(
                known_policies(), value=["threshold"], multiselect=True, label=t("policy")
            )
    with gr.Row(elem_id="bar"):
        run_button = gr.Button(t("sweep_run"), variant="primary", elem_id="sweep-run")
        stop_button = gr.Button(t("stop"), elem_id="sweep-stop")
        csv_button = gr.DownloadButton(t("sweep_csv"), interactive=False, elem_id="sweep-csv")
        jsonl_button = gr.DownloadButton(t("sweep_jsonl"), interactive=False, elem_id="sweep-jsonl")
    status = gr.Markdown(elem_id="sweep-status")
    with gr.Row():
        metric = gr.Radio(
            [(t(f"metric_{name}"), name) for name in METRICS],
            value="tokens_per_forward",
            label=t("sweep_metric"),
        )
        group = gr.Dropdown([], label=t("sweep_of"), elem_id="sweep-group")
    with gr.Row():
        heat = gr.Plot(show_label=False, visible=False, elem_id="sweep-heatmap")
        front = gr.Plot(show_label=False, visible=False, elem_id="sweep-pareto")
    table = gr.Dataframe(
        label=t("sweep_rows"), interactive=False, visible=False, elem_id="sweep-rows"
    )
    runs = gr.Dataframe(
        label=t("sweep_runs"),
        interactive=False,
        visible=False,
        wrap=True,
        column_widths=[60, 260, 460, 90, 90, 110, 90],  # less would break words on a phone
        elem_id="sweep-runs",
    )
    # What a click on a figure chose, and the run that plays: hidden, but in the page for the script.
    cell = gr.Textbox(visible="hidden", elem_id="sweep-cell")
    shown = gr.Textbox(visible="hidden", elem_id="sweep-shown")
    gr.HTML(
        html_template='<div class="refusion-mount"></div>',
        js_on_load=f"{_BRIDGE.read_text(encoding='utf-8')}\nwindow.RefusionResearch.mount(element);",
        apply_default_css=False,
        elem_id="player",
    )

    def uploaded(file: str) -> str:
        with _told():
            return read_upload(Path(file))

    upload.upload(uploaded, upload, prompts, show_progress="hidden", api_visibility="private")

    def pictures(state: Sweep, rows: list[Row], words: dict[str, str]) -> tuple:
        if not rows:
            return gr.skip(), gr.skip()
        own = [row for row in rows if group_of(row.config) == state.group]
        return _shown(figures.heatmap(own, state.metric, words)), _shown(
            figures.pareto(rows, words)
        )

    def report(state: Sweep, told: str, request: gr.Request) -> tuple:
        """What the page shows of a sweep, but for its files."""
        rows, words = state.rows, _names(request)
        groups = list(dict.fromkeys(group_of(row.config) for row in rows))
        state.group = state.group or next(iter(groups), None)
        table = _table(ROW_COLUMNS, [row_cells(row) for row in rows], words)
        choice = gr.Dropdown(groups, value=state.group)
        return (state, told, choice, *pictures(state, rows, words), table)

    def run(
        text: str,
        families: list[str],
        per_family: int | None,
        slot_size: str,
        serial_blocks: str,
        slot_threshold: str,
        token_threshold: str,
        policies: list[str],
        metric: str,
        request: gr.Request,
    ) -> Iterator[tuple]:
        words = _names(request)
        texts = (slot_size, serial_blocks, slot_threshold, token_threshold)
        with _told():
            given = {n: read_values(n, v) for n, v in zip(axes, texts, strict=True)}
            wanted, configs = asked(text, families, per_family, given | {"policy": policies})
            checkpoint = model.get()
            check_prompts(checkpoint, wanted, configs)
            state = Sweep(prompts=[prompt.prompt for prompt in wanted], metric=metric)
            store = SweepFolder(state.path, checkpoint.facts.checkpoint_hash, wanted)
            state.results = store.results
        jobs, shown_at = store.missing(configs), time.monotonic()
        files = (gr.DownloadButton(interactive=False),) * 2
        no_runs = _table(RUN_COLUMNS, [], words)
        yield (*report(state, f"0 / {len(jobs)} {words['running']}", request), *files, no_runs)
        for config, number in jobs:
            if state.stopped:
                break
            store.add(run_job(checkpoint, wanted[number], number, config, store.folder))
            if time.monotonic() - shown_at > _SHOWN_EVERY:
                told = f"{len(store.results)} / {len(jobs)} {words['running']}"
                yield (*report(state, told, request), *files, gr.skip())
                shown_at = time.monotonic()
        done = len(store.results)
        told = f"{done} / {len(jobs)}" + (f" {words['stopped']}" if done < len(jobs) else "")
        if done:
            write_csv(state.rows, state.path / "sweep.csv")
            names = ("sweep.csv", "results.jsonl")
            files = tuple(
                gr.DownloadButton(value=str(state.path / name), interactive=True) for name in names
            )
        yield (*report(state, told, request), *files, gr.skip())

    run_button.click(
        run,
        [prompts, families, per_family, *axes.values(), policies, metric],
        [sweep, status, group, heat, front, table, csv_button, jsonl_button, runs],
        show_progress="hidden",
        api_visibility="private",
    )
    quiet = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}
    stop_button.click(Sweep.halt, sweep, None, **quiet)

    def look(state: Sweep, metric: str, group: str | None, request: gr.Request) -> tuple:
        state.metric, state.group = metric, group
        return pictures(state, state.rows, _names(request))

    gr.on([metric.input, group.input], look, [sweep, metric, group], [heat, front], **quiet)

    def runs_of(state: Sweep, key: str, request: gr.Request) -> Any:
        state.chosen = key
        lines = [run_cells(state, run) for run in state.runs(key)]
        return _table(RUN_COLUMNS, lines, _names(request))

    def picked_row(state: Sweep, event: gr.SelectData, request: gr.Request) -> Any:
        return runs_of(state, key_of_cells(event.row_value[1:]), request)

    def picked_cell(state: Sweep, text: str, request: gr.Request) -> Any:
        return runs_of(state, text.rpartition(" ")[0], request)

    def picked_run(state: Sweep, event: gr.SelectData) -> str:
        return state.trace(state.chosen, int(event.row_value[0]))

    table.select(picked_row, sweep, runs, **quiet)
    cell.change(picked_cell, [sweep, cell], runs, **quiet)
    runs.select(picked_run, sweep, shown, **quiet).then(
        None,
        shown,
        js="(text) => { window.RefusionResearch.show(text); }",
        api_visibility="private",
    )

    gr.Markdown(t("calibration_title"))
    with gr.Row(elem_id="calibration-bar"):
        source = gr.Radio(
            [(t("calibration_examples"), "examples"), (t("calibration_sweep"), "sweep")],
            value="examples",
            label=t("calibration_source"),
        )
        by = gr.Radio(
            [(t("calibration_slot_size"), "slot_size"), (t("calibration_family"), "family")],
            value="slot_size",
            label=t("calibration_by"),
        )
        measure_button = gr.Button(t("calibration_run"), elem_id="calibration-run")
    curve = gr.Plot(show_label=False, visible=False, elem_id="calibration-plot")
    bins = gr.Dataframe(interactive=False, visible=False, elem_id="calibration-bins")

    def measure(source: str, by: str, state: Sweep, request: gr.Request) -> tuple:
        with _told():
            found = calibrated(source, by, state)
            if not found:
                raise ConfigError("calibration", source, "has no runs yet", "run a sweep first")
        words = _names(request)
        found = {group_name(group, words): of for group, of in found.items()}
        table = _table(BIN_COLUMNS, list(bin_cells(found)), words)
        return _shown(figures.reliability(found, words)), table

    measure_button.click(measure, [source, by, sweep], [curve, bins], **quiet | {"queue": True})


def _shown(figure: Any) -> Any:
    """The plot of a figure, which has no place before."""
    return gr.Plot(figure, visible=True)
