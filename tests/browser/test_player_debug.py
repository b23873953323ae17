"""The player's debugging views: sorted scoreboards, joint gains, dependency that was passed over."""

from __future__ import annotations

import csv
import io

import pytest

from refusion_core import DecodeConfig, RecordConfig, decode, load_checkpoint
from refusion_core.events import Dependency, InfillRound, Plan, Verify
from tests.fakes import GOLDEN

from .player_page import index_of, jsonl
from .test_player_export import exported
from .test_player_views import choose, pixel


def run(method: str, **settings) -> list:
    """A run in which several slots are chosen together and some need infill."""
    checkpoint = load_checkpoint(GOLDEN / "models" / "untied", device="cpu")
    config = DecodeConfig(
        **{"gen_length": 24, "slot_size": 4, "serial_blocks": 1, "slot_threshold": 0.05} | settings
    )
    record = RecordConfig(dependency=method)
    return list(decode(checkpoint, prompt_ids=[5, 6, 7], config=config, record=record))


@pytest.fixture(scope="module")
def joint() -> list:
    return run("joint")


@pytest.fixture(scope="module")
def attention() -> list:
    return run("attention")


def rows(player) -> list[int]:
    return [
        int(row.get_attribute("data-slot"))
        for row in player.page.locator(".rfp-score:not(.is-decided)").all()
        if row.is_visible()
    ]


def test_the_scoreboard_sorts_by_confidence_slot_and_dependency(player, attention):
    player.load(jsonl(attention))
    plan = attention[index_of(attention, Plan)]
    player.seek(index_of(attention, Plan))
    by_rank = [slot.slot for slot in sorted(plan.slots, key=lambda slot: slot.rank)]
    assert rows(player) == by_rank
    choose(player, "slot")
    assert rows(player) == sorted(by_rank)
    place = index_of(attention, Dependency)
    found = attention[place]
    player.seek(place)
    choose(player, "dependency")
    needs = {
        slot: sum(
            found.matrix[found.rows.index(slot)][found.columns.index(other)]
            for other in plan.chosen_slots
            if other != slot
        )
        for slot in by_rank
    }
    assert rows(player) == sorted(by_rank, key=lambda slot: (-needs[slot], by_rank.index(slot)))
    player.page.locator(f".rfp-score[data-slot='{by_rank[0]}']").hover()
    assert f"{needs[by_rank[0]]:.3f} on the chosen" in player.text(".rfp-score-detail")


def test_a_slot_pointed_at_tells_what_came_of_it_and_not_before(player, attention):
    last = max(n for n, event in enumerate(attention) if isinstance(event, InfillRound))
    iteration = attention[last].iteration
    verify = next(e for e in attention if isinstance(e, Verify) and e.iteration == iteration)
    slot = verify.slots[0]
    took = [
        e
        for e in attention
        if isinstance(e, InfillRound) and e.iteration == iteration
        if any(entry.slot == slot.slot for entry in e.slots)
    ]
    player.load(jsonl(attention))
    plan = next(
        n for n, e in enumerate(attention) if isinstance(e, Plan) and e.iteration == iteration
    )
    player.seek(plan)
    player.page.locator(f".rfp-score[data-slot='{slot.slot}']").hover()
    assert "accepted" not in player.text(".rfp-score-detail")
    player.seek(last)
    said = player.text(".rfp-score-detail")
    assert f"{slot.accepted_run} / 4 accepted" in said
    assert f"{len(took)} round" in said


def test_the_timeline_shows_how_much_dependency_was_passed_over(player, attention):
    player.load(jsonl(attention))
    player.call("seek", len(attention) - 1)
    player.settle()
    found = {e.iteration: e.violated for e in attention if isinstance(e, Dependency)}
    top = max(found, key=found.get)
    assert found[top] > 0
    canvas = player.page.locator(".rfp-timeline .rfp-canvas")
    height = canvas.evaluate("node => node.offsetHeight")
    width = canvas.evaluate("node => node.offsetWidth")
    x = 52 + (top + 0.5) * (width - 52) / len(found)
    canvas.hover(position={"x": x, "y": height - 23})
    assert f"depend on each other by {found[top]:.3f}" in player.text(".rfp-timeline .rfp-readout")
    red, green, blue = pixel(player, ".rfp-timeline .rfp-canvas", x, height - 22)
    assert red > green + 40 and red > blue + 80


def test_joint_gains_are_shown_with_their_sign(player, joint):
    player.load(jsonl(joint))
    place = index_of(joint, Dependency)
    found = joint[place]
    player.seek(place)
    assert f"{found.violated:.3f} nats" in player.text(".rfp-narration-text")
    assert "gain in log probability" in player.text(".rfp-dependency .rfp-caption")
    box = player.page.locator(".rfp-dependency .rfp-canvas")
    width = box.evaluate("node => node.offsetWidth")
    height = box.evaluate("node => node.offsetHeight")
    column = (width - 46) / (len(found.columns) + 1)
    row = (height - 20) / 6
    seen = []
    for r, slot in enumerate(found.rows):
        box.hover(position={"x": 46 + column / 2, "y": 20 + (slot + 0.5) * row})
        said = player.text(".rfp-dependency .rfp-readout")
        assert f"slot {slot}, all others known: {found.gains[r]:.4f} nats" == said
        box.hover(position={"x": 46 + 1.5 * column, "y": 20 + (slot + 0.5) * row})
        seen.append(player.text(".rfp-dependency .rfp-readout"))
        assert f"slot {found.columns[0]} known: {found.matrix[r][0]:.4f} nats" in seen[-1]
    assert min(found.gains) < 0
    r = found.gains.index(min(found.gains))
    y = 20 + (found.rows[r] + 0.5) * row
    red, _, blue = pixel(player, ".rfp-dependency .rfp-canvas", 46 + 5, y)
    assert red > blue  # against it: vermilion, not blue


def test_the_scoreboards_export_as_csv(player, attention):
    player.load(jsonl(attention))
    lines = list(csv.DictReader(io.StringIO(exported(player, "csv").decode())))
    plans = [event for event in attention if isinstance(event, Plan)]
    assert len(lines) == sum(len(plan.slots) for plan in plans)
    assert {line["reason"] for line in lines} == {s.reason for p in plans for s in p.slots}


def test_attention_is_shown_of_one_layer_and_head(player):
    events = run("attention_heads")
    place = index_of(events, Dependency)
    found = events[place]
    player.load(jsonl(events))
    player.seek(place)
    box = player.page.locator(".rfp-dependency .rfp-canvas")

    def cell(lead):
        width = box.evaluate("node => node.offsetWidth")
        column = (width - 46) / (len(found.columns) + lead)
        box.hover(position={"x": 46 + (lead + 1.5) * column, "y": 25})
        return player.text(".rfp-dependency .rfp-readout")

    assert cell(1).endswith(f"slot 1: {found.matrix[0][1]:.4f}")
    for value, matrix in (("0 1", found.heads[0][1]), ("1 0", found.heads[1][0])):
        player.page.locator(".rfp-heads").select_option(value)
        player.settle()
        assert cell(0).endswith(f"slot 1: {matrix[0][1]:.4f}")
    player.page.locator(".rfp-heads").select_option("1")
    player.settle()
    mean = sum(head[0][1] for head in found.heads[1]) / len(found.heads[1])
    assert cell(0).endswith(f"slot 1: {mean:.4f}")
    assert "layer 2" in player.text(".rfp-dependency .rfp-caption")
