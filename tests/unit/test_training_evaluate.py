"""Evaluation: sums over prompts, the printed object, and errors that name what is wrong."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from refusion_core import DecodeConfig, load_checkpoint
from refusion_core.config import AutoregressiveConfig
from refusion_core.events import RunFinished, Statistics
from refusion_core.training.evaluate import Result, evaluate, overall

KEYS = {
    "prompts",
    "correct",
    "tokens_per_forward",
    "forwards",
    "tokens_per_second",
    "parallel_iterations",
    "out_of_order_slots",
    "prefix_iterations",
}


def finished(**figures) -> RunFinished:
    names = Statistics.__dataclass_fields__
    values = dict.fromkeys(names, 0) | {"forwards_by_phase": {}} | figures
    return RunFinished(
        seq=0,
        t=0.0,
        stop_reason="eos",
        output_ids=(),
        output_positions=(),
        text="no",
        stats=Statistics(**values),
    )


def test_figures_are_ratios_of_sums():
    """A long run weighs more than a short one: means of ratios would say 5.5 tokens per forward."""
    result = Result()
    common = {"parallel_iterations": 1, "prefix_iterations": 1, "out_of_order_slots": 1}
    result.add(
        finished(
            committed_tokens=10,
            forwards=1,
            iterations=1,
            infill_iterations=0,
            slots_committed=3,
            **common,
        ),
        0.5,
        "one",
        True,
    )
    result.add(
        finished(
            committed_tokens=9,
            forwards=9,
            iterations=3,
            infill_iterations=2,
            slots_committed=1,
            **common,
        ),
        1.5,
        "two",
        False,
    )
    figures = result.figures()
    assert figures["prompts"] == 2
    assert figures["correct"] == 0.5
    assert figures["tokens_per_forward"] == 1.9
    assert figures["forwards"] == 5
    assert figures["tokens_per_second"] == 9.5
    assert figures["parallel_iterations"] == 0.5
    assert figures["out_of_order_slots"] == 0.5
    assert figures["prefix_iterations"] == figures["infill_iterations"] == 0.5
    assert result.wrong == [("two", "no")]
    both = overall([result, result])
    assert both.figures() == figures | {"prompts": 4}
    assert len(both.wrong) == 2


def test_every_decoder_gets_the_same_prompts():
    checkpoint = load_checkpoint("bundled")
    settings = {"families": ["sums"], "per_family": 3, "seed": 5}
    asked = []

    def watch(config):
        results = evaluate(checkpoint, config, **settings)
        # Gibberish settings get wrong answers, whose prompts are kept.
        asked.append([prompt for prompt, _ in results["sums"].wrong])
        return results["sums"]

    assert watch(DecodeConfig(gen_length=4, serial_blocks=1)).correct == 0
    assert watch(AutoregressiveConfig(gen_length=4)).correct == 0
    assert asked[0] == asked[1]
    assert len(asked[0]) == 3


@pytest.mark.parametrize("decoder", ["refusion", "ar", "mdm"])
def test_the_command_prints_one_object(decoder):
    done = subprocess.run(
        [sys.executable, "-m", "refusion_core", "evaluate", "--family", "lists", "--family", "sums"]
        + ["--per-family", "1", "--seed", "3", "--gen-length", "8", "--decoder", decoder, "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    printed = json.loads(done.stdout)
    assert set(printed) == {"overall", "families"}
    assert set(printed["families"]) == {"lists", "sums"}
    for figures in (printed["overall"], *printed["families"].values()):
        assert KEYS <= set(figures)
    assert printed["overall"]["prompts"] == 2


@pytest.mark.parametrize(
    "arguments, named",
    [
        (["--family", "poems"], "poems"),
        (["--decoder", "beam"], "beam"),
        (["--split", "all"], "split"),
        (["--per-family", "0"], "per_family"),
        (["--decoder", "mdm", "--layout", "spiral"], "spiral"),
    ],
)
def test_what_it_cannot_do_is_named_in_one_line(arguments, named):
    done = subprocess.run(
        [sys.executable, "-m", "refusion_core", "evaluate", *arguments],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert named in done.stderr
    assert "Traceback" not in done.stderr
