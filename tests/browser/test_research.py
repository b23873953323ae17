"""The page for many runs: a sweep to its figures and tables, runs that play, calibration, messages."""

from __future__ import annotations

import csv
import json
import re

import pytest

from app.figures import pareto, reliability
from app.research import NAMES, TEXTS, group_name
from app.sweeps import asked, calibrated, key_of, key_of_cells, read_values
from refusion_core import ConfigError, DecodeConfig, PromptError, parse_trace
from refusion_core.calibration import calibrate
from refusion_core.sweep import Result, grid, summarise
from tests.browser.conftest import type_into, watch
from tests.unit.test_sweep import result

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
    type_into(page.locator(f"#sweep-{name} :is(input, textarea)"), text)


def click_heatmap(page, slot_threshold):
    """Click, with the mouse, the lowest cell of a slot threshold."""
    page.wait_for_selector("#sweep-heatmap .js-plotly-plot[data-listens]")
    page.locator("#sweep-heatmap").scroll_into_view_if_needed()
    at, of = page.evaluate(
        """(wanted) => { const [heat] = document.querySelector('#sweep-heatmap .js-plotly-plot').data;
            return [heat.x.indexOf(wanted), heat.x.length]; }""",
        slot_threshold,
    )
    box = page.locator("#sweep-heatmap .nsewdrag").first.bounding_box()
    x, y = box["x"] + box["width"] * (at + 0.5) / of, box["y"] + box["height"] - 20
    page.mouse.move(x - 3, y)
    page.mouse.move(x, y)
    page.wait_for_selector("#sweep-heatmap .hovertext")
    page.mouse.click(x, y)


def played(page, part):
    """The trace that plays, once it has this text."""
    page.wait_for_function("(p) => window.RefusionResearch.player.text().includes(p)", arg=part)
    return parse_trace(page.evaluate("window.RefusionResearch.player.text()"))


def saved(page, button, path):
    """The file behind a download button."""
    with page.expect_download() as download:
        page.click(button)
    download.value.save_as(path)
    return path.read_text(encoding="utf-8")


def test_a_sweep_runs_to_figures_tables_and_files(page, tmp_path):
    type_into(
        page.locator("#sweep-prompts textarea"),
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
    assert page.inner_text("#sweep-csv") == TEXTS["sweep_csv"][0]
    # A click on a cell of the heatmap shows its runs, a click on a run plays it.
    click_heatmap(page, "0.9999")
    click_cell(page, "#sweep-runs", "Compute 3 + 4.")
    trace = played(page, "3 + 4")
    assert trace.started.prompt_text == "Compute 3 + 4."
    assert trace.started.settings.slot_threshold == 0.9999
    wanted = next(r for r in results if r.config.slot_threshold == 0.9999 and r.prompt == 0)
    assert trace.finished.text == wanted.text
    # So does a click on a row of the table, in whatever order the runs are shown.
    click_cell(page, "#sweep-rows", "0.9")
    for _ in range(50):  # until the table has the runs of that row
        click_cell(page, "#sweep-runs", "Compute 5 + 4.")
        trace = played(page, "5 + 4")
        if trace.started.settings.slot_threshold == 0.9:
            break
        page.wait_for_timeout(100)
    assert trace.started.settings.slot_threshold == 0.9
    # Another metric.
    page.get_by_label("forwards", exact=True).check()
    forwards = {float(r["slot_threshold"]): float(r["forwards"]) for r in rows}
    page.wait_for_function(
        """(wanted) => { const [heat] = document.querySelector('#sweep-heatmap .js-plotly-plot').data;
            return JSON.stringify(heat.z[0]) === JSON.stringify(wanted); }""",
        arg=[forwards[0.9], forwards[0.9999]],
    )


def test_prompts_come_from_a_file_and_their_family_to_the_calibration(page, tmp_path):
    path = tmp_path / "prompts.jsonl"
    path.write_text('{"prompt": "Compute 3 + 4.", "family": "mine"}\n', encoding="utf-8")
    with page.expect_file_chooser() as chooser:
        page.click("#sweep-upload")
    chooser.value.set_files(path)
    page.wait_for_function(
        "() => document.querySelector('#sweep-prompts textarea').value.includes('mine')"
    )
    set_axis(page, "slot_threshold", "0.9")
    set_axis(page, "token_threshold", "0.4")
    run_sweep(page, 1)
    page.get_by_label("the sweep above").check()
    page.get_by_label("task family").check()
    page.click("#calibration-run")
    page.wait_for_selector("#calibration-plot .js-plotly-plot .scatterlayer")
    assert page.locator("#calibration-plot .legendtext").text_content().startswith("mine (")


def test_calibration_without_a_sweep_says_what_to_do(page):
    page.get_by_label("the sweep above").check()
    page.click("#calibration-run")
    message(page, "run a sweep first")


def test_calibration_of_the_examples_is_that_of_the_core(page):
    page.get_by_label("task family").check()
    page.click("#calibration-run")
    page.wait_for_selector("#calibration-plot .js-plotly-plot .scatterlayer")
    found = calibrated("examples", "family", None)
    legend = page.locator("#calibration-plot .legendtext").all_text_contents()
    english = {key: pair[0] for key, pair in NAMES.items()}
    expected = [
        f"{group_name(group, english)} ({c.count}, calibration error {c.error:.3f})"
        for group, c in found.items()
    ]
    assert legend == expected and any(entry.startswith("Sums (") for entry in legend)
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
    message(page, named)


def message(page, wanted):
    """Wait until the page says something that includes ``wanted``."""
    page.wait_for_function(
        "(n) => document.querySelector('.toast-wrap, .toast-body')?.innerText.includes(n)",
        arg=wanted,
    )
    assert "Traceback" not in page.inner_text("body")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("  ", "hold no prompt"),
        ('{"prompt": "fine"}\n{"question": "x"}', "line 2"),
        ("word " * 9000, "prompt 1, prompt and gen_length"),
    ],
)
def test_bad_prompts_give_a_message(page, text, named):
    type_into(page.locator("#sweep-prompts textarea"), text)
    page.click("#sweep-run")
    message(page, named)


def test_a_sweep_that_is_stopped_keeps_what_it_had(page, tmp_path):
    set_axis(page, "slot_threshold", ", ".join(str(n / 100) for n in range(100)))
    page.click("#sweep-run")
    page.wait_for_function("() => parseInt(document.querySelector('#sweep-status').innerText) > 3")
    page.click("#sweep-stop")
    page.wait_for_function(
        "() => document.querySelector('#sweep-status').innerText.includes('stopped')"
    )
    status = page.inner_text("#sweep-status").strip()
    done, total = map(int, re.match(r"(\d+) / (\d+) stopped", status).groups())
    assert 3 < done < total == 400
    lines = saved(page, "#sweep-jsonl", tmp_path / "runs.jsonl").splitlines()
    assert len(lines) == done and all(json.loads(line)["text"] for line in lines)
    page.wait_for_timeout(1500)
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
    assert "槽阈值" in page.inner_text("#sweep-rows") and "slot" not in page.inner_text(
        "#sweep-rows"
    )
    page.click("#calibration-run")
    page.wait_for_function(CELL, arg=["#calibration-bins", "槽大小 4"])
    for _ in pages:
        pass


def test_a_setting_has_one_key_as_a_config_and_as_cells_of_a_table():
    first, second = grid(DecodeConfig(), slot_threshold=[0.99999991, 1.0])
    cells = ["8", 1, "0.99999991", 0.4, "threshold", "more"]
    assert key_of_cells(cells) == key_of(first) != key_of(second)
    assert key_of_cells([8, 1, 1, 0.4, "threshold"]) == key_of(second)


def test_too_many_runs_are_refused_before_they_are_made():
    values = {"slot_threshold": [n / 10**6 for n in range(10**6)]}
    with pytest.raises(ConfigError, match="1000000 settings"):
        asked("one", [], None, values)
    with pytest.raises(ConfigError, match="1000000000 prompts"):
        asked("", ["sums"], 10**9, {})
    with pytest.raises(ConfigError, match="per_family"):
        asked("", ["sums"], None, {})
    with pytest.raises(PromptError, match="hold no prompt"):
        asked("\n", [], None, {})
    prompts, configs = asked("a\n\n b ", [], None, {"slot_size": [4, 8]})
    assert [p.prompt for p in prompts] == ["a", "b"] and len(configs) == 2


def test_without_answers_the_pareto_plot_shows_forwards():
    names = {name: english for name, (english, _) in NAMES.items()}
    rows = summarise([result(right=None, forwards=7)])
    figure = pareto(rows, names)
    assert figure.layout.yaxis.title.text == "forwards" and list(figure.data[1].y) == [7]
    judged = pareto(summarise([result()]), names)
    assert judged.layout.yaxis.title.text == "answers right" and list(judged.data[1].y) == [1]
    assert list(judged.data[1].customdata) == [key_of(DecodeConfig())]


def test_the_reliability_diagram_has_the_counts_of_its_bins():
    names = {name: english for name, (english, _) in NAMES.items()}
    found = calibrate([(0.6, True), (0.65, False), (0.9995, True)])
    _, points, bars = reliability({"sums": found}, names).data
    assert list(points.y) == [0.5, 1] and list(bars.y) == [2, 1]
    assert list(bars.x) == ["≤ 0.7", "≤ 1"]
    assert points.name == f"sums (3, calibration error {found.error:.3f})"


def test_values_are_read_as_numbers():
    assert read_values("slot_size", "4， 8,") == [4, 8]
    assert read_values("slot_threshold", "0.5,1") == [0.5, 1.0]
    with pytest.raises(ConfigError, match="slot_size"):
        read_values("slot_size", "4.5")
