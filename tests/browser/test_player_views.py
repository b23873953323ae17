"""The player's ways to see a run: as text, by commit order, by forwards, in two orders; transport and links."""

from __future__ import annotations

import pytest

from refusion_core.events import Commit, Forward, InfillRound, Plan, Verify
from refusion_core.trace import fold_statistics
from tests.unit.test_player_modules import EXAMPLES

from .player_page import PlayerPage, golden_run, index_of, jsonl, scripted_run

CODE = next(path for path in EXAMPLES if path.name.startswith("code"))


@pytest.fixture(scope="module")
def golden() -> list:
    return golden_run("096")


def choose(player, option: str) -> None:
    button = player.page.locator(f"[data-option={option}]")
    button.click()
    player.settle()
    assert button.get_attribute("aria-pressed") == "true"


def pixel(player, selector: str, x: float, y: float) -> list[int]:
    """Mean colour of a canvas around a place in CSS pixels."""
    return player.page.evaluate(
        """([selector, x, y]) => {
            const canvas = document.querySelector(selector);
            const scale = canvas.width / canvas.offsetWidth;
            const copy = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
            const size = 6 * scale;
            copy.fillStyle = 'white';
            copy.fillRect(0, 0, size, size);
            copy.drawImage(canvas, x * scale - size / 2, y * scale - size / 2, size, size, 0, 0, size, size);
            const { data } = copy.getImageData(0, 0, size, size);
            const sums = [0, 0, 0];
            data.forEach((value, n) => { if (n % 4 < 3) sums[n % 4] += value; });
            return sums.map((sum) => (4 * sum) / data.length);
        }""",
        [selector, x, y],
    )


def is_green(colour: list[int]) -> bool:
    red, green, blue = colour
    return green > red + 50 and green > blue + 10


# Stage


def test_the_text_view_breaks_lines_and_keeps_the_indent(player):
    player.load(CODE.read_text(encoding="utf-8"))
    player.call("seek", 10**6)
    choose(player, "text")
    lines = player.page.evaluate(
        """() => {
            const grid = document.querySelector('.rfp-slots');
            const range = document.createRange();
            const rows = new Map();
            for (const cell of grid.querySelectorAll('.rfp-cell.is-committed')) {
                range.selectNodeContents(cell);
                const boxes = [...range.getClientRects()];
                const last = boxes[boxes.length - 1];
                const row = Math.round(last.bottom);
                rows.set(row, (rows.get(row) ?? '') + cell.textContent.split('\\n').pop());
            }
            return [...rows.values()];
        }"""
    )
    answer = player.text(".rfp-answer-text").split("\n")
    shown = [line.replace("·", " ").rstrip("↵").removesuffix("eos") for line in lines]
    assert [line.strip() for line in shown] == [line.strip() for line in answer]
    assert shown[1].startswith("    ") and answer[1].startswith("    ")


def test_the_views_show_the_same_tokens(player, golden):
    player.load(jsonl(golden))
    before = player.walk("cells")
    choose(player, "text")
    texts = player.walk("cells")
    assert [[cell[2].replace("\n", "") for cell in cells] for cells in texts] == [
        [cell[2] for cell in cells] for cells in before
    ]


def test_commit_order_colours_slots_by_their_iteration_and_says_it(player, golden):
    player.load(jsonl(golden))
    player.call("seek", 10**6)
    choose(player, "order")
    commits = [event for event in golden if isinstance(event, Commit)]
    tags = {n: slot[1] for n, slot in enumerate(player.slots())}
    for commit in commits:
        for slot in commit.slots:
            if tags[slot.slot] != "dropped after eos":
                assert tags[slot.slot] == f"iteration {commit.iteration + 1}"
    colours = player.page.evaluate(
        """() => [...document.querySelectorAll('.rfp-slot')].map(slot => {
            const cell = slot.querySelector('.rfp-cell.is-committed');
            return [slot.querySelector('.rfp-tag').textContent, cell && getComputedStyle(cell).backgroundColor];
        }).filter(([tag, colour]) => tag.startsWith('iteration') && colour)"""
    )
    by_tag = {}
    for tag, colour in colours:
        by_tag.setdefault(tag, set()).add(colour)
    assert all(len(found) == 1 for found in by_tag.values())
    assert len({next(iter(found)) for found in by_tag.values()}) == len(by_tag) > 1


# Two orders


def test_the_orders_panel_says_what_the_forward_could_see(player, golden):
    player.load(jsonl(golden))
    events = golden
    several = next(
        n
        for n, event in enumerate(events)
        if isinstance(event, Forward) and event.phase == "infill_predict" and event.groups > 1
    )
    committed = fold_statistics(events[:several]).committed_tokens + len(events[0].prompt_ids)
    player.seek(several)
    assert f"{events[several].groups} slots in parallel" in player.text(".rfp-mask-caption")
    assert f"{committed} cached tokens" in player.text(".rfp-mask-caption")
    assert "none sees another" in player.text(".rfp-mask-caption")
    player.seek(index_of(events, Forward))
    assert "plan: every mask sees the 0 cached tokens" in player.text(".rfp-mask-caption")


def test_hovering_the_buffer_marks_the_slot_everywhere(player, golden):
    player.load(jsonl(golden))
    player.call("seek", 10**6)
    player.settle()
    first = next(event for event in golden if isinstance(event, Commit)).slots[0].slot
    canvas = player.page.locator(".rfp-strips canvas")
    box = canvas.bounding_box()
    prompt, response = len(golden[0].prompt_ids), golden[0].response_length
    start = min(box["width"] * 0.2, max(34, box["width"] * prompt / (prompt + response)))
    canvas.hover(position={"x": start + 3, "y": 30})
    hovered = player.page.locator(".rfp-slot.is-hovered")
    assert hovered.get_attribute("data-slot") == str(first)


# Timeline


def test_the_timeline_shows_of_the_current_column_only_what_is_known(player):
    events = scripted_run(plan={0: 0.9, 4: 0.8, 8: 0.7, 12: 0.2}, given={5: 0.12})
    player.load(jsonl(events))
    place = {"selector": ".rfp-timeline canvas", "x": 52 + 20, "y": 9}
    player.seek(index_of(events, Plan))
    assert not is_green(pixel(player, **place))
    player.seek(index_of(events, Verify))
    assert not is_green(pixel(player, **place))
    player.seek(index_of(events, Commit))
    assert is_green(pixel(player, **place))
    player.seek(index_of(events, Plan, 1))
    assert is_green(pixel(player, **place))


def test_the_timeline_zooms_to_forwards(player):
    events = scripted_run(gen_length=8, given={1: 0.1, 2: 0.1, 3: 0.1, 5: 0.1})
    player.load(jsonl(events))
    choose(player, "forwards")
    canvas = player.page.locator(".rfp-timeline canvas")
    count = len([event for event in events if isinstance(event, Forward)])
    column = (canvas.bounding_box()["width"] - 52) / count
    for number in (2, 0, count - 1):
        canvas.click(position={"x": 52 + column * (number + 0.5), "y": 5})
        player.wait("cursor", index_of(events, Forward, number))
    canvas.hover(position={"x": 52 + column * 2.5, "y": 5})
    assert player.text(".rfp-timeline .rfp-readout").startswith("slot 0, forward 3 in iteration 1:")
    # An infill round fills as much of the cell as the run is long.
    round_ = events[index_of(events, InfillRound)]
    run = next(slot.run_after for slot in round_.slots if slot.slot == 0)
    place = index_of(events, InfillRound)
    player.seek(place)
    left = 52 + column * 3
    inside, outside = left + column * (run / 4) - 8, left + column * (run / 4) + 8
    assert is_green(pixel(player, ".rfp-timeline canvas", inside, 9)) or run == 0
    assert not is_green(pixel(player, ".rfp-timeline canvas", outside, 9))


# Cache


def test_the_ledger_tells_what_was_saved(player, golden):
    player.load(jsonl(golden))
    player.call("seek", 10**6)
    player.settle()
    stats = golden[-1].stats
    text = player.text(".rfp-cache > .rfp-caption")
    assert f"would have taken {stats.committed_tokens} forwards instead of {stats.forwards}" in text
    everything = stats.tokens_computed + stats.cache_hits
    assert f"computed {everything} tokens instead of {stats.tokens_computed}" in text


# Transport


def test_keys_step_by_forward_loop_and_open_the_help(player, golden):
    player.load(jsonl(golden))
    keys = player.page.keyboard
    player.page.locator("#player").focus()
    for number in range(3):
        keys.press(".")
        player.wait("cursor", index_of(golden, Forward, number))
    keys.press(",")
    player.wait("cursor", index_of(golden, Forward, 1))
    keys.press("l")
    loop = player.page.get_by_label("Loop")
    player.settle()
    assert loop.get_attribute("aria-pressed") == "true"
    player.call("setSpeed", 1000)
    player.seek(len(golden) - 3)
    player.call("play")
    player.page.wait_for_function(
        "() => +document.getElementById('player').dataset.cursor < 5", timeout=15000
    )
    keys.press("l")
    player.call("pause")
    keys.press("?")
    dialog = player.page.locator(".rfp-help")
    assert dialog.is_visible() and "one forward" in dialog.inner_text()
    keys.press("Escape")
    assert not dialog.is_visible()


def test_f_follows_a_live_run(player, golden):
    lines = jsonl(golden).splitlines()
    player.call("begin", {"label": "x"})
    player.call("push", lines[:6])
    player.wait("cursor", 5)
    player.page.locator("#player").focus()
    player.page.keyboard.press("f")
    player.call("push", lines[6:9])
    player.wait("events", 9)
    assert player.data("cursor") == "5"
    player.page.keyboard.press("f")
    player.wait("cursor", 8)


def test_an_address_opens_at_an_iteration_and_the_link_gives_it(new_player, golden):
    page = new_player
    page.open(jsonl(golden))
    page.page.evaluate("() => { location.hash = '#iter=2'; }")
    page.wait("iteration", 1)
    assert page.data("playing") == "false"
    page.page.get_by_label("Forward one iteration").click()
    page.wait("iteration", 2)
    page.page.evaluate(
        "() => { navigator.clipboard.writeText = text => { window.copied = text; return Promise.resolve(); } }"
    )
    page.page.get_by_label("Copy a link to this iteration").click()
    page.page.wait_for_function("() => window.copied")
    link = page.page.evaluate("() => window.copied")
    assert link.endswith("#iter=3")
    page.page.wait_for_function(
        "() => document.querySelector('.rfp-status').innerText === 'Link copied'"
    )
    page.page.goto("about:blank")
    page.page.goto(link)
    page.wait("iteration", 2)
    assert page.data("cursor") == str(index_of(golden, Plan, iteration=2))


@pytest.mark.parametrize("address", ["#iter=999", "#iter=x", "#iter=0", "#other"])
def test_an_address_that_names_no_iteration_plays_from_the_start(new_player, golden, address):
    new_player.open(jsonl(golden))
    url = new_player.page.url.split("#")[0]
    new_player.page.goto("about:blank")
    new_player.page.goto(url + address)
    new_player.wait("playing", "true")


@pytest.fixture
def new_player(browser, tmp_path):
    page = PlayerPage(browser, tmp_path)
    yield page
    page.context.close()
    assert page.problems == []


# What if


def test_another_threshold_shows_what_the_iteration_would_have_chosen(player):
    events = scripted_run(plan={0: 0.9, 4: 0.8, 8: 0.7, 12: 0.2}, given={5: 0.12})
    player.load(jsonl(events))
    player.seek(index_of(events, Verify))

    def told():
        player.settle()
        return player.text(".rfp-whatif-text")

    assert "chooses slot 0 (0.90), slot 1 (0.80) and slot 2 (0.70)" in told()
    assert (
        "stops in slot 1" in told()
        and "0.12 ≤ 0.30" in told()
        and "1 whole slot accepted" in told()
    )
    slot, token = player.page.locator(".rfp-whatif input").all()
    slot.fill("0.85")
    assert "would choose slot 0 (0.90)." in told() and "1 whole slot accepted" in told()
    assert "in 2 of 3" in player.text(".rfp-whatif > .rfp-caption")
    player.page.get_by_role("button", name="as recorded").click()
    token.fill("0.1")
    assert "All drafts pass: 3 whole slots accepted." in told()
    slot.fill("0.1")
    assert "How slot 3 would be judged was not recorded" in told()


# Import


def test_a_dropped_trace_plays_and_a_dropped_picture_is_refused(player, golden):
    drop = """text => {
        const data = new DataTransfer();
        data.items.add(new File([text], 'run.trace.jsonl'));
        const stage = document.querySelector('.rfp-stage');
        stage.dispatchEvent(new DragEvent('dragover', { dataTransfer: data, bubbles: true, cancelable: true }));
        window.offered = !document.querySelector('.rfp-drop').hidden;
        stage.dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }));
    }"""
    player.page.evaluate(drop, jsonl(golden))
    player.wait("events", len(golden))
    assert player.page.evaluate("() => window.offered")
    assert not player.page.locator(".rfp-drop").is_visible()
    player.page.evaluate("() => player.pause()")
    player.seek(5)
    player.page.evaluate(drop, "\x89PNG\n\x1a")
    player.page.wait_for_selector(".rfp-notice:not([hidden])")
    assert "run_started" in player.text(".rfp-notice")
    assert player.data("state") == "ready" and player.data("cursor") == "5"
    assert player.data("events") == str(len(golden))
