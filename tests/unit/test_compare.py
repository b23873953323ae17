"""Where runs first differ, on runs that differ in a known way."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from refusion_core import Trace, TraceError
from refusion_core.compare import compare
from tests.browser.player_page import jsonl, scripted_run

PLAN = {0: 0.9, 4: 0.8, 8: 0.7, 12: 0.2}


def run(**changes) -> Trace:
    return Trace(
        tuple(scripted_run(**{"plan": PLAN, "given": {5: 0.12}, "to_text": str} | changes))
    )


def test_equal_runs_have_no_difference():
    found = compare(run(), run())
    assert found.first is None and found.settings == {} and found.positions == found.text == ()


def test_another_threshold_is_found_in_the_plan_with_the_numbers():
    found = compare(run(), run(slot_threshold=0.75))
    assert found.settings == {"slot_threshold": (0.5, 0.75)}
    assert (found.first.iteration, found.first.stage) == (0, "plan")
    assert (
        "slot 2 is chosen on the left only: 0.7, above_threshold, margin +0.2" == found.first.reason
    )


def test_another_token_threshold_is_found_in_verify():
    found = compare(run(), run(token_threshold=0.05))
    assert (found.first.iteration, found.first.stage) == (0, "verify")
    assert found.first.reason == "5 tokens accepted at 0.3, 12 at 0.05"


def test_another_draft_and_the_positions_it_changes():
    found = compare(run(), run(target={1: 9}))
    assert found.first.stage == "plan" and found.first.reason == "slot 0 has another draft"
    assert found.positions == (4,)
    assert any(line.startswith("-[") for line in found.text)


def test_a_stopped_run_ends_first():
    found = compare(run(), run(stop_after=2))
    assert found.first.stage == "end" and found.first.reason == "the right run ends"


def test_other_prompts_are_refused():
    other = run()
    events = (
        type(other.started)(**(vars(other.started) | {"prompt_ids": (1,)})),
        *other.events[1:],
    )
    with pytest.raises(TraceError, match="another prompt"):
        compare(run(), Trace(events))


def test_the_command_tells_it(tmp_path):
    paths = []
    for name, trace in (("a", run()), ("b", run(slot_threshold=0.75))):
        paths.append(tmp_path / f"{name}.trace.jsonl")
        paths[-1].write_text(jsonl(list(trace)), encoding="utf-8")
    command = [sys.executable, "-m", "refusion_core", "compare", *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "iteration 1, plan: slot 2 is chosen on the left only" in done.stdout
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["first"]["stage"] == "plan"
