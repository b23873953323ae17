"""In front of a class: large type, a clicker's keys, the view that matters beside the stage, a code to scan."""

from __future__ import annotations

from pathlib import Path

import pytest

from refusion_core.config import MaskedDiffusionConfig
from refusion_core.events import (
    CacheState,
    Commit,
    InfillRound,
    Plan,
    RunFinished,
    RunStarted,
    Verify,
)

from .conftest import ROOT
from .player_page import PlayerPage, baseline_run, index_of, jsonl, scripted_run
from .test_player_accessibility import none_in, violations

JSQR = ROOT / "node_modules" / "jsqr" / "dist" / "jsQR.js"
SIZES = [(1280, 720), (1920, 1080)]


@pytest.fixture(scope="module")
def infilled() -> list:
    """An iteration that commits a slot, then one that goes to infill; 16 slots in all."""
    return scripted_run(
        gen_length=64,
        plan={4 * s: 0.95 if s < 2 else 0.2 + s / 100 for s in range(16)},
        given={6: 0.12, 62: 0.1, 63: 0.2},
    )


@pytest.fixture
def new_page(browser, tmp_path):
    """Makes pages with a run; none may log an error or ask the network for anything."""
    pages = []

    def make(events: list, **context) -> PlayerPage:
        options = {"viewport": {"width": 1280, "height": 720}, "bypass_csp": True}
        page = PlayerPage(browser, tmp_path, **(options | context)).open()
        pages.append(page)
        page.load(jsonl(events))
        return page

    yield make
    problems = [problem for page in pages for problem in page.problems]
    for page in pages:
        page.context.close()
    assert problems == []


def present(page: PlayerPage) -> PlayerPage:
    page.page.locator("#player").focus()
    page.page.keyboard.press("p")
    page.page.wait_for_selector("#player.is-presenting")
    page.page.wait_for_function(
        "() => document.fullscreenElement || document.querySelector('#player:popover-open')"
    )
    page.settle()
    return page


def presenting(page: PlayerPage) -> bool:
    return page.page.locator("#player.is-presenting").count() == 1


def shown_panels(page: PlayerPage) -> list[str]:
    return page.page.evaluate(
        """() => [...document.querySelectorAll('.rfp-panel')].filter(node => node.checkVisibility())
            .map(node => node.className.match(/rfp-panel rfp-(\\w+)/)[1])"""
    )


def fills_the_window(page: PlayerPage) -> bool:
    return page.page.evaluate(
        """() => {
            const { left, top, width, height } = document.getElementById('player').getBoundingClientRect();
            return left === 0 && top === 0 && width === innerWidth && height === innerHeight;
        }"""
    )


def test_it_fills_the_screen_and_gives_it_back(new_page, infilled):
    page = new_page(infilled)
    before = page.page.locator("#player").bounding_box()
    present(page)
    assert page.page.evaluate("() => document.fullscreenElement?.id") == "player"
    assert fills_the_window(page)
    page.page.keyboard.press("p")
    page.page.wait_for_function("() => !document.fullscreenElement")
    page.settle()
    assert not presenting(page)
    assert page.page.locator("#player").bounding_box() == before
    assert page.page.evaluate("() => document.activeElement.title") == "Presenter mode"
    assert len(shown_panels(page)) > 5


def test_leaving_the_full_screen_leaves_the_mode(new_page, infilled):
    page = present(new_page(infilled))
    page.page.evaluate("() => document.exitFullscreen()")
    page.page.wait_for_selector("#player:not(.is-presenting)")


def test_without_a_full_screen_it_covers_the_window_and_keeps_the_focus(new_page, infilled):
    page = new_page(infilled)
    page.page.evaluate(
        """() => {
            Element.prototype.requestFullscreen = () => Promise.reject(new TypeError('not here'));
            const other = document.createElement('button');
            other.id = 'other';
            document.body.append(other);
            document.querySelector('main').style.cssText = 'transform: scale(1); overflow: hidden';
        }"""
    )
    present(page)
    assert fills_the_window(page)
    assert page.page.evaluate("() => document.getElementById('other').inert")
    for _ in range(30):
        page.page.keyboard.press("Tab")
        assert page.page.evaluate(
            "() => document.activeElement.matches('body, #player, #player *')"
        )
    page.page.keyboard.press("Escape")
    page.page.wait_for_selector("#player:not(.is-presenting)")
    assert not page.page.evaluate("() => document.getElementById('other').inert")
    assert page.page.locator("#player").get_attribute("popover") is None


def test_the_view_that_matters_stands_beside_the_stage(new_page, infilled):
    page = present(new_page(infilled))
    for kind, number, view in (
        (RunStarted, 0, "closeup"),
        (Plan, 0, "scoreboard"),
        (Verify, 0, "closeup"),
        (Commit, 0, "orders"),
        (CacheState, 0, "cache"),
        (InfillRound, 0, "closeup"),
        (RunFinished, 0, "closeup"),
    ):
        page.seek(index_of(infilled, kind, number))
        assert sorted(shown_panels(page)) == sorted(["stage", "narration", view]), kind
    page.seek(index_of(infilled, Plan) + 1)
    assert page.data("spotlight") == "scoreboard"  # until there is something new to look at


def test_the_close_up_shows_the_token_that_decides(new_page, infilled):
    page = present(new_page(infilled))
    page.seek(index_of(infilled, Verify, outcome="prefix"))
    assert page.text(".rfp-closeup-test") == "0.12 ≤ 0.30"
    assert page.text(".rfp-closeup-verdict") == "rejected"
    assert page.text(".rfp-closeup .rfp-title") == "Slot 1 · token 3 of 4"
    judged = page.text(".rfp-closeup-cells .is-judged")
    assert judged == page.text(".rfp-closeup-token")
    assert judged == page.page.locator(".rfp-cell.is-rejected").first.inner_text()
    rounds = [event for event in infilled if isinstance(event, InfillRound)]
    forced = next(e for e in rounds if any("forced" in slot.statuses for slot in e.slots))
    page.seek(infilled.index(forced))
    assert page.text(".rfp-closeup-verdict") == "accepted all the same"
    page.seek(index_of(infilled, Verify, 1, outcome="prefix"))
    assert page.text(".rfp-closeup-verdict") == "accepted, the least sure one"
    assert page.text(".rfp-closeup-test") == "0.95 > 0.30"


def test_a_clicker_moves_by_moments_and_arrows_by_events(new_page, infilled):
    page = present(new_page(infilled))
    keyboard = page.page.keyboard
    kinds = []
    for _ in range(5):
        keyboard.press("PageDown")
        kinds.append(infilled[int(page.data("cursor"))].type)
    assert kinds == ["plan", "verify", "commit", "cache", "plan"]
    keyboard.press("PageUp")
    assert infilled[int(page.data("cursor"))].type == "cache"
    at = int(page.data("cursor"))
    keyboard.press("ArrowRight")
    assert int(page.data("cursor")) == at + 1
    keyboard.press("End")
    assert page.data("cursor") == str(len(infilled) - 1)
    keyboard.press("PageDown")
    assert page.data("cursor") == str(len(infilled) - 1)
    keyboard.press("Home")
    assert page.data("cursor") == "0"
    keyboard.press("Space")
    page.wait("playing", "true")
    keyboard.press("Space")
    page.wait("playing", "false")


def test_keys_work_wherever_the_focus_is(new_page, infilled):
    page = present(new_page(infilled))
    page.page.evaluate("() => document.activeElement.blur()")
    page.page.keyboard.press("PageDown")
    assert infilled[int(page.data("cursor"))].type == "plan"
    page.page.mouse.move(300, 300)
    page.page.get_by_label("Forward one event", exact=True).click()
    assert page.page.evaluate("() => document.activeElement.id") == "player"
    page.page.locator(".rfp-speed").select_option("2")
    assert page.page.evaluate("() => document.activeElement.id") == "player"
    page.page.keyboard.press("Space")
    page.wait("playing", "true")


def test_of_a_baseline_every_press_commits(new_page):
    events = baseline_run(MaskedDiffusionConfig(gen_length=8, drop_after_eos=False))
    page = present(new_page(events))
    commits = [at for at, event in enumerate(events) if isinstance(event, Commit)]
    places = []
    for _ in commits:
        page.page.keyboard.press("PageDown")
        places.append(int(page.data("cursor")))
    assert len(commits) == 8 and places == commits


@pytest.mark.parametrize("key", ["b", "."])
def test_the_screen_goes_black_and_any_key_brings_it_back(new_page, infilled, key):
    page = present(new_page(infilled))
    page.page.keyboard.press("Space")
    page.wait("playing", "true")
    page.page.keyboard.press(key)
    page.wait("playing", "false")
    at = page.data("cursor")
    blank = page.page.locator(".rfp-blank")
    assert blank.bounding_box() == {"x": 0, "y": 0, "width": 1280, "height": 720}
    assert blank.evaluate("node => getComputedStyle(node).backgroundColor") == "rgb(0, 0, 0)"
    centre = "() => document.elementFromPoint(640, 360).className"
    assert page.page.evaluate(centre) == "rfp-blank"
    page.page.keyboard.press("PageDown")
    assert blank.is_hidden()
    assert page.data("cursor") == at  # the key only woke it


def test_a_full_stop_goes_forward_outside_the_mode(new_page, infilled):
    page = new_page(infilled)
    page.page.locator("#player").focus()
    page.page.keyboard.press(".")
    assert page.data("cursor") != "0"
    assert page.page.locator(".rfp-blank").is_hidden()
    page.page.keyboard.press("PageDown")
    assert infilled[int(page.data("cursor"))].type == "forward"


def test_controls_come_with_the_pointer_and_go_again(new_page, infilled):
    page = present(new_page(infilled))
    transport = page.page.locator(".rfp-transport")
    opacity = "node => getComputedStyle(node).opacity"
    assert transport.evaluate(opacity) == "0"
    page.page.mouse.move(300, 300)
    page.page.mouse.move(310, 300)
    assert transport.evaluate(opacity) == "1"
    page.page.wait_for_selector("#player:not(.shows-controls)", timeout=6000)
    assert transport.evaluate(opacity) == "0"
    page.page.keyboard.press("Tab")
    page.page.wait_for_selector("#player")
    for _ in range(20):
        if page.page.evaluate("() => document.activeElement.closest('.rfp-transport') !== null"):
            break
        page.page.keyboard.press("Tab")
    assert transport.evaluate(opacity) == "1"


@pytest.mark.parametrize("size", SIZES)
def test_all_slots_fit_in_large_type(new_page, infilled, size):
    width, height = size
    page = present(new_page(infilled, viewport={"width": width, "height": height}))
    for at in range(0, len(infilled), 3):
        page.seek(at)
        hidden = page.page.evaluate(
            """() => [...document.querySelectorAll('.rfp-card')].filter(node => {
                const { left, top, right, bottom } = node.getBoundingClientRect();
                const box = document.querySelector('.rfp-stage').getBoundingClientRect();
                return left < box.left || top < box.top || right > box.right || bottom > box.bottom;
            }).length"""
        )
        assert hidden == 0, at
    # A line of type is at least a fortieth of the picture's height.
    cell = page.page.locator(".rfp-cell").first.bounding_box()
    assert cell["height"] >= height / 40
    size_of = "node => parseFloat(getComputedStyle(node).fontSize)"
    assert page.page.locator(".rfp-narration-text").evaluate(size_of) >= height / 40
    assert page.page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


def test_a_longer_run_scrolls_to_what_happens(new_page):
    events = scripted_run(gen_length=180, slot_threshold=0.9, plan={4 * s: 0.5 for s in range(45)})
    page = present(new_page(events))
    scroller = page.page.locator(".rfp-scroller")
    assert scroller.evaluate("node => node.scrollHeight > node.clientHeight")
    last = [at for at, event in enumerate(events) if isinstance(event, Commit)][-1]
    page.seek(last)
    fresh = page.page.locator(".rfp-slot[data-status=fresh]").first.bounding_box()
    box = scroller.bounding_box()
    assert box["y"] <= fresh["y"] and fresh["y"] + fresh["height"] <= box["y"] + box["height"] + 1


LOOKS = {
    "light": {},
    "dark": {"color_scheme": "dark"},
    "chinese": {"locale": "zh-CN"},
    "phone": {"viewport": {"width": 360, "height": 780}},
}


@pytest.mark.parametrize("look", LOOKS)
def test_every_look_passes_axe(new_page, infilled, look):
    page = present(new_page(infilled, **LOOKS[look]))
    found = {}
    for kind in (RunStarted, Plan, Verify, InfillRound, Commit, CacheState, RunFinished):
        page.seek(index_of(infilled, kind))
        found[kind.__name__] = violations(page.page)
    page.page.mouse.move(100, 100)
    page.page.mouse.move(110, 100)
    found["controls"] = violations(page.page)
    page.page.keyboard.press("q")
    found["share"] = violations(page.page)
    none_in(found)
    if look == "chinese":
        assert page.text(".rfp-share h3") == "链接与二维码"
        assert "只在本机有效" in page.text(".rfp-share-note")
    if look == "dark":
        ground = "() => getComputedStyle(document.getElementById('player')).backgroundColor"
        assert page.page.evaluate(ground) == "rgb(21, 23, 26)"


def scanned(page) -> str:
    """What a reader of QR codes finds in the picture that is shown."""
    page.evaluate(
        Path(JSQR).read_text(encoding="utf-8").replace("typeof exports", "typeof undefined")
    )
    return page.evaluate(
        """async () => {
            const svg = document.querySelector('.rfp-share-code svg').cloneNode(true);
            svg.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
            svg.setAttribute('width', 600);
            svg.setAttribute('height', 600);
            const image = new Image();
            image.src = 'data:image/svg+xml,' + encodeURIComponent(new XMLSerializer().serializeToString(svg));
            await image.decode();
            const canvas = Object.assign(document.createElement('canvas'), { width: 600, height: 600 });
            const context = canvas.getContext('2d');
            context.drawImage(image, 0, 0);
            return jsQR(context.getImageData(0, 0, 600, 600).data, 600, 600)?.data;
        }"""
    )


def test_the_code_holds_the_link_that_is_shown_in_clear(new_page, infilled):
    page = present(new_page(infilled))
    page.seek(index_of(infilled, Verify, 1))
    page.page.keyboard.press("q")
    link = page.text(".rfp-share-link")
    assert link.startswith("file://") and link.endswith("page.html#iter=2")
    assert scanned(page.page) == link
    label = page.page.locator(".rfp-share-code svg").get_attribute("aria-label")
    assert label == f"QR code of the link {link}"
    assert "this machine only" in page.text(".rfp-share-note")
    page.page.keyboard.press("q")
    assert page.page.locator(".rfp-share").is_hidden()
    assert presenting(page)
    page.page.keyboard.press("PageDown")
    assert infilled[int(page.data("cursor"))].type != "verify"


def test_the_export_menu_offers_the_code_and_the_page(new_page, infilled):
    page = new_page(infilled)
    page.page.click(".rfp-export summary")
    page.page.click("[data-export=link]")
    assert page.page.locator(".rfp-share-code svg").is_visible()
    with page.page.expect_download() as download:
        page.page.get_by_role("button", name="Save as page").click()
    assert download.value.suggested_filename.endswith(".html")
    page.page.get_by_role("button", name="Close", exact=True).click()
    page.page.wait_for_function("() => document.activeElement.tagName === 'SUMMARY'")


@pytest.mark.parametrize(
    ("href", "of", "reach"),
    [
        ("file:///run.html#iter=1", None, "local"),
        ("http://127.0.0.1:7860/", {"example": "a"}, "local"),
        ("http://localhost:7860/", {"run": "a"}, "local"),
        ("http://[::1]:7860/", {"run": "a"}, "local"),
        ("http://192.168.1.20:7860/", {"example": "a"}, "web"),
        ("https://class.example/run.html", None, "web"),
        ("https://class.example/", {"run": "a"}, "run"),
        ("https://class.example/", {"kept": "a"}, "kept"),
        ("https://class.example/", {}, "none"),
    ],
)
def test_the_note_says_whom_the_link_leads_to_the_run(new_page, infilled, href, of, reach):
    """The page's own functions, on addresses that no test page has."""
    page = new_page(infilled)
    texts = {
        "local": "on this machine only",
        "web": "Opens the same replay at iteration 1.",
        "run": "while the server keeps it",
        "kept": "Only this browser keeps this run",
        "none": "no address of its own",
    }
    page.page.evaluate(
        """([href, of]) => {
            player.destroy();
            const options = { autoplay: false, ...(of ? { linkOf: () => of } : {}), pageAddress: () => href };
            window.player = RefusionPlayer.mount(document.getElementById('player'), options);
        }""",
        [href, of],
    )
    page.load(jsonl(infilled))
    page.page.click(".rfp-export summary")
    page.page.click("[data-export=link]")
    assert texts[reach] in page.text(".rfp-share-note")
    leads = reach not in ("kept", "none")
    assert page.page.locator(".rfp-share-code svg").count() == int(leads)
    assert page.page.locator(".rfp-share-link").is_visible() == leads
    if leads:
        assert scanned(page.page) == page.text(".rfp-share-link")
        assert page.text(".rfp-share-link").startswith(href.split("#")[0])
