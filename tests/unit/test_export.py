"""The exported page: one file with the player and the trace, whatever the tokens."""

from __future__ import annotations

import builtins
import html
import itertools
import json
import re
import subprocess
import sys
from html.parser import HTMLParser

import pytest

from refusion_core import RefusionError, TraceError, parse_trace, show, trace_page
from refusion_core.events import TokenText
from tests.browser.player_page import jsonl, scripted_run
from tests.unit.test_player_modules import node

HOSTILE = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "${alert(1)}",
    "{{x}}",
    "\"'`",
    "/*PLAYER_JS*/",
    "\u202eabc\x00\ufffe",
    "a\u2028b",
]


def hostile_run() -> list:
    texts = {id_: TokenText(id=id_, text=text) for id_, text in enumerate(HOSTILE, start=3)}
    return scripted_run(
        gen_length=8,
        target={k: 3 + k for k in range(8)},
        describe=lambda ids: [texts.get(i) or TokenText(id=i, text=f"t{i}") for i in ids],
        prompt_text="".join(HOSTILE),
    )


class Scripts(HTMLParser):
    """The script elements of a page, as a browser finds them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[list] = []
        self.inside = False
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        if tag == "script":
            self.inside = True
            self.found.append([dict(attributes).get("id"), ""])

    def handle_endtag(self, tag):
        self.inside = self.inside and tag != "script"

    def handle_data(self, data):
        if self.inside:
            self.found[-1][1] += data


def test_the_page_holds_the_trace_as_data_and_nothing_else_that_a_token_says():
    text = jsonl(hostile_run())
    scripts = Scripts(trace_page(parse_trace(text))).found
    assert [name for name, _ in scripts] == ["trace", "options", None, None]
    assert json.loads(scripts[0][1]) == text


def test_the_page_asks_no_host_and_says_so():
    page = trace_page(hostile_run())
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page).group(1)
    assert policy.startswith("default-src 'none'")
    head = page.split("<script", 1)[0]
    assert not re.search(r"(?:src|href)\s*=", head)


def test_the_language_can_be_set():
    scripts = Scripts(trace_page(hostile_run(), lang="zh")).found
    assert json.loads(scripts[1][1]) == {"lang": "zh"}


def test_a_damaged_file_is_named_by_line_and_field(tmp_path):
    path = tmp_path / "bad.trace.jsonl"
    path.write_text(jsonl(hostile_run()).replace('"seq":2', '"seq":"x"'), encoding="utf-8")
    with pytest.raises(TraceError, match="line 3.*seq"):
        trace_page(path)


def test_the_command_writes_the_page_beside_the_trace(tmp_path):
    path = tmp_path / "run.trace.jsonl"
    path.write_text(jsonl(hostile_run()), encoding="utf-8")
    run = [sys.executable, "-m", "refusion_core", "export"]
    done = subprocess.run([*run, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(tmp_path / "run.html")
    assert (tmp_path / "run.html").read_text(encoding="utf-8") == trace_page(path)
    path.write_text("{}\n")
    done = subprocess.run([*run, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "line 1" in done.stderr and "Traceback" not in done.stderr


def test_show_gives_a_notebook_the_page_in_a_frame():
    pytest.importorskip("IPython")
    events = hostile_run()
    output = show(events, height=500).data
    source = re.fullmatch(
        r'<div><iframe srcdoc="([^"]*)" [^<>]*height: 500px[^<>]*></iframe></div>', output
    )
    assert html.unescape(source.group(1)) == trace_page(events)
    assert "allow-same-origin" not in output


def test_show_without_a_notebook_says_what_to_do(monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("IPython"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(RefusionError, match="IPython.*trace_page"):
        show(hostile_run())


FRAMES = """
    import { chooseFrames } from "SOURCE/frames.js";
    const events = TYPES.map((type) => ({ type }));
    console.log(JSON.stringify(chooseFrames(events, LIMIT)));
"""


def frames(types: list[str], limit: int) -> list[int]:
    code = FRAMES.replace("TYPES", json.dumps(types)).replace("LIMIT", str(limit))
    return node(code, "")


STEP = ["forward", "plan", "forward", "verify", "infill_round", "infill_round", "commit", "cache"]
RUN = ["run_started", "vocabulary", *STEP * 3, "run_finished"]


def test_an_animation_shows_every_event_that_changes_the_picture():
    quiet = {"vocabulary", "forward", "cache"}
    assert frames(RUN, 120) == [n for n, kind in enumerate(RUN) if kind not in quiet]
    assert frames(RUN[:-1], 120)[-1] == len(RUN) - 2  # a partial run ends where it ends


def test_too_long_an_animation_leaves_out_rounds_of_infill_first():
    shown = [RUN[n] for n in frames(RUN, 14)]
    assert len(shown) == 14 and shown.count("infill_round") == 3
    assert [shown.count(kind) for kind in ("plan", "verify", "commit")] == [3, 3, 3]
    assert "infill_round" not in [RUN[n] for n in frames(RUN, 11)]


def test_a_very_long_animation_is_chosen_evenly():
    places = frames(["run_started", *["plan"] * 998, "run_finished"], 120)
    gaps = [b - a for a, b in itertools.pairwise(places)]
    assert len(places) == 120 and (places[0], places[-1]) == (0, 999)
    assert min(gaps) >= 8 and max(gaps) <= 9
