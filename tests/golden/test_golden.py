"""The decoder equals the recorded runs of the reference, token by token."""

from __future__ import annotations

import subprocess
import sys

import pytest

from . import default_folder
from .check import find_checks

_CHECKS = list(find_checks(default_folder()))


@pytest.mark.parametrize("check", [c for _, c in _CHECKS], ids=[name for name, _ in _CHECKS])
def test_run_equals_the_reference(check):
    assert check() == []


def test_a_wrong_run_is_noticed(tmp_path):
    """The checker itself can fail: a changed token is found and the exit code says so."""
    source = default_folder()
    (tmp_path / "models").symlink_to(source / "models")
    case = (source / "cases.jsonl").read_text().splitlines()[0]
    changed = case.replace('"slot_confidence":[0.', '"slot_confidence":[0.00', 1)
    assert changed != case
    (tmp_path / "cases.jsonl").write_text(f"{case}\n{changed}\n")
    command = [sys.executable, "-m", "tests.golden", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "1 passed, 1 failed"
