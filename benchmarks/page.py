"""How long a visitor waits: page to playing example, and Run to the first frame of the run.

Drives the app in headless Chromium: ``python -m benchmarks.page [--rounds N] [--json]``.
"""

from __future__ import annotations

import json
import statistics
from typing import Annotated

import typer
from playwright.sync_api import Page, sync_playwright

from tests.browser.conftest import FLAGS, chromium_path, serving

# In the page: when its first frame was painted, and when the first frame of a run was after a click on Run.
_CLOCK = """
window.clock = {};
new MutationObserver((changes) => {
  const now = performance.now();
  if (!changes.some((change) => change.target.classList.contains("refusion-mount"))) return;
  clock.playing ??= now;
  if (clock.click && window.refusion.player.text().includes(clock.prompt)) clock.frame ??= now;
}).observe(document, { subtree: true, attributes: true, attributeFilter: ["data-painted"] });
document.addEventListener("click", () => { clock.click ??= performance.now(); }, true);
"""


def page_to_playing(page: Page, url: str) -> float:
    """Seconds from navigation to the first painted frame of the recorded example."""
    page.goto(url, wait_until="commit")
    page.wait_for_function("() => clock.playing")
    return page.evaluate("clock.playing") / 1000


def run_to_frame(page: Page, prompt: str) -> float:
    """Seconds from the click on Run to the first painted frame of the run."""
    page.fill("#prompt textarea", prompt)
    page.evaluate("(prompt) => { clock = { prompt }; }", prompt)
    page.click("#run")
    page.wait_for_function("() => clock.frame")
    return page.evaluate("clock.frame - clock.click") / 1000


def main(
    rounds: Annotated[int, typer.Option(help="Times each is measured.")] = 5,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Measure and print medians and worst values, in seconds."""
    playing, first_frame = [], []
    with serving() as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        for number in range(rounds):
            page = browser.new_page(viewport={"width": 1440, "height": 960})
            page.add_init_script(_CLOCK)
            playing.append(page_to_playing(page, url))
            first_frame.append(run_to_frame(page, f"Add {300 + number} and 58 step by step."))
            page.close()
        browser.close()
    # The very first run may have to wait for the model, so it is told apart.
    result = {
        "page_to_playing_median": statistics.median(playing),
        "page_to_playing_worst": max(playing),
        "first_run_to_frame": first_frame[0],
        "run_to_frame_median": statistics.median(first_frame[1:] or first_frame),
        "run_to_frame_worst": max(first_frame[1:] or first_frame),
    }
    result = {name: round(value, 3) for name, value in result.items()}
    for line in [json.dumps(result)] if as_json else [f"{k}: {v} s" for k, v in result.items()]:
        typer.echo(line)


if __name__ == "__main__":
    typer.run(main)
