"""The command line as a user calls it: outputs, files, and one clear line with exit code 2 on bad input."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from refusion_core import read_trace
from refusion_core.events import Plan
from tests.fakes import GOLDEN

MODEL = str(GOLDEN / "models" / "easy")
DECODE = ("decode", "--model", MODEL, "--prompt-ids", "6,14,15,48,11,17,3", "--gen-length", "16")


def call(*arguments):
    command = [sys.executable, "-m", "refusion_core", *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def test_decode_writes_a_trace_that_validates_and_summarizes(tmp_path):
    path = tmp_path / "run.trace.jsonl"
    done = call(*DECODE, "--trace", str(path), "--json")
    assert done.returncode == 0, done.stderr
    finished = json.loads(done.stdout)
    trace = read_trace(path)
    assert finished["output_ids"] == list(trace.finished.output_ids)
    assert "valid" in call("validate", str(path)).stdout
    summary = json.loads(call("summarize", str(path), "--json").stdout)
    assert summary["forwards"] == trace.statistics.forwards
    assert "tokens_per_forward" in call("summarize", str(path)).stdout


def test_decode_prints_ids_where_there_is_no_tokenizer_and_the_figures_beside():
    done = call(*DECODE)
    assert done.stdout.split()[:3] == ["6", "14", "15"]
    assert "per forward" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("decode",), "--prompt"),
        ((*DECODE, "--prompt", "hello"), "--prompt"),
        (("decode", "--model", MODEL, "--prompt", "hello"), "prompt"),
        (("decode", "--model", MODEL, "--prompt-ids", "1,x"), "--prompt-ids"),
        (("decode", "--model", MODEL, "--prompt-ids", "99"), "prompt_ids[0]"),
        (("decode", "--model", "nowhere", "--prompt-ids", "1"), "nowhere"),
        ((*DECODE, "--slot-size", "0"), "slot_size"),
        ((*DECODE, "--slot-threshold", "1.5"), "slot_threshold"),
        ((*DECODE, "--gen-length", "100000"), "gen_length"),
        ((*DECODE, "--trace", "/no/such/folder/x"), "--trace"),
        (("validate", "/no/such/file"), "trace file"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments, named):
    done = call(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert named in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert "Traceback" not in done.stderr


def test_a_damaged_trace_names_line_and_field(tmp_path):
    path = tmp_path / "bad.trace.jsonl"
    path.write_text('{"type":"run_started","seq":0,"t":0.0}\n')
    done = call("validate", str(path))
    assert done.returncode == 2
    assert "line 1, run_started." in done.stderr


ENTRY = {"name": "one", "prompt": "Compute 3 + 4.", "settings": {"gen_length": 8}}


def test_record_decodes_each_example_as_it_says(tmp_path):
    examples = tmp_path / "examples.json"
    other = ENTRY | {"name": "two", "decoder": "mdm", "record": {"top_k": 0, "dependency": None}}
    examples.write_text(json.dumps([ENTRY, other]))
    done = call("record", str(examples), "--output", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    one, two = (read_trace(tmp_path / "out" / f"{name}.trace.jsonl") for name in ("one", "two"))
    assert (one.started.decoder, two.started.decoder) == ("refusion", "mdm")
    assert one.started.response_length == two.started.response_length == 8
    plans = [next(e for e in trace if isinstance(e, Plan)) for trace in (one, two)]
    assert [len(plan.slots[0].alternatives[0]) for plan in plans] == [4, 0]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"prompt": 3}, "is not of the form"),
        ({"settings": {"speed": 1}}, "examples settings = ['speed']"),
        ({"decoder": "beam"}, "examples decoder = 'beam'"),
        ({"decoder": "mdm", "settings": {"slot_size": 4}}, "examples settings = ['slot_size']"),
        ({"record": {"everything": True}}, "examples record = ['everything']"),
        ({"record": "all"}, "examples record = 'all'"),
    ],
)
def test_record_refuses_what_it_does_not_know(tmp_path, change, named):
    examples = tmp_path / "examples.json"
    examples.write_text(json.dumps([ENTRY | change]))
    done = call("record", str(examples), "--output", str(tmp_path))
    assert done.returncode == 2 and named in done.stderr
    assert done.stderr.count("\n") == 1
