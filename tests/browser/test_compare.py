"""Forks are kept as a tree and held beside their parents: where they first differ, both players there."""

from __future__ import annotations

import json
import re

import pytest

from app.player import example_text
from refusion_core import DecodeConfig, parse_trace
from refusion_core.compare import compare
from tests.browser.conftest import watch
from tests.browser.test_app import open_page, shown_trace, wait

PARENT = "sums-addition"
PAGE = "window.refusionCompare"


def open_compare(page, url, address=""):
    """The compare page, opened anew."""
    page.goto("about:blank")
    page.goto(f"{url}/compare{address}")
    page.wait_for_selector(".refusion-compare[data-ready]", state="attached")
    return page


def compared(page):
    """Wait until both players stand, and answer the traces that they hold."""
    page.wait_for_function(f"() => {PAGE}?.together?.length > 0")
    return [parse_trace(page.evaluate(f"{PAGE}.together.text({lane})")) for lane in range(2)]


def message(page, wanted):
    page.wait_for_function(
        "(w) => document.querySelector('.refusion-message').innerText.includes(w)", arg=wanted
    )
    return page.inner_text(".refusion-message")


def tree(page):
    """The kept runs: id of each with that of the run it is under, or None."""
    return dict(
        page.evaluate(
            """() => Array.from(document.querySelectorAll('.compare-tree li'),
                item => [item.dataset.run, item.parentElement.closest('li')?.dataset.run ?? null])"""
        )
    )


def until_kept(page, run_id, name=""):
    """Wait until the browser keeps a run under a name."""
    page.evaluate(
        """async ([id, name]) => {
            while ((await RefusionKept.get(id))?.name !== name) await new Promise(requestAnimationFrame);
        }""",
        [run_id, name],
    )


def fork(page, url):
    """Fork the example in its second iteration, with a slot forced that had been left out."""
    open_page(page, url)
    page.evaluate("name => window.refusion.example(name)", PARENT)
    text = example_text(PARENT)
    page.wait_for_function("text => window.refusion.player.text() === text", arg=text)
    parent = parse_trace(text)
    plan = [event for event in parent if event.type == "plan"][1]
    left_out = next(slot.slot for slot in plan.slots if not slot.chosen)
    page.evaluate(
        "at => { window.refusion.player.pause(); window.refusion.player.seek(at); }",
        parent.events.index(plan),
    )
    page.locator(f".rfp-score[data-slot='{left_out}'] .rfp-mark").click()
    before = page.locator("#player").bounding_box()
    page.click("#fork")
    page.wait_for_selector("#compare")
    after = page.locator("#player").bounding_box()
    assert (before["x"], before["y"]) == (after["x"], after["y"])
    wait(page, "d.state === 'ready'")
    return parent, shown_trace(page), left_out


@pytest.fixture
def forked(watched_page, app_url):
    """The compare page with a fork and its parent, reached by the link of the main page, and both traces."""
    parent, child, slot = fork(watched_page, app_url)
    watched_page.click("#compare")
    watched_page.wait_for_selector(".refusion-compare[data-ready]", state="attached")
    compared(watched_page)
    return watched_page, parent, child, slot


def test_a_fork_stands_in_the_tree_under_its_parent(forked):
    page, parent, child, slot = forked
    ids = parent.started.run_id, child.started.run_id
    assert tree(page) == {ids[0]: None, ids[1]: ids[0]}
    facts = page.inner_text(f"li[data-run='{ids[1]}'] > .compare-run .compare-facts")
    assert f"slots forced: {slot}" in facts
    name = page.locator(f"li[data-run='{ids[1]}'] > .compare-run .compare-name")
    assert name.get_attribute("placeholder") == "Fork at iteration 2"
    assert f"{child.statistics.forwards} forwards" in facts
    assert [trace.events for trace in compared(page)] == [parent.events, child.events]


def test_both_players_go_to_the_first_difference(forked):
    page, parent, child, slot = forked
    found = compare(parent, child)
    shown = page.inner_text(".compare-first")
    assert shown.startswith(f"Iteration {found.first.iteration + 1}, {found.first.stage}:")
    assert f"slot {slot} is chosen on the right only" in shown and "forced by you" in shown
    for reason in found.first.reasons:
        numbers = [str(value) for name, value in reason.values.items() if name != "why"]
        assert all(number in shown for number in numbers)
    page.get_by_role("button", name="Go to the first difference").click()
    cursors = page.evaluate(f"{PAGE}.together.lanes.map((lane) => lane.player.cursor)")
    assert cursors == list(found.first.events)
    assert page.evaluate(f"{PAGE}.together.clock") == "iterations"
    types = [trace.events[at].type for trace, at in zip((parent, child), cursors, strict=True)]
    assert types == [found.first.stage] * 2


def test_texts_slots_and_figures_are_those_of_the_runs(forked):
    page, parent, child, _ = forked
    found = compare(parent, child)
    rows = page.locator(".compare-slots tbody tr")
    assert rows.count() == len(found.slots) == parent.started.slot_count
    marked = page.evaluate(
        """() => Array.from(document.querySelectorAll('.compare-slots tbody tr'),
            row => [row.querySelectorAll('.compare-sign').length > 0,
                    row.querySelectorAll('.compare-text.compare-other').length > 0])"""
    )
    assert marked == [[row.other_order or row.other_text, row.other_text] for row in found.slots]
    assert any(order for order, _ in marked)
    figures = page.locator(".compare-columns tbody tr").filter(has_text=re.compile("^forwards"))
    counts = (parent.statistics.forwards, child.statistics.forwards)
    assert figures.locator("td").all_inner_texts() == [str(count) for count in counts]
    assert len(found.positions) > 0 or "texts are the same" in page.inner_text(".compare-result")


def test_the_words_that_differ_are_marked(watched_page, app_url, tmp_path):
    """A file with another text on the right: a word of its first line, and a line that the left has not."""
    lines = example_text(PARENT).splitlines()
    last = json.loads(lines[-1])
    own = last["text"].splitlines()
    last["text"] = "\n".join([own[0].replace("carry", "hold"), *own[1:], "One line more"])
    path = tmp_path / "other.trace.jsonl"
    path.write_text("\n".join([*lines[:-1], json.dumps(last)]), encoding="utf-8")
    page = open_compare(watched_page, app_url, f"#left=example:{PARENT}")
    with page.expect_file_chooser() as chooser:
        page.locator("[data-side=right]").get_by_role("button", name="Open file").click()
    chooser.value.set_files(path)
    compared(page)
    assert page.locator(".compare-lines del").all_inner_texts() == ["carry"]
    assert page.locator(".compare-lines ins").all_inner_texts() == ["hold", "One line more"]


def test_a_name_survives_a_reload(forked):
    page, parent, child, _ = forked
    name = "forced <b>{slot}</b> [x]"
    box = page.locator(f"li[data-run='{child.started.run_id}'] > .compare-run .compare-name")
    box.fill(name)
    box.press("Enter")
    lane = page.locator(".rfp-lane-head strong").nth(1)
    page.wait_for_function(
        "name => document.querySelectorAll('.rfp-lane-head strong')[1].textContent.includes(name)",
        arg=name,
    )
    page.reload()
    compared(page)
    assert box.input_value() == name
    assert lane.inner_text() == f"Right: {name}"


def test_a_kept_run_opens_on_the_main_page(forked):
    page, parent, child, _ = forked
    page.locator(f"li[data-run='{child.started.run_id}'] > .compare-run a").click()
    wait(page, f"+d.events === {len(child)}")
    assert shown_trace(page).events == child.events
    page.wait_for_selector("#compare")


def test_what_was_saved_and_removed_comes_back(forked, tmp_path):
    page, parent, child, _ = forked
    ids = parent.started.run_id, child.started.run_id
    row = f"li[data-run='{ids[1]}'] > .compare-run"
    page.fill(f"{row} .compare-name", "mine")
    page.press(f"{row} .compare-name", "Enter")
    until_kept(page, ids[1], "mine")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save all").click()
    path = tmp_path / "runs.json"
    download.value.save_as(path)
    saved = {
        run["name"]: parse_trace(run["trace"]).events
        for run in json.loads(path.read_text())["runs"]
    }
    assert saved == {"": parent.events, "mine": child.events}
    for run_id in ids[::-1]:
        page.locator(f"li[data-run='{run_id}'] > .compare-run").get_by_role(
            "button", name="Remove"
        ).click()
        page.wait_for_selector(f"li[data-run='{run_id}']", state="detached")
    assert tree(page) == {}
    page.get_by_role("button", name="Undo").click()
    page.wait_for_selector(f"li[data-run='{ids[0]}']")
    load(page, path)
    message(page, "Loaded 2 runs")
    page.wait_for_selector(f"li[data-run='{ids[1]}']")
    assert tree(page) == {ids[0]: None, ids[1]: ids[0]}
    assert page.input_value(f"{row} .compare-name") == "mine"
    assert (
        parse_trace(
            page.evaluate("id => RefusionKept.get(id).then(run => run.text)", ids[1])
        ).events
        == child.events
    )


def start(page, prompt, **settings):
    """Run a prompt on the main page."""
    values = [*DecodeConfig(**settings).to_dict().values(), "attention"]
    page.evaluate("request => window.refusion.start(...request)", [prompt, values])


def load(page, path):
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Load", exact=True).click()
    chooser.value.set_files(path)


@pytest.mark.parametrize(
    "content", ["no json", '{"runs": 3}', None], ids=["text", "shape", "trace"]
)
def test_a_bad_file_gives_a_message_and_loses_nothing(forked, tmp_path, content):
    page, parent, child, _ = forked
    before = tree(page)
    path = tmp_path / "bad.json"
    good = {"name": "", "trace": example_text("lists-numbered")}
    bad = {"name": "", "trace": example_text("story-fox").replace('"seq":5,', '"seq":6,')}
    path.write_text(content or json.dumps({"runs": [good, bad]}), encoding="utf-8")
    load(page, path)
    assert "bad.json" in message(page, "what is kept stays")
    open_compare(page, page.url.split("/compare")[0])
    assert tree(page) == before != {}


def test_other_prompts_are_not_compared_but_played(watched_page, app_url):
    page = open_compare(watched_page, app_url, f"#left=example:{PARENT}&right=example:story-fox")
    names = [trace.started.prompt_text for trace in compared(page)]
    assert names[0] != names[1]
    message(page, "different prompts")
    assert page.locator(".compare-result > *").count() == 0
    page.locator("[data-side=right] select").select_option(PARENT)
    page.wait_for_selector(".compare-first")
    assert page.inner_text(".compare-first") == "The runs did the same."
    assert page.url.endswith("#left=example%3Asums-addition&right=example%3Asums-addition")


def test_a_finished_run_and_a_stopped_one_are_kept(watched_page, slow_app_url):
    page = open_page(watched_page, slow_app_url)
    start(page, "Say something.", gen_length=1024, token_threshold=1)
    page.wait_for_function("() => window.refusion.player.text().includes('Say something')")
    wait(page, "d.state === 'live' && +d.events > 10")
    page.click("#stop")
    wait(page, "d.state === 'ready'")
    run_id = shown_trace(page).started.run_id
    until_kept(page, run_id)
    open_compare(page, slow_app_url)
    assert tree(page) == {run_id: None}
    assert "partial" in page.inner_text(".compare-tree .compare-facts")


def test_the_oldest_runs_without_a_name_go(watched_page, app_url):
    page = open_compare(watched_page, app_url)
    first, *rest = example_text("lists-numbered").splitlines()
    started = json.loads(first)
    texts = ["\n".join([json.dumps(started | {"run_id": f"run-{n}"}), *rest]) for n in range(62)]
    page.evaluate(
        """async (texts) => {
            for (const [n, text] of texts.entries()) await RefusionKept.put(text, { name: n ? "" : "named" });
        }""",
        texts,
    )
    kept = page.evaluate("RefusionKept.all().then(runs => runs.map(run => run.id))")
    assert sorted(kept) == sorted(f"run-{n}" for n in range(62) if n not in (1, 2))


def test_a_browser_without_a_database_still_compares_and_forks(browser, app_url):
    for page in watch(browser):
        page.add_init_script("IDBFactory.prototype.open = () => { throw new Error('refused'); };")
        open_compare(page, app_url, f"#left=example:{PARENT}&right=example:{PARENT}")
        assert "keeps no runs" in page.inner_text(".compare-tree")
        compared(page)
        open_page(page, app_url)
        start(page, "Compute 1 + 2.")
        message(page, "keeps no runs")
        wait(page, "d.state === 'ready'")


def test_in_chinese_on_a_phone(browser, app_url):
    for page in watch(browser, locale="zh-CN"):
        _, child, slot = fork(page, app_url)
        page.set_viewport_size({"width": 360, "height": 780})
        width = "document.documentElement.scrollWidth"
        assert page.inner_text("#compare") == "与父运行比较"
        assert page.evaluate(width) <= 360
        page.click("#compare")
        page.wait_for_selector(".compare-first")
        compared(page)
        assert f"槽 {slot} 只在右侧被选中" in page.inner_text(".compare-first")
        assert "由你强制" in page.inner_text(".compare-first")
        assert page.inner_text(f"li[data-run='{child.started.run_id}'] a") == "打开"
        assert page.evaluate(width) <= 360
