"""Sweeps: the grid, judging, a folder that loses nothing, and rows that add up."""

from __future__ import annotations

import csv
import json
import random
import subprocess
import sys
import time

import pytest

from refusion_core import ConfigError, DecodeConfig, PromptError, read_trace
from refusion_core.sweep import (
    Result,
    SweepFolder,
    SweepPrompt,
    drawn_prompts,
    grid,
    parse_prompts,
    read_prompts,
    summarise,
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


def test_a_damaged_line_or_another_sweep_is_refused(tmp_path):
    SweepFolder(tmp_path, "hash", PROMPTS).add(result())
    with pytest.raises(ConfigError, match="another model"):
        SweepFolder(tmp_path, "other", PROMPTS)
    with pytest.raises(ConfigError, match="another prompts"):
        SweepFolder(tmp_path, "hash", PROMPTS[:1])
    (tmp_path / "results.jsonl").write_text("{}\n")
    with pytest.raises(ConfigError, match="results.jsonl"):
        SweepFolder(tmp_path, "hash", PROMPTS)


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


SWEEP = (
    "sweep",
    "--family",
    "other",
    "--per-family",
    "5",
    "--processes",
    "1",
    *(part for value in (0.5, 0.9, 0.99, 0.9999) for part in ("--slot-threshold", str(value))),
)


def command(folder, *more):
    return [sys.executable, "-m", "refusion_core", *SWEEP, "--output", str(folder), *more]


def lines(folder):
    path = folder / "results.jsonl"
    return path.read_text().splitlines() if path.exists() else []


def test_a_killed_sweep_goes_on_and_loses_nothing(tmp_path):
    folder = tmp_path / "sweep"
    with subprocess.Popen(command(folder), stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 120
        while len(lines(folder)) < 3 and time.monotonic() < deadline:
            time.sleep(0.01)
        process.kill()
    before = lines(folder)
    assert 3 <= len(before) < 20
    done = subprocess.run(
        command(folder, "--json", "--csv", str(tmp_path / "rows.csv")),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    after = lines(folder)
    kept = [line for line in before if line.endswith("}")]
    assert after[: len(kept)] == kept  # nothing is done twice
    results = [Result.from_line(line) for line in after]
    assert len({found.job for found in results}) == len(results) == 20
    for found in results:
        trace = read_trace(folder / found.trace)
        assert trace.started.settings.slot_threshold == found.config.slot_threshold
        assert (trace.finished.text, trace.statistics.forwards) == (found.text, found.forwards)
    rows = json.loads(done.stdout)
    assert len(rows) == 4 and {row["prompts"] for row in rows} == {5}
    with (tmp_path / "rows.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    assert [float(row["slot_threshold"]) for row in table] == [r["slot_threshold"] for r in rows]


def test_the_command_refuses_prompts_and_families_together(tmp_path):
    done = subprocess.run(command(tmp_path, "--prompts", "x.jsonl"), capture_output=True, text=True)
    assert done.returncode == 2 and "--family" in done.stderr
