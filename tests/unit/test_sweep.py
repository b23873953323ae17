"""Sweeps: the grid, judging, a folder that loses nothing, and rows that add up."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import random
import signal
import subprocess
import sys
import time

import psutil
import pytest

from refusion_core import ConfigError, DecodeConfig, PromptError, load_checkpoint, read_trace
from refusion_core.sweep import Result, SweepFolder, grid, summarise
from refusion_core.sweep_prompts import (
    SweepPrompt,
    check_prompts,
    drawn_prompts,
    parse_prompts,
    read_prompts,
)
from refusion_core.training.tasks import FAMILIES


def result(config=None, prompt=0, **values):
    given = {
        "family": None,
        "text": "5",
        "right": True,
        "tokens": 8,
        "forwards": 2,
        "iterations": 1,
        "parallel_iterations": 1,
        "slots": 2,
        "out_of_order_slots": 1,
        "seconds": 0.5,
        "trace": "traces/x.trace.jsonl",
    }
    return Result(config=config or DecodeConfig(), prompt=prompt, **given | values)


def test_a_grid_has_every_combination_once():
    configs = grid(
        DecodeConfig(seed=3), slot_size=[4, 8], slot_threshold=[0.5, 0.9, 0.5], policy=None
    )
    assert [(c.slot_size, c.slot_threshold, c.seed) for c in configs] == [
        (4, 0.5, 3),
        (4, 0.9, 3),
        (8, 0.5, 3),
        (8, 0.9, 3),
    ]
    with pytest.raises(ConfigError, match="slot_threshold"):
        grid(DecodeConfig(), slot_threshold=[0.5, 1.5])


def test_answers_are_judged_by_what_is_expected():
    prompt = SweepPrompt(prompt="Add 2 and 3.", expected="Answer:\n5")
    assert prompt.judge("Answer: 5 ") is True and prompt.judge("Answer: 6") is False
    assert SweepPrompt(prompt="hello").judge("hello") is None


def test_drawn_prompts_are_those_of_the_development_split_judged_by_their_family():
    prompts = drawn_prompts(["sums", "lists"], 3)
    assert [p.family for p in prompts] == ["sums"] * 3 + ["lists"] * 3
    assert prompts == drawn_prompts(["sums", "lists"], 3)
    assert not any(prompt.judge("no answer at all") for prompt in prompts)
    for prompt in prompts:
        rng = random.Random(f"sweep {prompt.family} {prompt.draw}")
        sample = FAMILIES[prompt.family].sample(rng, "dev")
        assert sample.prompt == prompt.prompt and prompt.judge(sample.response)
    with pytest.raises(ConfigError, match="poems"):
        drawn_prompts(["poems"], 1)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("not json", "line 2.*is no JSON"),
        ('{"expected": "5"}', "line 2.*is not of the form"),
        ('{"prompt": " "}', "line 2.*is not of the form"),
        ('{"prompt": "x", "answer": "y"}', "line 2.*is not of the form"),
        ('{"prompt": 3}', "line 2.*is not of the form"),
        ('["prompt"]', "line 2.*is not of the form"),
    ],
)
def test_a_bad_line_is_named(text, named):
    with pytest.raises(PromptError, match=named):
        parse_prompts(['{"prompt": "fine"}', text])


def test_a_file_without_prompts_or_that_is_missing_says_so(tmp_path):
    with pytest.raises(PromptError, match="hold no prompt"):
        parse_prompts(["", "  "])
    with pytest.raises(PromptError, match="cannot be read"):
        read_prompts(tmp_path / "nothing.jsonl")


def test_a_file_is_read_with_its_mark_and_its_odd_line_breaks(tmp_path):
    path = tmp_path / "prompts.jsonl"
    line = json.dumps({"prompt": "one\u2028two"}, ensure_ascii=False)
    path.write_text(f"{line}\r\n", encoding="utf-8-sig", newline="")
    assert read_prompts(path) == [SweepPrompt(prompt="one\u2028two")]


def test_a_prompt_that_the_model_cannot_take_is_named_before_anything_runs():
    prompts = [SweepPrompt(prompt="fine"), SweepPrompt(prompt="word " * 9000)]
    checkpoint, configs = load_checkpoint("bundled"), grid(DecodeConfig(), slot_size=[4, 8])
    check_prompts(checkpoint, prompts[:1], configs)
    with pytest.raises(PromptError, match="prompt 2, prompt and gen_length"):
        check_prompts(checkpoint, prompts, configs)


PROMPTS = [SweepPrompt(prompt="a"), SweepPrompt(prompt="b")]


def test_what_is_finished_is_not_missing_any_more(tmp_path):
    configs = grid(DecodeConfig(), slot_threshold=[0.5, 0.9])
    folder = SweepFolder(tmp_path, "hash", PROMPTS)
    assert len(folder.missing(configs)) == 4
    folder.add(result(configs[0], 1))
    again = SweepFolder(tmp_path, "hash", PROMPTS)
    assert again.results == [result(configs[0], 1)]
    assert again.missing(configs) == [(configs[0], 0), (configs[1], 0), (configs[1], 1)]


def test_a_torn_last_line_is_done_again_and_the_rest_stays(tmp_path):
    folder = SweepFolder(tmp_path, "hash", PROMPTS)
    folder.add(result(prompt=0))
    path = tmp_path / "results.jsonl"
    path.write_text(path.read_text() + result(prompt=1).to_line()[:40])
    again = SweepFolder(tmp_path, "hash", PROMPTS)
    assert again.results == [result(prompt=0)]
    again.add(result(prompt=1))
    assert SweepFolder(tmp_path, "hash", PROMPTS).results == [result(prompt=0), result(prompt=1)]


def test_a_line_torn_inside_a_character_and_odd_line_breaks_in_answers_do_no_harm(tmp_path):
    folder = SweepFolder(tmp_path, "hash", PROMPTS)
    odd = result(prompt=0, text="你好\u2028\x85\r\n")
    folder.add(odd)
    path = tmp_path / "results.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + whole[: whole.index("好".encode()) + 1])
    assert SweepFolder(tmp_path, "hash", PROMPTS).results == [odd]
    assert path.read_bytes() == whole


def test_a_damaged_line_or_another_sweep_is_refused(tmp_path):
    SweepFolder(tmp_path, "hash", PROMPTS).add(result())
    with pytest.raises(ConfigError, match="of another model;"):
        SweepFolder(tmp_path, "other", PROMPTS)
    with pytest.raises(ConfigError, match="of other prompts;"):
        SweepFolder(tmp_path, "hash", PROMPTS[:1])
    path = tmp_path / "results.jsonl"
    path.write_text(path.read_text() + "{}\n")
    with pytest.raises(ConfigError, match="results.jsonl line 2"):
        SweepFolder(tmp_path, "hash", PROMPTS)
    (tmp_path / "sweep.json").write_text("")
    with pytest.raises(ConfigError, match="sweep.json.*is damaged"):
        SweepFolder(tmp_path, "hash", PROMPTS)


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="output.*cannot be written"):
        SweepFolder(tmp_path / "file", "hash", PROMPTS)


def test_rows_are_ratios_of_sums_and_the_best_are_marked():
    slow, fast, bad = grid(DecodeConfig(), slot_threshold=[0.9, 0.5, 0.1])
    rows = summarise(
        [
            result(slow, 0, tokens=10, forwards=10),
            result(slow, 1, tokens=30, forwards=2),
            result(fast, 0, right=False, tokens=40, forwards=4),
            result(fast, 1, tokens=40, forwards=4),
            result(bad, 0, right=False, tokens=1, forwards=1),
            result(bad, 1, right=None),
        ]
    )
    by_config = {row.config: row for row in rows}
    assert by_config[slow].tokens_per_forward == pytest.approx(40 / 12, abs=1e-3)
    assert (by_config[slow].parallel_iterations, by_config[slow].out_of_order_slots) == (1, 0.5)
    assert (by_config[slow].right, by_config[fast].right) == (1.0, 0.5)
    assert (by_config[bad].judged, by_config[bad].right) == (1, 0.0)
    assert [row.config for row in rows] == [fast, slow, bad]
    assert {row.config for row in rows if row.best} == {slow, fast}


def test_settings_that_lack_prompts_are_not_the_best():
    whole, begun = grid(DecodeConfig(), slot_threshold=[0.9, 0.5])
    runs = [result(whole, 0), result(whole, 1), result(begun, 0, tokens=100)]
    assert [row.config for row in summarise(runs) if row.best] == [whole]
    runs.append(result(begun, 1, tokens=100))
    assert [row.config for row in summarise(runs) if row.best] == [begun]


def test_without_answers_the_best_is_the_one_with_the_most_tokens_per_forward():
    slow, fast = grid(DecodeConfig(), slot_threshold=[0.9, 0.5])
    rows = summarise([result(slow, right=None), result(fast, right=None, tokens=9)])
    assert [(row.config, row.right) for row in rows if row.best] == [(fast, None)]


EACH, RUNS = 25, 100  # so many that none is over before it is stopped
SWEEP = (
    "sweep",
    "--family",
    "other",
    "--per-family",
    str(EACH),
    *(part for value in (0.5, 0.9, 0.99, 0.9999) for part in ("--slot-threshold", str(value))),
)


def command(folder, *more):
    return [sys.executable, "-m", "refusion_core", *SWEEP, "--output", str(folder), *more]


def refused(folder, *more):
    """What a sweep says that cannot be started."""
    done = subprocess.run(command(folder, *more), capture_output=True, text=True)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    return done.stderr


def lines(folder):
    path = folder / "results.jsonl"
    return path.read_text(encoding="utf-8").split("\n") if path.exists() else []


@contextlib.contextmanager
def begun(folder, processes):
    """A sweep that has finished some of its runs; it is gone afterwards."""
    started = command(folder, "--processes", str(processes))
    with subprocess.Popen(started, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 120
        while len(lines(folder)) < 4 and time.monotonic() < deadline:
            time.sleep(0.01)
        yield process
        process.kill()


def lives(process):
    """Whether a process still computes: what nobody asks for the end of stays listed."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.status() != psutil.STATUS_ZOMBIE
    return False


def check_goes_on(folder, before, *more):
    """Run the sweep again: whole lines of before stay, the rest is done once. Answers what it printed."""
    done = subprocess.run(
        command(folder, "--processes", "1", *more), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    after = lines(folder)
    assert after[: len(before) - 1] == before[:-1]
    results = [Result.from_line(line) for line in after[:-1]]
    assert len({found.job for found in results}) == len(results) == RUNS
    for found in results:
        trace = read_trace(folder / found.trace)
        assert trace.started.settings.slot_threshold == found.config.slot_threshold
        assert (trace.finished.text, trace.statistics.forwards) == (found.text, found.forwards)
    return done.stdout


def test_a_killed_sweep_goes_on_and_loses_nothing(tmp_path):
    folder = tmp_path / "sweep"
    with begun(folder, 2) as process:
        children = psutil.Process(process.pid).children()
        process.kill()
        process.wait()
    before = lines(folder)
    assert 3 <= len(before) - 1 < RUNS
    assert len(children) >= 2
    deadline = time.monotonic() + 20
    while any(map(lives, children)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(map(lives, children))
    kept = {path: path.stat().st_mtime_ns for path in _traces(folder, before[:-1])}
    printed = check_goes_on(folder, before, "--json", "--csv", str(tmp_path / "rows.csv"))
    assert {path: path.stat().st_mtime_ns for path in kept} == kept  # none was decoded again
    rows = json.loads(printed)
    assert len(rows) == 4 and {row["prompts"] for row in rows} == {EACH}
    with (tmp_path / "rows.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    assert [float(row["slot_threshold"]) for row in table] == [r["slot_threshold"] for r in rows]


def _traces(folder, found):
    return [folder / Result.from_line(line).trace for line in found]


def test_an_interrupted_sweep_notes_what_was_being_decoded(tmp_path):
    folder = tmp_path / "sweep"
    with begun(folder, 1) as process:
        os.kill(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert "Traceback" not in said
    before = lines(folder)
    assert before[-1] == "" and len(before) - 1 < RUNS
    assert set(_traces(folder, before[:-1])) == set((folder / "traces").iterdir())
    check_goes_on(folder, before)


def test_the_command_refuses_what_cannot_work(tmp_path):
    assert "--family" in refused(tmp_path, "--prompts", "x.jsonl")
    assert "--csv" in refused(tmp_path, "--csv", str(tmp_path / "no" / "rows.csv"))


def test_one_setting_has_a_table_too(tmp_path):
    path = tmp_path / "prompts.jsonl"
    path.write_text('{"prompt": "Hello"}\n', encoding="utf-8")
    one = [sys.executable, "-m", "refusion_core", "sweep", "--prompts", str(path)]
    done = subprocess.run(
        [*one, "--processes", "1", "--output", str(tmp_path / "sweep")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "1 prompts, 1 settings" in done.stdout and "forwards" in done.stdout
