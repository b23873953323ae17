"""The page as a visitor uses it: plays at once, decodes live, stops, saves, opens, says what is wrong."""

from __future__ import annotations

import json

import pytest

from app.player import example_text, recorded_examples
from app.ui import PRESETS
from refusion_core import DecodeConfig, decode, load_checkpoint, parse_trace, read_trace
from tests.browser.conftest import serving, type_into, watch

PROMPT = "Write a Python function that returns the sum of the squares of a list."
MOUNT = "document.querySelector('.refusion-mount')"


def wait(page, condition):
    """Wait until the player's counters fulfil a condition on ``d``, its dataset."""
    page.wait_for_function(f"() => {{ const d = {MOUNT}?.dataset; return d && ({condition}); }}")


def open_page(page, url):
    page.goto(url)
    wait(page, "+d.events > 0")
    return page


def opened_example(page, name):
    """A recorded run, once the player holds it."""
    run = parse_trace(example_text(name))
    page.evaluate("name => window.refusion.example(name)", name)
    page.wait_for_function(
        "id => window.refusion.player.text().includes(id)", arg=run.started.run_id
    )
    wait(page, "d.state === 'ready'")
    return run


def shown_trace(page):
    """The events that the player holds."""
    return parse_trace(page.evaluate("window.refusion.player.text()"))


def run_prompt(page, prompt=PROMPT):
    """Type a prompt, run it, and wait until its first events have come."""
    first_line = "window.refusion.player.text().split('\\n', 1)[0]"
    before = page.evaluate(first_line)
    page.fill("#prompt textarea", prompt)
    page.click("#run")
    page.wait_for_function(f"(before) => ![before, ''].includes({first_line})", arg=before)


def message(page, wanted):
    """Wait until the page says something about the last request that includes ``wanted``."""
    page.wait_for_function(
        "(w) => document.querySelector('.refusion-message')?.innerText.includes(w)", arg=wanted
    )
    return page.inner_text(".refusion-message")


def set_number(page, label, value):
    """Type a setting."""
    type_into(page.get_by_label(label, exact=False).first, value)


@pytest.fixture
def page(watched_page, app_url):
    return open_page(watched_page, app_url)


def test_a_recorded_example_plays_at_once(page):
    wait(page, "d.playing === 'true' && +d.cursor > 3")
    first = next(iter(recorded_examples()))
    assert shown_trace(page).dumps() == example_text(first)
    wait(page, "+d.committed > 0")


def test_a_typed_prompt_decodes_live_on_the_bundled_model(page):
    run_prompt(page)
    wait(page, "d.state === 'ready'")
    trace = shown_trace(page)
    assert trace.started.prompt_text == PROMPT
    assert trace.started.model.name == "bundled"
    page.locator(".refusion-mount").focus()
    page.keyboard.press("End")
    wait(page, f"+d.committed === {trace.statistics.committed_tokens}")
    checkpoint = load_checkpoint("bundled", device="cpu")
    expected = list(decode(checkpoint, prompt=PROMPT, config=DecodeConfig()))[-1]
    assert trace.finished.output_ids == expected.output_ids
    assert expected.text.splitlines()[0] in page.inner_text(".refusion-mount")


def test_the_run_is_replayed_from_its_first_event(page):
    run_prompt(page)
    wait(page, "d.playing === 'true' && +d.cursor > 2 && +d.cursor < +d.events - 1")
    page.locator(".refusion-mount").focus()
    page.keyboard.press("Space")
    wait(page, "d.playing === 'false'")
    at = page.evaluate(f"+{MOUNT}.dataset.cursor")
    page.keyboard.press("ArrowRight")
    wait(page, f"+d.cursor > {at}")
    page.keyboard.press("Home")
    wait(page, "+d.cursor === 0")


@pytest.fixture
def running_page(watched_page, slow_app_url):
    """A page whose run will take a while and has begun."""
    page = open_page(watched_page, slow_app_url)
    page.click("#settings button")
    set_number(page, "Response length", 1024)
    set_number(page, "Token threshold", 1)
    run_prompt(page)
    wait(page, "d.state === 'live' && +d.events > 20")
    return page


def test_stop_ends_a_run_and_keeps_what_it_had(running_page):
    running_page.click("#stop")
    wait(running_page, "d.state === 'ready'")
    trace = shown_trace(running_page)
    assert trace.finished.stop_reason == "stopped"
    assert trace.finished.stats == trace.statistics
    assert len(trace) > 20


def test_a_reloaded_page_catches_up_with_its_run(running_page):
    run_id = shown_trace(running_page).started.run_id
    running_page.reload()
    wait(running_page, "d.state === 'live' && +d.events > 20")
    running_page.click("#stop")
    wait(running_page, "d.state === 'ready'")
    trace = shown_trace(running_page)
    assert trace.started.run_id == run_id
    assert trace.finished.stop_reason == "stopped"


def test_bad_settings_give_a_message_and_lose_nothing(page):
    before = shown_trace(page).dumps()
    page.click("#settings button")
    set_number(page, "Slot size", 0)
    page.click("#run")
    message(page, "slot_size = 0")
    set_number(page, "Slot size", 8)
    set_number(page, "Response length", 100_000)
    page.click("#run")
    message(page, "gen_length")
    assert "Traceback" not in page.inner_text("body")
    assert shown_trace(page).dumps() == before


def test_a_preset_sets_the_settings_of_the_next_run(page):
    page.click("#settings button")
    page.get_by_label("Careful").check()
    page.wait_for_function(
        "() => [...document.querySelectorAll('#settings input')].some((i) => i.value === '0.9999')"
    )
    run_prompt(page)
    settings = shown_trace(page).started.settings
    wanted = PRESETS["careful"].to_dict()
    told = {name: getattr(settings, name) for name in wanted}
    assert {
        name: value for name, value in told.items() if value is not None
    }.items() <= wanted.items()
    assert told["slot_threshold"] == 0.9999 and told["policy"] is None


def settings_shown(page):
    """Response length, slot size, serial blocks and both thresholds, as typed."""
    labels = ("Response length", "Slot size", "Serial blocks", "Slot threshold", "Token threshold")
    return [float(page.get_by_label(label, exact=False).first.input_value()) for label in labels]


def wait_for_settings(page, *wanted):
    for _ in range(100):
        if settings_shown(page) == list(wanted):
            return
        page.wait_for_timeout(100)
    assert settings_shown(page) == list(wanted)


def test_settings_of_the_paper_are_scaled_to_the_bundled_model(page):
    page.click("#settings button")
    assert "64 tokens instead of 512" in page.inner_text("#paper")
    page.click("#paper input")
    page.get_by_role("option", name="GPQA").click()
    wait_for_settings(page, 64, 4, 8, 0.8, 0.2)
    assert page.locator("#preset input:checked").count() == 0
    run_prompt(page)
    wait(page, "d.state === 'ready'")
    settings = shown_trace(page).started.settings
    assert (settings.slot_size, settings.serial_blocks) == (4, 8)
    page.get_by_label("Fast").check()
    wait_for_settings(page, 64, 8, 1, 0.9, 0.4)
    assert page.input_value("#paper input") == "none"


def test_settings_of_the_paper_are_its_own_for_another_model(watched_page, slow_app_url):
    page = open_page(watched_page, slow_app_url)
    page.click("#settings button")
    assert "instead of" not in page.inner_text("#paper")
    page.click("#paper input")
    page.get_by_role("option", name="MATH").click()
    wait_for_settings(page, 512, 32, 8, 0.8, 0.6)


def test_slow_motion_slows_the_player_and_another_preset_gives_its_speed_back(page):
    page.click("#settings button")
    speed = page.locator(".rfp-speed")
    page.get_by_label("Slow motion").check()
    page.wait_for_function("() => document.querySelector('.rfp-speed').value === '0.5'")
    wait_for_settings(page, 64, 4, 1, 1, 0.9999)
    run_prompt(page)
    assert speed.input_value() == "0.5"
    page.get_by_label("Balanced").check()
    page.wait_for_function("() => document.querySelector('.rfp-speed').value === '1'")


def test_an_empty_prompt_gives_a_message(page):
    page.fill("#prompt textarea", "  ")
    page.click("#run")
    assert "prompt" in message(page, "is empty")
    run_prompt(page)
    assert page.locator(".refusion-message").is_hidden()


def test_a_saved_trace_is_what_was_shown_and_opens_again(page, tmp_path):
    run_prompt(page)
    wait(page, "d.state === 'ready'")
    shown = shown_trace(page)
    with page.expect_download() as download:
        page.click(".rfp-export summary")
        page.click("[data-export=trace]")
    assert download.value.suggested_filename == f"refusion-{shown.started.run_id}.trace.jsonl"
    path = tmp_path / "saved.trace.jsonl"
    download.value.save_as(path)
    assert read_trace(path).events == shown.events
    page.reload()
    wait(page, "+d.events > 0")
    with page.expect_file_chooser() as chooser:
        page.click("#open")
    chooser.value.set_files(path)
    wait(page, f"+d.events === {len(shown)}")
    assert shown_trace(page).events == shown.events


def test_a_damaged_file_is_named_by_line_and_field_and_the_page_lives(page, tmp_path):
    name = next(iter(recorded_examples()))
    lines = example_text(name).splitlines()
    event = json.loads(lines[5]) | {"seq": "five"}
    lines[5] = json.dumps(event)
    path = tmp_path / "bad.trace.jsonl"
    path.write_text("\n".join(lines))
    with page.expect_file_chooser() as chooser:
        page.click("#open")
    chooser.value.set_files(path)
    notice = page.locator(".refusion-mount [role=alert]")
    page.wait_for_function(
        "() => document.querySelector('.refusion-mount [role=alert]').innerText.includes('line 6')"
    )
    assert f"{event['type']}.seq" in notice.inner_text()
    run_prompt(page)
    wait(page, "d.state === 'ready'")


def test_every_recorded_example_can_be_picked(page):
    for name, title in list(recorded_examples().items())[::-1]:
        page.click("#recorded input")
        page.get_by_role("option", name=title["en"]).click()
        events = len(parse_trace(example_text(name)))
        wait(page, f"+d.events === {events}")
        assert shown_trace(page).dumps() == example_text(name)
        prompt = shown_trace(page).started.prompt_text
        page.wait_for_function(
            "(p) => document.querySelector('#prompt textarea').value === p", arg=prompt
        )


def test_the_page_speaks_chinese_to_a_chinese_browser(browser, app_url):
    for page in watch(browser, locale="zh-CN"):
        open_page(page, app_url)
        assert page.inner_text("#run").strip() == "运行"
        assert "槽" in page.inner_text(".refusion-mount")


def test_hostile_prompts_are_text(page):
    hostile = "<img src=x onerror=alert(1)> ${alert(2)} {{7*7}} \"'\u202e"
    run_prompt(page, hostile)
    wait(page, "d.state === 'ready'")
    assert shown_trace(page).started.prompt_text == hostile
    assert page.locator(".refusion-mount img").count() == 0


def test_without_a_model_the_example_plays_and_run_says_why_not(browser):
    with serving("--model", "no/such/folder/at-all") as url:
        for page in watch(browser):
            open_page(page, url)
            wait(page, "+d.committed > 0")
            page.click("#run")
            message(page, "no/such/folder")
            wait(page, "+d.events > 0")


def test_two_visitors_decode_at_the_same_time(page, browser, app_url):
    for other in watch(browser):
        open_page(other, app_url)
        run_prompt(page, "Add 12 and 30 step by step.")
        run_prompt(other, "Add 47 and 5 step by step.")
        wait(page, "d.state === 'ready'")
        wait(other, "d.state === 'ready'")
        assert shown_trace(page).started.prompt_text == "Add 12 and 30 step by step."
        assert shown_trace(other).started.prompt_text == "Add 47 and 5 step by step."


def forked_trace(page):
    """The fork that was asked for, once it is over."""
    page.wait_for_function(
        "() => window.refusion.player.text().split('\\n', 1)[0].includes('\"parent\"')"
    )
    wait(page, "d.state === 'ready'")
    return shown_trace(page)


def test_a_fork_goes_on_from_the_iteration_with_what_was_forced(page):
    parent = opened_example(page, "sums-addition")
    plan = [event for event in parent if event.type == "plan"][1]
    left_out = next(slot.slot for slot in plan.slots if not slot.chosen)
    page.evaluate(
        "at => { window.refusion.player.pause(); window.refusion.player.seek(at); }",
        parent.events.index(plan),
    )
    row = page.locator(f".rfp-score[data-slot='{left_out}']")
    row.locator(".rfp-mark").click()
    assert row.locator(".rfp-mark").inner_text() == "force"
    page.click("#fork")
    forked = forked_trace(page)
    assert forked.started.parent.run_id == parent.started.run_id
    assert forked.started.parent.iteration == plan.iteration == 1
    plans = [event for event in forked if event.type == "plan"]
    assert left_out in plans[1].chosen_slots
    assert plans[0].chosen_slots == [e for e in parent if e.type == "plan"][0].chosen_slots
    reason = next(slot.reason for slot in plans[1].slots if slot.slot == left_out)
    assert reason == "forced_by_user"
    page.wait_for_function(
        "() => document.querySelector('.rfp-stage .rfp-aside').textContent.includes('forked from')"
    )


def test_a_fork_before_any_iteration_says_what_to_do(page):
    wait(page, "+d.events > 0")
    page.evaluate("() => { window.refusion.player.pause(); window.refusion.player.seek(0); }")
    page.click("#fork")
    assert "Go to an iteration" in message(page, "Go to an iteration")


def test_a_link_opens_an_example_at_an_iteration(page, app_url):
    page.goto("about:blank")
    page.goto(f"{app_url}/#example=lists-numbered&iter=2")
    wait(page, "d.iteration === '1' && d.playing === 'false'")
    assert "Number these items" in shown_trace(page).started.prompt_text
    page.evaluate(
        "() => { navigator.clipboard.writeText = t => { window.copied = t; return Promise.resolve(); }; }"
    )
    page.get_by_label("Copy a link to this iteration").click()
    page.wait_for_function("() => window.copied")
    assert page.evaluate("window.copied").endswith("#example=lists-numbered&iter=2")
    page.goto("about:blank")
    page.goto(f"{app_url}/#example=nothing")
    assert "nothing" in message(page, "nothing")
    wait(page, "+d.events > 0")


def test_a_policy_can_be_picked_and_the_page_tells_it(page):
    page.locator("#settings button").first.click()
    page.get_by_label("Policy").click()
    page.get_by_role("option", name="left to right").click()
    run_prompt(page)
    wait(page, "d.state === 'ready'")
    shown = shown_trace(page)
    assert shown.started.settings.policy == "left_to_right"
    firsts = [event.chosen_slots[0] for event in shown if event.type == "plan"]
    assert firsts == sorted(firsts)
    assert "policy left_to_right" in page.inner_text(".rfp-stage .rfp-aside")
    assert not page.locator(".rfp-whatif").is_visible()


def test_a_fork_keeps_the_text_that_was_written_into_a_slot(page):
    parent = opened_example(page, "sums-addition")
    plan = [event for event in parent if event.type == "plan"][1]
    page.evaluate(
        "at => { window.refusion.player.pause(); window.refusion.player.seek(at); }",
        parent.events.index(plan),
    )
    slot = plan.slots[0].slot
    page.locator(".rfp-write-slot").select_option(str(slot))
    page.fill(".rfp-write-text", "7")
    page.click("#fork")
    assert "fork write" in message(page, "does not fill a slot of 4")
    assert shown_trace(page).dumps() == parent.dumps()
    page.fill(".rfp-write-text", " 7 = 99")
    ids = load_checkpoint("bundled", device="cpu").encode_slot(" 7 = 99")
    assert len(ids) == 4
    page.click("#fork")
    forked = forked_trace(page)
    assert forked.started.parent.written == (slot,)
    commit = [event for event in forked if event.type == "commit"][1]
    assert (slot, ids) in [(s.slot, s.tokens) for s in commit.slots]
    verify = [event for event in forked if event.type == "verify"][1]
    page.evaluate("at => window.refusion.player.seek(at)", forked.events.index(verify))
    page.wait_for_function(
        "() => document.querySelector('.rfp-narration-text').innerText.includes('The user wrote')"
    )


def test_entries_are_recomputed_where_the_setting_says_so(page):
    page.locator("#settings button").first.click()
    set_number(page, "Slot threshold", 0.5)
    set_number(page, "Token threshold", 0.99)
    page.get_by_label("Recompute after infill").check()
    run_prompt(page)
    wait(page, "d.state === 'ready'")
    assert shown_trace(page).started.settings.recompute_infill is True
