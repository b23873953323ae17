"""What the player hands out: a page that shows the same, pictures, an animation, a timeline for Perfetto."""

from __future__ import annotations

import base64
import json
import struct

import pytest

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
    again = exported(other, "html")
    assert again.split(b'id="options"')[0] == page.split(b'id="options"')[0]
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


def test_a_cancelled_animation_loses_nothing(player, golden):
    player.load(jsonl(golden))
    player.seek(7)
    player.page.click(".rfp-export summary")
    player.page.click("[data-export=gif]")
    player.page.locator(".rfp-export-busy button").click()
    player.page.wait_for_function(
        "() => !document.querySelector('.rfp-export').open", timeout=15000
    )
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
