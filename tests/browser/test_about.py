"""The page about the method: both languages, the figures of the file, and nothing wider than a phone."""

from __future__ import annotations

import pytest

from app.about import read_measured
from tests.browser.conftest import watch

MEASURED = read_measured()
HEADINGS = {
    "en-US": ["About the method", "What the paper claims", "Where our figures differ"],
    "zh-CN": ["关于该方法", "论文的结论", "实测与论文的差异"],
}
OTHERS = 2  # tables of the page that are not measured ones: the paper's settings, the comparison
READ_TABLES = """() => [...document.querySelectorAll('#about table')].map((table) =>
  [...table.rows].map((row) => [...row.cells].map((cell) => cell.innerText.trim())))"""


@pytest.fixture(params=HEADINGS)
def opened(request, browser, app_url):
    """The page in a language."""
    pages = watch(browser, locale=request.param)
    page = next(pages)
    page.goto(f"{app_url}/about")
    page.wait_for_selector("#about table")
    yield request.param, page
    for _ in pages:  # looks for errors on the console
        pass


def test_the_page_speaks_the_language_and_cites_the_paper(opened):
    locale, page = opened
    titles = page.locator("#about h2").all_inner_texts()
    assert titles[: len(HEADINGS[locale])] == HEADINGS[locale]
    links = page.locator("#about a").evaluate_all("(all) => all.map((link) => link.href)")
    assert links == ["https://arxiv.org/abs/2512.13586"]


def test_the_figures_are_those_of_the_file(opened):
    locale, page = opened
    tables = page.evaluate(READ_TABLES)
    shown_tables = [table for table in MEASURED["tables"] if "title" in table]
    assert len(tables) == OTHERS + len(shown_tables)
    chinese = MEASURED["chinese"] if locale == "zh-CN" else {}

    def shown(cell):
        return str(chinese.get(cell, cell)).replace("`", "")

    for entry, (heading, *rows) in zip(shown_tables, tables[OTHERS:], strict=True):
        assert heading == [shown(name) for name in entry["columns"]]
        assert rows == [[shown(cell) for cell in row] for row in entry["rows"]]
    facts = page.locator("#about h3:last-of-type ~ p > strong").all_inner_texts()
    assert facts == [fact["value"] for fact in MEASURED["facts"]]
    commands = page.locator("#about sub code:last-child").all_inner_texts()
    entries = [*shown_tables, *MEASURED["facts"]]
    assert commands == [entry["command"] for entry in entries]


def test_on_a_phone_only_tables_scroll(opened):
    _, page = opened
    page.set_viewport_size({"width": 360, "height": 780})
    page.wait_for_function("() => document.querySelector('#about').clientWidth <= 360")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    reach = page.locator("#about > *, #about p, #about li, #about table, #about code")
    edges = reach.evaluate_all("""(all) => all.filter((element) => !element.closest('td'))
        .map((element) => element.getBoundingClientRect().right)""")
    assert len(edges) > 50
    assert max(edges) <= 360


def test_the_dark_theme_reaches_the_page(browser, app_url):
    for page in watch(browser):
        page.goto(f"{app_url}/about?__theme=dark")
        page.wait_for_selector("#about table")
        lightness = """(selector) => { const style = getComputedStyle(document.querySelector(selector));
            return ['color', 'backgroundColor'].map((name) => parseInt(style[name].match(/\\d+/)[0])); }"""
        assert page.evaluate(lightness, "#about td")[0] > 200
        assert page.evaluate(lightness, "body")[1] < 60
