"""Chromium and the app for the browser tests; a console error or a foreign request fails the test."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Locator, Page, sync_playwright

from .player_page import PlayerPage

ROOT = Path(__file__).resolve().parents[2]
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--disable-component-update",
    "--disable-background-networking",
    "--no-first-run",
]
PATIENCE_MS = 30_000


def chromium_path() -> str | None:
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((path for path in map(shutil.which, names) if path), None)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = chromium_path()
    if path is None:
        pytest.fail("Chromium is missing: install it with your package manager")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


def type_into(box: Locator, value: object) -> None:
    """Type a value, and wait until Gradio has taken it over, which it does in a later task."""
    page = box.page
    for _ in range(20):
        page.evaluate("new Promise((done) => requestIdleCallback(() => setTimeout(done, 150)))")
        if box.input_value() == str(value):
            break
        box.fill(str(value))  # again where the page, just opened, has put the old value back
        page.keyboard.press("Tab")
    page.evaluate("new Promise((done) => requestIdleCallback(() => setTimeout(done, 250)))")


@contextlib.contextmanager
def serving(*options: str) -> Iterator[str]:
    """The app in a process of its own on a free port; its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "app.py", "--port", str(port), *options]
    environment = os.environ | {"NO_COLOR": "1"}
    with subprocess.Popen(command, cwd=ROOT, env=environment) as process:
        try:
            url = f"http://127.0.0.1:{port}"
            _wait_until_served(url, process)
            yield url
        finally:
            process.terminate()
            process.wait(10)


def _wait_until_served(url: str, process: subprocess.Popen) -> None:
    for _ in range(600):
        if process.poll() is not None:
            raise RuntimeError(f"the app ended with exit code {process.returncode}")
        with contextlib.suppress(OSError):
            urllib.request.urlopen(url, timeout=5).close()
            return
        time.sleep(0.1)
    raise TimeoutError("the app does not answer")


@pytest.fixture(scope="session")
def app_url() -> Iterator[str]:
    with serving() as url:
        yield url


@pytest.fixture(scope="session")
def slow_app_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The app with an untrained model: it never ends its answer, so a long response takes its time."""
    import torch
    from tokenizers import Tokenizer

    from refusion_core.checkpoint import BUNDLED
    from refusion_core.config import ModelConfig
    from refusion_core.model import Transformer
    from refusion_core.training.export import export_folder

    tokenizer = Tokenizer.from_file(str(BUNDLED / "tokenizer.json"))
    torch.manual_seed(0)
    config = ModelConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=384,
        intermediate_size=768,
        num_hidden_layers=6,
        num_attention_heads=6,
        num_key_value_heads=6,
        head_dim=64,
        mask_token_id=2,
        eos_token_id=1,
    )
    folder = export_folder(Transformer(config), tokenizer, tmp_path_factory.mktemp("slow"))
    with serving("--model", str(folder)) as url:
        yield url


@pytest.fixture
def watched_page(browser: Browser) -> Iterator[Page]:
    """A page that must not log errors or ask any host but this one."""
    yield from watch(browser)


def watch(browser: Browser, **options) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1440, "height": 960}, **options)
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    faults: list[str] = []
    page.on("console", lambda m: m.type == "error" and faults.append(m.text))
    page.on("pageerror", lambda problem: faults.append(str(problem)))
    page.on("request", lambda request: _is_foreign(request.url) and faults.append(request.url))
    yield page
    context.close()
    assert faults == []


def _is_foreign(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme in ("http", "https", "ws", "wss") and parts.hostname != "127.0.0.1"


@pytest.fixture(scope="module")
def shared_page(browser, tmp_path_factory):
    page = PlayerPage(browser, tmp_path_factory.mktemp("player")).open()
    yield page
    page.context.close()


@pytest.fixture
def player(shared_page) -> PlayerPage:
    """A player mounted anew in a page that tests share, which must not log an error either."""
    shared_page.remount()
    yield shared_page
    problems, shared_page.problems = shared_page.problems, []
    assert problems == []
