"""The race: three runs on one clock, recorded and live, with figures that are those of the traces."""

from __future__ import annotations

import contextlib

import pytest
from playwright.sync_api import TimeoutError

from app.race import DECODERS, draw_task, judge, recorded_race, recorded_races
from refusion_core import parse_trace
from tests.browser.conftest import type_into, watch

BOX = "document.querySelector('.refusion-race')"
RACE = "window.refusionRace.race"


def wait(page, condition):
    """Wait until the race's dataset ``d`` fulfils a condition."""
    page.wait_for_function(f"() => {{ const d = {BOX}?.dataset; return d && ({condition}); }}")


def open_race(page, url):
    page.goto(f"{url}race" if url.endswith("/") else f"{url}/race")
    wait(page, "+d.length > 0")
    return page


@pytest.fixture
def page(watched_page, app_url):
    return open_race(watched_page, app_url)


def traces(page):
    return [parse_trace(page.evaluate(f"{RACE}.text({lane})")) for lane in range(3)]


def figures(page, name):
    return page.locator(f".rfp-figures td[data-figure={name}]").all_inner_texts()


def seek(page, time):
    page.evaluate(f"(time) => {{ {RACE}.pause(); {RACE}.seek(time); }}", time)


def test_a_recorded_race_plays_at_once(page):
    wait(page, "d.playing === 'true' && +d.time > 0")
    name = next(iter(recorded_races()))
    for trace, text in zip(traces(page), recorded_race(name), strict=True):
        assert trace.dumps() == text
    assert [trace.started.decoder for trace in traces(page)] == list(DECODERS)


def test_by_forwards_every_lane_shows_as_many_of_them(page):
    runs = traces(page)
    most = max(trace.statistics.forwards for trace in runs)
    assert page.evaluate(f"+{BOX}.dataset.length") == most
    seek(page, 5)
    assert figures(page, "forwards") == ["5"] * 3
    seek(page, most)
    assert figures(page, "forwards") == [str(trace.statistics.forwards) for trace in runs]
    assert figures(page, "computed") == [str(trace.statistics.tokens_computed) for trace in runs]
    assert figures(page, "hits") == [str(trace.statistics.cache_hits) for trace in runs]
    assert figures(page, "committed") == [str(trace.statistics.committed_tokens) for trace in runs]
    counts = [trace.statistics.forwards for trace in runs]
    assert figures(page, "place") == [str(1 + sum(c < own for c in counts)) for own in counts]


def test_by_seconds_the_clock_is_that_of_the_machine(page):
    runs = traces(page)
    page.click("[data-option=seconds]")
    longest = max(trace.statistics.model_seconds for trace in runs)
    assert page.evaluate(f"+{BOX}.dataset.length") == pytest.approx(longest, abs=1e-5)
    seek(page, longest / 3)
    for shown, trace in zip(figures(page, "seconds"), runs, strict=True):
        assert float(shown) <= min(longest / 3, trace.statistics.model_seconds) + 1e-3
    seek(page, longest + 1e-3)  # the sum of the rounded parts may be a little more
    assert [float(x) for x in figures(page, "seconds")] == [
        pytest.approx(trace.statistics.model_seconds, abs=1e-3) for trace in runs
    ]
    mine, other = runs[2].statistics.model_seconds, runs[0].statistics.model_seconds
    ratio = f"{other / mine:.2f}" if other / mine < 10 else f"{other / mine:.1f}"
    assert f"{ratio} times its seconds" in page.inner_text(".rfp-together-sentence")


def test_keys_step_from_change_to_change(page):
    page.locator(".refusion-race").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    wait(page, "+d.time === 2 && d.playing === 'false'")
    page.keyboard.press("ArrowLeft")
    wait(page, "+d.time === 1")
    page.keyboard.press("End")
    wait(page, "d.time === d.length")


def test_a_live_race_of_a_held_out_prompt_is_judged(page):
    page.locator("#family input").click()
    page.get_by_role("option", name="Sums").click()
    recorded = next(iter(recorded_races().values()))
    page.wait_for_function(
        "(old) => document.querySelector('#prompt textarea').value !== old", arg=recorded
    )
    prompt = page.input_value("#prompt textarea")
    shown = f"(p) => {RACE}.lanes[0].player.trace.run?.prompt_text === p"
    for _ in range(5):
        page.click("#run")
        with contextlib.suppress(TimeoutError):  # Gradio takes the prompt over in a later task
            page.wait_for_function(shown, arg=prompt, timeout=5000)
            break
    wait(page, "+d.length > 0 && d.playing === 'true'")
    seek(page, 10**6)
    runs = traces(page)
    assert {trace.started.prompt_text for trace in runs} == {prompt}
    assert set(figures(page, "right")) <= {"yes", "no"}


def test_the_verdict_is_that_of_the_task(page):
    task = ["lists", 3]
    prompt = draw_task(*task).prompt
    page.evaluate("(request) => window.refusionRace.run(...request)", [prompt, task, 4, 0.9])
    wait(page, "+d.length > 0 && d.playing === 'true'")
    seek(page, 10**6)
    runs = traces(page)
    assert runs[1].started.settings.tokens_per_step == 4
    assert runs[2].started.settings.slot_threshold == 0.9
    expected = ["yes" if judge(task, prompt, trace.finished.text) else "no" for trace in runs]
    assert figures(page, "right") == expected


def test_bad_settings_give_a_message_and_keep_the_race(page):
    seek(page, 3)
    before = [trace.dumps() for trace in traces(page)]
    type_into(page.get_by_label("tokens per step").first, 0)
    page.click("#run")
    page.wait_for_function(
        "() => document.querySelector('.refusion-message').innerText.includes('tokens_per_step')"
    )
    assert [trace.dumps() for trace in traces(page)] == before


def test_in_chinese_on_a_phone(browser, app_url):
    pages = watch(browser, locale="zh-CN")
    page = open_race(next(pages), app_url)
    page.set_viewport_size({"width": 360, "height": 780})
    assert "掩码扩散" in page.inner_text(".rfp-figures")
    assert "前向" in page.inner_text(".rfp-together-bar .rfp-status")
    width = "document.documentElement.scrollWidth"
    assert page.evaluate(width) <= 360
    for _ in pages:
        pass


def test_a_task_is_judged_by_its_own_check():
    sample = draw_task("sums", 5)
    assert judge(["sums", 5], sample.prompt, sample.response) is True
    assert judge(["sums", 5], sample.prompt, "Answer: no number") is False
    assert judge(["sums", 5], "another prompt", sample.response) is None
    assert judge(None, sample.prompt, sample.response) is None
