"""Reliability of confidences on numbers worked out by hand, and on runs whose outcome is known."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from refusion_core import Trace
from refusion_core.calibration import calibrate, grouped, judged_slots, slot_size_of
from refusion_core.sweep import SweepFolder
from refusion_core.sweep_prompts import SweepPrompt
from tests.browser.player_page import jsonl, scripted_run
from tests.unit.test_sweep import result


def test_bins_and_error_by_hand():
    found = calibrate([(0.4, False), (0.5, True), (0.92, True), (0.94, False), (1.0, True)])
    assert [(b.low, b.high, b.count, b.accepted) for b in found.bins] == [
        (0.0, 0.5, 2, 0.5),
        (0.9, 0.95, 2, 0.5),
        (0.999, 1.0, 1, 1.0),
    ]
    assert found.count == 5
    assert found.error == pytest.approx((2 * 0.05 + 2 * 0.43 + 0) / 5)


def test_nothing_judged_is_no_error():
    assert calibrate([]).count == 0 and calibrate([]).error == 0


def broken_run() -> list:
    """Slots 0 to 2 are chosen first and slot 1 breaks; then 1 to 3 follow."""
    return scripted_run(plan={0: 0.9, 4: 0.8, 8: 0.7, 12: 0.2}, given={5: 0.12})


def test_slots_of_a_run_count_where_they_were_chosen():
    pairs = list(judged_slots(Trace(tuple(broken_run()))))
    assert [(round(confidence, 2), whole) for confidence, whole in pairs[:3]] == [
        (0.9, True),
        (0.8, False),
        (0.7, True),
    ]


def calibrated(*arguments):
    command = [sys.executable, "-m", "refusion_core", "calibrate", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


def test_runs_are_told_apart_by_slot_size(tmp_path):
    small = Trace(tuple(scripted_run(gen_length=8, slot_size=2)))
    large = Trace(tuple(broken_run()))
    found = grouped((slot_size_of(trace), trace) for trace in (small, large))
    assert list(found) == ["slots of 2", "slots of 4"]
    assert found["slots of 2"].count == 4 and found["slots of 2"].bins[0].accepted == 1
    path = tmp_path / "run.trace.jsonl"
    path.write_text(jsonl(broken_run()), encoding="utf-8")
    shown = json.loads(calibrated(path, "--json").stdout)
    assert shown["slots of 4"]["count"] == found["slots of 4"].count
    assert "slots of 4" in calibrated(path).stdout


def test_runs_are_told_apart_by_family(tmp_path):
    for name in ("code-a", "code-b", "sums-a"):
        path = tmp_path / f"{name}.trace.jsonl"
        path.write_text(jsonl(broken_run()), encoding="utf-8")
    done = calibrated(*sorted(tmp_path.iterdir()), "--by", "family", "--json")
    counts = {family: found["count"] for family, found in json.loads(done.stdout).items()}
    each = len(list(judged_slots(Trace(tuple(broken_run())))))
    assert counts == {"code": 2 * each, "sums": each}


def test_the_runs_of_a_sweep_are_of_the_family_of_their_prompt(tmp_path):
    folder = SweepFolder(tmp_path / "sweep", "hash", [SweepPrompt(prompt="a", family="lists")])
    (folder.folder / "traces" / "x.trace.jsonl").write_text(jsonl(broken_run()), encoding="utf-8")
    folder.add(result(trace="traces/x.trace.jsonl", family="lists"))
    done = calibrated(folder.folder, "--by", "family", "--json")
    assert list(json.loads(done.stdout)) == ["lists"]


def test_an_unknown_grouping_is_refused(tmp_path):
    done = calibrated(tmp_path, "--by", "colour")
    assert done.returncode == 2 and "--by = 'colour'" in done.stderr
