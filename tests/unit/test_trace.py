"""Traces: what is written reads back, what is damaged is named, and everything is documented."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest

import refusion_core.events as events_module
from refusion_core import DecodeConfig, TraceError, decode, load_checkpoint, parse_trace, read_trace
from refusion_core.events import EVENT_TYPES, Event, dump_event, parse_event
from refusion_core.trace import write_trace
from tests.fakes import GOLDEN

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def events():
    """A run with infill rounds and an eos."""
    case = json.loads((GOLDEN / "cases.jsonl").read_text().splitlines()[-1])
    checkpoint = load_checkpoint(GOLDEN / "models" / "tied", device="cpu")
    config = DecodeConfig(gen_length=24, slot_size=4, serial_blocks=2, token_threshold=0.8)
    return list(decode(checkpoint, prompt_ids=case["prompt_ids"], config=config))


@pytest.fixture
def lines(events):
    return [dump_event(event) for event in events]


def changed(lines, number, **values):
    raw = json.loads(lines[number]) | values
    return "\n".join([*lines[:number], json.dumps(raw), *lines[number + 1 :]])


def test_a_trace_reads_back_as_it_was_written(events, tmp_path):
    path = tmp_path / "run.trace.jsonl"
    write_trace(events, path)
    trace = read_trace(path)
    assert trace.events == tuple(events)
    assert trace.dumps() == path.read_text(encoding="utf-8")
    assert trace.finished.stats == trace.statistics


def test_probabilities_read_back_exactly(events):
    """What-if views repeat decisions on recorded numbers, so none may be rounded away."""
    plan = next(event for event in events if event.type == "plan")
    again = parse_event(dump_event(plan))
    assert [s.confidence for s in again.slots] == [s.confidence for s in plan.slots]


def test_unknown_keys_are_ignored(events, lines):
    assert parse_trace(changed(lines, 1, later="yes")).events == tuple(events)


def test_a_partial_trace_is_readable(events, lines):
    trace = parse_trace("\n".join(lines[:7]))
    assert len(trace) == 7
    assert trace.finished is None


def test_a_newer_version_is_refused(lines):
    with pytest.raises(TraceError, match="line 1, schema_version = 2.*newer version"):
        parse_trace(changed(lines, 0, schema_version=2))


@pytest.mark.parametrize(
    ("damage", "line", "field"),
    [
        (lambda ls: changed(ls, 1, phase="dream"), 2, "forward.phase"),
        (lambda ls: changed(ls, 1, tokens_computed=-1), 2, "forward.tokens_computed"),
        (lambda ls: changed(ls, 1, seconds="0.1"), 2, "forward.seconds"),
        (lambda ls: changed(ls, 1, type="dream"), 2, "type"),
        (lambda ls: changed(ls, 1, seq=7), 2, "forward.seq"),
        (lambda ls: "\n".join(ls[:3] + ls[4:]), 4, ".seq"),
        (lambda ls: "\n".join([ls[0], ls[0].replace('"seq":0', '"seq":1')]), 2, "type"),
        (lambda ls: ls[1].replace('"seq":1', '"seq":0'), 1, "type"),
        (lambda ls: "\n".join([ls[0], ls[1][:20]]), 2, "JSON"),
        (lambda ls: "[" * 100_000, 1, "JSON"),
        (lambda ls: "", 1, "trace"),
    ],
)
def test_damage_is_named_by_line_and_field(lines, damage, line, field):
    with pytest.raises(TraceError) as caught:
        parse_trace(damage(lines))
    assert caught.value.line == line
    assert field in caught.value.field
    assert f"line {line}" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_statistics_that_are_not_the_fold_are_refused(events, lines):
    stats = json.loads(lines[-1])["stats"]
    with pytest.raises(TraceError, match="stats.cache_hits"):
        parse_trace(changed(lines, -1 % len(lines), stats=stats | {"cache_hits": 1}))


def test_files_that_cannot_be_read_get_a_clear_error(tmp_path, monkeypatch):
    with pytest.raises(TraceError, match="cannot be opened"):
        read_trace(tmp_path / "none.trace.jsonl")
    binary = tmp_path / "binary.trace.jsonl"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(TraceError, match="UTF-8"):
        read_trace(binary)
    monkeypatch.setattr("refusion_core.trace.MAX_TRACE_BYTES", 2)
    with pytest.raises(TraceError, match="the limit is"):
        read_trace(binary)


def documented_sections():
    """Section title to the field names that have a row in it."""
    text = (ROOT / "docs" / "trace-format.md").read_text(encoding="utf-8")
    parts = re.split(r"^##+ (.+)$", text, flags=re.MULTILINE)
    rows = (set(re.findall(r"^\| `(\w+)` \|", body, flags=re.MULTILINE)) for body in parts[2::2])
    return dict(zip(parts[1::2], rows, strict=True))


def test_every_event_type_and_field_has_its_line_in_the_docs():
    sections = documented_sections()
    common = {field.name for field in fields(Event)}
    assert sections["Every event"] == common | {"type"}
    for name, kind in EVENT_TYPES.items():
        assert sections[name] == {field.name for field in fields(kind)} - common, name
    for name, kind in vars(events_module).items():
        is_part = is_dataclass(kind) and isinstance(kind, type) and not issubclass(kind, Event)
        if is_part and kind.__module__ == events_module.__name__:
            assert sections[name] == {field.name for field in fields(kind)}, name


def test_the_house_imports_no_more_than_it_may():
    """Traces open without torch; the core knows no gradio, plotly or app."""
    light = "events", "trace", "selection", "config", "errors"
    code = "import sys\n" + "\n".join(f"import refusion_core.{name}" for name in light)
    code += (
        "\nprint([m for m in ('torch', 'transformers', 'gradio', 'plotly') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert out.stdout.strip() == "[]", out.stderr
    forbidden = re.compile(r"^\s*(from|import) (app|gradio|plotly)\b", re.MULTILINE)
    for path in (ROOT / "refusion_core").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not forbidden.search(text), path
        imports_transformers = re.search(r"^\s*(from|import) transformers\b", text, re.MULTILINE)
        assert not imports_transformers or path.name == "checkpoint.py", path
