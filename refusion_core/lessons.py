"""Lessons: data files of guided tours through recorded runs. Reads them, checks them, finds their moments.

``docs/lessons.md`` describes the format. A lesson names moments by what happens there, and figures by name,
so that its sentences stay true when its runs are recorded anew.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from .errors import RefusionError
from .events import EVENT_TYPES
from .lesson_facts import LANGUAGES, moment_facts, run_facts, slots_of
from .trace import TRACE_SUFFIX, Trace, parse_trace

_ASSETS = Path(__file__).resolve().parent.parent / "assets"
FOLDER = _ASSETS / "lessons"
TRACE_FOLDERS = (_ASSETS / "traces", _ASSETS / "traces" / "lessons")
MAX_LESSON_CHARACTERS = 20 * 2**20
_NAME = r"^[A-Za-z0-9][A-Za-z0-9_-]*$"
_PLACEHOLDER = re.compile(r"\{(\w+)(?:\?[^{}]*)?\}")
_FIX = "see docs/lessons.md for the format"

View = Literal[
    "stage",
    "narration",
    "orders",
    "timeline",
    "ledger",
    "scoreboard",
    "whatif",
    "dependency",
]
Name = Annotated[str, Field(pattern=_NAME, max_length=60)]
Sentence = Annotated[str, Field(min_length=1, max_length=2000)]


class _Data(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Words(_Data):
    """One sentence in both languages."""

    en: Sentence
    zh: Sentence


class Slot(_Data):
    """One slot by its number."""

    slot: Annotated[int, Field(ge=0)]


class Slots(_Data):
    """Slots by what becomes of them in the iteration."""

    slots: Literal["chosen", "committed", "returned"]


class Moment(_Data):
    """The first event with all of these; iterations and rounds count from 1, from the end if negative."""

    event: str
    iteration: int | None = None
    round: int | None = None
    phase: str | None = None
    outcome: str | None = None
    slot: int | None = None

    @model_validator(mode="after")
    def _check(self) -> Moment:
        if self.event not in EVENT_TYPES:
            raise ValueError(f"{self.event!r} is no event; give one of {', '.join(EVENT_TYPES)}")
        if self.iteration == 0 or self.round == 0:
            raise ValueError("iterations and rounds count from 1, or from -1 backwards")
        return self


class Choice(_Data):
    """An answer to choose, and why it is right or wrong."""

    text: Words
    right: bool = False
    why: Words


class Question(_Data):
    """One question; exactly one choice is right."""

    ask: Words
    choices: Annotated[tuple[Choice, ...], Field(min_length=2, max_length=6)]

    @model_validator(mode="after")
    def _check(self) -> Question:
        right = sum(choice.right for choice in self.choices)
        if right != 1:
            raise ValueError(f"{right} choices are right; mark exactly one")
        return self


class Step(_Data):
    """A moment, what to say of it, what to point at, and maybe a question."""

    run: str | None = None
    at: Moment
    highlight: tuple[View | Slot | Slots, ...] = ()
    say: Words
    question: Question | None = None


class Lesson(_Data):
    """A guided tour.

    runs: by a name of the lesson's own, the name of a recorded trace or its events; a step that names none
        shows the first
    """

    id: Name
    title: Words
    summary: Words
    views: Annotated[tuple[View, ...], Field(min_length=1)] = ("stage", "narration")
    runs: Annotated[dict[Name, Name | tuple[dict[str, Any], ...]], Field(min_length=1)]
    steps: Annotated[tuple[Step, ...], Field(min_length=1, max_length=60)]

    @model_validator(mode="after")
    def _check(self) -> Lesson:
        for number, step in enumerate(self.steps, 1):
            if step.run is not None and step.run not in self.runs:
                raise ValueError(f"step {number} is of the run {step.run!r}, which is not in runs")
            for target in step.highlight:
                if isinstance(target, str) and target not in self.views:
                    raise ValueError(f"step {number} points at {target!r}, which is not in views")
        return self

    def run_of(self, step: Step) -> str:
        """The name of the run that a step shows."""
        return step.run or next(iter(self.runs))


def read_lesson(text: str, name: str) -> Lesson:
    """The lesson in a file's text. Raises RefusionError naming the file, the field and what to do."""
    if len(text) > MAX_LESSON_CHARACTERS:
        size = f"{len(text) / 2**20:.0f} MB"
        raise RefusionError(name, size, "is too large", "record a shorter run")
    try:
        raw = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise RefusionError(name, text[:40], f"is no JSON ({problem})", _FIX) from None
    try:
        return Lesson.model_validate(raw)
    except ValidationError as problem:
        first = problem.errors(include_url=False)[0]
        # Of alternatives pydantic names every one it tried; what the file says are keys and numbers.
        path = [str(part) for part in first["loc"] if isinstance(part, int) or _is_key(part)]
        field = ".".join(path) or "the lesson"
        message = first["msg"].removeprefix("Value error, ")
        raise RefusionError(f"{name}, {field}", first["input"], message, _FIX) from None


def _is_key(part: str) -> bool:
    return re.fullmatch(r"[a-z][\w-]*", part) is not None and part not in ("str", "tuple")


@cache
def bundled_lessons() -> tuple[Lesson, ...]:
    """The lessons of the project, in the order of their files."""
    paths = sorted(FOLDER.glob("*.json"))
    return tuple(read_lesson(path.read_text(encoding="utf-8"), path.name) for path in paths)


def recorded_text(name: str) -> str | None:
    """The text of a recorded trace, None where there is none of that name."""
    if not re.match(_NAME, name):
        return None
    paths = [folder / f"{name}{TRACE_SUFFIX}" for folder in TRACE_FOLDERS]
    path = next((path for path in paths if path.is_file()), None)
    return path.read_text(encoding="utf-8") if path else None


def _text_of(lesson: Lesson, run: str, where: str) -> str:
    given = lesson.runs[run]
    if not isinstance(given, str):
        return "".join(f"{json.dumps(event, ensure_ascii=False)}\n" for event in given)
    text = recorded_text(given)
    if text is None:
        raise RefusionError(
            f"{where}, runs.{run}",
            given,
            "is no recorded trace",
            "name one or put its events there",
        )
    return text


def place_of(trace: Trace, moment: Moment) -> int | None:
    """Index of the first event that a moment describes, None where there is none."""
    last = max(
        (event.iteration for event in trace.events if event.iteration is not None), default=0
    )
    iteration = moment.iteration
    if iteration is not None:
        iteration += last + 1 if iteration < 0 else -1
    same = [event for event in trace.events if event.type == moment.event]
    if iteration is not None:
        same = [event for event in same if event.iteration == iteration]
    if moment.round is not None and moment.round < 0:
        rounds = max((event.round for event in same if event.round is not None), default=0)
        same = [event for event in same if event.round == rounds + 1 + moment.round]
    elif moment.round is not None:
        same = [event for event in same if event.round == moment.round - 1]
    for field in ("phase", "outcome"):
        wanted = getattr(moment, field)
        if wanted is not None:
            same = [event for event in same if getattr(event, field, None) == wanted]
    if moment.slot is not None:
        same = [event for event in same if moment.slot in _slot_numbers(event)]
    return trace.events.index(same[0]) if same else None


def _slot_numbers(event: Any) -> list[int]:
    return list(getattr(event, "chosen_slots", [slot.slot for slot in getattr(event, "slots", ())]))


def tour(lesson: Lesson, where: str) -> dict[str, Any]:
    """What the player shows of a lesson: every step with its place in the run and the figures it names.

    Raises RefusionError where a trace is damaged, a moment does not happen or a figure does not apply, naming
    ``where`` the lesson comes from and the field.
    """
    texts = {run: _text_of(lesson, run, where) for run in lesson.runs}
    traces = {}
    for run, text in texts.items():
        try:
            traces[run] = parse_trace(text)
        except RefusionError as problem:
            raise RefusionError(
                f"{where}, runs.{run}",
                lesson.runs[run],
                f"is damaged ({problem})",
                "record it again",
            ) from None
    shared = {
        f"{run}_{name}": value for run in traces for name, value in run_facts(traces[run]).items()
    }
    return {
        "id": lesson.id,
        "title": lesson.title.model_dump(),
        "views": list(lesson.views),
        "runs": texts,
        "steps": [
            _step(lesson, step, traces[lesson.run_of(step)], shared, f"{where}, steps.{number}")
            for number, step in enumerate(lesson.steps)
        ],
    }


def _step(
    lesson: Lesson, step: Step, trace: Trace, shared: dict[str, Any], where: str
) -> dict[str, Any]:
    at = place_of(trace, step.at)
    if at is None:
        moment = step.at.model_dump(exclude_none=True)
        raise RefusionError(f"{where}.at", moment, "does not happen in the run", _FIX)
    try:
        facts = {
            lang: shared | run_facts(trace) | moment_facts(trace, at, lang) for lang in LANGUAGES
        }
    except (IndexError, ValueError) as problem:
        name = lesson.run_of(step)
        raise RefusionError(
            f"{where}.at", name, f"is a run that contradicts itself ({problem})", "record it again"
        ) from None
    sentences = {"say": step.say}
    if step.question:
        sentences["question.ask"] = step.question.ask
        for n, choice in enumerate(step.question.choices):
            sentences |= {
                f"question.choices.{n}.text": choice.text,
                f"question.choices.{n}.why": choice.why,
            }
    named: set[str] = set()
    for field, words in sentences.items():
        for lang in LANGUAGES:
            for name in placeholders(getattr(words, lang)):
                if name not in facts[lang]:
                    known = ", ".join(
                        sorted(name for name in facts[lang] if not name[-1].isdigit())
                    )
                    raise RefusionError(
                        f"{where}.{field}.{lang}",
                        f"{{{name}}}",
                        "is no figure that applies here",
                        f"give one of {known}",
                    )
                named.add(name)
    slots: list[int] = []
    for target in step.highlight:
        if isinstance(target, Slot):
            if target.slot >= trace.started.slot_count:
                limit = f"the run has slots 0 to {trace.started.slot_count - 1}"
                raise RefusionError(f"{where}.highlight", target.slot, "is no slot", limit)
            slots.append(target.slot)
        elif isinstance(target, Slots):
            slots += slots_of(trace, at, target.slots)
    return {
        "run": lesson.run_of(step),
        "at": at,
        "views": [target for target in step.highlight if isinstance(target, str)],
        "slots": slots,
        "say": step.say.model_dump(),
        "question": step.question.model_dump() if step.question else None,
        "facts": {lang: {name: facts[lang][name] for name in sorted(named)} for lang in LANGUAGES},
    }


def placeholders(sentence: str) -> list[str]:
    """The names of the figures in a sentence: ``{forwards}`` or ``{forwards?one:many}``."""
    return _PLACEHOLDER.findall(sentence)
