"""The player opened by itself in headless Chromium, and runs that force what it has to show.

The runs come from the real decoder: on the models of the golden runs, or on a model with known distributions.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, Page

from refusion_core import DecodeConfig, RecordConfig, decode, load_checkpoint
from refusion_core.config import AutoregressiveConfig, MaskedDiffusionConfig
from refusion_core.decoder import SlotDecoder
from refusion_core.events import Event, TokenText, dump_event
from refusion_core.export import page_of_text
from tests.fakes import EOS, FACTS, GOLDEN, MASK, RuleModel

PROMPT = [9, 8, 7]
START = len(PROMPT)
SETTINGS = {
    "gen_length": 16,
    "slot_size": 4,
    "serial_blocks": 1,
    "slot_threshold": 0.5,
    "token_threshold": 0.3,
}
WORDS = {
    3: "def",
    4: "·total",
    5: "(",
    6: "values",
    7: "):",
    8: "↵····",
    9: "return",
    10: "·sum",
    11: "·of",
    12: "·the",
    13: "·squares",
    14: ".",
    15: "·x",
}


# What tests look at, by name: the page's policy forbids to evaluate text in it.
LOOKS = r"""
window.LOOKS = {
  cells: () => Array.from(document.querySelectorAll('.rfp-cell'), cell => [
    cell.className.match(/is-(\w+)/)[1], cell.className.match(/from-(\w+)/)[1], cell.textContent]),
  slots: () => Array.from(document.querySelectorAll('.rfp-slot'), slot => [
    slot.dataset.status, slot.querySelector('.rfp-tag').textContent]),
  picture: () => JSON.stringify([LOOKS.cells(), LOOKS.slots()]),
  text: () => document.querySelector('.rfp-layout').innerText,
  totals: () => document.querySelector('.rfp-cache .rfp-aside').textContent,
  height: () => document.getElementById('player').offsetHeight,
  statistics: () => ({ ...player.statistics(), shown: document.getElementById('player').dataset.committed }),
};
"""


class PlayerPage:
    """A page with one player. ``problems`` collects console errors and requests, which must stay away."""

    def __init__(self, browser: Browser, folder: Path, **context) -> None:
        options = {"viewport": {"width": 1440, "height": 1000}, "reduced_motion": "reduce"}
        self.context = browser.new_context(**(options | context))
        self.page: Page = self.context.new_page()
        self.problems: list[str] = []
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("console", self._on_console)
        self.page.on("request", self._on_request)
        self.page.add_init_script(LOOKS)
        self.folder = folder

    def _on_console(self, message) -> None:
        if message.type in ("error", "warning"):
            self.problems.append(message.text)

    def _on_request(self, request) -> None:
        if not request.url.startswith("file://"):
            self.problems.append(f"request: {request.url}")

    def open(self, trace: str | None = None) -> PlayerPage:
        path = self.folder / "page.html"
        path.write_text(page_of_text(trace or ""), encoding="utf-8")
        self.page.goto(path.as_uri())
        return self

    def remount(self, *, gaps: bool = False) -> None:
        """A fresh player in the same page; ``gaps`` collects what it asks for in a list of that name."""
        self.page.mouse.move(0, 0)
        self.page.evaluate(
            """gaps => {
                player.destroy();
                window.gaps = [];
                const options = gaps ? { onGap: seq => window.gaps.push(seq) } : {};
                window.player = RefusionPlayer.mount(document.getElementById('player'), options);
            }""",
            gaps,
        )

    def load(self, trace: str) -> None:
        """Show a trace, paused at its first event."""
        self.page.evaluate("text => { player.load(text); player.pause(); player.seek(0); }", trace)
        self.settle()

    def call(self, name: str, *args):
        return self.page.evaluate("([name, args]) => player[name](...args)", [name, list(args)])

    def walk(self, look: str, places: list[int] | None = None) -> list:
        """What the JavaScript expression ``look`` gives at each event, or at those given, in their order."""
        return self.page.evaluate(
            """async ([look, places]) => {
                const seen = [];
                for (const place of places ?? Array(+document.getElementById('player').dataset.events).keys()) {
                    player.seek(place);
                    await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
                    seen.push(LOOKS[look]());
                }
                return seen;
            }""",
            [look, places],
        )

    def seek(self, index: int) -> None:
        self.call("seek", index)
        self.settle()

    def settle(self) -> None:
        """Until the picture is that of the cursor."""
        self.page.evaluate(
            "() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))"
        )

    def data(self, name: str) -> str:
        return self.page.evaluate("name => document.getElementById('player').dataset[name]", name)

    def wait(self, name: str, value: object) -> None:
        self.page.wait_for_function(
            "([name, value]) => document.getElementById('player').dataset[name] === value",
            arg=[name, str(value)],
            timeout=15000,
        )

    def text(self, selector: str) -> str:
        return self.page.locator(selector).first.inner_text()

    def look(self, name: str):
        return self.page.evaluate("name => LOOKS[name]()", name)

    def cells(self) -> list[list[str]]:
        """Per response position: state, origin and shown text."""
        return self.look("cells")

    def slots(self) -> list[list[str]]:
        """Per slot: state and label."""
        return self.look("slots")


def jsonl(events: list[Event]) -> str:
    return "".join(dump_event(event) + "\n" for event in events)


def index_of(events: list[Event], kind: type[Event], number: int = 0, **fields) -> int:
    """Place of the n-th event of a kind whose fields are as given."""
    places = [
        place
        for place, event in enumerate(events)
        if isinstance(event, kind)
        and all(getattr(event, name) == value for name, value in fields.items())
    ]
    return places[number]


def golden_run(case: str) -> list[Event]:
    """A golden run decoded again, with the dependency."""
    lines = (GOLDEN / "cases.jsonl").read_text(encoding="utf-8").splitlines()
    raw = next(raw for raw in map(json.loads, lines) if raw["case"] == case)
    names = ("gen_length", "slot_size", "serial_blocks", "slot_threshold", "token_threshold")
    config = DecodeConfig(**{name: raw[name] for name in names})
    checkpoint = load_checkpoint(str(GOLDEN / "models" / raw["model"]))
    return list(decode(checkpoint, prompt_ids=raw["prompt_ids"], config=config))


def baseline_run(config: AutoregressiveConfig | MaskedDiffusionConfig) -> list[Event]:
    """A baseline's run of the first golden prompt."""
    raw = json.loads((GOLDEN / "cases.jsonl").read_text(encoding="utf-8").splitlines()[0])
    checkpoint = load_checkpoint(str(GOLDEN / "models" / raw["model"]))
    return list(decode(checkpoint, prompt_ids=raw["prompt_ids"], config=config))


def word_texts(ids: list[int]) -> list[TokenText]:
    special = {EOS: "<eos>", MASK: "<mask>"}
    return [TokenText(id=i, text=WORDS.get(i) or special.get(i, f"t{i}")) for i in ids]


def scripted_run(
    *,
    target: dict[int, int] | None = None,
    plan: dict[int, float] | None = None,
    given: dict[int, float] | None = None,
    describe: Callable[[list[int]], list[TokenText]] | None = word_texts,
    to_text: Callable[[list[int]], str] | None = None,
    prompt_text: str | None = "Sum the squares.",
    stop_after: int | None = None,
    **settings,
) -> list[Event]:
    """A run of the decoder on a model that knows its answer.

    target: token per offset in the response; plan: how sure the plan is there; given: how sure the model is of
    the token, given the one before it (0.95 where nothing is said); stop_after: forwards until it is stopped.
    """
    answer = {START + k: 3 + (k * 5) % 12 for k in range(-START, 200)}
    answer |= {START + k: token for k, token in (target or {}).items()}

    def rule(token, position, seen):
        if token == MASK:
            return {answer[position]: (plan or {}).get(position - START, 0.95)}
        return {answer[position + 1]: (given or {}).get(position + 1 - START, 0.95)}

    forwards = iter(range(10**6))
    decoder = SlotDecoder(
        RuleModel(rule),
        FACTS,
        prompt_ids=PROMPT,
        config=DecodeConfig(**SETTINGS | settings),
        record=RecordConfig(dependency=None),
        describe=describe,
        to_text=to_text,
        prompt_text=prompt_text,
        should_stop=None if stop_after is None else lambda: next(forwards) >= stop_after,
    )
    return list(decoder.run())
