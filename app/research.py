"""The page for many runs: sweeps over settings, and how far confidence can be trusted."""

from __future__ import annotations

import contextlib
import csv
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gradio as gr

from refusion_core import DecodeConfig, RefusionError, parse_trace, read_trace
from refusion_core.calibration import Calibration, grouped, slot_size_of
from refusion_core.errors import ConfigError
from refusion_core.selection import known_policies
from refusion_core.sweep import (
    AXES,
    Result,
    Row,
    SweepFolder,
    drawn_prompts,
    grid,
    parse_prompts,
    run_job,
    summarise,
)
from refusion_core.training.tasks import FAMILIES

from . import figures
from .i18n import MAIN_TEXTS, Texts
from .player import example_text, recorded_examples

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
# What figures call their axes.
FIGURE_TEXTS: Texts = {
    "right": ("answers right", "答案正确率"),
    "tokens_per_forward": ("tokens per forward", "每次前向 token 数"),
    "forwards": ("forwards", "前向次数"),
    "iterations": ("iterations", "迭代次数"),
    "seconds": ("seconds", "秒"),
    "accepted": ("accepted whole", "整段接受率"),
    "confidence": ("mean confidence", "平均置信度"),
    "error": ("calibration error", "校准误差"),
} | {name: MAIN_TEXTS[name] for name in AXES}
TEXTS |= {f"metric_{name}": FIGURE_TEXTS[name] for name in figures.METRICS}
MAX_RUNS = 2000
_SHOWN_EVERY = 0.7  # seconds
_BRIDGE = Path(__file__).with_name("research.js")
_ROW_HEADS = (*AXES, "prompts", *figures.METRICS, "best")
_RUN_HEADS = ("prompt", "text", "right", "forwards", "tokens per forward", "seconds")
_BIN_HEADS = ("group", "confidence", "slots", "mean confidence", "accepted whole")


@dataclass
class Sweep:
    """A sweep of this page. ``folder`` is its own, and gone with the page's session."""

    folder: tempfile.TemporaryDirectory = field(
        default_factory=lambda: tempfile.TemporaryDirectory(prefix="refusion-sweep-")
    )
    prompts: list[str] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)

    @property
    def rows(self) -> list[Row]:
        return summarise(self.results)

    def __deepcopy__(self, _: Any) -> Sweep:
        """Gradio copies the first value of a state for every visitor."""
        return Sweep()


def read_values(name: str, text: str) -> list[Any]:
    """The values of an axis, "0.5, 0.9"; raises ConfigError naming the axis for what is no number."""
    kind = int if name in ("slot_size", "serial_blocks") else float
    try:
        return [kind(part) for part in text.replace("，", ",").split(",") if part.strip()]
    except ValueError:
        raise ConfigError(
            name, text, "are not all numbers", "give values such as 0.5, 0.9"
        ) from None


def asked_prompts(text: str, families: list[str], per_family: int) -> list[Any]:
    """The prompts that the page asks for. Raises RefusionError when there are none."""
    if families:
        return drawn_prompts(families, int(per_family))
    lines = [line for line in text.splitlines() if line.strip()]
    if not any(line.lstrip().startswith("{") for line in lines):
        lines = [json.dumps({"prompt": line.strip()}) for line in lines]
    return parse_prompts(lines)


def groups_of(rows: list[Row]) -> list[str]:
    """What a heatmap can be about: the values of the axes that it does not show."""
    return list(dict.fromkeys(_group(row) for row in rows))


def _group(row: Row) -> str:
    return f"{row.config.slot_size}, {row.config.serial_blocks}, {row.config.policy}"


def calibrated(source: str, by: str, sweep: Sweep) -> dict[str, Calibration]:
    """Reliability of the recorded examples or of a sweep's runs, by "slot_size" or "family"."""
    if source == "sweep":
        folder = Path(sweep.folder.name)
        runs = ((r.family or "–", read_trace(folder / r.trace)) for r in sweep.results)
    else:
        runs = (
            (name.partition("-")[0], parse_trace(example_text(name)))
            for name in recorded_examples()
        )
    return grouped((family if by == "family" else slot_size_of(run), run) for family, run in runs)


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """What is wrong becomes a message of the page."""
    try:
        yield
    except RefusionError as problem:
        raise gr.Error(str(problem), duration=None, print_exception=False) from None


def build(t: Callable[[str], Any], model: Any) -> None:
    """Fill the page."""
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
                "slot_size": "4",
                "serial_blocks": "1",
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
        csv_button = gr.DownloadButton(t("sweep_csv"), elem_id="sweep-csv")
        jsonl_button = gr.DownloadButton(t("sweep_jsonl"), elem_id="sweep-jsonl")
    status = gr.Markdown(elem_id="sweep-status")
    with gr.Row():
        metric = gr.Radio(
            [(t(f"metric_{name}"), name) for name in figures.METRICS],
            value="tokens_per_forward",
            label=t("sweep_metric"),
        )
        group = gr.Dropdown([], label=t("sweep_of"), elem_id="sweep-group")
    with gr.Row():
        heat = gr.Plot(show_label=False, visible=False, elem_id="sweep-heatmap")
        front = gr.Plot(show_label=False, visible=False, elem_id="sweep-pareto")
    table = gr.Dataframe(
        headers=list(_ROW_HEADS), label=t("sweep_rows"), interactive=False, elem_id="sweep-rows"
    )
    runs = gr.Dataframe(
        headers=list(_RUN_HEADS),
        label=t("sweep_runs"),
        interactive=False,
        wrap=True,
        column_widths=["22%", "42%", "8%", "8%", "11%", "9%"],
        elem_id="sweep-runs",
    )
    # What a click on a figure chose, and the run that plays: hidden, but in the page for the script.
    cell = gr.Textbox(visible="hidden", elem_id="sweep-cell")
    chosen = gr.State(-1)
    shown = gr.Textbox(visible="hidden", elem_id="sweep-shown")
    gr.HTML(
        html_template='<div class="refusion-mount"></div>',
        js_on_load=f"{_BRIDGE.read_text(encoding='utf-8')}\nwindow.RefusionResearch.mount(element);",
        apply_default_css=False,
        elem_id="player",
    )

    def names(request: gr.Request | None) -> dict[str, str]:
        language = (request.headers.get("accept-language", "en") if request else "en")[:2]
        return {key: pair[language == "zh"] for key, pair in FIGURE_TEXTS.items()}

    def pictures(state: Sweep, metric: str, group: str | None, request: gr.Request) -> tuple:
        rows = state.rows
        if not rows:
            return gr.skip(), gr.skip()
        words = names(request)
        places = [place for place, row in enumerate(rows) if _group(row) == group]
        figure = figures.heatmap([rows[place] for place in places], metric, words)
        for line in (data := list(map(list, figure.data[0].customdata))):
            line[:] = [None if place is None else places[place] for place in line]
        figure.data[0].customdata = data
        return _shown(figure), _shown(figures.pareto(rows, words))

    def run(
        text: str,
        families: list[str],
        per_family: int,
        slot_size: str,
        serial_blocks: str,
        slot_threshold: str,
        token_threshold: str,
        policies: list[str],
        metric: str,
        request: gr.Request,
    ) -> Iterator[tuple]:
        texts = (slot_size, serial_blocks, slot_threshold, token_threshold)
        with _told():
            asked = asked_prompts(text, families, per_family)
            given = {n: read_values(n, v) for n, v in zip(axes, texts, strict=True)}
            configs = grid(DecodeConfig(), **given, policy=policies)
            if len(asked) * len(configs) > MAX_RUNS:
                raise ConfigError(
                    "sweep",
                    f"{len(asked)} prompts, {len(configs)} settings",
                    f"are more than {MAX_RUNS} runs",
                    "give fewer, or use the command line",
                )
            checkpoint = model.get()
            state = Sweep(prompts=[prompt.prompt for prompt in asked])
            store = SweepFolder(
                Path(state.folder.name), checkpoint.facts.checkpoint_hash or "", asked
            )
            jobs, shown_at = store.missing(configs), 0.0
            for done, (config, number) in enumerate(jobs, start=1):
                store.add(run_job(checkpoint, asked[number], number, config, store.folder))
                state.results = store.results
                if done < len(jobs) and time.monotonic() - shown_at < _SHOWN_EVERY:
                    continue
                shown_at = time.monotonic()
                rows = state.rows
                group = groups_of(rows)[0]
                heat, front = pictures(state, metric, group, request)
                yield (
                    state,
                    f"{done} / {len(jobs)}",
                    gr.Dropdown(groups_of(rows), value=group),
                    heat,
                    front,
                    [_cells(row) for row in rows],
                    _csv_file(state),
                    str(store.folder / "results.jsonl"),
                )

    running = run_button.click(
        run,
        [prompts, families, per_family, *axes.values(), policies, metric],
        [sweep, status, group, heat, front, table, csv_button, jsonl_button],
        show_progress="hidden",
        api_visibility="private",
    )
    # What was shown last stays, and with it the runs that it was made of.
    stop_button.click(None, cancels=[running], api_visibility="private")
    gr.on(
        [metric.input, group.input],
        pictures,
        [sweep, metric, group],
        [heat, front],
        show_progress="hidden",
        api_visibility="private",
    )

    def runs_of(state: Sweep, place: int) -> tuple[int, list[list[Any]]]:
        rows = state.rows
        if not 0 <= place < len(rows):
            return -1, []
        return place, [
            [
                state.prompts[run.prompt],
                run.text,
                run.right,
                run.forwards,
                round(run.tokens / max(1, run.forwards), 2),
                round(run.seconds, 3),
            ]
            for run in _runs(state, rows[place])
        ]

    def picked_row(state: Sweep, event: gr.SelectData) -> tuple[int, list[list[Any]]]:
        return runs_of(state, event.index[0])

    def picked_cell(state: Sweep, text: str) -> tuple[int, list[list[Any]]]:
        return runs_of(state, int(text.partition(" ")[0] or -1))

    def picked_run(state: Sweep, place: int, event: gr.SelectData) -> str:
        if not 0 <= place < len(state.rows):
            return ""
        found = _runs(state, state.rows[place])[event.index[0]]
        return (Path(state.folder.name) / found.trace).read_text(encoding="utf-8")

    quiet = {"show_progress": "hidden", "api_visibility": "private"}
    table.select(picked_row, [sweep], [chosen, runs], **quiet)
    cell.change(picked_cell, [sweep, cell], [chosen, runs], **quiet)
    runs.select(picked_run, [sweep, chosen], shown, **quiet).then(
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
    bins = gr.Dataframe(headers=list(_BIN_HEADS), interactive=False, elem_id="calibration-bins")

    def measure(source: str, by: str, state: Sweep, request: gr.Request) -> tuple:
        with _told():
            found = calibrated(source, by, state)
            if not found:
                raise ConfigError("calibration", source, "has no runs yet", "run a sweep first")
        return _shown(figures.reliability(found, names(request))), [
            [
                group,
                f"{entry.low:g} – {entry.high:g}",
                entry.count,
                round(entry.confidence, 4),
                round(entry.accepted, 4),
            ]
            for group, result in found.items()
            for entry in result.bins
        ]

    measure_button.click(measure, [source, by, sweep], [curve, bins], **quiet)


def _shown(figure: Any) -> Any:
    """The plot of a figure, which has no place before."""
    return gr.Plot(figure, visible=True)


def _runs(sweep: Sweep, row: Row) -> list[Result]:
    return [result for result in sweep.results if result.config == row.config]


def _cells(row: Row) -> list[Any]:
    values = row.to_dict()
    return [*(values[name] for name in _ROW_HEADS[:-1]), "★" if row.best else ""]


def _csv_file(sweep: Sweep) -> str:
    path = Path(sweep.folder.name) / "sweep.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = [row.to_dict() for row in sweep.rows]
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return str(path)
