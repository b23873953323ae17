"""The player draws what the events say: every panel and state, live and recorded, whatever the tokens."""

from __future__ import annotations

import json
import random
import re

import pytest

from refusion_core.config import AutoregressiveConfig, MaskedDiffusionConfig
from refusion_core.events import (
    CacheState,
    Commit,
    Dependency,
    Forward,
    InfillRound,
    Plan,
    RunFinished,
    TokenText,
    Verify,
)
from refusion_core.trace import fold_statistics

from .player_page import (
    PlayerPage,
    baseline_run,
    golden_run,
    index_of,
    jsonl,
    scripted_run,
)

PENDING = {"masked", "candidate", "drafted", "first", "accepted", "rejected", "behind", "forced"}


@pytest.fixture
def new_page(browser, tmp_path):
    """Makes pages; none may log an error or ask the network for anything."""
    pages = []

    def make(**context) -> PlayerPage:
        pages.append(PlayerPage(browser, tmp_path, **context))
        return pages[-1]

    yield make
    problems = [problem for page in pages for problem in page.problems]
    for page in pages:
        page.context.close()
    assert problems == []


@pytest.fixture(scope="module")
def broken_second() -> list:
    """Slots 0 to 2 chosen; slot 1 breaks at its second token (0.12); slot 3 is below the threshold."""
    return scripted_run(plan={0: 0.9, 4: 0.8, 8: 0.7, 12: 0.2}, given={5: 0.12})


@pytest.fixture(scope="module")
def infilled() -> list:
    """Two chosen slots, none accepted whole: infill in rounds, with forced tokens."""
    return scripted_run(gen_length=8, given={1: 0.1, 2: 0.1, 3: 0.1, 5: 0.1})


@pytest.fixture(scope="module")
def ended_by_eos() -> list:
    """Slot 2 of 6 brings eos in the first iteration; slots before it are decoded later."""
    return scripted_run(
        gen_length=24, serial_blocks=2, target={9: 1}, plan={0: 0.2, 4: 0.3, 8: 0.9}, to_text=str
    )


@pytest.fixture(scope="module")
def golden() -> list:
    """Case 096: out of order, infill of one slot and of several, whole prefixes, eos; with dependency."""
    return golden_run("096")


# 1. Stage


def test_the_stage_shows_every_state_with_its_word(player, broken_second):
    events = broken_second
    player.load(jsonl(events))
    assert {state for state, _, _ in player.cells()} == {"masked"}
    player.seek(index_of(events, Plan))
    assert player.slots() == [
        ["chosen", "chosen 0.90"],
        ["chosen", "chosen 0.80"],
        ["chosen", "chosen 0.70"],
        ["candidate", "0.20"],
    ]
    cells = player.cells()
    assert [cell[:2] for cell in cells[:4]] == [["drafted", "plan"]] * 4
    assert [cell[0] for cell in cells[12:]] == ["candidate"] * 4
    assert cells[0][2] == "def"
    player.seek(index_of(events, Verify))
    assert [slot[0] for slot in player.slots()] == ["passed", "returned", "returned", "candidate"]
    assert player.slots()[1][1] == "back to masks · 0.12 ≤ 0.30"
    cells = player.cells()
    assert [cell[:2] for cell in cells[:2]] == [["first", "plan"], ["accepted", "verified"]]
    assert [cell[0] for cell in cells[4:8]] == ["first", "rejected", "behind", "behind"]
    player.seek(index_of(events, Commit))
    assert [slot[0] for slot in player.slots()] == ["fresh", "returned", "returned", "candidate"]
    cells = player.cells()
    assert [cell[:2] for cell in cells[:4]] == [["committed", "plan"]] + [
        ["committed", "verified"]
    ] * 3
    assert {cell[0] for cell in cells[4:12]} == {"masked"}
    player.seek(index_of(events, Verify))
    struck = player.page.evaluate(
        "() => getComputedStyle(document.querySelector('.is-rejected')).textDecorationLine"
    )
    assert struck == "line-through"


def test_infill_shows_runs_forced_tokens_and_the_slowest_slot(player, infilled):
    events = infilled
    player.load(jsonl(events))
    player.seek(index_of(events, InfillRound))
    first = events[index_of(events, InfillRound)]
    runs = {slot.slot: slot.run_after for slot in first.slots}
    assert player.slots()[0] == ["infill", f"infill {runs[0]} / 4 · 0.10 ≤ 0.30"]
    assert player.cells()[1][:2] == ["forced", "forced"]
    assert player.cells()[4:8][-1][:2] == ["accepted", "infill"]
    player.seek(index_of(events, Forward, phase="infill_predict"))
    assert [cell[0] for cell in player.cells()[:4]] == ["first", "masked", "masked", "masked"]
    player.seek(index_of(events, Commit))
    origins = [cell[1] for cell in player.cells()]
    assert origins == [
        origin for slot in events[index_of(events, Commit)].slots for origin in slot.origins
    ]


def test_nothing_behind_an_eos_is_ever_pending(player, ended_by_eos, golden):
    for events in (ended_by_eos, golden):
        start, eos_id = events[0].response_start, events[0].model.eos_id
        player.load(jsonl(events))
        end = None
        pictures = player.walk("cells")
        for place, event in enumerate(events):
            if isinstance(event, Commit):
                found = [
                    position - start
                    for slot in event.slots
                    for token, position in zip(slot.tokens, slot.positions, strict=True)
                    if token == eos_id
                ]
                end = min([*found, *([] if end is None else [end])], default=None)
            if end is not None:
                states = {state for state, _, _ in pictures[place][end + 1 :]}
                assert not states & PENDING, (place, states)
        assert end is not None


def test_the_last_picture_is_the_output_of_the_run(player, golden, ended_by_eos):
    for events in (golden, ended_by_eos):
        player.load(jsonl(events))
        player.call("seek", len(events))
        player.settle()
        finished, start = events[-1], events[0].response_start
        pairs = zip(finished.output_positions, finished.output_ids, strict=True)
        expected = {position - start: token for position, token in pairs if position >= start}
        texts = {
            token.id: token.text for e in events if e.type == "vocabulary" for token in e.tokens
        }
        shown = {
            offset: text
            for offset, (state, _, text) in enumerate(player.cells())
            if state in ("committed", "cut")
        }
        texts[events[0].model.eos_id] = "eos"
        assert shown == {
            offset: texts.get(token, f"#{token}") for offset, token in expected.items()
        }


def test_an_answer_of_eos_alone_is_called_empty(player):
    events = scripted_run(target={0: 1}, to_text=lambda ids: "")
    player.load(jsonl(events))
    player.call("seek", len(events))
    player.settle()
    assert "Empty answer" in player.text(".rfp-answer-text")
    assert "answer is empty" in player.text(".rfp-narration-text")
    assert [slot[0] for slot in player.slots()] == ["committed", "dropped", "dropped", "dropped"]


def test_the_text_of_the_answer_comes_at_the_end(player, ended_by_eos):
    player.load(jsonl(ended_by_eos))
    player.seek(len(ended_by_eos) - 2)
    assert player.text(".rfp-answer-text") == "Shown when the run ends."
    player.seek(len(ended_by_eos) - 1)
    assert player.text(".rfp-answer-text") == ended_by_eos[-1].text


def test_the_inspector_tells_where_each_number_comes_from(player, broken_second):
    events = broken_second
    player.load(jsonl(events))
    player.seek(index_of(events, Verify))
    player.page.hover('.rfp-cell[data-offset="5"]')
    card = player.text(".rfp-inspector")
    verify = events[index_of(events, Verify)]
    plan = events[index_of(events, Plan)]
    assert "0.12 ≤ 0.30" in card and "rejected" in card
    assert f"position {events[0].response_start + 5}" in card
    assert f"id {verify.slots[1].tokens[1]}" in card
    assert f"forward {verify.forward + 1}" in card and f"forward {plan.forward + 1}" in card
    assert player.page.locator(".rfp-alternatives li").count() == len(plan.slots[1].alternatives[1])
    player.call("seek", len(events))
    player.settle()
    commit = events[index_of(events, Commit)]
    player.page.hover('.rfp-cell[data-offset="1"]')
    assert f"cache index {commit.slots[0].cache_indexes[1]}" in player.text(".rfp-inspector")


def test_ids_without_a_tokenizer_are_shown_as_numbers(player):
    events = scripted_run(describe=None, prompt_text=None)
    player.load(jsonl(events))
    player.call("seek", len(events))
    player.settle()
    assert player.cells()[0][2] == f"#{events[index_of(events, Commit)].slots[0].tokens[0]}"
    assert player.text(".rfp-prompt-text") == "#9 #8 #7"


def test_hovering_a_slot_highlights_it_everywhere(player, golden):
    player.load(jsonl(golden))
    player.seek(index_of(golden, Dependency))
    slot = golden[index_of(golden, Plan)].slots[0].slot
    player.page.hover(f'.rfp-score[data-slot="{slot}"]')
    assert player.page.locator(".rfp-slot.is-hovered").get_attribute("data-slot") == str(slot)
    assert player.page.locator(".rfp-timeline .rfp-row-mark").is_visible()
    assert player.page.locator(".rfp-dependency .rfp-row-mark").is_visible()


# 2. Timeline


def pixel(player: PlayerPage, selector: str, x: float, y: float) -> list[int]:
    return player.page.evaluate(
        """([selector, x, y]) => { const canvas = document.querySelector(selector);
            const copy = new OffscreenCanvas(canvas.width, canvas.height);
            const context = copy.getContext('2d', { willReadFrequently: true });
            context.drawImage(canvas, 0, 0);
            const ratio = canvas.width / parseFloat(canvas.style.width);
            return Array.from(context.getImageData(x * ratio, y * ratio, 1, 1).data); }""",
        [selector, x, y],
    )


def is_green(colour: list[int]) -> bool:
    """The colour of what is committed, also where the stripes of infill lie over it."""
    red, green, blue, _ = colour
    return green > red + 60 and green > blue + 15


def test_the_timeline_marks_commits_and_a_click_goes_to_the_iteration(player, broken_second):
    events = broken_second
    player.load(jsonl(events))
    canvas = player.page.locator(".rfp-timeline canvas")
    width = canvas.bounding_box()["width"]
    iterations = 1 + max(e.iteration for e in events if e.iteration is not None)
    column, row = (width - 52) / iterations, 18
    for number, commit in enumerate(e for e in events if isinstance(e, Commit)):
        for slot in commit.slots:
            at = (52 + column * number + 8, row * slot.slot + 9)
            assert is_green(pixel(player, ".rfp-timeline canvas", *at))
    never = (52 + 8, row * 3 + 9)  # slot 3 was below the threshold in the first plan
    assert not is_green(pixel(player, ".rfp-timeline canvas", *never))
    canvas.click(position={"x": 52 + column * 1.5, "y": 5})
    player.wait("cursor", index_of(events, Plan, iteration=1))
    assert player.data("iteration") == "1"
    canvas.hover(position={"x": 52 + column / 2, "y": row + 9})
    readout = player.text(".rfp-timeline .rfp-readout")
    assert readout == "slot 1, iteration 1: confidence 0.80, chosen, back to masks"


# 3. Cache ledger


def test_the_cache_totals_follow_the_cursor_and_a_bar_is_a_way_to_its_forward(player, infilled):
    events = infilled
    player.load(jsonl(events))
    for place, shown in enumerate(player.walk("totals")):
        seen = events[: place + 1]
        forwards = [event for event in seen if isinstance(event, Forward)]
        totals = (
            sum(event.cache_hits for event in forwards),
            sum(event.tokens_computed for event in forwards),
            sum(event.discarded for event in seen if isinstance(event, CacheState)),
        )
        hits, computed, discarded = totals
        rate = round(100 * hits / (hits + computed)) if hits + computed else 0
        assert shown == (
            f"reused {hits} ({rate}\N{NO-BREAK SPACE}%) · computed {computed} · discarded {discarded}"
        )
    bars = player.page.locator(".rfp-bar-box canvas")
    count = len([event for event in events if isinstance(event, Forward)])
    each = min(110, bars.bounding_box()["width"] / count)
    bars.click(position={"x": each * 2.5, "y": 70})
    player.wait("cursor", index_of(events, Forward, 2))
    bars.hover(position={"x": each * 0.5, "y": 70})
    assert player.text(".rfp-cache .rfp-readout").startswith(
        "forward 1 · plan: 3 of the prompt and 8 masks computed, 0 reused"
    )


# 4. Dependency


def test_the_dependency_is_that_of_the_plan_and_says_what_it_is(player, golden):
    player.load(jsonl(golden))
    number = index_of(golden, Dependency)
    player.seek(number)
    event = golden[number]
    assert "attention mass in the plan forward (mean over layers and heads)" in player.text(
        ".rfp-dependency .rfp-caption"
    )
    canvas = player.page.locator(".rfp-dependency canvas")
    columns = len(event.columns) + 1
    column = (canvas.bounding_box()["width"] - 46) / columns
    canvas.hover(position={"x": 46 + column * 1.5, "y": 20 + 8})
    expected = f"slot {event.rows[0]} on slot {event.columns[0]}: {event.matrix[0][0]:.4f}"
    assert player.text(".rfp-dependency .rfp-readout") == expected


def test_a_run_without_dependency_says_so(player, infilled):
    player.load(jsonl(infilled))
    player.seek(index_of(infilled, Plan))
    assert player.page.locator(".rfp-dependency .rfp-empty").is_visible()


# 5. Scoreboard


def test_the_scoreboard_ranks_the_plan_and_tells_what_became_of_it(player, broken_second):
    events = broken_second
    player.load(jsonl(events))

    def rows():
        return [
            row.split("\n") for row in player.page.locator(".rfp-score:visible").all_inner_texts()
        ]

    player.seek(index_of(events, Plan))
    assert rows() == [
        ["slot 0", "0.90", "+0.40", "chosen"],
        ["slot 1", "0.80", "+0.30", "chosen"],
        ["slot 2", "0.70", "+0.20", "chosen"],
        ["slot 3", "0.20", "−0.30", "below"],
    ]
    player.seek(index_of(events, Verify))
    outcomes = [row[3] for row in rows()]
    assert outcomes == ["accepted", "rejected", "behind the break", "below"]
    player.seek(index_of(events, Commit))
    assert rows()[0][3] == "committed"
    player.seek(index_of(events, Plan, 1))
    assert rows()[-1] == ["slot 0", "iteration 1"]
    assert player.text(".rfp-scoreboard .rfp-aside") == "threshold 0.50"


# 6. Narration


def test_narration_uses_the_real_numbers_in_both_languages(player, broken_second):
    events = broken_second
    player.load(jsonl(events))
    texts = {}
    for language in ("en", "zh"):
        player.call("setLang", language)
        for kind in (Plan, Verify, Commit, RunFinished):
            player.seek(index_of(events, kind))
            texts[language, kind] = player.text(".rfp-narration-text")
    broken = events[index_of(events, Verify)].slots[1].tokens[1]
    word = next(
        t.text for e in events if e.type == "vocabulary" for t in e.tokens if t.id == broken
    )
    for language in ("en", "zh"):
        assert "0.90" in texts[language, Plan] and "0.50" in texts[language, Plan]
        assert "0.12 ≤ 0.30" in texts[language, Verify]
        assert word in texts[language, Verify]
        assert "3–6" in texts[language, Commit]  # cache indexes of slot 0
    assert "Slot 0 is accepted whole; slots 1 and 2 go back to the masks." in texts["en", Verify]
    assert "槽 0 整槽接受；槽 1、2 退回掩码。" in texts["zh", Verify]
    player.call("setLang", "en")
    player.seek(index_of(events, Verify))
    assert "strictly above" in player.page.locator(".rfp-term").first.get_attribute("title")


def test_every_event_has_a_sentence_without_holes(player, golden, infilled, ended_by_eos):
    for events in (golden, infilled, ended_by_eos):
        for language in ("en", "zh"):
            player.load(jsonl(events))
            player.call("setLang", language)
            for place, said in enumerate(player.walk("text")):
                for hole in ("undefined", "NaN", "null", "say.", "[object", "{"):
                    assert hole not in said, (place, hole, said)


# Runs of single tokens: nothing on screen may speak of thresholds that they don't have.

_TOKEN_RUNS = {
    "ar": AutoregressiveConfig(gen_length=8, slot_size=4),
    "count": MaskedDiffusionConfig(gen_length=8, tokens_per_step=2),
    "threshold": MaskedDiffusionConfig(gen_length=8, confidence_threshold=0.4),
}


@pytest.mark.parametrize("name", _TOKEN_RUNS)
def test_a_baseline_s_run_is_told_by_its_own_rule(player, name):
    events = baseline_run(_TOKEN_RUNS[name])
    for language in ("en", "zh"):
        player.load(jsonl(events))
        player.call("setLang", language)
        for place, said in enumerate(player.walk("text")):
            for hole in ("undefined", "NaN", "null", "say.", "[object", "{"):
                assert hole not in said, (place, hole, said)
            if isinstance(events[place], Forward):
                assert "drafted" not in said and "草稿 token" not in said, (place, said)
            if name != "threshold":
                assert not re.search(r"(threshold|above|阈值|高于) 0\.00", said), (place, said)
    player.call("setLang", "en")
    player.seek(index_of(events, Plan))
    outcomes = set(player.page.locator(".rfp-score-outcome:visible").all_inner_texts())
    threshold = player.text(".rfp-scoreboard .rfp-aside")
    if name == "ar":
        assert (outcomes, threshold) == ({"chosen"}, "")
    elif name == "count":
        assert (outcomes, threshold) == ({"chosen", "less sure"}, "")
    else:
        assert "less sure" not in outcomes
        assert threshold == "threshold 0.40"


def test_autoregressive_tokens_say_whether_a_mask_or_the_token_before_was_asked(player):
    events = baseline_run(_TOKEN_RUNS["ar"])
    player.load(jsonl(events))
    player.seek(len(events) - 1)
    committed = [origin for state, origin, _ in player.cells() if state == "committed"]
    origins = [slot.origins[0] for e in events if isinstance(e, Commit) for slot in e.slots]
    assert committed == origins
    assert {"plan", "next"} == set(committed)


@pytest.mark.parametrize(
    "probability, threshold, shown",
    [
        (0.12, 0.3, "0.12 ≤ 0.30"),
        (0.2996, 0.3, "0.2996 ≤ 0.30"),
        (0.998, 0.9999, "0.998 ≤ 0.9999"),
        (0.0004, 0.3, "0.0004 ≤ 0.30"),
        (0.002, 0.004, "0.002 ≤ 0.004"),
    ],
)
def test_a_refusal_is_told_with_digits_that_show_it(player, probability, threshold, shown):
    events = scripted_run(gen_length=4, given={1: probability}, token_threshold=threshold)
    player.load(jsonl(events))
    player.seek(index_of(events, Verify))
    assert player.slots()[0][1] == f"infill 1 / 4 · {shown}"


# 7. Headline numbers


def test_the_fold_equals_the_python_statistics_at_every_event(
    player, golden, infilled, ended_by_eos
):
    for events in (golden, infilled, ended_by_eos):
        player.load(jsonl(events))
        for place, shown in enumerate(player.walk("statistics")):
            expected = fold_statistics(events[: place + 1])
            assert shown.pop("shown") == str(expected.committed_tokens)
            assert shown == vars(expected), place


def test_the_headline_ends_at_the_recorded_statistics(player, golden):
    player.load(jsonl(golden))
    player.call("seek", len(golden))
    player.settle()
    stats = golden[-1].stats
    shown = {
        name: player.text(f'[data-number="{name}"]')
        for name in ("tpf", "hits", "forwards", "committed")
    }
    assert shown == {
        "tpf": f"{stats.tokens_per_forward + 1e-9:.2f}",
        "hits": f"{100 * stats.cache_hit_rate + 1e-9:.0f}\u00a0%",
        "forwards": str(stats.forwards),
        "committed": str(stats.committed_tokens),
    }


# 8. Transport


def test_seeking_anywhere_shows_what_stepping_there_showed(player, golden):
    """Key frames and the fold agree, forwards and backwards."""
    player.load(jsonl(golden))
    pictures = player.walk("picture")
    order = list(range(len(golden)))
    random.Random(1).shuffle(order)
    for place, picture in zip(order, player.walk("picture", order), strict=True):
        assert picture == pictures[place], place


def test_playing_reaches_the_end_and_play_starts_again(player, infilled):
    player.load(jsonl(infilled))
    player.call("setSpeed", 40)
    player.page.get_by_role("button", name="Play", exact=True).click()
    player.wait("cursor", len(infilled) - 1)
    player.wait("playing", "false")
    player.call("setSpeed", 0.5)
    player.call("play")
    assert (player.data("cursor"), player.data("playing")) == ("0", "true")
    player.page.get_by_role("button", name="Pause", exact=True).click()
    assert player.data("playing") == "false"


def test_a_trace_in_the_page_plays_by_itself(new_page, infilled):
    page = new_page().open(jsonl(infilled))
    page.wait("state", "ready")
    assert page.data("playing") == "true"
    page.page.wait_for_function("() => document.getElementById('player').dataset.cursor > 0")


def test_a_run_of_fifteen_iterations_plays_in_a_readable_time(new_page):
    events = scripted_run(gen_length=60, plan={4 * slot: 0.1 for slot in range(15)})
    assert events[-1].stats.iterations == 15
    page = new_page()
    page.page.clock.install()
    page.open(jsonl(events))
    page.page.clock.run_for(15_000)
    assert page.data("playing") == "true"
    page.page.clock.run_for(10_000)
    assert (page.data("playing"), page.data("cursor")) == ("false", str(len(events) - 1))


def test_buttons_and_scrub_bar_move_the_cursor(player, broken_second):
    events = broken_second
    player.load(jsonl(events))
    button = player.page.get_by_role("button", name="Forward one event")
    button.click()
    assert events[1].type == "vocabulary"  # shows nothing, so steps go over it
    assert player.data("cursor") == "2"
    player.page.get_by_role("button", name="Back one event").click()
    assert player.data("cursor") == "0"
    player.page.get_by_role("button", name="Forward one iteration").click()
    assert player.data("cursor") == str(index_of(events, Plan))
    player.page.get_by_role("button", name="Forward one iteration").click()
    assert player.data("cursor") == str(index_of(events, Plan, iteration=1))
    player.page.get_by_role("button", name="Back one iteration").click()
    assert player.data("cursor") == str(index_of(events, Plan))
    scrub = player.page.get_by_role("slider", name="Position in the run")
    box = scrub.bounding_box()
    scrub.click(position={"x": box["width"] - 2, "y": box["height"] / 2})
    assert player.data("cursor") == str(len(events) - 1)
    player.settle()
    assert player.text(".rfp-status") == "End"


def test_the_keyboard_drives_the_player_but_not_while_typing(player, broken_second):
    events = broken_second
    player.load(jsonl(events))
    root = player.page.locator("#player")
    root.focus()
    expected = [
        ("ArrowRight", 2),
        ("ArrowLeft", 0),
        ("Shift+ArrowRight", index_of(events, Plan)),
        ("End", len(events) - 1),
        ("Home", 0),
    ]
    for key, cursor in expected:
        player.page.keyboard.press(key)
        assert player.data("cursor") == str(cursor), key
    player.page.keyboard.press("+")
    player.settle()
    assert player.page.locator(".rfp-speed").input_value() == "2"
    player.page.keyboard.press("-")
    player.page.keyboard.press("Space")
    assert player.data("playing") == "true"
    player.page.keyboard.press("Space")
    assert player.data("playing") == "false"
    before = player.data("cursor")
    player.page.evaluate(
        "() => { const field = document.createElement('input'); field.id = 'typed';"
        "document.getElementById('player').append(field); field.focus(); }"
    )
    player.page.keyboard.press("ArrowRight")
    player.page.keyboard.press("Space")
    assert (player.data("cursor"), player.data("playing")) == (before, "false")


def test_tokens_can_be_inspected_from_the_keyboard(player, broken_second):
    player.load(jsonl(broken_second))
    player.seek(index_of(broken_second, Verify))
    player.page.locator('.rfp-cell[data-offset="0"]').focus()
    for _ in range(5):
        player.page.keyboard.press("ArrowDown")
    assert "0.12 ≤ 0.30" in player.text(".rfp-inspector")
    player.page.keyboard.press("Escape")
    assert not player.page.locator(".rfp-inspector").is_visible()


def test_every_control_has_a_name_and_shows_focus(player, infilled):
    player.load(jsonl(infilled))
    unnamed = player.page.evaluate(
        """() => Array.from(document.querySelectorAll('#player button, #player select, #player input'))
            .filter(node => !node.hidden && !(node.getAttribute('aria-label') || node.textContent.trim()))
            .map(node => node.outerHTML)"""
    )
    assert unnamed == []
    player.page.locator("body").press("Tab")
    player.page.keyboard.press("Tab")
    outline = player.page.evaluate("() => getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"


# Live


def test_a_live_run_waits_follows_and_can_be_left_and_caught_up(player, infilled):
    lines = jsonl(infilled).splitlines()
    player.call("begin", {"label": "sum of squares"})
    assert player.data("state") == "waiting"
    player.settle()
    assert "Waiting for the first event" in player.text(".rfp-message")
    assert "sum of squares" in player.text(".rfp-message")
    player.call("push", "\n".join(lines[:6]))
    assert (player.data("state"), player.data("cursor")) == ("live", "5")
    player.settle()
    assert player.page.get_by_role("button", name="Following").is_visible()
    player.call("seek", 2)
    player.call("push", [json.loads(line) for line in lines[6:9]])
    assert (player.data("cursor"), player.data("events")) == ("2", "9")
    player.settle()
    player.page.get_by_role("button", name="Catch up").click()
    assert player.data("cursor") == "8"
    player.call("push", lines[9:])
    player.call("finish")
    assert (player.data("state"), player.data("cursor")) == ("ready", str(len(lines) - 1))
    assert player.data("playing") == "false"
    exported = [json.loads(line) for line in player.call("text").splitlines()]
    assert exported == [json.loads(line) for line in lines]


def test_a_live_run_can_be_watched_at_a_readable_pace(player, infilled):
    lines = jsonl(infilled).splitlines()
    player.call("setSpeed", 0.1)
    player.call("begin", {"label": "x", "follow": False})
    player.call("push", "\n".join(lines[:8]))
    assert player.data("cursor") == "0"
    player.call("setSpeed", 40)
    player.wait("cursor", 7)
    assert player.data("playing") == "true"
    player.call("push", "\n".join(lines[8:]))
    player.call("finish")
    player.wait("cursor", len(lines) - 1)
    player.wait("playing", "false")


def test_duplicates_are_ignored_and_a_gap_is_asked_for(new_page, infilled):
    page = new_page().open()
    lines = jsonl(infilled).splitlines()
    page.remount(gaps=True)
    page.call("begin", {})
    page.call("push", lines[:4])
    page.call("push", lines[2:5])
    assert page.data("events") == "5"
    page.call("begin", {})
    page.call("push", lines[3:5])
    assert (page.data("events"), page.page.evaluate("() => gaps.pop()")) == ("0", 0)
    page.call("push", lines[:3])
    assert page.data("events") == "5"
    page.call("push", lines[7:9])
    page.call("push", lines[9:10])
    assert page.data("events") == "5"
    assert page.page.evaluate("() => gaps") == [5]
    page.call("push", lines[4:7])
    assert page.data("events") == "10"
    page.call("push", lines[10:])
    page.call("finish")
    assert page.call("text") == jsonl(infilled)


def test_a_failed_run_keeps_what_it_showed(player, infilled):
    player.call("begin", {})
    player.call("push", jsonl(infilled[:7]))
    player.call("finish", {"error": "out of memory"})
    assert player.data("state") == "failed"
    player.settle()
    assert "out of memory" in player.text(".rfp-notice")
    assert player.data("events") == "7"
    assert player.page.locator(".rfp-slot").count() == 2


def test_a_stopped_run_says_where(player):
    events = scripted_run(plan={0: 0.1, 4: 0.2, 8: 0.3, 12: 0.4}, stop_after=5)
    player.load(jsonl(events))
    player.call("seek", len(events))
    player.settle()
    assert "Stopped by you at iteration 3" in player.text(".rfp-narration-text")
    assert {tuple(slot) for slot in player.slots()} == {("committed", ""), ("open", "not decoded")}


# Traces that are not as they should be


def test_a_damaged_line_is_named_and_the_rest_is_shown(player, infilled):
    lines = jsonl(infilled).splitlines()
    lines[4] = lines[4][:40]
    player.load("\n".join(lines))
    assert player.data("state") == "ready"
    assert player.data("events") == str(len(lines) - 1)
    assert player.text(".rfp-notice").startswith("Line 5 is damaged (not JSON)")
    player.call("seek", len(lines))
    player.settle()
    assert {cell[0] for cell in player.cells()} == {"committed"}


@pytest.mark.parametrize(
    "change, message",
    [
        ({"type": "constructor"}, "unknown event type"),
        ({"slots": None}, "field plan.slots"),
        ({"slots": [None]}, "field plan.slots[0]"),
        ({"slots": [{"slot": 99}]}, "field plan.slots[0].slot"),
        ({"seq": -1}, "field seq"),
        ({"chosen_slots": ["x"]}, "field plan.chosen_slots[0]"),
        (
            {"type": "dependency", "rows": [0], "columns": [0], "matrix": [[]], "prompt": [0]},
            "field dependency.matrix",
        ),
    ],
)
def test_damaged_fields_are_named(player, infilled, change, message):
    lines = jsonl(infilled).splitlines()
    place = index_of(infilled, Plan)
    lines[place] = json.dumps(json.loads(lines[place]) | change)
    player.load("\n".join(lines))
    assert f"Line {place + 1} is damaged ({message})" in player.text(".rfp-notice")
    assert len(player.walk("picture")) == len(lines) - 1


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "The trace is empty"),
        ("not a trace\n", "Line 1 is damaged (not JSON)"),
        ("[]\n", "There is no run_started event"),
    ],
)
def test_what_is_no_trace_is_refused_with_a_reason(player, text, message):
    player.page.evaluate("text => player.load(text)", text)
    assert player.data("state") == "failed"
    assert message in player.text(".rfp-notice")


def test_a_newer_schema_is_refused(player, infilled):
    lines = jsonl(infilled).splitlines()
    lines[0] = json.dumps(json.loads(lines[0]) | {"schema_version": 2})
    player.page.evaluate("text => player.load(text)", "\n".join(lines))
    assert player.data("state") == "failed"
    assert "schema version 2" in player.text(".rfp-notice")


def test_an_absurd_size_does_not_take_the_page_down(player, infilled):
    lines = jsonl(infilled).splitlines()
    huge = {"response_length": 4 * 10**9, "slot_count": 10**9}
    lines[0] = json.dumps(json.loads(lines[0]) | huge)
    player.page.evaluate("text => player.load(text)", "\n".join(lines))
    assert "the player shows up to" in player.text(".rfp-notice")


# Tokens are text

HOSTILE = [
    "<script>window.hacked=1</script>",
    "<img src=x onerror='window.hacked=1'>",
    "${window.hacked=1}",
    "{{window.hacked=1}}",
    "{n}",
    "[plan]",
    "\"'><b>",
    "\u202eabc",
    "a\u0000b",
    "\u200b",
    "",
    "   ",
    "x" * 10_000,
]


def test_any_token_is_text_everywhere(player):
    def describe(ids):
        return [TokenText(id=i, text=HOSTILE[i - 3] if i >= 3 else f"s{i}") for i in ids]

    target = {k: 3 + k for k in range(13)}
    events = scripted_run(
        target=target,
        given={k: 0.1 for k in range(1, 16)},
        describe=describe,
        prompt_text="<script>window.hacked=1</script>${window.hacked=1}",
        to_text=lambda ids: "<script>window.hacked=1</script>",
    )
    player.load(jsonl(events))
    for place in range(len(events)):
        player.seek(place)
        player.page.locator('.rfp-cell[data-offset="1"]').hover()
    texts = [cell[2] for cell in player.cells()[:13]]
    assert texts[:7] == HOSTILE[:7]
    assert texts[7:12] == ["⟨U+202E⟩abc", "a⟨U+0000⟩b", "⟨U+200B⟩", "∅", "␣␣␣"]
    assert texts[12].startswith("x" * 100) and texts[12].endswith("…")
    assert player.text(".rfp-answer-text") == events[-1].text
    assert player.text(".rfp-prompt-text") == events[0].prompt_text
    assert player.page.evaluate("() => window.hacked") is None
    assert player.page.locator("#player :is(script, img, b:not(.rfp-inspector b))").count() == 0
    widths = player.page.evaluate(
        "() => Array.from(document.querySelectorAll('.rfp-cell'), cell => cell.getBoundingClientRect().width)"
    )
    assert min(widths) >= 8
    assert player.page.evaluate("() => document.documentElement.scrollWidth") == 1440


def test_a_trace_with_script_ends_inside_cannot_leave_the_page_script(new_page):
    def describe(ids):
        return [TokenText(id=i, text="</script><script>window.hacked=1</script><!--") for i in ids]

    page = new_page().open(jsonl(scripted_run(describe=describe)))
    page.wait("state", "ready")
    assert page.page.evaluate("() => window.hacked") is None
    assert page.cells()[0][2] != ""


def test_bytes_of_one_character_are_joined_over_tokens_and_slots(player):
    pieces = ["e4", "b8ad", "e69687e4", "b8"]  # 中, 文 and a piece that stays open
    tokens = {i: TokenText(id=i, text="?", bytes=p) for i, p in enumerate(pieces, start=3)}

    def describe(ids):
        return [tokens.get(i) or TokenText(id=i, text=f"t{i}") for i in ids]

    target = {3: 3, 4: 4, 5: 5, 6: 6, 7: 8}
    events = scripted_run(target=target | {0: 9, 1: 9, 2: 9}, gen_length=8, describe=describe)
    player.load(jsonl(events))
    player.call("seek", len(events))
    player.settle()
    texts = [cell[2] for cell in player.cells()]
    assert texts[3:8] == ["中", "‿", "⟨e6 96 87 e4⟩", "⟨b8⟩", "t8"]
    player.seek(index_of(events, Plan))
    assert [cell[2] for cell in player.cells()][3:5] == ["中", "‿"]


# Layout and themes


@pytest.mark.parametrize("width", [360, 900, 1440])
def test_the_page_never_jumps_while_it_plays_and_never_scrolls_sideways(
    new_page, golden, broken_second, width
):
    page = new_page(viewport={"width": width, "height": 800}).open()
    for events in (golden, broken_second):
        page.load(jsonl(events))
        assert len(set(page.walk("height"))) == 1
        assert page.page.evaluate("() => document.documentElement.scrollWidth") <= width


def test_the_page_never_jumps_while_a_run_is_live(player, golden):
    player.call("begin", {"label": "x"})
    player.call("push", jsonl(golden[:1]))
    player.settle()
    heights = {player.look("height")}
    live = golden[:-1]  # the end fits the height once
    for place in range(1, len(live), 3):
        player.call("push", jsonl(live[place : place + 3]))
        player.settle()
        heights.add(player.look("height"))
    assert len(heights) == 1


def test_a_long_response_shows_the_truth_wherever_one_scrolls(player):
    """Slots out of sight are not painted; they catch up when they come into sight."""
    events = scripted_run(gen_length=160, slot_size=1)
    player.load(jsonl(events))
    player.call("seek", len(events))
    player.settle()
    last = player.page.locator(".rfp-slot").last
    last.scroll_into_view_if_needed()
    player.page.wait_for_function(
        "() => document.querySelector('.rfp-slot:last-child').dataset.status === 'committed'"
    )
    assert {cell[0] for cell in player.cells()[-4:]} == {"committed"}


def test_light_and_dark_follow_the_system_the_page_and_the_root(new_page, infilled):
    page = new_page(color_scheme="light").open()
    page.load(jsonl(infilled))

    def panel():
        page.settle()
        return page.page.evaluate(
            "() => getComputedStyle(document.querySelector('.rfp-panel')).backgroundColor"
        )

    def set_up(script):
        page.page.evaluate(script)
        return panel()

    light = panel()
    dark = set_up("() => document.body.classList.add('dark')")
    assert light == "rgb(255, 255, 255)" and dark != light
    assert set_up("() => document.getElementById('player').dataset.theme = 'light'") == light
    set_up("() => document.body.classList.remove('dark')")
    assert set_up("() => document.getElementById('player').dataset.theme = 'dark'") == dark
    set_up("() => delete document.getElementById('player').dataset.theme")
    page.page.emulate_media(color_scheme="dark")
    assert panel() == dark
    # The canvases are drawn again in the colours of the theme.
    player_green = pixel(page, ".rfp-timeline canvas", 52 + 3, 9)
    assert player_green != [0, 158, 115, 255]


def test_setting_the_language_changes_every_label(player, golden):
    player.load(jsonl(golden))
    player.seek(index_of(golden, Verify))
    player.call("setLang", "zh")
    player.settle()
    assert "时间线" in player.text(".rfp-timeline .rfp-title")
    assert "迭代" in player.text(".rfp-status")
    assert player.page.get_by_role("button", name="播放").is_visible()
    shown = player.text(".rfp-layout")
    for english in ("Timeline", "slot ", "Scoreboard", "threshold", "forward"):
        assert english not in shown


def test_a_destroyed_player_leaves_nothing_behind(player, infilled):
    player.load(jsonl(infilled))
    player.call("destroy")
    assert player.page.evaluate("() => document.getElementById('player').children.length") == 0
