"""Reliability of confidences on numbers worked out by hand, and on runs whose outcome is known."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from refusion_core import Trace
from refusion_core.calibration import by_slot_size, calibrate, judged_slots
from tests.browser.player_page import jsonl, scripted_run


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


def test_runs_are_told_apart_by_slot_size(tmp_path):
    small = Trace(tuple(scripted_run(gen_length=8, slot_size=2)))
    large = Trace(tuple(broken_run()))
    found = by_slot_size([small, large])
    assert list(found) == [2, 4] and found[2].count == 4 and found[2].bins[0].accepted == 1
    path = tmp_path / "run.trace.jsonl"
    path.write_text(jsonl(broken_run()), encoding="utf-8")
    command = [sys.executable, "-m", "refusion_core", "calibrate", str(path)]
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["4"]["count"] == found[4].count
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "slots of 4" in done.stdout
