"""The lessons: each is whole in both languages and true of its runs; damaged files give clear errors."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path

import pytest

from refusion_core import RefusionError, parse_trace, read_trace
from refusion_core.events import InfillRound, Plan, Verify
from refusion_core.lesson_facts import joined, moment_facts, run_facts, shown, slots_of
from refusion_core.lessons import (
    FOLDER,
    TRACE_FOLDERS,
    Moment,
    bundled_lessons,
    place_of,
    placeholders,
    read_lesson,
    recorded_text,
    tour,
)

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted(FOLDER.glob("*.json"))
SUM = parse_trace(recorded_text("sum-verified"))
CODE = parse_trace(recorded_text("infill-rounds"))


def raw(name: str = "3-slots-and-plan.json") -> dict:
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))


def refused(lesson: object) -> str:
    """What is said of a lesson file that cannot be shown."""
    text = lesson if isinstance(lesson, str) else json.dumps(lesson)
    with pytest.raises(RefusionError) as problem:
        tour(read_lesson(text, "own.json"), "own.json")
    assert str(problem.value).startswith("own.json")
    return str(problem.value)


def test_there_are_six_in_order_with_names_of_their_own():
    assert [path.name[0] for path in FILES] == list("123456")
    assert len({lesson.id for lesson in bundled_lessons()}) == 6


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_lesson_is_true_of_its_runs(path):
    """Every moment happens, every figure applies, and no sentence names a figure that is not sent along."""
    shown_lesson = tour(read_lesson(path.read_text(encoding="utf-8"), path.name), path.name)
    for step in shown_lesson["steps"]:
        events = shown_lesson["runs"][step["run"]].splitlines()
        assert 0 <= step["at"] < len(events)
        question = step["question"] or {"ask": {"en": "", "zh": ""}, "choices": []}
        for lang in ("en", "zh"):
            sentences = [step["say"][lang], question["ask"][lang]]
            for choice in question["choices"]:
                sentences += [choice["text"][lang], choice["why"][lang]]
            named = {name for sentence in sentences for name in placeholders(sentence)}
            assert named <= step["facts"][lang].keys()
    assert any(step["question"] for step in shown_lesson["steps"])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_both_languages_say_the_same_with_the_same_figures(path):
    def pairs(value):
        if isinstance(value, dict):
            if value.keys() == {"en", "zh"}:
                yield value
            else:
                for inner in value.values():
                    yield from pairs(inner)
        elif isinstance(value, list):
            for inner in value:
                yield from pairs(inner)

    found = list(pairs(raw(path.name)))
    assert len(found) > 10
    for words in found:
        assert set(placeholders(words["en"])) == set(placeholders(words["zh"])), words["en"]
        # A choice such as "{forwards}" may hold no letters; every sentence in Chinese has some of its own.
        assert re.search(r"[\u4e00-\u9fff]", words["zh"]), words["zh"]
        assert not re.search(r"[\u4e00-\u9fff]", words["en"]), words["en"]


def test_terms_of_the_lessons_are_defined():
    source = (ROOT / "assets" / "player" / "src" / "texts.js").read_text(encoding="utf-8")
    defined = set(re.findall(r'"term\.(\w+)"', source))
    text = "".join(path.read_text(encoding="utf-8") for path in FILES)
    used = set(re.findall(r"\[([a-z_]+)(?:\|[^\]]*)?\]", text))
    assert used and used <= defined


def test_the_recorded_runs_of_the_lessons_stay_small():
    paths = list(TRACE_FOLDERS[1].glob("*.trace.jsonl"))
    wanted = json.loads((TRACE_FOLDERS[1] / "lessons.json").read_text(encoding="utf-8"))
    assert {path.name.split(".")[0] for path in paths} == {entry["name"] for entry in wanted}
    assert sum(path.stat().st_size for path in paths) < 500_000


def test_what_the_second_and_the_last_lesson_tell_really_happened():
    once = read_trace(TRACE_FOLDERS[1] / "story-at-once.trace.jsonl")
    assert once.finished.text.startswith("Leo lived in the edge of.")
    answers = [
        read_trace(TRACE_FOLDERS[1] / f"difference-{name}.trace.jsonl").finished.text[-2:]
        for name in ("fast", "default", "careful")
    ]
    assert answers == ["12", "62", "62"]


# Figures


def test_figures_of_a_run_are_those_of_its_trace():
    facts, figures = run_facts(SUM), SUM.statistics
    assert facts["forwards"] == str(figures.forwards)
    assert facts["tokens_per_forward"] == f"{figures.tokens_per_forward:.2f}"
    assert facts["slot_threshold"] == "0.9995"
    assert facts["answer"] == {"token": SUM.finished.text}


def test_figures_of_a_moment_are_those_of_its_iteration():
    plan = next(event for event in SUM if isinstance(event, Plan))
    verify = next(event for event in SUM if isinstance(event, Verify))
    facts = moment_facts(SUM, verify.seq, "en")
    assert facts["chosen_count"] == str(len(plan.chosen_slots))
    assert facts["candidates"] == "16"
    assert facts["accepted"] == str(verify.accepted_prefix)
    assert facts["refused_slot"] == "8"
    assert facts["forwards_so_far"] == "2"
    returned = [slot.slot for slot in verify.slots if slot.outcome == "returned"]
    assert slots_of(SUM, verify.seq, "returned") == returned
    assert slots_of(SUM, verify.seq, "chosen") == list(plan.chosen_slots)
    assert facts["returned"] == joined(returned, "en")


def test_figures_of_a_round_are_those_of_the_round():
    second = [event for event in CODE if isinstance(event, InfillRound)][1]
    facts = moment_facts(CODE, second.seq, "en")
    assert (facts["round"], facts["straggler"]) == ("2", str(second.straggler))
    assert facts["run_after_1"] == str(second.slots[1].run_after)


def test_figures_that_do_not_apply_are_left_out():
    facts = moment_facts(SUM, 0, "en")
    assert "chosen" not in facts and "iteration" not in facts
    assert "straggler" not in moment_facts(SUM, 4, "en")


@pytest.mark.parametrize(
    ("probability", "text"),
    [
        (0.9998, "0.9998"),
        (0.99995, "0.99995"),
        (0.9999999, ">0.99999"),
        (0.861, "0.86"),
        (0.003, "0.003"),
        (0.00001, "<0.0001"),
        (1.0, "1"),
        (0.0, "0"),
    ],
)
def test_probabilities_are_never_rounded_to_certainty(probability, text):
    assert shown(probability) == text


def test_numbers_are_joined_as_the_language_writes_them():
    assert joined([3], "en") == "3"
    assert joined([0, 2, 5], "en") == "0, 2 and 5"
    assert joined([0, 2, 5], "zh") == "0、2 和 5"
    assert joined([], "en") == ""


# Moments


@pytest.mark.parametrize(
    ("moment", "check"),
    [
        ({"event": "plan", "iteration": 2}, lambda e: e.type == "plan" and e.iteration == 1),
        ({"event": "commit", "iteration": -1}, lambda e: e.type == "commit" and e.iteration == 2),
        ({"event": "verify", "outcome": "eos"}, lambda e: e.iteration == 1),
        ({"event": "forward", "phase": "verify"}, lambda e: e.phase == "verify" and e.forward == 1),
        (
            {"event": "commit", "slot": 7},
            lambda e: [slot.slot for slot in e.slots] == [4, 6, 7, 8, 12],
        ),
        ({"event": "plan", "slot": 9}, lambda e: 9 in e.chosen_slots),
        ({"event": "run_finished"}, lambda e: e is SUM.events[-1]),
    ],
    ids=str,
)
def test_moments_are_found_by_what_happens(moment, check):
    place = place_of(SUM, Moment(**moment))
    assert check(SUM.events[place])


def test_rounds_count_from_one_or_from_the_end():
    rounds = [event.seq for event in CODE if isinstance(event, InfillRound)]
    assert place_of(CODE, Moment(event="infill_round", round=2)) == rounds[1]
    assert place_of(CODE, Moment(event="infill_round", round=-1)) == rounds[-1]
    assert place_of(CODE, Moment(event="infill_round", round=7)) is None


# Files of one's own


def test_a_lesson_may_carry_the_events_of_its_run():
    lesson = raw()
    events = [json.loads(line) for line in recorded_text("summarise-opening").splitlines()]
    lesson["runs"] = {"main": events}
    shown_lesson = tour(read_lesson(json.dumps(lesson), "own.json"), "own.json")
    assert parse_trace(shown_lesson["runs"]["main"]).finished.text
    assert shown_lesson["steps"] == tour(bundled_lessons()[2], "own.json")["steps"]


def change(path: str, value: object, name: str = "3-slots-and-plan.json") -> dict:
    """A lesson with something else at a place, left out if it is None."""
    lesson = copy.deepcopy(raw(name))
    *most, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    place = lesson
    for part in most:
        place = place[part]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return lesson


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("title.zh", None, "title.zh"),
        ("title.zh", "", "title.zh"),
        ("steps.1.say", "text", "steps.1.say"),
        ("steps.1.at.event", "plam", "plam"),
        ("steps.1.at.iteration", 99, "does not happen"),
        ("steps.1.at.iteration", 0, "count from 1"),
        ("steps.1.say.en", "There are {forwardz}.", "{forwardz}"),
        ("steps.1.run", "other", "not in runs"),
        ("steps.1.highlight", ["ledger"], "not in views"),
        ("steps.1.highlight", ["everything"], "steps.1.highlight.0"),
        ("steps.2.question.choices.0.right", True, "exactly one"),
        ("steps.2.question.choices.1.right", False, "exactly one"),
        ("steps.2.question.choices.1.why.zh", None, "steps.2.question.choices.1.why.zh"),
        ("steps.2.colour", "red", "steps.2.colour"),
        ("runs.main", "no-such-run", "runs.main"),
        ("runs.main", "../examples", "runs.main"),
        ("runs.main", [{"type": "run_started"}], "runs.main"),
        ("runs", {}, "own.json, runs"),
        ("steps", [], "own.json, steps"),
        ("id", "a b", "own.json, id"),
        ("steps.0.highlight", [{"slot": 16}], "slots 0 to 15"),
    ],
)
def test_what_is_wrong_with_a_lesson_is_said_with_its_field(path, value, said):
    assert said in refused(change(path, value))


def test_a_file_that_is_no_lesson_is_refused():
    assert "no JSON" in refused("{")
    assert "the lesson" in refused("[]")
    assert "docs/lessons.md" in refused("{}")


def test_a_run_that_contradicts_itself_is_refused():
    events = [json.loads(line) for line in recorded_text("summarise-opening").splitlines()]
    next(event for event in events if event["type"] == "plan")["slots"] = []
    assert "contradicts itself" in refused(change("runs", {"main": events}))


def test_no_name_leads_out_of_the_folders():
    assert recorded_text("../../../README") is None
    assert recorded_text("lessons/story-at-once") is None
    assert recorded_text("story-at-once")


def test_the_docs_list_every_figure_and_their_example_is_a_lesson():
    docs = (ROOT / "docs" / "lessons.md").read_text(encoding="utf-8")
    example = re.search(r"```json\n(.*?)```", docs, re.DOTALL)[1]
    assert (
        tour(read_lesson(example, "docs"), "docs")["steps"][0]["facts"]["en"]["candidates"] == "16"
    )
    figures = (
        run_facts(SUM).keys()
        | moment_facts(CODE, place_of(CODE, Moment(event="infill_round")), "en").keys()
    )
    for event in SUM:
        figures |= moment_facts(SUM, event.seq, "en").keys()
    listed = set(re.findall(r"`(\w+)`", docs))
    assert {re.sub(r"_\d+$", "_3", name) for name in figures} <= listed
