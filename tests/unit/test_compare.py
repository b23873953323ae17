"""Where runs first differ, on runs that differ in a known way."""

from __future__ import annotations

import json
import string
import subprocess
import sys
from dataclasses import fields
from typing import get_args, get_type_hints

import pytest

from app.compare import CHINESE_REASONS, TERMS, comparison, reasons
from refusion_core import Trace, TraceError
from refusion_core.alignment import Line, lines
from refusion_core.compare import FIGURES, REASONS, Reason, compare
from refusion_core.events import Commit, InfillRound, PlannedSlot, RunFinished, Settings, Verify
from tests.browser.player_page import jsonl, scripted_run

PLAN = {0: 0.9, 4: 0.8, 8: 0.7, 12: 0.2}


def run(**changes) -> Trace:
    return Trace(
        tuple(scripted_run(**{"plan": PLAN, "given": {5: 0.12}, "to_text": str} | changes))
    )


def changed(trace: Trace, kind: type, **fields) -> Trace:
    """The trace with other fields in its first event of a kind."""
    at = next(n for n, event in enumerate(trace) if isinstance(event, kind))
    event = type(trace.events[at])(**(vars(trace.events[at]) | fields))
    return Trace((*trace.events[:at], event, *trace.events[at + 1 :]))


def test_equal_runs_have_no_difference():
    found = compare(run(), run())
    assert found.first is None and found.settings == {} and found.positions == found.text == ()
    assert not any(row.other_text or row.other_order for row in found.slots)
    assert all(line.left == line.right for line in found.lines)


def test_another_threshold_is_found_in_the_plan_with_the_numbers():
    left, right = run(), run(slot_threshold=0.75)
    found = compare(left, right)
    assert found.settings == {"slot_threshold": (0.5, 0.75)}
    assert (found.first.iteration, found.first.stage) == (0, "plan")
    assert (
        "slot 2 is chosen on the left only: 0.7, above_threshold, margin +0.2" == found.first.reason
    )
    assert [
        trace.events[at].type for trace, at in zip((left, right), found.first.events, strict=True)
    ] == ["plan", "plan"]


def test_another_token_threshold_is_found_in_verify_with_the_token_that_decides():
    found = compare(run(), run(token_threshold=0.05))
    assert (found.first.iteration, found.first.stage) == (0, "verify")
    expected = "5 tokens accepted at 0.3, 12 at 0.05; token 2 of slot 1 has 0.12"
    assert found.first.reason == expected


def test_another_draft_and_the_positions_it_changes():
    found = compare(run(), run(target={1: 9}))
    assert found.first.stage == "plan" and found.first.reason == "slot 0 has another draft"
    assert found.positions == (4,)
    assert any(line.startswith("-[") for line in found.text)
    other = [row for row in found.slots if row.other_text]
    assert [(row.start, row.end) for row in other] == [(3, 7)]
    assert other[0].left.text != other[0].right.text


def test_what_verify_infill_and_commit_did_is_told():
    infill = run(token_threshold=0.5, given={1: 0.1, 5: 0.1})
    verified = next(event for event in infill if isinstance(event, Verify))
    other = changed(infill, Verify, accepted_prefix=verified.accepted_prefix, outcome="eos")
    assert compare(infill, other).first.reasons[0].key == "accepted"
    assert len(compare(infill, other).first.reasons) == 1
    rounds = next(event for event in infill if isinstance(event, InfillRound))
    slot = type(rounds.slots[0])(**(vars(rounds.slots[0]) | {"run_after": 0}))
    found = compare(infill, changed(infill, InfillRound, slots=(slot, *rounds.slots[1:])))
    was = rounds.slots[0].run_after
    assert found.first.reason == (
        f"round 1 accepts {was} tokens of slot {slot.slot} on the left, 0 on the right"
    )
    found = compare(infill, changed(infill, InfillRound, slots=rounds.slots[1:]))
    assert found.first.reason.startswith("round 1 fills slots 0, 1")
    commit = next(event for event in infill if isinstance(event, Commit))
    found = compare(infill, changed(infill, Commit, slots=commit.slots[:1]))
    assert found.first.stage == "commit"
    assert found.first.reason == "slots 0, 1, 2 are committed on the left, 0 on the right"


def test_a_stopped_run_ends_first():
    left, right = run(), run(stop_after=2)
    found = compare(left, right)
    assert found.first.stage == "end" and found.first.reason == "the right run ends"
    assert compare(right, left).first.reason == "the left run ends"
    assert found.first.events[1] == len(right) - 1


def test_slots_are_aligned_with_the_iterations_that_committed_them():
    left, right = run(), run(slot_threshold=0.75)
    found = compare(left, right)
    for trace, side in ((left, "left"), (right, "right")):
        expected = {}
        for event in trace:
            if isinstance(event, Commit):
                expected |= {slot.slot: event.iteration for slot in event.slots}
        cells = [getattr(row, side).slots for row in found.slots]
        slots = range(trace.started.slot_count)
        assert cells == [((slot, expected.get(slot)),) for slot in slots]
    assert [row.other_order for row in found.slots] == [
        row.left.slots != row.right.slots for row in found.slots
    ]
    assert any(row.other_order for row in found.slots)


def test_runs_with_other_slots_are_aligned_by_position():
    found = compare(run(), run(slot_size=8, plan={0: 0.9, 8: 0.7}, gen_length=24))
    assert [reason.key for reason in found.first.reasons] == ["other_slots"] * 2
    assert "slot_size is 4 on the left, 8 on the right" in found.first.reason
    assert [(row.start, row.end) for row in found.slots] == [(3, 11), (11, 19), (19, 27)]
    assert [[slot for slot, _ in row.left.slots] for row in found.slots[:2]] == [[0, 1], [2, 3]]
    assert [[slot for slot, _ in row.right.slots] for row in found.slots] == [[0], [1], [2]]
    assert found.slots[2].left is None


def test_a_partial_run_shows_what_it_had():
    whole = run()
    partial = Trace(tuple(event for event in whole if not isinstance(event, RunFinished)))
    found = compare(whole, partial)
    assert found.first is None and found.positions == ()
    assert all(row.left == row.right for row in found.slots)


def test_words_that_differ_are_marked():
    left = ["same", "the sum of it", "我在家看书", "gone"]
    right = ["same", "the  product of it", "我在家写书"]
    assert list(lines(left, right)) == [
        Line((("same", False),), (("same", False),)),
        Line(
            (("the", False), (" sum", True), (" of it", False)),
            (("the", False), ("  product", True), (" of it", False)),
        ),
        Line(
            (("我在家", False), ("看", True), ("书", False)),
            (("我在家", False), ("写", True), ("书", False)),
        ),
        Line((("gone", True),), None),
    ]


def test_other_prompts_are_refused():
    other = changed(run(), type(run().started), prompt_ids=(1,))
    with pytest.raises(TraceError, match="another prompt"):
        compare(run(), other)
    assert comparison(run().dumps(), other.dumps(), False) == {"otherPrompt": True}


def test_the_chinese_reasons_take_what_the_english_take():
    def names(template):
        return {name for _, name, _, _ in string.Formatter().parse(template) if name}

    assert CHINESE_REASONS.keys() == REASONS.keys()
    for key, template in REASONS.items():
        assert names(CHINESE_REASONS[key]) == names(template), key


def test_everything_that_core_names_has_a_term():
    told = {field.name for field in fields(Settings)} | set(FIGURES)
    told |= set(get_args(get_type_hints(PlannedSlot)["reason"]))
    told |= {"plan", "verify", "infill_round", "commit", "end"}
    assert told <= TERMS.keys()


def test_the_page_tells_the_reasons_in_both_languages():
    first = compare(run(), run(slot_threshold=0.75)).first
    assert reasons(first, False) == [
        "slot 2 is chosen on the left only: 0.7, above the threshold, margin +0.2"
    ]
    assert reasons(first, True) == ["槽 2 只在左侧被选中：0.7，高于阈值，间隔 +0.2"]
    assert str(Reason("draft", {"slot": 3})) == "slot 3 has another draft"


def test_a_damaged_trace_is_named_with_its_side():
    found = comparison(run().dumps(), "{}", False)
    assert found["bad"] == "right" and "line 1" in found["why"]


def test_the_command_tells_it(tmp_path):
    paths = []
    for name, trace in (("a", run()), ("b", run(slot_threshold=0.75))):
        paths.append(tmp_path / f"{name}.trace.jsonl")
        paths[-1].write_text(jsonl(list(trace)), encoding="utf-8")
    command = [sys.executable, "-m", "refusion_core", "compare", *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "iteration 1, plan: slot 2 is chosen on the left only" in done.stdout
    assert "11 to 14" in done.stdout and "2: 2" in done.stdout and "2: 3" in done.stdout
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["first"]["stage"] == "plan" and found["first"]["reasons"][0]["values"]["slot"] == 2
