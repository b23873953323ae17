"""The page: layout, then functions, then wiring. What a run shows is the player's business."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")

import gradio as gr  # noqa: E402 (the line above must come first)

from refusion_core import DecodeConfig, RefusionError  # noqa: E402
from refusion_core.events import Event  # noqa: E402

from .i18n import translations  # noqa: E402
from .player import (  # noqa: E402
    check_trace,
    example_names,
    example_text,
    page_head,
    player_component,
)
from .runs import RunRegistry  # noqa: E402

DEMO_PROMPT = "Write a Python function that returns the sum of the squares of a list."
PROMPTS = [
    DEMO_PROMPT,
    "Add 347 and 586 step by step.",
    "Turn this into JSON: Mira Solano is 34 years old and lives in Porto.",
    "Sort these words: pear, apple, fig, cherry",
]
FIRST_EXAMPLE = "code"
SETTINGS = ("gen_length", "slot_size", "serial_blocks", "slot_threshold", "token_threshold")
SETTINGS += ("temperature", "seed")

CSS = """
.gradio-container { max-width: 1440px !important; padding: 12px 20px 32px !important; }
#head { align-items: baseline; gap: 12px; }
#head .title { font-size: 20px; font-weight: 700; margin: 0; }
#head .chip { font-size: 13px; padding: 3px 12px; border: 1px solid var(--border-color-primary);
  border-radius: 999px; color: var(--body-text-color-subdued); }
#run, #stop { min-width: 96px; }
body:not(.refusion-live) #stop { opacity: 0.45; }
footer { display: none !important; }
"""


class Model:
    """The checkpoint of the app: loaded once, when it is first needed or in the background."""

    def __init__(self, source: str, device: str) -> None:
        self._source, self._device = source, device
        self._lock = threading.Lock()
        self._checkpoint: Any = None

    def get(self) -> Any:
        """The checkpoint. Raises CheckpointError when it cannot be loaded; asked again, it tries again."""
        with self._lock:
            if self._checkpoint is None:
                from refusion_core import load_checkpoint

                self._checkpoint = load_checkpoint(self._source, device=self._device)
            return self._checkpoint

    def load_in_background(self) -> None:
        """Load it beside the page; a failure shows when somebody runs a prompt."""

        def load() -> None:
            try:
                self.get()
            except RefusionError as problem:
                print(f"error: {problem}")

        threading.Thread(target=load, daemon=True).start()

    def decode(
        self, prompt: str, config: DecodeConfig, should_stop: Callable[[], bool]
    ) -> Iterator[Event]:
        """The events of a run."""
        from refusion_core import decode

        yield from decode(self.get(), prompt=prompt, config=config, should_stop=should_stop)


def build(model: Model) -> gr.Blocks:
    """The page, wired to a registry of runs of ``model``."""
    runs = RunRegistry(model.decode)
    t = translations()
    defaults = DecodeConfig()

    async def poll(arguments: list) -> dict[str, Any]:
        run_id, have = arguments
        return await runs.poll(str(run_id), int(have))

    def stop(run_id: str) -> None:
        runs.stop(str(run_id))

    def check(text: str) -> str | None:
        return check_trace(str(text))

    def example(name: str) -> str:
        return example_text(str(name))

    def start(prompt: str, *settings: Any) -> str:
        """Start a run; the message tells the player which one to follow."""
        try:
            config = DecodeConfig(**_settings(settings))
            model.get()
            run = runs.start(prompt, config)
        except RefusionError as problem:
            raise gr.Error(str(problem), duration=10, print_exception=False) from None
        return json.dumps({"run": run.id, "prompt": prompt})

    with gr.Blocks(title="ReFusion, decoded", analytics_enabled=False) as page:
        with gr.Row(elem_id="head"):
            gr.HTML('<h1 class="title">ReFusion, decoded</h1>', padding=False)
        with gr.Row(equal_height=True):
            prompt = gr.Textbox(
                DEMO_PROMPT,
                label=t("prompt"),
                placeholder=t("prompt_placeholder"),
                lines=1,
                max_lines=4,
                scale=8,
                elem_id="prompt",
            )
            run_button = gr.Button(t("run"), variant="primary", scale=1, elem_id="run")
            stop_button = gr.Button(t("stop"), scale=1, elem_id="stop")
        with gr.Row():
            recorded = gr.Dropdown(
                example_names(), value=None, label=t("recorded"), scale=3, elem_id="recorded"
            )
            save_button = gr.Button(t("save"), scale=1, elem_id="save")
            open_button = gr.Button(t("open"), scale=1, elem_id="open")
        with gr.Accordion(t("settings"), open=False, elem_id="settings"):
            settings = _settings_row(t, defaults)
        player = player_component([poll, stop, check, example])
        gr.Examples(PROMPTS, prompt, label=t("prompts"), elem_id="prompts")

        gr.on(
            [run_button.click, prompt.submit],
            start,
            [prompt, *settings],
            player,
            queue=False,
            show_progress="hidden",
            api_visibility="private",
        )
        for button, call in (
            (stop_button, "stop()"),
            (save_button, "save()"),
            (open_button, "open()"),
        ):
            button.click(None, js=f"() => window.refusion.{call}", api_visibility="private")
        recorded.change(
            None,
            recorded,
            js="(name) => { window.refusion.example(name); }",
            api_visibility="private",
        )
    return page


def _settings_row(t: Callable[[str], Any], defaults: DecodeConfig) -> list[gr.components.Component]:
    """The inputs of the decode settings, in the order of SETTINGS."""

    def number(name: str, *, info: str | None = None) -> gr.Number:
        return gr.Number(
            getattr(defaults, name), label=t(name), info=t(info) if info else None, precision=0
        )

    def threshold(name: str) -> gr.Slider:
        return gr.Slider(
            0, 1, getattr(defaults, name), step=0.01, label=t(name), info=t(f"{name}_info")
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
    return [
        gen_length,
        slot_size,
        serial_blocks,
        slot_threshold,
        token_threshold,
        temperature,
        seed,
    ]


def _settings(values: tuple[Any, ...]) -> dict[str, Any]:
    """Keyword arguments of DecodeConfig from the inputs of the page."""
    return dict(zip(SETTINGS, values, strict=True))


@cache
def theme() -> gr.Theme:
    """Near-white and near-black grounds, system fonts (so that the page asks no other host)."""
    return gr.themes.Base(
        primary_hue="slate",
        neutral_hue="slate",
        font=[
            "system-ui",
            "-apple-system",
            "Segoe UI",
            "Noto Sans",
            "Noto Sans CJK SC",
            "sans-serif",
        ],
        font_mono=["ui-monospace", "DejaVu Sans Mono", "Noto Sans Mono CJK SC", "monospace"],
    )


def launch(*, host: str, port: int, model: str, device: str, block: bool = True) -> gr.Blocks:
    """Serve the page; the model loads beside it."""
    names = example_names()
    first = FIRST_EXAMPLE if FIRST_EXAMPLE in names else next(iter(names), None)
    checkpoint = Model(model, device)
    page = build(checkpoint)
    page.launch(
        server_name=host,
        server_port=port,
        theme=theme(),
        css=CSS,
        head=page_head(first),
        i18n=translations(),
        ssr_mode=False,
        run_history=False,
        footer_links=[],
        prevent_thread_lock=True,
        quiet=True,
        show_error=True,
    )
    checkpoint.load_in_background()
    if block:
        page.block_thread()
    return page
