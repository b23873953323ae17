"""The lessons driven to their ends in both languages, the game of predicting plans, and files of one's own."""

from __future__ import annotations

import json
import re

import pytest

from app.lessons import WORDS
from app.player import example_text
from refusion_core import parse_trace
from refusion_core.events import Plan
from refusion_core.lessons import FOLDER, bundled_lessons, recorded_text, tour

from .conftest import watch
from .test_player_accessibility import LOOKS, none_in, violations

LOCALES = {"en": "en-US", "zh": "zh-CN"}
LESSONS = [lesson.id for lesson in bundled_lessons()]
SHOWN = "window.refusionLessons.shown"


@pytest.fixture
def open_page(browser):
    """Opens the page of lessons at an address, in a window of its own."""
    opened = []

    def go(url: str, hash: str = "", **context):
        windows = watch(browser, **({"reduced_motion": "reduce"} | context))
        opened.append(windows)
        page = next(windows)
        page.goto(f"{url}/lessons{hash}")
        page.locator(".refusion-lessons [data-view], .refusion-lesson-list").first.wait_for()
        return page

    yield go
    for windows in opened:
        next(windows, None)


def open_lesson(open_page, url, name, lang="en", **context):
    page = open_page(url, f"#lesson={name}", locale=LOCALES[lang], **context)
    page.locator(".rfp-tour-title").wait_for()
    return page


def label(page, key):
    """The text of a key of the player."""
    return page.evaluate("(key) => window.refusionLessons.shown.speaker.text(key)", key)


def cursor(page):
    return page.evaluate(f"() => {SHOWN}.player.cursor")


def plain(sentence: str, facts: dict) -> str:
    """A sentence as it reads on the page: figures filled in, terms by what is shown of them."""

    def figure(match):
        value = facts[match[1]]
        if isinstance(value, str):
            return value
        text = value["token"]
        return text if len(text) <= 40 else f"{text[:40]}…"

    sentence = re.sub(
        r"\{(\w+)\?([^:{}]*):([^{}]*)\}",
        lambda m: m[2] if facts[m[1]] == "1" else m[3],
        sentence,
    )
    sentence = re.sub(r"\[(\w+)(?:\|([^\]]*))?\]", lambda m: m[2] or m[1], sentence)
    return re.sub(r"\{(\w+)\}", figure, sentence)


@pytest.mark.parametrize("lang", LOCALES)
@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_is_driven_to_its_end(open_page, app_url, name, lang):
    """At every step the player is where the lesson says, the sentence is filled, what is pointed at is marked;
    a wrong answer says why and keeps the way closed, the right one opens it."""
    lesson = next(lesson for lesson in bundled_lessons() if lesson.id == name)
    steps = tour(lesson, name)["steps"]
    page = open_lesson(open_page, app_url, name, lang)
    assert page.inner_text(".rfp-tour-title") == getattr(lesson.title, lang)
    back, go_on = page.locator(".rfp-tour-button").all()
    assert back.get_attribute("aria-disabled") == "true"
    for number, step in enumerate(steps):
        page.wait_for_function(
            "(n) => document.querySelector('.rfp-tour').dataset.step === String(n)", arg=number
        )
        assert cursor(page) == step["at"]
        said = page.locator(".rfp-tour-say").text_content()
        assert said == plain(step["say"][lang], step["facts"][lang])
        assert "{" not in said and "undefined" not in said
        pointed = page.evaluate(
            "() => [...document.querySelectorAll('.rfp-slot.is-pointed')].map((n) => +n.dataset.slot)"
        )
        assert pointed == sorted(step["slots"])
        marked = page.locator(".rfp-panel.is-pointed").count()
        wanted = set(step["views"]) | ({"stage"} if step["slots"] else set())
        assert marked == len(wanted) > 0
        if step["question"]:
            answer_wrong_then_right(page, step, lang, number, go_on)
        go_on.click()
    assert page.get_attribute(".rfp-tour", "data-done") == "true"
    assert page.inner_text(".rfp-tour-feedback") == label(page, "tour.done")
    assert json.loads(page.evaluate("() => localStorage.getItem('refusion.lessons')")) == [name]


def answer_wrong_then_right(page, step, lang, number, go_on):
    question, facts = step["question"], step["facts"][lang]
    choices = question["choices"]
    right = next(n for n, choice in enumerate(choices) if choice["right"])
    wrong = next(n for n, choice in enumerate(choices) if not choice["right"])
    go_on.press("Enter")  # says why it does not go on
    assert page.get_attribute(".rfp-tour", "data-step") == str(number)
    assert page.inner_text(".rfp-tour-feedback") == label(page, "tour.first")
    for n, key, closed in ((wrong, "tour.wrong", "true"), (right, "tour.right", "false")):
        page.locator(".rfp-tour-choice").nth(n).click()
        feedback = page.locator(".rfp-tour-feedback").text_content()
        assert feedback == f"{label(page, key)} {plain(choices[n]['why'][lang], facts)}"
        assert go_on.get_attribute("aria-disabled") == closed


def test_the_list_knows_what_was_finished_and_what_comes_next(open_page, app_url):
    page = open_page(app_url)
    assert page.locator(".refusion-lesson-list li").count() == 7
    assert page.locator(".refusion-lesson-list li.is-done").count() == 0
    page.locator(".refusion-lesson-list a").first.click()
    page.locator(".rfp-tour-title").wait_for()
    page.evaluate(f"() => {{ {SHOWN}.go(99); {SHOWN}.goOn(); }}")
    following = page.locator(".refusion-lesson-next")
    assert bundled_lessons()[1].title.en in following.inner_text()
    following.click()
    page.wait_for_function(f"() => {SHOWN}?.lesson.id === '{LESSONS[1]}'")
    page.get_by_role("link", name=WORDS["all"][0]).click()
    done = page.locator(".refusion-lesson-list li.is-done")
    assert done.count() == 1 and WORDS["done"][0] in done.inner_text()
    page.reload()
    page.locator(".refusion-lesson-list li.is-done").wait_for()


def test_going_back_keeps_the_answers(open_page, app_url):
    page = open_lesson(open_page, app_url, "one-token")
    page.evaluate(f"() => {SHOWN}.go(3)")
    page.locator(".rfp-tour-choice").nth(1).click()
    page.locator(".rfp-tour-button.is-main").click()
    page.locator(".rfp-tour-button").first.click()
    assert page.locator(".rfp-tour-choice input").nth(1).is_checked()
    assert page.locator(".rfp-tour-button.is-main").get_attribute("aria-disabled") == "false"


def test_a_lesson_works_by_keyboard_alone(open_page, app_url):
    page = open_lesson(open_page, app_url, "one-token")
    go_on = page.locator(".rfp-tour-button.is-main")
    go_on.focus()
    for _ in range(3):
        page.keyboard.press("Enter")
    assert page.get_attribute(".rfp-tour", "data-step") == "3"
    page.keyboard.press("Shift+Tab")  # Back
    page.keyboard.press("Shift+Tab")  # the choices
    page.keyboard.press("Space")
    page.keyboard.press("ArrowUp")
    assert page.locator(".rfp-tour-choice[data-verdict=right]").count() == 1
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.get_attribute(".rfp-tour", "data-step") == "4"


def test_an_unknown_lesson_is_said_and_the_list_shown(open_page, app_url):
    page = open_page(app_url, "#lesson=nothing")
    page.locator(".refusion-lesson-list").wait_for()
    page.wait_for_function(
        "() => document.querySelector('.refusion-message').innerText.includes('nothing')"
    )


# Files of a teacher's own


def load(page, name: str, text: str) -> None:
    with page.expect_file_chooser() as chooser:
        page.locator(".refusion-lesson-load").click()
    file = {"name": name, "mimeType": "application/json", "buffer": text.encode()}
    chooser.value.set_files(file)


def own_lesson() -> dict:
    lesson = json.loads((FOLDER / "3-slots-and-plan.json").read_text(encoding="utf-8"))
    events = [json.loads(line) for line in recorded_text("lists-numbered").splitlines()]
    step = {
        "at": {"event": "plan", "iteration": 1},
        "highlight": [{"slots": "chosen"}],
        "say": {"en": "Chosen: {chosen_count}.", "zh": "选中 {chosen_count} 个。"},
    }
    title = {"en": "A lesson of my own", "zh": "我自己的课"}
    return lesson | {"id": "own", "title": title, "runs": {"mine": events}, "steps": [step]}


def test_a_lesson_of_ones_own_is_loaded_with_its_run(open_page, app_url):
    page = open_page(app_url)
    load(page, "own.json", json.dumps(own_lesson()))
    page.get_by_role("heading", name="A lesson of my own").wait_for()
    assert page.inner_text(".rfp-tour-say") == "Chosen: 12."
    prompt = page.evaluate(f"() => {SHOWN}.player.trace.run.prompt_text")
    assert prompt.startswith("Number these items")
    page.locator(".rfp-tour-button.is-main").click()
    assert page.get_attribute(".rfp-tour", "data-done") == "true"


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda lesson: "{", "no JSON"),
        (lambda lesson: json.dumps(lesson | {"title": {"en": "Only one"}}), "title.zh"),
        (lambda lesson: json.dumps(lesson | {"runs": {"mine": "none-such"}}), "runs.mine"),
    ],
)
def test_a_damaged_lesson_gives_a_message_and_what_was_shown_stays(
    open_page, app_url, damage, said
):
    page = open_lesson(open_page, app_url, "any-order")
    page.evaluate(f"() => {SHOWN}.go(1)")
    load(page, "own.json", damage(own_lesson()))
    message = page.locator(".refusion-message")
    message.wait_for()
    assert "own.json" in message.inner_text() and said in message.inner_text()
    assert page.get_attribute(".rfp-tour", "data-step") == "1"
    assert page.evaluate(f"() => {SHOWN}.lesson.id") == "any-order"


# Predict the next slot


def open_game(open_page, url, name, **context):
    page = open_page(url, f"#predict={name}", **context)
    page.locator(".rfp-predict-slot").first.wait_for()
    return page


def state(page):
    return page.get_attribute(".rfp-predict", "data-state")


def act(page):
    page.locator(".rfp-predict .rfp-tour-button.is-main").click()


def test_predictions_are_scored_against_the_plans_of_the_trace(open_page, app_url):
    """Each time one chosen slot is picked in the stage, and one that was not chosen by its button."""
    plans = [
        event for event in parse_trace(example_text("sums-addition")) if isinstance(event, Plan)
    ]
    page = open_game(open_page, app_url, "sums-addition")
    hit = missed = wrong = 0
    for number, plan in enumerate(plans):
        assert (state(page), page.get_attribute(".rfp-predict", "data-plan")) == (
            "asking",
            str(number),
        )
        assert cursor(page) < plan.seq
        offered = page.locator(".rfp-predict-slot").all_inner_texts()
        assert [int(slot) for slot in offered] == [slot.slot for slot in plan.slots]
        others = [slot.slot for slot in plan.slots if not slot.chosen]
        page.locator(f".rfp-slot[data-slot='{plan.chosen_slots[0]}'] .rfp-slot-number").click()
        for slot in others[:1]:
            page.locator(f".rfp-predict-slot[data-slot='{slot}']").click()
        act(page)
        assert (state(page), cursor(page)) == ("told", plan.seq)
        hit, missed, wrong = hit + 1, missed + len(plan.chosen_slots) - 1, wrong + len(others[:1])
        assert page.get_attribute(".rfp-predict", "data-score") == f"{hit},{missed},{wrong}"
        marks = dict.fromkeys(plan.chosen_slots, "missed") | {plan.chosen_slots[0]: "hit"}
        marks |= dict.fromkeys(others[:1], "false")
        for where in (".rfp-slot", ".rfp-predict-slot"):
            found = page.evaluate(
                "(where) => [...document.querySelectorAll(where)].filter((n) => n.dataset.guess)"
                ".map((n) => [+n.dataset.slot, n.dataset.guess])",
                where,
            )
            assert dict(found) == marks
        feedback = page.inner_text(".rfp-tour-feedback")
        ranked = sorted(plan.slots, key=lambda slot: slot.rank)
        if ranked[0].reason == "best_of_none":
            assert f"so the best one was chosen: slot {ranked[0].slot}" in feedback
        else:
            assert "above the threshold" in feedback
        act(page)
    assert state(page) == "over"
    share = round(100 * hit / (hit + missed + wrong))
    assert f"{share}\u00a0%" in page.inner_text(".rfp-predict-score")
    act(page)
    assert (state(page), page.get_attribute(".rfp-predict", "data-score")) == ("asking", "0,0,0")


def test_a_prediction_needs_a_pick_and_may_be_taken_back(open_page, app_url):
    page = open_game(open_page, app_url, "story-fox", locale="zh-CN")
    act(page)
    assert state(page) == "asking"
    assert page.inner_text(".rfp-tour-feedback") == label(page, "predict.none")
    slot = page.locator(".rfp-predict-slot[data-slot='3']")
    slot.focus()
    page.keyboard.press("Enter")
    assert slot.get_attribute("aria-pressed") == "true"
    page.keyboard.press("Enter")
    assert slot.get_attribute("aria-pressed") == "false"
    assert page.evaluate("() => document.activeElement.dataset.slot") == "3"


def test_with_motion_the_run_plays_to_the_next_plan_and_stops(open_page, app_url):
    page = open_game(open_page, app_url, "translate-to-english", reduced_motion="no-preference")
    page.locator(".rfp-predict-slot").first.click()
    act(page)
    act(page)
    assert state(page) == "moving"
    page.wait_for_function(
        "() => document.querySelector('.rfp-predict').dataset.state === 'asking'"
    )
    stopped = cursor(page)
    page.wait_for_timeout(1500)
    assert cursor(page) == stopped
    assert page.get_attribute(".rfp-predict", "data-plan") == "1"


def test_the_example_may_be_chosen(open_page, app_url):
    page = open_game(open_page, app_url, "")
    page.locator(".refusion-lesson-bar select").select_option("story-fox")
    page.wait_for_function(f"() => {SHOWN}?.player.trace.run?.prompt_text.includes('fox')")
    assert page.evaluate("() => location.hash") == "#predict=story-fox"


def test_only_runs_of_refusion_have_plans_to_predict(open_page, app_url):
    page = open_game(open_page, app_url, "story-fox")
    page.evaluate(
        "(text) => window.refusionLessons.shown.load(text)", recorded_text("story-at-once")
    )
    assert state(page) == "none"
    assert "Masked diffusion" in page.inner_text(".rfp-tour-say")


# Looks


@pytest.mark.parametrize("look", LOOKS)
def test_the_page_passes_axe_and_fits(browser, app_url, look):
    options = {"reduced_motion": "reduce"} | LOOKS[look]
    size = options.pop("viewport", {"width": 1440, "height": 960})
    for page in watch(browser, bypass_csp=True, **options):
        page.set_viewport_size(size)
        page.goto(f"{app_url}/lessons")
        page.locator(".refusion-lesson-list").wait_for()
        found = {"list": violations(page, "body", off=[])}
        page.evaluate("() => { location.hash = 'lesson=verify-and-infill'; }")
        page.locator(".rfp-tour-title").wait_for()
        page.evaluate(f"() => {SHOWN}.go(2)")
        page.locator(".rfp-tour-choice").first.click()
        found["lesson"] = violations(page, "body", off=[])
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
        page.evaluate("() => { location.hash = 'predict=sums-addition'; }")
        page.locator(".rfp-predict-slot").first.click()
        act(page)
        found["game"] = violations(page, "body", off=[])
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
        none_in(found)
