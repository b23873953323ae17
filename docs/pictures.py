"""Makes the pictures of the docs from the recorded examples: ``python -m docs.pictures`` (needs Chromium)."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from refusion_core import Fork, Trace, decode, load_checkpoint, read_trace
from refusion_core.events import Commit, Event, InfillRound, Plan, Verify
from refusion_core.export import trace_page
from refusion_core.trace import TRACE_SUFFIX
from tests.browser.conftest import FLAGS, chromium_path, serving

DOCS = Path(__file__).resolve().parent
TRACES = DOCS.parent / "assets" / "traces"


def trace(name: str) -> Trace:
    return read_trace(TRACES / f"{name}{TRACE_SUFFIX}")


def place(events: Iterable[Event], kind: type[Event], number: int = 0) -> int:
    """Index of the n-th event of a kind, counted from the end if negative."""
    return [at for at, event in enumerate(events) if isinstance(event, kind)][number]


@contextmanager
def opened(browser: Browser, page: str, **context) -> Iterator[Page]:
    """A page in a window of its own, as it is when opened from disk."""
    options = {"viewport": {"width": 1280, "height": 900}, "reduced_motion": "reduce"}
    window = browser.new_context(**(options | context))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        path.write_text(page, encoding="utf-8")
        tab = window.new_page()
        tab.goto(path.as_uri())
        yield tab
    window.close()


def seek(tab: Page, index: int) -> None:
    tab.evaluate("(index) => { player.pause(); player.seek(index); }", index)
    tab.wait_for_function(
        "(index) => document.getElementById('player').dataset.painted === String(index)",
        arg=index,
    )
    tab.wait_for_timeout(150)


def shoot(tab: Page, name: str, selector: str = "", *, view_only: bool = False) -> None:
    path = DOCS / f"{name}.png"
    if selector:
        tab.locator(selector).screenshot(path=path)
    else:
        tab.screenshot(path=path, full_page=not view_only)
    print(path.name, path.stat().st_size // 1024, "KB")


def page_picture(browser: Browser) -> None:
    """The page with a recorded run, as the README shows it."""
    window = browser.new_context(viewport={"width": 1440, "height": 1000})
    with serving() as url:
        tab = window.new_page()
        tab.goto(f"{url}/#example=sums-addition&iter=2")
        mount = ".refusion-mount[data-iteration='1'][data-playing='false']"
        tab.wait_for_selector(mount, state="attached")
        tab.wait_for_timeout(1000)
        shoot(tab, "screenshot", view_only=True)
    window.close()


def player_pictures(browser: Browser) -> None:
    """The panels, and the player as a whole in its themes, languages and sizes."""
    run = trace("infill-rounds")
    page, middle = trace_page(run), place(run, InfillRound, 1)
    with opened(browser, page) as tab:
        seek(tab, middle)
        for panel in ("stage", "orders", "timeline", "scoreboard"):
            shoot(tab, f"player-{panel}", f".rfp-{panel}")
        shoot(tab, "player-exported")
    with opened(browser, page, color_scheme="dark") as tab:
        seek(tab, place(run, Commit))
        shoot(tab, "player-dark")
    with opened(browser, page, viewport={"width": 360, "height": 800}) as tab:
        seek(tab, middle)
        tab.screenshot(path=DOCS / "player-phone.png")
    chinese = trace("translate-to-chinese")
    with opened(browser, trace_page(chinese, lang="zh")) as tab:
        seek(tab, place(chinese, Commit))
        shoot(tab, "player-chinese")


def moments(browser: Browser) -> None:
    """One run at the moments that how-refusion-decodes.md tells of."""
    run = trace("infill-rounds")
    infill = next(event for event in run if isinstance(event, Verify) and event.outcome == "infill")
    verify = run.events.index(infill)
    plan = max(at for at in range(verify) if isinstance(run.events[at], Plan))
    rounds = next(at for at in range(verify, len(run)) if isinstance(run.events[at], InfillRound))
    with opened(browser, trace_page(run)) as tab:
        tab.add_style_tag(content=".rfp-transport, .rfp-answer { display: none !important; }")
        for name, at in (("plan", plan), ("verify", verify), ("infill", rounds)):
            seek(tab, at)
            shoot(tab, f"how-{name}", ".rfp-stage")
        seek(tab, place(run, Commit, -1))
        shoot(tab, "how-orders", ".rfp-orders")


def family_pictures(browser: Browser, names: Iterable[str]) -> None:
    """For every family: what was committed when, on the stage and in the timeline."""
    for name in names:
        run = trace(name)
        with opened(browser, trace_page(run), viewport={"width": 860, "height": 900}) as tab:
            seek(tab, len(run) - 1)
            tab.locator("[data-option=order]").click()
            style = ".rfp-layout > * > :not(.rfp-stage, .rfp-timeline), .rfp-transport, .rfp-answer"
            tab.add_style_tag(content=f"{style}, .rfp-tools {{ display: none !important; }}")
            seek(tab, len(run) - 1)
            shoot(tab, f"family-{name.split('-')[0]}", ".rfp-layout")


def compare_picture(browser: Browser) -> None:
    """A sum beside its fork, in which the first line was given another result."""
    run = trace("sums-addition")
    ids = {token.text: token.id for e in run if e.type == "vocabulary" for token in e.tokens}
    draft = next(slot.tokens for slot in run.events[place(run, Plan, 1)].slots if slot.slot == 1)
    written = tuple(ids["9"] if token == ids["3"] else token for token in draft)
    fork = Fork(trace=run, iteration=1, write={1: written})
    checkpoint = load_checkpoint("bundled", device="cpu")
    other = Trace(tuple(decode(checkpoint, config=fork.config, fork=fork)))
    window = browser.new_context(viewport={"width": 1280, "height": 1270})
    with serving() as url:
        tab = window.new_page()
        tab.goto(f"{url}/compare")
        tab.wait_for_selector(".refusion-compare[data-ready]", state="attached")
        for side in (run, other):
            tab.evaluate("(text) => RefusionKept.put(text)", side.dumps())
        sides = {"left": run.started.run_id, "right": other.started.run_id}
        tab.evaluate("(sides) => { location.hash = new URLSearchParams(sides); }", sides)
        tab.wait_for_selector(".rfp-lane")
        tab.wait_for_timeout(500)
        shoot(tab, "compare", view_only=True)
    window.close()


def research_picture(browser: Browser) -> None:
    """A small sweep with answers that are checked, a run of it, and the calibration of its runs."""
    with serving() as url:
        tab = browser.new_page(viewport={"width": 1440, "height": 1000}, locale="en-US")
        tab.goto(f"{url}/research")
        tab.wait_for_function("() => window.RefusionResearch?.player")
        tab.locator("#sweep-families input").click()
        for family in ("Sums", "Table", "Lists"):
            tab.get_by_role("option", name=family).click()
        tab.keyboard.press("Escape")
        tab.fill("#sweep-slot_threshold :is(input, textarea)", "0.5, 0.9, 0.99, 0.999, 0.9999")
        tab.fill("#sweep-token_threshold :is(input, textarea)", "0.2, 0.4, 0.8, 0.95, 0.99")
        tab.wait_for_timeout(500)
        tab.click("#sweep-run")
        tab.wait_for_function(
            "() => /^(\\d+) . \\1$/.test(document.querySelector('#sweep-status').innerText.trim())",
            timeout=600_000,
        )
        tab.wait_for_selector("#sweep-heatmap .js-plotly-plot")
        tab.evaluate(
            "() => window.RefusionResearch.choose("
            "document.querySelector('#sweep-heatmap .js-plotly-plot').data[0].customdata[1][3])"
        )
        tab.wait_for_selector("#sweep-runs")
        tab.get_by_label("the sweep above").check()
        tab.get_by_label("task family").check()
        tab.click("#calibration-run")
        tab.wait_for_selector("#calibration-plot .scatterlayer")
        tab.wait_for_timeout(1500)
        shoot(tab, "research")
        tab.close()


def race_picture(browser: Browser) -> None:
    """The recorded race in the middle."""
    with serving() as url:
        tab = browser.new_page(viewport={"width": 1280, "height": 900}, locale="en-US")
        tab.goto(f"{url}/race")
        tab.wait_for_function("() => window.refusionRace?.race.length > 0")
        tab.evaluate("() => { refusionRace.race.pause(); refusionRace.race.seek(8); }")
        tab.wait_for_timeout(600)
        shoot(tab, "race")
        tab.close()


def lesson_pictures(browser: Browser) -> None:
    """A moment of every lesson, and the game of predicting a plan."""
    steps = {"one-token": 3, "all-at-once": 3, "slots-and-plan": 2, "verify-and-infill": 1}
    steps |= {"any-order": 3, "thresholds": 1}
    window = browser.new_context(viewport={"width": 1200, "height": 640}, reduced_motion="reduce")
    with serving() as url:
        tab = window.new_page()
        tab.goto(f"{url}/lessons")
        tab.add_style_tag(content="#head { display: none !important; }")
        for number, (name, step) in enumerate(steps.items(), 1):
            tab.goto(f"{url}/lessons#lesson={name}")
            tab.wait_for_function(f"() => window.refusionLessons?.shown?.lesson?.id === '{name}'")
            tab.wait_for_timeout(300)
            tab.evaluate("(step) => refusionLessons.shown.go(step)", step)
            tab.wait_for_timeout(500)
            shoot(tab, f"lesson-{number}", view_only=True)
        tab.goto(f"{url}/lessons#predict=sums-addition")
        for slot in (0, 1, 2, 15):
            tab.locator(f".rfp-predict-slot[data-slot='{slot}']").click()
        tab.locator(".rfp-tour-button.is-main").click()
        tab.wait_for_timeout(500)
        shoot(tab, "lesson-predict", view_only=True)
    window.close()


def presenter_picture(browser: Browser) -> None:
    """What a class sees while a draft breaks."""
    run = trace("invent-together")
    verify = next(e.seq for e in run if isinstance(e, Verify) and e.outcome == "infill")
    with opened(browser, trace_page(run), viewport={"width": 1280, "height": 720}) as tab:
        tab.locator("#player").focus()
        tab.keyboard.press("p")
        tab.wait_for_function("() => document.fullscreenElement")
        seek(tab, verify)
        shoot(tab, "presenter", view_only=True)


def main() -> None:
    families = {
        path.name.split("-")[0]: path.name.removesuffix(TRACE_SUFFIX)
        for path in sorted(TRACES.glob(f"*{TRACE_SUFFIX}"), reverse=True)
        if not path.name.startswith("infill")
    }
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        page_picture(browser)
        player_pictures(browser)
        presenter_picture(browser)
        moments(browser)
        family_pictures(browser, families.values())
        compare_picture(browser)
        research_picture(browser)
        race_picture(browser)
        lesson_pictures(browser)
        browser.close()


if __name__ == "__main__":
    main()
