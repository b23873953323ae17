"""What the player costs in headless Chromium: script per seek, memory, payload.

``python -m benchmarks.player [--json]``. The traces are runs of the real decoder on a model with drawn
distributions, of as many response tokens and iterations (within 5 %) as their names say. The shorter one has
dependency matrices too: over 512 slots they alone would be tens of megabytes.

ms_per_seek: milliseconds of script that a seek to a random event takes, the call and the frame it asks for;
    the browser's own layout and painting behind them are not counted
first_frame_ms: from a trace's text at hand to the first painted frame
heap_mb: JavaScript heap after garbage collection with the trace loaded; the growths are those of a second
    play through all events over the first
dom_growth: the same of the nodes that live in the page
payload_kb: the trace and the player's script, as they are on disk
"""

from __future__ import annotations

import json
import random
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import torch
import typer
from playwright.sync_api import CDPSession, Page, sync_playwright
from rich.console import Console
from rich.table import Table
from torch import Tensor

from refusion_core.cache import KVCache
from refusion_core.config import DecodeConfig, RecordConfig
from refusion_core.decoder import SlotDecoder
from refusion_core.events import Commit, Event, dump_event
from refusion_core.export import page_of_text, player_script
from refusion_core.trace import parse_trace
from tests.browser.conftest import FLAGS, chromium_path
from tests.fakes import FACTS, MASK, VOCAB, plain_texts

_SIZES = {"512x60": (512, 60), "4096x400": (4096, 400)}
_BLOCK_SLOTS = 64
_SLOT_SIZE = 8
_SEEKS = 200
_MATRIX_SLOTS = 64  # runs of more slots are recorded without dependency

# Counts the script of a seek: the call, and the frames that it asks for.
_CLOCK = """
window.clock = { spent: 0 };
const request = window.requestAnimationFrame.bind(window);
window.requestAnimationFrame = (callback) => request((now) => {
  const start = performance.now();
  callback(now);
  clock.spent += performance.now() - start;
});
window.measure = {
  frame: () => new Promise((done) => request(() => setTimeout(done))),
  async load(text) {
    const start = performance.now();
    player.load(text);
    player.pause();
    while (document.getElementById("player").dataset.painted === undefined) await measure.frame();
    return performance.now() - start;
  },
  async seeks(places) {
    const times = [];
    for (const place of places) {
      const start = performance.now();
      clock.spent = 0;
      player.seek(place);
      const call = performance.now() - start;
      clock.spent = 0;
      await measure.frame();
      times.push(call + clock.spent);
    }
    return times;
  },
};
"""


class DrawnModel:
    """Knows its answer; how sure it is of a token is drawn from its place and the length of the cache."""

    def new_cache(self, capacity: int) -> KVCache:
        return KVCache(layers=1, kv_heads=1, head_dim=1, capacity=capacity)

    def feed(self, ids, positions, cache, groups=None, watcher=None) -> Tensor:
        """Logits [T, V] in place of hidden states."""
        count, seed = len(ids), cache.length
        places = torch.tensor(positions)
        entries = (places * 31 % 17 / 4).view(1, count, 1)
        keys, _ = cache.append(0, entries, entries)
        cache.advance(torch.tensor(groups or [0] * count))
        if watcher is not None:
            watcher.see(entries, keys, None)
        masks = torch.tensor(ids) == MASK
        sure = torch.rand(count, generator=torch.Generator().manual_seed(seed))
        breaks = (places * 7919 + seed) % 101 < 3
        chance = torch.where(masks, 0.05 + 0.949 * sure, torch.where(breaks, 0.2, 0.97))
        rows = ((1 - chance) / (VOCAB - 1))[:, None].repeat(1, VOCAB)
        rows[torch.arange(count), 3 + (places + ~masks) % (VOCAB - 3)] = chance
        return rows.log()

    def logits(self, hidden: Tensor) -> Tensor:
        return hidden


def synthetic_trace(length: int, iterations: int) -> str:
    """JSON Lines of a run of so many tokens and iterations, within 5 %: the slot threshold for it is sought."""
    low, high = 0.5, 1.0
    for _ in range(30):
        threshold = (low + high) / 2
        events = list(_decode(length, threshold))
        found = sum(isinstance(event, Commit) for event in events)
        if abs(found - iterations) <= 0.05 * iterations:
            text = "".join(dump_event(event) + "\n" for event in events)
            parse_trace(text)
            return text
        low, high = (threshold, high) if found < iterations else (low, threshold)
    raise RuntimeError(f"no threshold gives {iterations} iterations; the last gave {found}")


def _decode(length: int, slot_threshold: float) -> Iterator[Event]:
    slots = length // _SLOT_SIZE
    return SlotDecoder(
        DrawnModel(),
        FACTS,
        prompt_ids=[9, 8, 7],
        config=DecodeConfig(
            gen_length=length,
            slot_size=_SLOT_SIZE,
            serial_blocks=max(1, slots // _BLOCK_SLOTS),
            slot_threshold=slot_threshold,
            token_threshold=0.5,
        ),
        record=RecordConfig(dependency="attention" if slots <= _MATRIX_SLOTS else None),
        describe=plain_texts,
    ).run()


def _metric(session: CDPSession, name: str) -> float:
    session.send("HeapProfiler.collectGarbage")
    metrics = session.send("Performance.getMetrics")["metrics"]
    return next(entry["value"] for entry in metrics if entry["name"] == name)


def measure(page: Page, session: CDPSession, text: str) -> dict[str, float]:
    """The figures of one trace."""
    first_frame = page.evaluate("(text) => measure.load(text)", text)
    count = len(text.splitlines())
    places = random.Random(0).choices(range(count), k=_SEEKS)
    page.evaluate("(places) => measure.seeks(places)", places[:20])
    times = page.evaluate("(places) => measure.seeks(places)", places)
    plays = []
    for _ in range(2):
        page.evaluate("(places) => measure.seeks(places)", list(range(count)))
        plays.append((_metric(session, "JSHeapUsedSize"), _metric(session, "Nodes")))
    (heap, nodes), (heap_after, nodes_after) = plays
    return {
        "ms_per_seek_median": round(statistics.median(times), 2),
        "ms_per_seek_p95": round(statistics.quantiles(times, n=20)[-1], 2),
        "first_frame_ms": round(first_frame),
        "heap_mb": round(heap_after / 2**20, 1),
        "heap_growth_mb": round((heap_after - heap) / 2**20, 2),
        "dom_growth": int(nodes_after - nodes),
        "payload_kb": round((len(text.encode()) + len(player_script().encode())) / 1024),
    }


def main(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Measure and print the figures of both sizes."""
    figures = {}
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        for name, (length, iterations) in _SIZES.items():
            page = browser.new_page(viewport={"width": 1440, "height": 960})
            page.add_init_script(_CLOCK)
            path = Path(folder) / "player.html"
            path.write_text(page_of_text(""), encoding="utf-8")
            page.goto(path.as_uri())
            session = page.context.new_cdp_session(page)
            session.send("Performance.enable")
            figures[name] = measure(page, session, synthetic_trace(length, iterations))
            page.close()
        browser.close()
    if as_json:
        typer.echo(json.dumps(figures))
        return
    table = Table("", *figures)
    for row in figures["512x60"]:
        table.add_row(row.replace("_", " "), *(f"{values[row]:g}" for values in figures.values()))
    Console().print(table)


if __name__ == "__main__":
    typer.run(main)
