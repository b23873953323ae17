"""The player's modules without a browser: what they make of traces against what the decoder's side says."""

from __future__ import annotations

import csv
import io
import json
import math
import subprocess
from pathlib import Path

import pytest
import torch

from refusion_core import read_trace
from refusion_core.config import AutoregressiveConfig, MaskedDiffusionConfig
from refusion_core.events import Commit, Dependency, Forward, InfillRound, Plan, Verify
from refusion_core.model import visibility
from refusion_core.selection import accepted_prefix, accepted_run, choose_slots
from refusion_core.trace import fold_statistics
from tests.browser.player_page import baseline_run, golden_run, jsonl, scripted_run

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "assets" / "player" / "src"
EXAMPLES = sorted((ROOT / "assets" / "traces").glob("*.trace.jsonl"))


def node(code: str, text: str) -> object:
    """What a module script prints; it has the trace of ``text``, and all that ``code`` imports."""
    head = f"""
        import {{ readFileSync }} from "node:fs";
        import {{ Trace }} from "{SOURCE.as_uri()}/trace.js";
        const trace = new Trace();
        for (const line of readFileSync(0, "utf8").split("\\n")) if (line) trace.append(JSON.parse(line), line);
    """
    done = subprocess.run(
        ["node", "--input-type=module", "-e", head + code.replace("SOURCE", SOURCE.as_uri())],
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_bundle_is_what_the_source_builds(tmp_path):
    """Someone who changes the source must run ``npm run build``."""
    built = tmp_path / "player.js"
    script = json.loads((ROOT / "package.json").read_text())["scripts"]["build"]
    command = script.replace("--outfile=assets/player/player.js", f"--outfile={built}")
    assert command != script
    subprocess.run(["npx", "--no-install", *command.split()], cwd=ROOT, check=True)
    assert built.read_bytes() == (ROOT / "assets" / "player" / "player.js").read_bytes()


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name.split(".")[0])
def test_statistics_equal_those_of_the_decoder_at_every_event(path):
    events = list(read_trace(path))
    code = """
        import { statisticsAt } from "SOURCE/statistics.js";
        console.log(JSON.stringify(trace.events.map((_, at) => statisticsAt(trace, at))));
    """
    found = node(code, path.read_text(encoding="utf-8"))
    for at in range(0, len(events) - 1, 3):
        expected = fold_statistics(events[: at + 1])
        for name, value in found[at].items():
            wanted = getattr(expected, name)
            assert value == (
                pytest.approx(wanted, abs=2e-6) if isinstance(wanted, float) else wanted
            )


def runs() -> dict[str, str]:
    """Runs with everything that a buffer can hold: infill of one slot and of many, eos, and the baselines."""
    return {
        "golden": jsonl(golden_run("096")),
        "infill": jsonl(scripted_run(gen_length=8, given={1: 0.1, 2: 0.1, 3: 0.1, 5: 0.1})),
        "blocks": jsonl(
            scripted_run(gen_length=24, serial_blocks=2, plan={0: 0.2, 4: 0.3, 8: 0.9})
        ),
        "ar": jsonl(baseline_run(AutoregressiveConfig(gen_length=12))),
        "mdm": jsonl(baseline_run(MaskedDiffusionConfig(gen_length=12))),
    } | {path.name: path.read_text(encoding="utf-8") for path in EXAMPLES[:3]}


BUFFERS = """
    import { bufferAt, bufferOfForward } from "SOURCE/buffer.js";
    console.log(JSON.stringify(trace.events.map((_, at) => ({
      now: bufferAt(trace, at), ...bufferOfForward(trace, at), forward: undefined,
    }))));
"""


@pytest.mark.parametrize("name, text", runs().items(), ids=runs().keys())
def test_the_buffer_holds_what_the_forwards_read_and_computed(name, text, tmp_path):
    path = tmp_path / "x.trace.jsonl"
    path.write_text(text, encoding="utf-8")
    events = list(read_trace(path))
    buffers = node(BUFFERS, text)
    committed: list[int] = []
    for event, buffer in zip(events, buffers, strict=True):
        if isinstance(event, Forward):
            assert sum(piece["tokens"] for piece in buffer["cached"]) == event.cache_hits
            assert sum(piece["tokens"] for piece in buffer["fed"]) == event.tokens_computed
        elif isinstance(event, Commit) and name != "mdm":
            committed += [slot.slot for slot in event.slots]
            pieces = [piece for piece in buffer["now"] if piece["kind"] != "prompt"]
            assert [piece["slot"] for piece in pieces] == committed
            assert {piece["kind"] for piece in pieces} == {"committed"}


@pytest.mark.parametrize("name", ["golden", "infill", "blocks", EXAMPLES[0].name])
def test_other_thresholds_choose_and_accept_as_the_decoder_would(name, tmp_path):
    """Against the decoder's own pure functions, at the recorded thresholds and at others."""
    path = tmp_path / "x.trace.jsonl"
    path.write_text(runs()[name], encoding="utf-8")
    trace = read_trace(path)
    settings = trace.started.settings
    code = """
        import { chosenAt, verifiedAt } from "SOURCE/whatif.js";
        const { slot_threshold: slot, token_threshold: token } = trace.run.settings;
        const grid = [slot, 0, 0.3, 0.5, 0.8, 0.95, 1];
        const tokens = [token, 0, 0.2, 0.5, 0.9, 1];
        console.log(JSON.stringify(trace.iterations.map(({ plan, verify }) => ({
          chosen: grid.map((t) => chosenAt(trace.events[plan], t)),
          whole: tokens.map((t) => verifiedAt(trace.events[verify], trace.events[plan].chosen_slots, t).whole),
          other: verifiedAt(trace.events[verify], [-1], 0.5),
        }))));
    """
    plans = [event for event in trace if isinstance(event, Plan)]
    verifies = [event for event in trace if isinstance(event, Verify)]
    for plan, verify, found in zip(plans, verifies, node(code, path.read_text()), strict=True):
        confidences = [slot.confidence for slot in plan.slots]
        assert tuple(found["chosen"][0]) == plan.chosen_slots
        for threshold, chosen in zip((0, 0.3, 0.5, 0.8, 0.95, 1), found["chosen"][1:], strict=True):
            choices = choose_slots(confidences, threshold)
            slots = [s.slot for s, choice in zip(plan.slots, choices, strict=True) if choice.chosen]
            assert chosen == slots
        grid = (settings.token_threshold, 0, 0.2, 0.5, 0.9, 1)
        for threshold, whole in zip(grid, found["whole"], strict=True):
            wanted = [accepted_run(slot.probabilities, threshold) for slot in verify.slots]
            assert whole == accepted_prefix(wanted, settings.slot_size) // settings.slot_size
        assert found["other"]["unknown"] == -1 and found["other"]["whole"] == 0


SEEN = """
    import { bufferOfForward, merged, seesCached, seesFed } from "SOURCE/buffer.js";
    const spread = (pieces, value) => pieces.flatMap((piece) => Array(piece.tokens).fill(value(piece)));
    const matrices = trace.forwards.map(({ at }) => {
      const { cached, fed, whole } = bufferOfForward(trace, at);
      const keys = merged(cached), rows = merged(fed);
      return rows.flatMap((query) => Array.from({ length: query.tokens }, (_, i) => [
        ...spread(keys, (key) => seesCached(query, key)),
        ...rows.flatMap((key) => Array.from({ length: key.tokens }, (_, j) => {
          const much = seesFed(query, key, rows, whole);
          return much === "all" || (much === "earlier" && j <= i);
        })),
      ]));
    });
    console.log(JSON.stringify(matrices));
"""


@pytest.mark.parametrize("name", ["golden", "infill", "blocks", "ar"])
def test_the_mask_that_is_drawn_is_the_mask_of_the_model(name):
    """Token by token, against the function that the model's attention uses."""
    text = runs()[name]
    forwards = [json.loads(line) for line in text.splitlines() if '"type":"forward"' in line]
    buffers = node(BUFFERS, text)
    places = [n for n, line in enumerate(text.splitlines()) if '"type":"forward"' in line]
    for forward, place, drawn in zip(forwards, places, node(SEEN, text), strict=True):
        queries = [s.get("group", 0) for s in forward["segments"] for _ in range(s["tokens"])]
        cached = [
            piece["group"] if piece["kind"] == "provisional" else 0
            for piece in buffers[place]["cached"]
            for _ in range(piece["tokens"])
        ]
        mask = visibility(torch.tensor(queries), torch.tensor(cached, dtype=torch.long))
        assert torch.equal(torch.tensor(drawn), mask)


MARKS = """
    import { CLOCKS, markAt, marksOf } from "SOURCE/clock.js";
    const marks = Object.fromEntries(CLOCKS.map((clock) => [clock, marksOf(trace, clock)]));
    const probes = marks.forwards.flatMap(({ time }) => [time, time + 0.5]);
    const found = probes.map((time) => [time, markAt(marks.forwards, time).at]);
    console.log(JSON.stringify({ marks, found }));
"""


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name.split(".")[0])
def test_a_clock_shows_what_was_known_then(path):
    """After n forwards: all events before the next one; after i iterations: all events before iteration i."""
    events = list(read_trace(path))
    found = node(MARKS, path.read_text(encoding="utf-8"))
    forwards = [n for n, event in enumerate(events) if isinstance(event, Forward)]
    ends = [*(n - 1 for n in forwards), len(events) - 1]
    marks = found["marks"]
    assert [(m["time"], m["at"]) for m in marks["forwards"]] == list(enumerate(ends))
    assert [m["at"] for m in marks["seconds"]] == ends
    times = [m["time"] for m in marks["seconds"]]
    assert times[-1] == pytest.approx(sum(events[n].seconds for n in forwards))
    assert times == sorted(times) and times[0] == 0
    assert all(at == ends[min(math.floor(time), len(forwards))] for time, at in found["found"])
    whole = [m["at"] for m in marks["iterations"] if m["time"] == int(m["time"])]
    starts = {}
    for n, event in enumerate(events):
        if getattr(event, "iteration", None) is not None:
            starts.setdefault(event.iteration, n)
    assert whole == [*(n - 1 for n in starts.values()), len(events) - 1]
    steps = [m["at"] for m in marks["iterations"] if m["time"] != int(m["time"])]
    kinds = [n for n, e in enumerate(events) if e.type in ("plan", "verify", "infill_round")]
    assert steps == kinds


CSV = """
    import { scoreboardCsv } from "SOURCE/candidates.js";
    console.log(JSON.stringify(scoreboardCsv(trace)));
"""


@pytest.mark.parametrize("name", ["infill-rounds", "sums-addition", "table-people"])
def test_the_scoreboards_as_csv_hold_what_happened(name):
    path = next(path for path in EXAMPLES if path.name.startswith(name))
    rows = list(csv.DictReader(io.StringIO(node(CSV, path.read_text(encoding="utf-8")))))
    events = list(read_trace(path))
    expected = 0
    for plan in (event for event in events if isinstance(event, Plan)):
        own = [event for event in events if getattr(event, "iteration", None) == plan.iteration]
        found = {slot.slot: slot for e in own if isinstance(e, Verify) for slot in e.slots}
        rounds = [event for event in own if isinstance(event, InfillRound)]
        committed = {slot.slot for e in own if isinstance(e, Commit) for slot in e.slots}
        measured = next((event for event in own if isinstance(event, Dependency)), None)
        for slot in plan.slots:
            row = rows[expected]
            expected += 1
            assert (row["iteration"], row["slot"]) == (str(plan.iteration + 1), str(slot.slot))
            assert row["rank"] == str(slot.rank + 1) and row["reason"] == slot.reason
            assert float(row["confidence"]) == pytest.approx(slot.confidence)
            assert float(row["margin"]) == pytest.approx(slot.margin)
            assert row["chosen"] == str(slot.chosen).lower()
            judged = found.get(slot.slot)
            assert row["accepted"] == ("" if judged is None else str(judged.accepted_run))
            assert row["outcome"] == ("" if judged is None else judged.outcome)
            took = [r for r in rounds if any(entry.slot == slot.slot for entry in r.slots)]
            assert row["rounds"] == str(len(took))
            assert row["slowest"] == str(sum(r.straggler == slot.slot for r in rounds))
            assert row["committed"] == str(slot.slot in committed).lower()
            if measured is None:
                assert row["dependency"] == ""
                continue
            line = measured.matrix[measured.rows.index(slot.slot)]
            others = [s for s in plan.chosen_slots if s != slot.slot]
            total = sum(line[measured.columns.index(other)] for other in others)
            assert float(row["dependency"]) == pytest.approx(total, abs=1e-9)
    assert len(rows) == expected > 3
