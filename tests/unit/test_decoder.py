"""The decoder on a model with known distributions: every branch forced, and the invariants of a run.

In the scripted models the answer is TARGET[position]; a script says how sure the plan is of each position
(``plan``) and how sure the model is of a token given the one before it (``given``).
"""

from __future__ import annotations

from itertools import product

import pytest

from refusion_core import DecodeConfig, RecordConfig, decode, load_checkpoint
from refusion_core.decoder import SlotDecoder
from refusion_core.events import (
    CacheState,
    Commit,
    Forward,
    InfillRound,
    Plan,
    RunFinished,
    RunStarted,
    Verify,
)
from refusion_core.trace import fold_statistics
from tests.fakes import (
    EOS,
    FACTS,
    GOLDEN,
    MASK,
    RecomputingModel,
    RuleModel,
    run_decoder,
)

PROMPT = [9, 8, 7]
WATCHED = RecordConfig(dependency=None)
TARGET = {p: 3 + (p * 5) % 12 for p in range(64)}  # never pad, eos or mask


def scripted(*, plan=None, given=None, target=None, sure=0.95):
    """A RuleModel that knows the answer; positions not in a script are ``sure``."""
    answer = TARGET | (target or {})

    def rule(token, position, seen):
        if token == MASK:
            return {answer[position]: (plan or {}).get(position, sure)}
        return {answer[position + 1]: (given or {}).get(position + 1, sure)}

    return RuleModel(rule)


def run(
    model,
    *,
    prompt=PROMPT,
    record=WATCHED,
    stop=None,
    to_text=None,
    **settings,
):
    config = DecodeConfig(
        **{"gen_length": 16, "slot_size": 4, "serial_blocks": 1, "slot_threshold": 0.5} | settings
    )
    return run_decoder(
        SlotDecoder, model, prompt=prompt, config=config, record=record, stop=stop, to_text=to_text
    )


def of(events, kind):
    return [event for event in events if isinstance(event, kind)]


def phases(events):
    return [event.phase for event in of(events, Forward)]


def output(events):
    """Response tokens by position."""
    finished = events[-1]
    assert isinstance(finished, RunFinished)
    start = events[0].response_start
    pairs = zip(finished.output_positions, finished.output_ids, strict=True)
    return {position: token for position, token in pairs if position >= start}


def answer(*positions):
    return {position: TARGET[position] for position in positions}


def test_a_sure_model_commits_a_block_with_one_plan_and_one_verify():
    events = run(scripted(), serial_blocks=2)
    assert phases(events) == ["plan", "verify"] * 2
    assert [commit.branch for commit in of(events, Commit)] == ["prefix", "prefix"]
    assert output(events) == answer(*range(3, 19))
    assert events[-1].stop_reason == "length"
    assert [forward.cache_hits for forward in of(events, Forward)] == [0, 3, 11, 11]


def test_below_the_threshold_the_single_best_slot_is_decoded():
    events = run(scripted(plan={3: 0.2, 7: 0.3, 11: 0.4, 15: 0.1}))
    assert [plan.chosen_slots for plan in of(events, Plan)] == [(2,), (1,), (0,), (3,)]
    assert {s.reason for plan in of(events, Plan) for s in plan.slots if s.chosen} == {
        "best_of_none"
    }
    assert output(events) == answer(*range(3, 19))


def test_a_broken_second_slot_returns_to_the_masks_and_the_first_is_committed():
    events = run(scripted(plan={11: 0.1, 15: 0.1}, given={8: 0.1}))
    verify = of(events, Verify)[0]
    assert (verify.outcome, verify.accepted_prefix) == ("prefix", 5)
    assert [slot.outcome for slot in verify.slots] == ["committed", "returned"]
    assert verify.slots[1].statuses == ("first", "rejected", "behind", "behind")
    assert [slot.slot for slot in of(events, Commit)[0].slots] == [0]
    assert of(events, Plan)[1].chosen_slots == (1,)


def test_infill_runs_in_rounds_and_forces_one_token_in_each():
    events = run(scripted(given={5: 0.1, 6: 0.1}), gen_length=4)
    assert phases(events) == ["plan", "verify"] + ["infill_predict", "infill_verify"] * 2
    first, second = of(events, InfillRound)
    assert (first.slots[0].run_before, first.slots[0].run_after) == (2, 3)
    assert first.slots[0].statuses == ("forced", "rejected")
    assert (second.slots[0].run_before, second.slots[0].run_after) == (3, 4)
    commit = of(events, Commit)[0]
    assert commit.branch == "infill"
    assert commit.slots[0].origins == ("plan", "verified", "forced", "forced")
    assert output(events) == answer(3, 4, 5, 6)


def test_parallel_slots_keep_their_own_runs_and_wait_for_the_straggler():
    given = {4: 0.1, 5: 0.1, 6: 0.1, 8: 0.1}
    events = run(scripted(given=given), gen_length=8)
    rounds = of(events, InfillRound)
    assert [[slot.slot for slot in r.slots] for r in rounds] == [[0, 1], [0], [0]]
    assert rounds[0].straggler == 0
    assert rounds[-1].straggler is None
    assert output(events) == answer(*range(3, 11))


def test_parallel_slots_never_see_one_another():
    """Fast-dLLM PR 17: cache indices of several rows were mixed."""
    seen_in_infill = []
    model = scripted(given={4: 0.1, 8: 0.1})
    inner = model.rule

    def watching(token, position, seen):
        seen_in_infill.append((position, {p for p, _ in seen}))
        return inner(token, position, seen)

    model.rule = watching
    events = run(model, gen_length=8)
    forwards = of(events, Forward)
    plan_and_verify = sum(f.tokens_computed for f in forwards[:2])
    for position, seen in seen_in_infill[plan_and_verify:]:
        other = range(7, 11) if position < 7 else range(3, 7)
        assert not seen & set(other)
        assert seen >= {0, 1, 2, position}


def test_infill_keeps_what_it_computed_and_feeds_no_accepted_token_twice():
    events = run(scripted(given={4: 0.1, 5: 0.1}), gen_length=4)
    infill = [f for f in of(events, Forward) if f.phase.startswith("infill")]
    assert [(f.tokens_computed, f.cache_hits) for f in infill] == [(4, 3), (3, 4), (2, 5), (2, 5)]
    assert of(events, CacheState)[-1].length == 7


def test_eos_in_the_prefix_drops_what_lies_behind_and_still_decodes_what_lies_before():
    events = run(scripted(plan={3: 0.2}, target={9: EOS}), serial_blocks=1)
    commits = of(events, Commit)
    assert commits[0].eos_position == 9
    assert [slot.slot for slot in commits[0].slots] == [1]
    assert commits[0].slots[0].positions == (7, 8, 9)
    assert commits[0].dropped_slots == (2, 3)
    assert [slot.slot for slot in commits[1].slots] == [0]
    assert output(events) == answer(*range(3, 9)) | {9: EOS}
    assert events[-1].stop_reason == "eos"


def test_eos_ends_the_later_blocks_too():
    events = run(scripted(target={4: EOS}), serial_blocks=2)
    assert of(events, Commit)[0].dropped_slots == (1, 2, 3)
    assert output(events) == answer(3) | {4: EOS}


def test_eos_accepted_in_infill_ends_its_slot_and_drops_the_chosen_slots_behind():
    events = run(scripted(target={9: EOS}, given={4: 0.1, 8: 0.1, 12: 0.1}), gen_length=16)
    commit = of(events, Commit)[0]
    assert commit.branch == "infill"
    assert [slot.slot for slot in commit.slots] == [0, 1]
    assert commit.slots[1].positions == (7, 8, 9)
    assert commit.dropped_slots == (2, 3)
    assert of(events, InfillRound)[0].slots[2].dropped
    assert of(events, CacheState)[-1].length == len(PROMPT) + 7


def test_an_earlier_slot_may_bring_an_eos_of_its_own():
    """Tokens behind it stay in the output but are no text."""
    texts = []
    events = run(
        scripted(plan={3: 0.2}, target={5: EOS, 9: EOS}),
        to_text=lambda ids: texts.append(ids) or "shown",
    )
    assert output(events) == answer(3, 4, 7, 8) | {5: EOS, 9: EOS}
    assert events[-1].stop_reason == "eos"
    assert events[-1].text == "shown"
    assert texts == [[TARGET[3], TARGET[4]]]


def test_a_first_draft_of_eos_is_an_empty_answer():
    events = run(scripted(target={3: EOS}))
    assert output(events) == {3: EOS}
    assert of(events, Commit)[0].dropped_slots == (1, 2, 3)


def test_a_proposed_mask_is_never_committed_and_the_event_says_so():
    def rule(token, position, seen):
        if token == MASK:
            return {MASK: 0.6, TARGET[position]: 0.3}
        return {TARGET[position + 1]: 0.1}

    events = run(RuleModel(rule), gen_length=4)
    assert output(events) == answer(3, 4, 5, 6)
    planned = of(events, Plan)[0].slots[0]
    assert planned.mask_offsets == (0, 1, 2, 3)
    assert planned.confidence == pytest.approx(0.3)
    assert of(events, InfillRound)[0].slots[0].mask_offsets == (1, 2, 3)


@pytest.mark.parametrize("prompt", [[], PROMPT])
@pytest.mark.parametrize(
    ("settings", "length"),
    [
        ({"gen_length": 3, "slot_size": 1}, 3),
        ({"gen_length": 2, "slot_size": 4}, 4),
        ({"gen_length": 9, "slot_size": 2, "serial_blocks": 5}, 10),
        ({"gen_length": 5, "slot_size": 2, "serial_blocks": 2}, 8),
    ],
)
def test_odd_lengths_are_decoded_whole_and_told(prompt, settings, length):
    events = run(scripted(given={2: 0.1, 5: 0.1}), prompt=prompt, **settings)
    start = len(prompt)
    assert output(events) == answer(*range(start, start + length))
    assert bool(events[0].notices) == (length != settings["gen_length"])


def test_a_tiny_temperature_equals_greedy_and_confidence_never_depends_on_it():
    """Dream#56, #84: a tiny temperature collapsed quality."""
    checkpoint = load_checkpoint(GOLDEN / "models" / "easy", device="cpu")

    def decoded(temperature):
        config = DecodeConfig(gen_length=32, slot_size=4, temperature=temperature, seed=3)
        return list(decode(checkpoint, prompt_ids=[6, 14, 15, 48, 11, 17, 3], config=config))

    greedy, tiny, hot = decoded(0.0), decoded(1e-6), decoded(8.0)
    assert tiny[-1].output_ids == greedy[-1].output_ids
    assert decoded(8.0)[-1].output_ids == hot[-1].output_ids  # the seed fixes the noise
    assert hot[-1].output_ids != greedy[-1].output_ids
    top = of(hot, Plan)[0].slots[0]
    listed = dict(of(greedy, Plan)[0].slots[0].alternatives[0])
    assert listed.get(top.tokens[0], top.confidence) == pytest.approx(top.confidence)


def test_stop_ends_the_run_with_what_it_had():
    calls = iter([False] * 3 + [True] * 9)
    events = run(scripted(), serial_blocks=2, stop=lambda: next(calls))
    assert events[-1].stop_reason == "stopped"
    assert output(events) == answer(*range(3, 11))
    assert events[-1].stats == fold_statistics(events)


def test_a_failure_ends_the_trace_readably_and_is_raised():
    model = scripted()
    feed, events = model.feed, []

    def failing(*args):
        if len(model.fed) == 2:
            raise MemoryError("out of memory")
        return feed(*args)

    model.feed = failing
    config = DecodeConfig(gen_length=16, slot_size=4, serial_blocks=2, slot_threshold=0.9)
    decoder = SlotDecoder(model, FACTS, prompt_ids=PROMPT, config=config, record=RecordConfig())
    with pytest.raises(MemoryError):
        for event in decoder.run():
            events.append(event)
    assert events[-1].stop_reason == "error"
    assert "out of memory" in events[-1].error
    assert events[-1].stats.committed_tokens == 8


GRID = list(product([1, 3, 8], [1, 2], [0.2, 0.95], [0.05, 0.6]))
PROMPTS = [[6, 14, 15, 48, 11, 17, 3], [8, 15, 13, 17, 17, 19, 18, 48, 13, 10, 3], []]


@pytest.mark.parametrize(("name", "start"), [("easy", 0), ("tied", 1), ("untied", 2)])
def test_invariants_hold_on_real_models(name, start):
    """Positions are committed once, the cache holds prompt and committed tokens after each commit, statistics
    are the fold, and neither watching nor caching changes a token."""
    checkpoint = load_checkpoint(GOLDEN / "models" / name, device="cpu")
    recomputing = RecomputingModel(checkpoint.model)
    for number, (size, blocks, slot_threshold, token_threshold) in enumerate(GRID[start::3]):
        prompt = PROMPTS[number % len(PROMPTS)]
        config = DecodeConfig(
            gen_length=24,
            slot_size=size,
            serial_blocks=blocks,
            slot_threshold=slot_threshold,
            token_threshold=token_threshold,
        )
        events = list(decode(checkpoint, prompt_ids=prompt, config=config))
        check_invariants(events, prompt)
        check_statuses(events)
        quiet = list(decode(checkpoint, prompt_ids=prompt, config=config, record=None))
        assert [type(event) for event in quiet] == [RunStarted, RunFinished]
        assert quiet[-1].output_ids == events[-1].output_ids
        assert quiet[-1].stats.forwards_by_phase == events[-1].stats.forwards_by_phase
        plain = SlotDecoder(
            recomputing,
            checkpoint.facts,
            prompt_ids=prompt,
            config=config,
            record=RecordConfig(dependency=None),
        )
        check_equal_runs(events, list(plain.run()))


def check_invariants(events, prompt):
    committed = []
    assert [event.seq for event in events] == list(range(len(events)))
    for event in events:
        if isinstance(event, Commit):
            for slot in event.slots:
                cache_indexes = range(len(prompt) + len(committed), 10**6)
                assert list(slot.cache_indexes) == list(cache_indexes[: len(slot.positions)])
                committed += slot.positions
        elif isinstance(event, CacheState):
            assert event.length == len(prompt) + len(committed)
            assert event.kept + event.discarded == event.computed
    assert len(committed) == len(set(committed))
    finished = events[-1]
    assert sorted(committed) == list(finished.output_positions[len(prompt) :])
    assert finished.stats == fold_statistics(events)
    assert finished.stats.tokens_computed - finished.stats.entries_discarded == (
        len(prompt) + len(committed)
    )
    assert MASK not in finished.output_ids[len(prompt) :]


def check_statuses(events):
    """A rejected token is one that was judged and failed; an accepted one passed."""
    threshold = events[0].settings.token_threshold
    for event in events:
        slots = event.slots if isinstance(event, (Verify, InfillRound)) else ()
        for slot in slots:
            chances = slot.verified if isinstance(event, InfillRound) else slot.probabilities
            for status, chance in zip(slot.statuses, chances, strict=True):
                if status == "accepted":
                    assert chance > threshold
                elif status in ("rejected", "forced"):
                    assert chance <= threshold


def check_equal_runs(cached, recomputed):
    assert cached[-1].output_ids == recomputed[-1].output_ids
    assert phases(cached) == phases(recomputed)
    for ours, plain in zip(of(cached, Plan), of(recomputed, Plan), strict=True):
        assert ours.chosen_slots == plain.chosen_slots
        for a, b in zip(ours.slots, plain.slots, strict=True):
            assert a.probabilities == pytest.approx(b.probabilities, abs=1e-4)


def test_dependency_rows_are_attention_masses_that_sum_to_one():
    checkpoint = load_checkpoint(GOLDEN / "models" / "untied", device="cpu")
    config = DecodeConfig(gen_length=24, slot_size=4, serial_blocks=1)
    events = list(decode(checkpoint, prompt_ids=PROMPTS[0], config=config))
    dependencies = [event for event in events if event.type == "dependency"]
    assert len(dependencies) == len(of(events, Plan))
    for event in dependencies:
        for place, (row, prompt) in enumerate(zip(event.matrix, event.prompt, strict=True)):
            assert sum(row) + prompt == pytest.approx(1, abs=1e-3)
            later = [
                row[event.columns.index(slot)] for slot in event.rows if slot > event.rows[place]
            ]
            assert all(mass == 0 for mass in later)  # masks come in position order and are causal
