"""The page: functions, then layout, then wiring. What a run shows is the player's business."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")

import gradio as gr  # noqa: E402 (the line above must come first)

from refusion_core import (
    DecodeConfig,
    Fork,
    RecordConfig,
    RefusionError,
    parse_trace,
)  # noqa: E402
from refusion_core.config import DEPENDENCY_METHODS  # noqa: E402
from refusion_core.events import Event  # noqa: E402
from refusion_core.fork import SAME_SLOTS  # noqa: E402
from refusion_core.selection import known_policies  # noqa: E402

from . import about, compare, lessons, race, research  # noqa: E402
from .i18n import POLICY_TEXTS, translations  # noqa: E402
from .player import (  # noqa: E402
    check_trace,
    example_text,
    page_head,
    player_component,
    recorded_examples,
)
from .presets import PAPER, PRESETS, SPEEDS, paper_preset  # noqa: E402
from .runs import Request, RunRegistry  # noqa: E402

DEMO_PROMPT = "Write a Python function that returns the sum of the squares of a list."
PROMPTS = [
    DEMO_PROMPT,
    "Compute 347 + 586 step by step.",
    "Translate to Chinese: My father is reading a book at home.",
    "Make up a person called Emma Novak as JSON with job or day and pet or colour.",
    "Make a table: Emma is 31 and lives in Rome. Felix is 25 and lives in Oslo.",
    "Tell me a short story about Mia and a fox in the forest.",
]
SETTINGS = tuple(DecodeConfig().to_dict())
# Beside the main page, each at its own address; a module has NAME, TEXTS and build(t, model).
PAGES = (lessons, race, compare, research, about)

CSS = """
body, .gradio-container { background: var(--body-background-fill); }
.gradio-container { max-width: 1480px !important; padding: 10px 20px 32px !important; }
.gradio-container main { gap: 10px; padding: 0 !important; }
#head { align-items: baseline; gap: 4px 14px; flex-wrap: wrap; }
#title, #subtitle { flex: 0 1 auto; width: auto; min-width: 0; }
#title h1 { font-size: 19px; margin: 0; }
#subtitle { color: var(--body-text-color-subdued); }
#nav { flex: 0 1 auto; width: auto; margin-left: auto; }
#nav a { display: inline-block; margin-left: 14px; line-height: 24px; color: var(--body-text-color); }
#bar { align-items: stretch; gap: 8px; }
#bar button { flex: 0 0 auto; border-radius: 8px; }
#bar textarea, #recorded input { border-radius: 8px; }
#recorded { align-self: center; }
#recorded input { text-overflow: ellipsis; padding-right: 28px; }
#player, #player > div { padding: 0 !important; }
#extras { align-items: flex-start; gap: 8px 16px; }
#settings { flex: 0 1 260px; min-width: 0; }
#settings:has(button.open) { flex-basis: 100%; }
#prompts { flex: 3 1 300px; min-width: 0; }
#prompts .gallery { gap: 6px; }
@media (max-width: 640px) {
  .gradio-container { padding: 10px 10px 24px !important; }
  #bar button, #recorded { flex: 1 1 40%; }
  #prompts .gallery-item { font-size: 13px; text-align: left; }
}
body:not(.refusion-live) #stop { opacity: 0.55; }
.refusion-message { margin: 0 0 10px; padding: 8px 12px; border: 1px solid #d55e00; border-left-width: 4px;
  border-radius: 8px; background: var(--block-background-fill); overflow-wrap: anywhere; }
footer, .nav-holder { display: none !important; } /* our own links speak the visitor's language */
"""


class Model:
    """The checkpoint of the app, loaded once, when it is first needed or in the background, and its runs."""

    def __init__(self, source: str, device: str, mask_token_id: int | None = None) -> None:
        self._source = source
        self._options = {"device": device, "mask_token_id": mask_token_id}
        self._lock = threading.Lock()
        self._checkpoint: Any = None
        self.runs = RunRegistry(self.decode)

    @property
    def is_bundled(self) -> bool:
        """Whether it is the small model that comes with the project."""
        return self._source == "bundled"

    def get(self) -> Any:
        """The checkpoint. Raises CheckpointError when it cannot be loaded; asked again, it tries again."""
        with self._lock:
            if self._checkpoint is None:
                from refusion_core.checkpoint import load_checkpoint, use_fitting_threads

                self._checkpoint = load_checkpoint(self._source, **self._options)
                use_fitting_threads(self._checkpoint)
            return self._checkpoint

    def load_in_background(self) -> None:
        """Load it beside the page; a failure shows when somebody runs a prompt."""

        def load() -> None:
            try:
                self.get()
            except RefusionError as problem:
                print(f"error: {problem}")

        threading.Thread(target=load, daemon=True).start()

    def decode(self, request: Request, should_stop: Callable[[], bool]) -> Iterator[Event]:
        """The events of a run. Raises RefusionError at once when it cannot be run."""
        from refusion_core import decode

        return decode(
            self.get(),
            prompt=request.prompt if request.fork is None else None,
            config=request.config,
            record=request.record,
            should_stop=should_stop,
            fork=request.fork,
        )


def build(model: Model) -> gr.Blocks:
    """The page, wired to the runs of ``model``."""
    runs = model.runs
    examples = recorded_examples()
    t = page_texts()
    defaults = DecodeConfig()

    async def poll(arguments: list) -> dict[str, Any]:
        run_id, have = arguments
        return await runs.poll(str(run_id), int(have))

    def stop(run_id: str) -> None:
        runs.stop(str(run_id))

    def check(text: str) -> str | None:
        return check_trace(str(text))

    def example(name: str) -> dict[str, str]:
        try:
            return {"text": example_text(str(name))}
        except RefusionError as problem:
            return {"error": str(problem)}

    def start(arguments: list) -> dict[str, str]:
        """Start a run; answers its id, or what is wrong with the request."""
        prompt, (*values, dependency), fork = arguments
        try:
            settings = dict(zip(SETTINGS, values, strict=True))
            origin = None
            if fork is not None:
                write = {int(slot): text for slot, text in fork["write"].items()}
                origin = Fork(
                    trace=parse_trace(fork["trace"]),
                    iteration=fork["iteration"],
                    force=tuple(fork["force"]),
                    forbid=tuple(fork["forbid"]),
                    write={slot: model.get().encode_slot(text) for slot, text in write.items()},
                )
                settings |= {name: getattr(origin.config, name) for name in SAME_SLOTS}
            record = RecordConfig(dependency=dependency)
            request = Request(str(prompt), DecodeConfig(**settings), record, origin)
            return {"run": runs.start(request).id}
        except RefusionError as problem:
            return {"error": str(problem)}

    def pick_paper(benchmark: str) -> list[Any]:
        """The preset that is then shown, if any, and its settings; without a benchmark the usual ones."""
        if not benchmark:
            return ["balanced", *PRESETS["balanced"].to_dict().values()]
        return [None, *paper_preset(benchmark, scaled=model.is_bundled).to_dict().values()]

    with gr.Blocks(title="ReFusion, decoded", analytics_enabled=False, fill_width=True) as page:
        _head(t)
        with gr.Row(elem_id="bar"):
            prompt = gr.Textbox(
                DEMO_PROMPT,
                label=t("prompt"),
                placeholder=t("prompt_placeholder"),
                show_label=False,
                container=False,
                max_lines=4,
                scale=8,
                min_width=280,
                elem_id="prompt",
            )
            run_button = gr.Button(t("run"), variant="primary", min_width=88, elem_id="run")
            stop_button = gr.Button(t("stop"), min_width=88, elem_id="stop")
            recorded = gr.Dropdown(
                [(t("recorded"), ""), *((t(name), name) for name in examples)],
                value="",
                label=t("recorded"),
                show_label=False,
                container=False,
                scale=2,
                min_width=180,
                elem_id="recorded",
            )
            fork_button = gr.Button(t("fork"), min_width=110, elem_id="fork")
            open_button = gr.Button(t("open"), min_width=110, elem_id="open")
        with gr.Row(elem_id="extras"):
            with gr.Accordion(t("settings"), open=False, elem_id="settings"):
                with gr.Row():
                    preset = gr.Radio(
                        [(t(name), name) for name in PRESETS],
                        value="balanced",
                        label=t("preset"),
                        scale=3,
                        elem_id="preset",
                    )
                    paper = gr.Dropdown(
                        [(t("paper_none"), ""), *PAPER],
                        value="",
                        label=t("paper"),
                        info=t("paper_scaled" if model.is_bundled else "paper_info"),
                        scale=2,
                        elem_id="paper",
                    )
                settings = _settings_row(t, defaults)
                dependency = gr.Radio(
                    [(t(name), name) for name in DEPENDENCY_METHODS],
                    value="attention",
                    label=t("dependency"),
                    info=t("dependency_info"),
                    elem_id="dependency",
                )
            with gr.Column(scale=3, elem_id="prompts"):
                gr.Examples(PROMPTS, prompt, label=t("prompts"))
        player_component([start, poll, stop, check, example])

        gr.on(
            [run_button.click, prompt.submit],
            None,
            [prompt, *settings, dependency],
            js="(prompt, ...settings) => { window.refusion.start(prompt, settings); }",
            api_visibility="private",
        )
        fork_button.click(
            None,
            [*settings, dependency],
            js="(...settings) => { window.refusion.fork(settings); }",
            api_visibility="private",
        )
        quiet = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}
        preset.input(
            lambda name: ["", *PRESETS[name].to_dict().values()],
            preset,
            [paper, *settings],
            **quiet,
        )
        paper.input(pick_paper, paper, [preset, *settings], **quiet)
        for menu in (preset, paper):
            menu.input(
                None,
                menu,
                js=f"(name) => window.refusion.player.setSpeed({json.dumps(SPEEDS)}[name] ?? 1)",
                api_visibility="private",
            )
        for button, call in (
            (stop_button, "stop()"),
            (open_button, "open()"),
        ):
            button.click(None, js=f"() => window.refusion.{call}", api_visibility="private")
        # The menu goes back to its title; prompt and settings of the example can be run, changed or forked.
        recorded.input(
            None,
            [recorded, prompt, *settings],
            [recorded, prompt, *settings],
            js="async (name, ...now) => "
            f"['', ...(await window.refusion.example(name, {json.dumps(defaults.to_dict())}) ?? now)]",
            api_visibility="private",
        )
    for part in PAGES:
        with page.route(part.NAME, f"/{part.NAME}", show_in_navbar=False):
            _head(t)
            part.build(t, model)
    return page


def page_texts() -> gr.I18n:
    """The texts of all pages."""
    return translations(recorded_examples(), *(part.TEXTS for part in PAGES))


def _head(t: Callable[[str], Any]) -> None:
    """Title and the way to the other pages. Relative addresses, since a Space serves under a path."""
    with gr.Row(elem_id="head"):
        gr.Markdown("# ReFusion, decoded", elem_id="title")
        gr.Markdown(t("subtitle"), elem_id="subtitle")
        gr.Markdown(t("nav"), elem_id="nav")


def _settings_row(t: Callable[[str], Any], defaults: DecodeConfig) -> list[gr.components.Component]:
    """The inputs of the decode settings, in the order of SETTINGS."""

    def number(name: str, *, info: str | None = None) -> gr.Number:
        return gr.Number(
            getattr(defaults, name), label=t(name), info=t(info) if info else None, precision=0
        )

    def threshold(name: str) -> gr.Slider:
        return gr.Slider(
            0, 1, getattr(defaults, name), step=0.0001, label=t(name), info=t(f"{name}_info")
        )

    with gr.Row():
        gen_length = number("gen_length", info="gen_length_info")
        slot_size = number("slot_size")
        serial_blocks = number("serial_blocks", info="serial_blocks_info")
    with gr.Row():
        slot_threshold = threshold("slot_threshold")
        token_threshold = threshold("token_threshold")
        temperature = gr.Number(
            defaults.temperature, label=t("temperature"), info=t("temperature_info"), step=0.1
        )
        seed = number("seed")
    with gr.Row():
        policy = gr.Dropdown(
            [(t(name), name) if name in POLICY_TEXTS else name for name in known_policies()],
            value=defaults.policy,
            label=t("policy"),
            info=t("policy_info"),
        )
        policy_count = number("policy_count", info="policy_count_info")
        dependency_limit = gr.Number(
            defaults.dependency_limit,
            label=t("dependency_limit"),
            info=t("dependency_limit_info"),
            step=0.001,
        )
        recompute_infill = gr.Checkbox(
            defaults.recompute_infill,
            label=t("recompute_infill"),
            info=t("recompute_infill_info"),
        )
    return [
        gen_length,
        slot_size,
        serial_blocks,
        slot_threshold,
        token_threshold,
        temperature,
        seed,
        policy,
        policy_count,
        dependency_limit,
        recompute_infill,
    ]


@cache
def theme() -> gr.Theme:
    """Near-white and near-black grounds, system fonts (so that the page asks no other host)."""
    return gr.themes.Base(
        primary_hue="slate",
        neutral_hue="zinc",
        font=[
            "system-ui",
            "-apple-system",
            "Segoe UI",
            "Noto Sans",
            "Noto Sans CJK SC",
            "sans-serif",
        ],
        font_mono=["ui-monospace", "DejaVu Sans Mono", "Noto Sans Mono CJK SC", "monospace"],
    ).set(
        body_background_fill="#f7f7f5",
        body_background_fill_dark="#141518",
        block_background_fill_dark="#1d1f23",
        block_info_text_color="#5a616b",
        block_info_text_color_dark="#a9adb3",
        input_background_fill="#ffffff",
        input_background_fill_dark="#1d1f23",
        input_border_width="1px",
        input_border_color="*neutral_300",
        button_primary_background_fill="#1f232b",
        button_primary_background_fill_hover="#3a404c",
        button_primary_background_fill_dark="#e8e8e6",
        button_primary_background_fill_hover_dark="#ffffff",
        button_primary_text_color="#ffffff",
        button_primary_text_color_dark="#141518",
        button_secondary_background_fill="#ffffff",
        button_secondary_background_fill_dark="#1d1f23",
        button_secondary_border_color="*neutral_300",
        button_secondary_text_color_dark="#e8e8e6",
        button_border_width="1px",
    )


def launch(*, host: str, port: int, model: Model) -> None:
    """Serve the page; the model loads beside it."""
    first = next(iter(recorded_examples()), None)
    page = build(model)
    page.launch(
        server_name=host,
        server_port=port,
        theme=theme(),
        css=CSS,
        head=page_head(first),
        i18n=page_texts(),
        ssr_mode=False,
        run_history=False,
        footer_links=[],
        prevent_thread_lock=True,
        quiet=True,
        show_error=True,
    )
    model.load_in_background()
    page.block_thread()
