"""What the player hands out: a page that shows the same, pictures, an animation, a timeline for Perfetto."""

from __future__ import annotations

import base64
import json
import re
import struct

import pytest

from refusion_core import trace_page
from refusion_core.events import Commit, Forward, Plan
from refusion_core.trace import fold_statistics
from tests.unit.test_export import HOSTILE, hostile_run

from .player_page import PlayerPage, golden_run, index_of, jsonl, scripted_run


@pytest.fixture(scope="module")
def golden() -> list:
    return golden_run("096")


@pytest.fixture
def player(browser, tmp_path):
    page = PlayerPage(browser, tmp_path, accept_downloads=True).open()
    yield page
    page.context.close()
    assert page.problems == []


def exported(player, kind: str) -> bytes:
    encoded = player.page.evaluate(
        """async kind => {
            const blob = await player.export(kind);
            const bytes = new Uint8Array(await blob.arrayBuffer());
            let text = '';
            for (const byte of bytes) text += String.fromCharCode(byte);
            return btoa(text);
        }""",
        kind,
    )
    return base64.b64decode(encoded)


def without_options(page: bytes) -> bytes:
    """The first of the marks is the page's own; the script behind it holds the template."""
    bare, count = re.subn(rb'(id="options">)\{[^<]*', rb"\1", page, count=1)
    assert count == 1
    return bare


@pytest.mark.parametrize("kind", ["golden", "hostile"])
def test_the_exported_page_shows_the_same_at_every_event(player, browser, tmp_path, kind):
    events = golden_run("096") if kind == "golden" else hostile_run()
    player.load(jsonl(events))
    pictures = player.walk("picture")
    page = exported(player, "html")
    path = tmp_path / "exported.html"
    path.write_bytes(page)
    other = PlayerPage(browser, tmp_path)
    other.page.goto(path.as_uri())
    other.page.evaluate("() => player.pause()")
    assert other.walk("picture") == pictures
    if kind == "hostile":
        shown = {cell[2] for cell in json.loads(pictures[-1][1:].rsplit(",[[", 1)[0])}
        assert HOSTILE[2] in shown and HOSTILE[0] in shown
    assert without_options(exported(other, "html")) == without_options(page)
    assert without_options(page) == without_options(trace_page(events).encode())
    assert other.problems == []
    other.context.close()


def test_a_paused_player_exports_a_page_that_opens_there(player, browser, tmp_path, golden):
    player.load(jsonl(golden))
    player.call("setLang", "zh")
    place = index_of(golden, Plan, 1)
    player.seek(place)
    path = tmp_path / "there.html"
    path.write_bytes(exported(player, "html"))
    other = PlayerPage(browser, tmp_path)
    other.page.goto(path.as_uri())
    other.wait("cursor", place)
    assert other.data("playing") == "false"
    assert other.page.evaluate("() => document.getElementById('player').lang") == "zh"
    other.context.close()


def colours(player, png: bytes) -> dict:
    """Size of a PNG as the browser reads it, and how often each colour is in a grid of its pixels."""
    return player.page.evaluate(
        """async text => {
            const image = new Image();
            image.src = 'data:image/png;base64,' + text;
            await image.decode();
            const canvas = document.createElement('canvas');
            [canvas.width, canvas.height] = [image.width, image.height];
            const context = canvas.getContext('2d', { willReadFrequently: true });
            context.drawImage(image, 0, 0);
            const { data } = context.getImageData(0, 0, image.width, image.height);
            const counts = {};
            for (let n = 0; n < data.length; n += 4 * 7) {
                const key = [data[n], data[n + 1], data[n + 2]].join();
                counts[key] = (counts[key] ?? 0) + 1;
            }
            return { width: image.width, height: image.height, counts };
        }""",
        base64.b64encode(png).decode(),
    )


def test_the_picture_has_what_is_shown(player, golden):
    player.load(jsonl(golden))
    player.seek(index_of(golden, Plan))
    first = exported(player, "png")
    player.seek(index_of(golden, Commit))
    second = exported(player, "png")
    assert first[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", first[16:24]) == struct.unpack(">II", second[16:24])
    look = colours(player, first)
    width = player.page.evaluate("() => document.getElementById('player').clientWidth")
    assert look["width"] == 2 * (width + 24)
    amber, green = "230,159,0", "0,158,115"
    assert look["counts"].get(amber, 0) > 50  # frames of chosen slots
    assert colours(player, second)["counts"].get(green, 0) > look["counts"].get(green, 0)


def test_the_picture_keeps_the_theme(browser, tmp_path, golden):
    page = PlayerPage(browser, tmp_path, color_scheme="dark").open()
    page.load(jsonl(golden))
    counts = colours(page, exported(page, "png"))["counts"]
    assert max(counts, key=counts.get) in ("29,32,36", "21,23,26")  # the dark panel or ground
    page.context.close()


def gif_frames(data: bytes) -> list[tuple[int, bytes]]:
    """Delay in hundredths of a second and image bytes of every frame."""
    assert data[:6] == b"GIF89a"
    at = 13 + (3 * 2 ** ((data[10] & 7) + 1) if data[10] & 128 else 0)
    frames, delay = [], 0
    while data[at] != 0x3B:
        if data[at] == 0x21:
            if data[at + 1] == 0xF9:
                delay = struct.unpack("<H", data[at + 4 : at + 6])[0]
            at += 2
        else:
            packed = data[at + 9]
            at += 10 + (3 * 2 ** ((packed & 7) + 1) if packed & 128 else 0) + 1
            frames.append((delay, at))
        start = at
        while data[at]:
            at += data[at] + 1
        at += 1
        if frames and frames[-1][1] == start:
            frames[-1] = (frames[-1][0], data[start:at])
    return frames


def test_the_animation_has_a_frame_for_every_step(player):
    events = scripted_run(gen_length=8, plan={0: 0.9, 4: 0.3})
    player.load(jsonl(events))
    player.seek(3)
    steps = {"RunStarted", "Plan", "Verify", "InfillRound", "Commit", "RunFinished"}
    count = sum(type(event).__name__ in steps for event in events)
    frames = gif_frames(exported(player, "gif"))
    assert len(frames) == count
    assert len({image for _, image in frames}) > count // 2
    assert all(delay > 0 for delay, _ in frames) and frames[-1][0] >= 200
    assert player.data("cursor") == "3"


def test_the_perfetto_timeline_has_the_forwards_and_ends_with_the_statistics(player, golden):
    player.load(jsonl(golden))
    entries = json.loads(exported(player, "chrome"))["traceEvents"]
    forwards = [event for event in golden if isinstance(event, Forward)]
    spans = [entry for entry in entries if entry.get("cat") == "forward"]
    assert [span["name"] for span in spans] == [event.phase for event in forwards]
    assert [span["args"]["cache_hits"] for span in spans] == [e.cache_hits for e in forwards]
    for span, event in zip(spans, forwards, strict=True):
        assert abs(span["dur"] - event.seconds * 1e6) <= 2 or span["ts"] == 0
    stamps = [entry["ts"] for entry in entries if entry["ph"] != "M"]
    assert stamps == sorted(stamps) and min(stamps) >= 0
    stats = fold_statistics(golden)
    committed = [entry for entry in entries if entry["name"] == "committed tokens"]
    assert committed[-1]["args"]["tokens"] == stats.committed_tokens
    reused = [entry["args"]["reused"] for entry in entries if entry["name"] == "forward tokens"]
    assert sum(reused) == stats.cache_hits
    iterations = [entry for entry in entries if entry.get("cat") == "iteration"]
    assert len(iterations) == stats.iterations


def test_the_menu_works_from_the_keyboard_and_names_the_file(player, golden):
    player.load(jsonl(golden))
    menu = player.page.locator(".rfp-export summary")
    menu.focus()
    player.page.keyboard.press("Enter")
    item = player.page.locator("[data-export=trace]")
    assert item.is_visible()
    player.page.keyboard.press("Escape")
    assert not item.is_visible()
    assert player.page.evaluate("() => document.activeElement.tagName") == "SUMMARY"
    player.page.keyboard.press("Enter")
    player.page.keyboard.press("Tab")
    player.page.keyboard.press("Tab")
    with player.page.expect_download() as download:
        player.page.keyboard.press("Enter")
    assert download.value.suggested_filename == f"refusion-{golden[0].run_id}.trace.jsonl"
    assert not item.is_visible()


def test_a_cancelled_animation_loses_nothing_and_saves_nothing(player, golden):
    player.load(jsonl(golden))
    player.seek(7)
    player.page.evaluate(
        """() => {
            window.saved = 0;
            HTMLAnchorElement.prototype.click = () => { window.saved++; };
        }"""
    )
    hold_drawing(player)
    player.page.click(".rfp-export summary")
    player.page.click("[data-export=gif]")
    player.page.locator(".rfp-export-busy button").click()
    player.page.evaluate("() => window.draw()")
    player.page.wait_for_function(
        "() => !document.querySelector('.rfp-export').open", timeout=15000
    )
    assert player.page.evaluate("() => window.saved") == 0
    assert player.data("cursor") == "7" and player.data("events") == str(len(golden))
    assert not player.page.locator(".rfp-notice").is_visible()


def test_an_export_that_fails_is_a_message(player, golden):
    player.load(jsonl(golden))
    player.page.evaluate("() => { HTMLCanvasElement.prototype.toBlob = done => done(null); }")
    player.page.click(".rfp-export summary")
    player.page.click("[data-export=png]")
    player.page.wait_for_selector(".rfp-notice:not([hidden])")
    assert "The export failed: the browser made no PNG" in player.text(".rfp-notice")
    assert player.data("events") == str(len(golden))


def test_a_picture_taken_right_after_a_seek_is_of_that_event(player, golden):
    player.load(jsonl(golden))
    place = index_of(golden, Commit)
    player.seek(place)
    settled = exported(player, "png")
    player.seek(0)
    player.page.evaluate(
        """place => {
            player.seek(place);
            window.picture = player.export('png');
        }""",
        place,
    )
    encoded = player.page.evaluate(
        """async () => {
            const bytes = new Uint8Array(await (await window.picture).arrayBuffer());
            return btoa(Array.from(bytes, byte => String.fromCharCode(byte)).join(''));
        }"""
    )
    assert base64.b64decode(encoded) == settled


def test_a_picture_holds_whatever_a_token_says(player):
    """XML forbids some characters: one of them in a text would leave no picture at all."""
    events = hostile_run()
    player.load(jsonl(events))
    player.seek(len(events) - 1)
    look = colours(player, exported(player, "png"))
    assert len(look["counts"]) > 20


def test_a_picture_keeps_what_is_scrolled_and_not_what_is_pointed_at(player):
    events = scripted_run(
        gen_length=8,
        target={k: 3 + k for k in range(8)},
        to_text=lambda ids: "".join(f"line {n}\n" for n in range(80)),
    )
    player.load(jsonl(events))
    player.seek(len(events) - 1)
    box = player.page.locator(".rfp-answer-text")
    scroll = "(node, to) => { node.scrollTop = to; return node.scrollTop; }"
    pictures = []
    for place in (400, 405):
        assert box.evaluate(scroll, place) == place
        pictures.append(exported(player, "png"))
    assert pictures[0] != pictures[1]
    player.page.locator(".rfp-slot").first.hover()
    assert player.page.locator(".rfp-slot.is-hovered").count() == 1
    assert exported(player, "png") == pictures[1]
    assert player.page.locator(".rfp-slot.is-hovered").count() == 1


def hold_drawing(player):
    """No picture is made until ``draw()`` is called, so that an export is under way for as long as wanted."""
    player.page.evaluate(
        """() => {
            const drawing = new Promise(done => { window.draw = done; });
            const { decode } = HTMLImageElement.prototype;
            HTMLImageElement.prototype.decode = async function () {
                await drawing;
                return decode.call(this);
            };
        }"""
    )


@pytest.mark.parametrize("playing", [True, False])
def test_an_animation_leaves_the_player_as_it_was(player, playing):
    events = scripted_run(gen_length=8, plan={0: 0.9, 4: 0.3})
    player.load(jsonl(events))
    player.call("setSpeed", 0.001)  # so slow that it stays where it is
    if playing:
        player.call("play")
    before = player.data("cursor")
    exported(player, "gif")
    assert player.data("cursor") == before
    assert player.data("playing") == str(playing).lower()


@pytest.mark.parametrize("rest", [True, False])
def test_an_animation_of_a_live_run_goes_on_following(player, golden, rest):
    player.call("begin")
    player.call("push", jsonl(golden[:10]))
    hold_drawing(player)
    player.page.evaluate("() => { window.making = player.export('gif'); }")
    assert player.data("playing") == "false"
    player.call("push", jsonl(golden[10:] if rest else golden[10:12]))
    assert player.page.evaluate("async () => { draw(); return (await making).size; }") > 0
    player.wait("cursor", len(golden) - 1 if rest else 11)
    assert player.data("state") == ("ready" if rest else "live")
    assert player.data("playing") == str(not rest).lower()


def test_a_run_that_is_replaced_ends_its_animation(player, golden):
    """The run that came instead is left alone, and there is no half-made file."""
    player.load(jsonl(golden))
    other = scripted_run(gen_length=8)
    hold_drawing(player)
    outcome = player.page.evaluate(
        """async text => {
            const making = player.export('gif');
            player.load(text);
            player.pause();
            player.seek(2);
            draw();
            return making.then(() => 'made', problem => problem.name);
        }""",
        jsonl(other),
    )
    assert outcome == "AbortError"
    assert player.data("cursor") == "2" and player.data("events") == str(len(other))


def test_the_perfetto_timeline_has_no_negative_times(player):
    """Whatever the clock of a damaged file says."""
    lines = [json.loads(line) for line in jsonl(scripted_run(gen_length=8)).splitlines()]
    forward = next(n for n, raw in enumerate(lines) if raw["type"] == "forward")
    lines[forward]["seconds"] = -5
    del lines[forward + 1]["t"]
    lines[-2]["t"] = 0
    player.load("\n".join(json.dumps(raw) for raw in lines))
    assert player.data("events") == str(len(lines))
    entries = [e for e in json.loads(exported(player, "chrome"))["traceEvents"] if e["ph"] != "M"]
    stamps = [entry["ts"] for entry in entries]
    assert all(isinstance(stamp, int) and stamp >= 0 for stamp in stamps)
    assert stamps == sorted(stamps)
    assert all(entry["dur"] >= 0 for entry in entries if entry["ph"] == "X")


def test_arrow_keys_move_in_the_menu_and_focus_comes_back_to_it(player, golden):
    player.load(jsonl(golden))
    player.seek(5)
    keyboard = player.page.keyboard
    focused = "() => document.activeElement.dataset.export ?? document.activeElement.tagName"
    player.page.locator(".rfp-export summary").focus()
    seen = []
    for key in ("ArrowDown", "ArrowDown", "End", "ArrowDown", "ArrowUp", "Home", "ArrowDown"):
        keyboard.press(key)
        seen.append(player.page.evaluate(focused))
    assert seen == ["html", "trace", "link", "html", "link", "html", "trace"]
    assert player.data("cursor") == "5"
    with player.page.expect_download():
        keyboard.press("Enter")
    player.page.wait_for_function("() => !document.querySelector('.rfp-export').open")
    assert player.page.evaluate(focused) == "SUMMARY"


def test_the_menu_is_off_without_a_run(player):
    summary = player.page.locator(".rfp-export summary")
    assert summary.get_attribute("aria-disabled") == "true"
    assert summary.get_attribute("tabindex") == "-1"
    player.load(jsonl(scripted_run(gen_length=8)))
    assert summary.get_attribute("aria-disabled") == "false"
    assert summary.get_attribute("tabindex") == "0"


def test_a_press_elsewhere_closes_the_menu(player, golden):
    player.load(jsonl(golden))
    player.page.click(".rfp-export summary")
    item = player.page.locator("[data-export=trace]")
    assert item.is_visible()
    player.page.mouse.click(2, 2)  # beside the player, where nothing takes the focus
    item.wait_for(state="hidden")


def test_an_exported_page_plays_on_a_phone_without_a_network(player, browser, tmp_path, golden):
    player.load(jsonl(golden))
    player.call("play")  # a player that rests exports a page that rests
    path = tmp_path / "phone.html"
    path.write_bytes(exported(player, "html"))
    size = {"width": 360, "height": 780}
    phone = PlayerPage(
        browser, tmp_path, viewport=size, is_mobile=True, has_touch=True, offline=True
    )
    page = phone.page
    page.goto(path.as_uri())
    page.wait_for_function("() => +document.getElementById('player').dataset.cursor > 2")
    for at in (None, 0, index_of(golden, Plan), index_of(golden, Commit), len(golden) - 1):
        if at is not None:
            phone.call("pause")
            phone.seek(at)
        assert (
            page.evaluate("() => [innerWidth, document.documentElement.scrollWidth]") == [360] * 2
        )
    # What is read is large enough, and what is pressed can be hit.
    small = page.evaluate(
        """() => [...document.querySelectorAll('#player *')].filter(node => node.checkVisibility()
            && [...node.childNodes].some(child => child.nodeType === 3 && child.data.trim())
            && parseFloat(getComputedStyle(node).fontSize) < 11).map(node => node.outerHTML)"""
    )
    assert small == []
    for button in page.locator(".rfp-transport :is(button, select, summary)").all():
        if not button.is_visible():
            continue
        box = button.bounding_box()
        assert box["height"] >= 36 and box["width"] >= 36
        assert 0 <= box["x"] and box["x"] + box["width"] <= size["width"]
    page.get_by_label("Play", exact=True).tap()
    phone.wait("playing", "true")
    page.get_by_label("Pause", exact=True).tap()
    phone.wait("playing", "false")
    page.tap(".rfp-export summary")
    box = page.locator(".rfp-export-box").bounding_box()
    assert 0 <= box["x"] and box["x"] + box["width"] <= size["width"]
    page.tap("[data-export=link]")
    box = page.locator(".rfp-share").bounding_box()
    assert 0 <= box["x"] and box["x"] + box["width"] <= size["width"]
    page.get_by_role("button", name="Close", exact=True).tap()
    page.locator(".rfp-cell").nth(3).tap()
    card = page.locator(".rfp-inspector").bounding_box()
    assert 0 <= card["x"] and card["x"] + card["width"] <= size["width"]
    assert phone.problems == []
    phone.context.close()
