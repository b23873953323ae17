"""The page for many runs: a sweep to its figures and tables, runs that play, calibration, messages."""

from __future__ import annotations

import csv
import json
import re

import pytest

from app.research import TEXTS, calibrated, read_values
from refusion_core import ConfigError, parse_trace
from refusion_core.sweep import Result
from tests.browser.conftest import watch

CELL = """([table, text]) => [...document.querySelectorAll(`${table} *`)].find(node =>
    !node.children.length && node.checkVisibility({ visibilityProperty: true }) &&
    node.textContent.trim() === text)"""


def open_research(page, url):
    page.goto(f"{url}/research")
    page.wait_for_selector("#sweep-run")
    page.wait_for_function("() => window.RefusionResearch?.player")
    return page


@pytest.fixture
def page(watched_page, app_url):
    return open_research(watched_page, app_url)


def run_sweep(page, runs):
    page.click("#sweep-run")
    page.wait_for_function(
        "(end) => document.querySelector('#sweep-status').innerText.trim() === end",
        arg=f"{runs} / {runs}",
    )


def click_cell(page, table, text):
    page.wait_for_function(CELL, arg=[table, text])
    page.evaluate_handle(CELL, [table, text]).as_element().click()


def set_axis(page, name, text):
    page.fill(f"#sweep-{name} :is(input, textarea)", text)


def saved(page, button, path):
    """The file behind a download button."""
    with page.expect_download() as download:
        page.click(button)
    download.value.save_as(path)
    return path.read_text(encoding="utf-8")


def test_a_sweep_runs_to_figures_tables_and_files(page, tmp_path):
    page.fill(
        "#sweep-prompts textarea",
        '{"prompt": "Compute 3 + 4.", "expected": "ones: 3 + 4 = 7 Answer: 7"}\n'
        '{"prompt": "Compute 5 + 4.", "expected": "no such answer"}',
    )
    set_axis(page, "slot_threshold", "0.9, 0.9999")
    set_axis(page, "token_threshold", "0.4")
    run_sweep(page, 4)
    page.wait_for_selector("#sweep-heatmap .js-plotly-plot .heatmaplayer")
    page.wait_for_selector("#sweep-pareto .js-plotly-plot .scatterlayer")
    lines = saved(page, "#sweep-jsonl", tmp_path / "runs.jsonl").splitlines()
    results = [Result.from_line(line) for line in lines]
    assert len(results) == 4
    assert {r.config.slot_threshold for r in results} == {0.9, 0.9999}
    rows = list(csv.DictReader(saved(page, "#sweep-csv", tmp_path / "rows.csv").splitlines()))
    for row in rows:
        own = [r for r in results if r.config.slot_threshold == float(row["slot_threshold"])]
        tokens, forwards = sum(r.tokens for r in own), sum(r.forwards for r in own)
        assert float(row["tokens_per_forward"]) == pytest.approx(tokens / forwards, abs=1e-3)
        assert float(row["right"]) == sum(r.right for r in own) / 2
    # A click on a cell of the heatmap shows its runs, a click on a run plays it.
    page.wait_for_function(
        "() => document.querySelector('#sweep-heatmap .js-plotly-plot').dataset.listens"
    )
    wanted = next(r for r in results if r.config.slot_threshold == 0.9999 and r.prompt == 0)
    place = page.evaluate(
        """() => { const [heat] = document.querySelector('#sweep-heatmap .js-plotly-plot').data;
            return heat.customdata[0][heat.x.indexOf('0.9999')]; }"""
    )
    page.evaluate(
        """(place) => document.querySelector('#sweep-heatmap .js-plotly-plot')
            .emit('plotly_click', { points: [{ customdata: place }] })""",
        place,
    )
    click_cell(page, "#sweep-runs", "Compute 3 + 4.")
    page.wait_for_function("() => window.RefusionResearch.player.text().length > 0")
    trace = parse_trace(page.evaluate("window.RefusionResearch.player.text()"))
    assert trace.started.prompt_text == "Compute 3 + 4."
    assert trace.started.settings.slot_threshold == 0.9999
    assert trace.finished.text == wanted.text
    # So does a click on a row of the table.
    click_cell(page, "#sweep-rows", "0.9")
    click_cell(page, "#sweep-runs", "Compute 5 + 4.")
    page.wait_for_function("() => window.RefusionResearch.player.text().includes('5 + 4')")
    trace = parse_trace(page.evaluate("window.RefusionResearch.player.text()"))
    assert trace.started.settings.slot_threshold == 0.9


def test_calibration_of_the_examples_is_that_of_the_core(page):
    page.get_by_label("task family").check()
    page.click("#calibration-run")
    page.wait_for_selector("#calibration-plot .js-plotly-plot .scatterlayer")
    found = calibrated("examples", "family", None)
    legend = page.locator("#calibration-plot .legendtext").all_text_contents()
    expected = [f"{name} ({c.count}, calibration error {c.error:.3f})" for name, c in found.items()]
    assert legend == expected and "sums" in found
    entry = found["sums"].bins[-1]
    page.wait_for_function(CELL, arg=["#calibration-bins", f"{entry.low:g} – {entry.high:g}"])


@pytest.mark.parametrize(
    ("axis", "text", "named"),
    [
        ("slot_threshold", "0.9, much", "slot_threshold"),
        ("slot_threshold", "1.5", "slot_threshold"),
        ("slot_size", "0", "slot_size"),
        ("slot_threshold", ", ".join(str(n / 2000) for n in range(1001)), "2000 runs"),
    ],
)
def test_bad_values_give_a_message(page, axis, text, named):
    set_axis(page, axis, text)
    page.click("#sweep-run")
    page.wait_for_function(
        "(n) => document.querySelector('.toast-wrap, .toast-body')?.innerText.includes(n)",
        arg=named,
    )
    assert "Traceback" not in page.inner_text("body")


def test_a_sweep_that_is_stopped_keeps_what_it_had(page, tmp_path):
    set_axis(page, "slot_threshold", ", ".join(str(n / 100) for n in range(100)))
    page.click("#sweep-run")
    page.wait_for_function("() => parseInt(document.querySelector('#sweep-status').innerText) > 3")
    page.click("#sweep-stop")
    page.evaluate("new Promise((done) => setTimeout(done, 1500))")
    status = page.inner_text("#sweep-status").strip()
    done, total = map(int, re.fullmatch(r"(\d+) / (\d+)", status).groups())
    assert 3 < done < total == 400
    lines = saved(page, "#sweep-jsonl", tmp_path / "runs.jsonl").splitlines()
    assert len(lines) == done and all(json.loads(line)["text"] for line in lines)
    page.evaluate("new Promise((done) => setTimeout(done, 1500))")
    assert page.inner_text("#sweep-status").strip() == status


def test_in_chinese(browser, app_url):
    pages = watch(browser, locale="zh-CN")
    page = open_research(next(pages), app_url)
    assert TEXTS["calibration_run"][1] in page.inner_text("#calibration-run")
    set_axis(page, "slot_threshold", "0.9")
    set_axis(page, "token_threshold", "0.4")
    run_sweep(page, 2)
    page.wait_for_function(
        "() => document.querySelector('#sweep-pareto .xtitle')?.textContent === '每次前向 token 数'"
    )
    for _ in pages:
        pass


def test_values_are_read_as_numbers():
    assert read_values("slot_size", "4， 8,") == [4, 8]
    assert read_values("slot_threshold", "0.5,1") == [0.5, 1.0]
    with pytest.raises(ConfigError, match="slot_size"):
        read_values("slot_size", "4.5")
