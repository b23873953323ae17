"""Revealed dependency against one plain forward per reveal, and on models that depend in a known way."""

from __future__ import annotations

import math

import pytest
import torch

from refusion_core import DecodeConfig, RecordConfig, decode, dependency, load_checkpoint
from refusion_core.decoder import SlotDecoder
from refusion_core.events import Dependency, Plan
from tests.fakes import FACTS, GOLDEN, MASK, RuleModel

REVEALED = RecordConfig(dependency="revealed")
PROMPT = [9, 8, 7]


def of(events, kind):
    return [event for event in events if isinstance(event, kind)]


def test_revealed_equals_one_forward_per_reveal(monkeypatch):
    """The cache is rebuilt and every reveal fed alone, with float64 distributions."""
    monkeypatch.setattr(dependency, "REVEAL_TOKENS", 40)  # several batches
    checkpoint = load_checkpoint(GOLDEN / "models" / "untied", device="cpu")
    size, prompt = 4, [5, 6, 7, 8, 9]
    config = DecodeConfig(gen_length=20, slot_size=size, serial_blocks=1)
    events = list(decode(checkpoint, prompt_ids=prompt, config=config, record=REVEALED))
    plan, found = of(events, Plan)[0], of(events, Dependency)[0]
    assert found.rows == found.columns == tuple(slot.slot for slot in plan.slots) == tuple(range(5))
    model, mask = checkpoint.model, checkpoint.facts.mask_id

    def starts(order, known):
        """First-token distribution of every masked slot, the slots fed in this order behind the prompt."""
        ids, positions = list(prompt), list(range(len(prompt)))
        for slot in order:
            ids += plan.slots[slot].tokens if slot == known else [mask] * size
            positions += range(len(prompt) + slot * size, len(prompt) + (slot + 1) * size)
        hidden = model.hidden(torch.tensor([ids]), torch.tensor([positions]))[0]
        places = {slot: len(prompt) + size * place for place, slot in enumerate(order)}
        return {
            slot: model.logits(hidden[place]).double().softmax(-1) for slot, place in places.items()
        }

    before = starts(range(5), None)
    for i in range(5):
        after = starts([i, *(j for j in range(5) if j != i)], i)
        for j in range(5):
            middle = (before[j] + after[j]) / 2
            halves = [(p * (p.log() - middle.log())).nansum() / 2 for p in (before[j], after[j])]
            expected = 0.0 if i == j else float(sum(halves))
            assert found.matrix[j][i] == pytest.approx(expected, abs=1e-5)
    chosen = plan.chosen_slots
    inside = sum(found.matrix[j][i] for j in chosen for i in chosen)
    assert found.violated == pytest.approx(inside, abs=1e-5)


def test_joint_equals_one_forward_per_query(monkeypatch):
    """Every slot read alone behind the prompt and what is known, with float64 distributions."""
    monkeypatch.setattr(dependency, "REVEAL_TOKENS", 40)  # several batches
    checkpoint = load_checkpoint(GOLDEN / "models" / "untied", device="cpu")
    size, prompt = 4, [5, 6, 7, 8, 9]
    config = DecodeConfig(gen_length=20, slot_size=size, serial_blocks=1, slot_threshold=0)
    record = RecordConfig(dependency="joint")
    events = list(decode(checkpoint, prompt_ids=prompt, config=config, record=record))
    plan, found = of(events, Plan)[0], of(events, Dependency)[0]
    assert found.rows == found.columns == plan.chosen_slots == tuple(range(5))
    model, mask = checkpoint.model, checkpoint.facts.mask_id

    def span(slot):
        return list(range(len(prompt) + slot * size, len(prompt) + (slot + 1) * size))

    def chance(slot, known):
        head = prompt + [token for other in known for token in plan.slots[other].tokens]
        places = list(range(len(prompt))) + [p for other in known for p in span(other)]
        draft, total = plan.slots[slot].tokens, 0.0
        for ids, positions, wanted in (
            ([mask], span(slot)[:1], draft[:1]),
            (draft[:-1], span(slot)[:-1], draft[1:]),
        ):
            fed = torch.tensor([[*head, *ids]]), torch.tensor([[*places, *positions]])
            hidden = model.hidden(*fed)[0, len(head) :]
            rows = model.logits(hidden).double().log_softmax(-1)
            total += sum(rows[place, token].item() for place, token in enumerate(wanted))
        return total

    for j in range(5):
        alone = chance(j, ())
        for i in range(5):
            expected = 0.0 if i == j else chance(j, (i,)) - alone
            assert found.matrix[j][i] == pytest.approx(expected, abs=2e-5)
        others = [i for i in range(5) if i != j]
        assert found.gains[j] == pytest.approx(chance(j, others) - alone, abs=2e-5)
    assert found.violated == pytest.approx(sum(map(abs, found.gains)), abs=1e-5)


def test_joint_tells_whether_the_others_speak_for_or_against_a_draft():
    """Slot 1 doubts its first token (.9) once it sees slot 0 decoded, slot 2 is sure of it (.99)."""

    def rule(token, position, seen):
        if token != MASK:
            return {3: 0.95}
        sees = any(place == 3 and known != MASK for place, known in seen)
        return {4: {7: 0.9, 11: 0.99}.get(position, 0.95) if sees else 0.95}

    record = RecordConfig(dependency="joint")
    found = of(run_on_rule(rule, record=record, slot_threshold=0.9), Dependency)[0]
    doubts, sure = math.log(0.9 / 0.95), math.log(0.99 / 0.95)
    assert found.gains == pytest.approx([0, doubts, sure], abs=1e-4)
    expected = [[0, 0, 0], [doubts, 0, 0], [sure, 0, 0]]
    assert [list(row) for row in found.matrix] == [pytest.approx(r, abs=1e-4) for r in expected]


def test_a_slot_chosen_alone_has_no_joint_gain():
    record = RecordConfig(dependency="joint")
    events = run_on_rule(lambda *_: {4: 0.5}, record=record, slot_threshold=0.9)
    assert {len(plan.chosen_slots) for plan in of(events, Plan)} == {1}
    assert of(events, Dependency) == []


def test_attention_inside_the_chosen_set_is_added_up():
    checkpoint = load_checkpoint(GOLDEN / "models" / "untied", device="cpu")
    config = DecodeConfig(gen_length=20, slot_size=4, serial_blocks=1, slot_threshold=0.3)
    events = list(decode(checkpoint, prompt_ids=[5, 6, 7], config=config))
    pairs = list(zip(of(events, Plan), of(events, Dependency), strict=True))
    for plan, found in pairs:
        inside = sum(
            found.matrix[found.rows.index(j)][found.columns.index(i)]
            for j in plan.chosen_slots
            for i in plan.chosen_slots
            if i != j
        )
        assert found.violated == pytest.approx(inside, abs=1e-4)
    assert any(found.violated > 0 for _, found in pairs)


def run_on_rule(rule, record=REVEALED, **settings):
    config = DecodeConfig(**{"gen_length": 12, "slot_size": 4, "serial_blocks": 1} | settings)
    model = RuleModel(rule)
    decoder = SlotDecoder(model, FACTS, prompt_ids=PROMPT, config=config, record=record)
    return list(decoder.run())


def test_a_slot_that_reads_another_depends_on_it_and_on_no_third():
    """Slot 2 is sure of its first token once it sees slot 0 decoded; nothing else depends."""

    def rule(token, position, seen):
        if token != MASK:
            return {3: 0.95}
        sees = any(place == 3 and known != MASK for place, known in seen)
        return {4: 0.99} if position == 11 and sees else {4: 0.5}

    matrix = of(run_on_rule(rule), Dependency)[0].matrix
    assert matrix[2][0] > 0.1
    others = [matrix[j][i] for j in range(3) for i in range(3) if (j, i) != (2, 0)]
    assert others == pytest.approx([0.0] * 8, abs=1e-6)


def test_opposite_certainties_reach_the_upper_bound():
    def rule(token, position, seen):
        sees = any(place == 3 and known != MASK for place, known in seen)
        return {4: 1 - 1e-9} if token != MASK or not sees else {5: 1 - 1e-9}

    matrix = of(run_on_rule(rule, gen_length=8), Dependency)[0].matrix
    assert matrix[1][0] == pytest.approx(math.log(2), abs=1e-4)


@pytest.mark.parametrize("method", ["attention", "revealed", "joint"])
def test_measuring_changes_nothing(method):
    checkpoint = load_checkpoint(GOLDEN / "models" / "untied", device="cpu")
    config = DecodeConfig(gen_length=24, slot_size=4, serial_blocks=2)
    runs = [
        list(decode(checkpoint, prompt_ids=[5, 6, 7], config=config, record=record))
        for record in (RecordConfig(dependency=method), RecordConfig(dependency=None))
    ]
    ends = [run[-1] for run in runs]
    assert ends[0].output_ids == ends[1].output_ids
    assert ends[0].stats.forwards == ends[1].stats.forwards
    assert ends[0].stats.tokens_computed == ends[1].stats.tokens_computed


def test_attention_by_head_is_what_the_mean_is_made_of():
    checkpoint = load_checkpoint(GOLDEN / "models" / "untied", device="cpu")
    config = DecodeConfig(gen_length=20, slot_size=4, serial_blocks=1)
    runs = [
        list(
            decode(
                checkpoint,
                prompt_ids=[5, 6, 7],
                config=config,
                record=RecordConfig(dependency=method),
            )
        )
        for method in ("attention", "attention_heads")
    ]
    shape = checkpoint.model.config
    pairs = zip(*(of(run, Dependency) for run in runs), strict=True)
    for mean, by_head in pairs:
        assert (mean.method, by_head.method, mean.heads) == ("attention", "attention", None)
        heads = torch.tensor(by_head.heads)
        assert heads.shape[:2] == (shape.num_hidden_layers, shape.num_attention_heads)
        assert torch.allclose(heads.mean((0, 1)), torch.tensor(mean.matrix), atol=2e-6)
        assert mean.matrix == by_head.matrix and mean.prompt == by_head.prompt
        assert heads.std((0, 1)).max() > 0.01  # heads differ
