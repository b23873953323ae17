"""axe-core finds nothing to object to, in every state, theme, language and width, nor to the app."""

from __future__ import annotations

from pathlib import Path

import pytest

from refusion_core.events import InfillRound, Plan, Verify

from .conftest import type_into, watch
from .player_page import PlayerPage, golden_run, index_of, jsonl, scripted_run

AXE = Path(__file__).resolve().parents[2] / "node_modules" / "axe-core" / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
# A player stands inside somebody's page: landmarks and the first heading are that page's.
NOT_OURS = ["landmark-one-main", "page-has-heading-one", "region"]
# Text on a gradient axe leaves undecided: it is held against every colour of the gradient. The dots of masked
# tokens are no text, and what says so too is the slot's hatching.
ON_GRADIENTS = """
() => {
  const linear = (part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
  const colours = (css) => [...css.matchAll(/rgb\\((\\d+), (\\d+), (\\d+)\\)/g)].map((found) => found.slice(1));
  const texts = document.querySelectorAll(".rfp-card :is(.rfp-cell:not(.is-masked), .rfp-slot-number)");
  return [...texts].flatMap((node) => {
    const ground = getComputedStyle(node.closest(".rfp-card")).backgroundImage;
    const [ink] = colours(getComputedStyle(node).color).map(light);
    return colours(ground).map(light).map((other) => ({
      node: node.outerHTML,
      ground,
      ratio: (Math.max(ink, other) + 0.05) / (Math.min(ink, other) + 0.05),
    }));
  });
}
"""


def violations(page, within: str = "#player", *, off: list[str] = NOT_OURS) -> list[str]:
    """One line per violation, with the element and, for contrast, the colours."""
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate(
        """async ([within, tags, off]) => {
            const rules = Object.fromEntries(off.map(rule => [rule, { enabled: false }]));
            const answer = await axe.run(within, { runOnly: { type: 'tag', values: tags }, rules });
            return answer.violations.flatMap(({ id, nodes }) => nodes.map(node =>
                `${id}: ${node.html.slice(0, 160)} ${JSON.stringify(node.any[0]?.data ?? '')}`));
        }""",
        [within, RULES, off],
    )
    return found


def none_in(found: dict[str, list[str]]) -> None:
    lines = [f"{state}: {line}" for state, violated in found.items() for line in violated]
    assert not lines, "\n".join(lines)  # whole, where a comparison would be cut short


@pytest.fixture
def new_page(browser, tmp_path):
    """Makes pages into which a script may be put."""
    pages = []

    def make(**context) -> PlayerPage:
        page = PlayerPage(browser, tmp_path, bypass_csp=True, **context)
        pages.append(page)
        return page.open()

    yield make
    for page in pages:
        page.context.close()
        assert page.problems == []


LOOKS = {
    "light": {},
    "dark": {"color_scheme": "dark"},
    "chinese": {"locale": "zh-CN"},
    "phone": {"viewport": {"width": 360, "height": 740}},
}


@pytest.fixture(scope="module")
def runs() -> dict[str, list]:
    return {
        "broken": scripted_run(plan={0: 0.9, 4: 0.8, 8: 0.7, 12: 0.2}, given={5: 0.12}),
        "infilled": scripted_run(gen_length=8, given={1: 0.1, 2: 0.1, 3: 0.1, 5: 0.1}),
        # More slots, forwards and prompt than their boxes have room for.
        "long": scripted_run(
            gen_length=128,
            slot_threshold=0.9,
            plan={4 * slot: 0.5 + slot / 80 for slot in range(32)},
            given={offset: 0.1 for offset in range(128)},
            prompt_text="Sum the squares of every value. " * 120,
        ),
        "golden": golden_run("096"),
    }


@pytest.mark.parametrize("look", LOOKS)
def test_every_state_passes_axe(new_page, runs, look):
    page = new_page(**LOOKS[look])
    found = {"empty": violations(page.page)}
    page.call("begin", {"label": "Sum the squares."})
    page.settle()
    found["waiting"] = violations(page.page)
    for name, kind in (("broken", Plan), ("broken", Verify), ("infilled", InfillRound)):
        page.load(jsonl(runs[name]))
        page.seek(index_of(runs[name], kind))
        found[f"{name} {kind.__name__}"] = violations(page.page)
    page.page.locator('.rfp-cell[data-offset="0"]').focus()
    found["inspector"] = violations(page.page)
    page.page.keyboard.press("Escape")
    page.load(jsonl(runs["golden"]))
    page.call("seek", 10**6)
    page.settle()
    found["end"] = violations(page.page)
    lines = jsonl(runs["golden"]).splitlines()
    page.load("\n".join([*lines[:9], "{", *lines[10:-1]]))
    found["damaged"] = violations(page.page)
    page.load('{"x": 1}')
    found["failed"] = violations(page.page)
    assert page.page.locator(".rfp-notice").is_visible()
    none_in(found)


@pytest.mark.parametrize("look", ["light", "phone"])
def test_a_long_run_passes_axe(new_page, runs, look):
    page = new_page(**LOOKS[look])
    page.load(jsonl(runs["long"]))
    page.seek(index_of(runs["long"], Verify, 1))
    found = {"slots": violations(page.page)}
    page.page.locator(".rfp-prompt button").click()
    page.page.locator("[data-option=forwards]").click()
    page.settle()
    found["forwards, whole prompt"] = violations(page.page)
    none_in(found)


@pytest.mark.parametrize("look", ["light", "dark"])
def test_text_on_hatched_slots_has_contrast(new_page, runs, look):
    page = new_page(**LOOKS[look])
    page.load(jsonl(runs["long"]))
    page.seek(index_of(runs["long"], Plan, 1))
    pairs = page.page.evaluate(ON_GRADIENTS)
    assert len(pairs) > 100
    assert [pair for pair in pairs if pair["ratio"] < 4.5] == []


@pytest.mark.parametrize("look", ["light", "dark"])
def test_the_other_views_pass_axe(new_page, runs, look):
    page = new_page(**LOOKS[look])
    page.load(jsonl(runs["golden"]))
    page.seek(index_of(runs["golden"], Verify))
    found = {}
    for option in ("text", "order", "forwards"):
        page.page.locator(f"[data-option={option}]").click()
        page.settle()
        found[option] = violations(page.page)
    page.page.locator(".rfp-export summary").click()
    found["export"] = violations(page.page)
    page.page.keyboard.press("Escape")
    page.page.get_by_role("button", name="Keys").click()
    found["help"] = violations(page.page)
    none_in(found)


def test_axe_would_find_a_fault(new_page, runs):
    page = new_page()
    page.load(jsonl(runs["broken"]))
    page.page.add_style_tag(content=".rfp { --rfp-ink2: #ccc; }")
    page.page.evaluate("() => document.querySelector('.rfp-play').removeAttribute('aria-label')")
    page.page.evaluate("() => document.querySelector('.rfp-play').removeAttribute('title')")
    rules = {line.split(":")[0] for line in violations(page.page)}
    assert {"color-contrast", "button-name"} <= rules
    page.seek(index_of(runs["broken"], Plan))
    assert min(pair["ratio"] for pair in page.page.evaluate(ON_GRADIENTS)) < 4.5


@pytest.mark.parametrize("look", LOOKS)
def test_the_app_page_passes_axe(browser, app_url, look):
    options = {name: value for name, value in LOOKS[look].items() if name != "viewport"}
    # Axe must not catch a colour on its way to another.
    for page in watch(browser, bypass_csp=True, reduced_motion="reduce", **options):
        page.set_viewport_size(LOOKS[look].get("viewport", {"width": 1440, "height": 960}))
        page.goto(app_url)
        page.wait_for_function(
            "() => document.querySelector('.refusion-mount')?.dataset.painted > 3"
        )
        found = {"playing": violations(page, "body", off=[])}
        page.locator("#settings > button").click()
        page.locator("#preset").wait_for()
        page.fill("#prompt textarea", "")
        page.click("#run")
        page.locator(".refusion-message").wait_for()
        found["settings and a message"] = violations(page, "body", off=[])
        none_in(found)


OTHER_PAGES = {
    "race": "() => +document.querySelector('.refusion-race')?.dataset.length > 0",
    "compare#left=example:sums-addition&right=example:sums-addition": "() => "
    "document.querySelectorAll('.rfp-lane .rfp-slot').length > 10",
    "research": "() => window.RefusionResearch?.player",
    "about": "() => document.querySelector('table')",
}


@pytest.mark.parametrize("look", ["light", "dark", "phone"])
@pytest.mark.parametrize("name", OTHER_PAGES)
def test_the_other_pages_pass_axe(browser, app_url, name, look):
    options = {key: value for key, value in LOOKS[look].items() if key != "viewport"}
    # Axe must not catch a colour on its way to another.
    for page in watch(browser, bypass_csp=True, reduced_motion="reduce", **options):
        page.set_viewport_size(LOOKS[look].get("viewport", {"width": 1440, "height": 960}))
        page.goto(f"{app_url}/{name}")
        page.wait_for_function(OTHER_PAGES[name])
        page.evaluate("() => window.refusionRace?.race.pause()")
        if name == "research":
            type_into(page.locator("#sweep-slot_threshold :is(input, textarea)"), "0.9")
            page.click("#sweep-run")
            page.wait_for_selector("#sweep-heatmap .heatmaplayer")
            page.wait_for_selector("#sweep-pareto .scatterlayer")
        # Markdown's wide tables scroll on a phone; browsers take such boxes into the tab order themselves.
        off = ["scrollable-region-focusable"] if name == "about" else []
        none_in({name: violations(page, "body", off=off)})
