"""Autoregressive and masked-diffusion decoding against plain loops that recompute everything."""

from __future__ import annotations

import pytest
import torch

from refusion_core import RecordConfig
from refusion_core.baselines import AutoregressiveDecoder, MaskedDiffusionDecoder
from refusion_core.config import AutoregressiveConfig, MaskedDiffusionConfig, ModelConfig
from refusion_core.errors import ConfigError
from refusion_core.events import Commit, Forward, Plan, dump_event
from refusion_core.model import Transformer
from refusion_core.trace import fold_statistics, parse_trace
from tests.fakes import EOS, MASK, VOCAB, run_decoder

PROMPT = [9, 8, 7, 3]
WATCHED = RecordConfig(dependency=None)


def tiny(seed: int, *, eos_bias: float = 0.0) -> Transformer:
    """A model with random weights, sharp enough that ties don't happen."""
    torch.manual_seed(seed)
    config = ModelConfig(
        vocab_size=VOCAB,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=8,
        tie_word_embeddings=False,
        mask_token_id=MASK,
        eos_token_id=EOS,
    )
    model = Transformer(config)
    for parameter in model.parameters():
        if parameter.dim() == 2:
            torch.nn.init.normal_(parameter, std=0.5)
    direction = torch.randn(16)
    model.lm_head.weight.data[EOS] += eos_bias * direction
    return model


def run(decoder, model, config, *, record=WATCHED, prompt=PROMPT, stop=None):
    return run_decoder(decoder, model, prompt=prompt, config=config, record=record, stop=stop)


def best(model, ids, positions, *, both_ways=False):
    """Best token but the mask, and its probability, at every fed token, without a cache."""
    mask = torch.ones(len(ids), len(ids), dtype=torch.bool) if both_ways else None
    with torch.no_grad():
        hidden = model.hidden(torch.tensor([ids]), torch.tensor([positions]), mask)
        chances = model.logits(hidden[0]).float().softmax(-1)
    chances[:, MASK] = -1
    return chances.argmax(-1).tolist(), chances.max(-1).values.tolist()


def plain_autoregressive(model, prompt, config):
    tokens = []
    for number in range(config.gen_length):
        ids = [*prompt, *tokens]
        every = config.slot_size
        if not ids or (every and number % every == 0):
            ids.append(MASK)
        tokens.append(best(model, ids, list(range(len(ids))))[0][-1])
        if tokens[-1] == EOS:
            break
    return tokens


def plain_masked_diffusion(model, prompt, config):
    """Committed tokens by offset, and the number of steps and of tokens that they fed."""
    start, length = len(prompt), config.padded_length
    known, end, steps, fed = {}, length - 1, 0, 0
    size = length // config.serial_blocks
    for block in range(config.serial_blocks):
        while True:
            masked = [i for i in range(end + 1) if i not in known]
            candidates = [i for i in masked if i < (block + 1) * size]
            if not candidates:
                break
            offsets = [*sorted(known), *masked]
            both_ways = config.layout == "reading_order"
            if both_ways:
                offsets.sort()
            ids = [*prompt, *(known.get(i, MASK) for i in offsets)]
            positions = [*range(start), *(start + i for i in offsets)]
            tokens, chances = best(model, ids, positions, both_ways=both_ways)
            at = {i: start + offsets.index(i) for i in candidates}
            ranked = sorted(candidates, key=lambda i: -chances[at[i]])
            chosen = ranked[: config.tokens_per_step]
            if config.confidence_threshold is not None:
                above = [i for i in ranked if chances[at[i]] > config.confidence_threshold]
                chosen = above or ranked[:1]
            found = {i: tokens[at[i]] for i in chosen}
            ends = [i for i, token in found.items() if token == EOS and config.drop_after_eos]
            end = min([end, *ends])
            known |= {i: token for i, token in found.items() if i <= end}
            steps, fed = steps + 1, fed + len(ids)
    return known, steps, fed


AR = [
    AutoregressiveConfig(gen_length=12, slot_size=4),
    AutoregressiveConfig(gen_length=7, slot_size=3),
    AutoregressiveConfig(gen_length=12, slot_size=1),
    AutoregressiveConfig(gen_length=12, slot_size=None),
]
MDM = [
    MaskedDiffusionConfig(gen_length=12),
    MaskedDiffusionConfig(gen_length=12, tokens_per_step=3),
    MaskedDiffusionConfig(gen_length=11, tokens_per_step=2, serial_blocks=3),
    MaskedDiffusionConfig(gen_length=12, confidence_threshold=0.4),
    MaskedDiffusionConfig(gen_length=12, confidence_threshold=1.0),
    MaskedDiffusionConfig(gen_length=12, drop_after_eos=False),
    MaskedDiffusionConfig(gen_length=12, tokens_per_step=2, layout="reading_order"),
    MaskedDiffusionConfig(
        gen_length=12, confidence_threshold=0.3, layout="reading_order", serial_blocks=2
    ),
]


@pytest.mark.parametrize("config", AR)
@pytest.mark.parametrize("seed", range(8))
def test_autoregressive_decoding_equals_the_plain_loop(config, seed):
    model = tiny(seed, eos_bias=0.4 * (seed % 3))
    events = run(AutoregressiveDecoder, model, config)
    expected = plain_autoregressive(model, PROMPT, config)
    finished = events[-1]
    assert list(finished.output_ids) == PROMPT + expected
    assert finished.stop_reason == ("eos" if expected[-1] == EOS else "length")
    assert finished.stats.forwards == finished.stats.committed_tokens == len(expected)
    computed = len(PROMPT) + len(expected) - 1
    masks = sum(1 for i in range(len(expected)) if config.slot_size and i % config.slot_size == 0)
    assert finished.stats.tokens_computed == computed + masks
    assert finished.stats.entries_discarded == masks
    hits = [event.cache_hits for event in events if isinstance(event, Forward)]
    assert hits == [0, *range(len(PROMPT), len(PROMPT) + len(expected) - 1)]


@pytest.mark.parametrize("config", MDM)
@pytest.mark.parametrize("seed", range(8))
def test_masked_diffusion_equals_the_plain_loop(config, seed):
    model = tiny(seed, eos_bias=0.4 * (seed % 3))
    events = run(MaskedDiffusionDecoder, model, config)
    known, steps, fed = plain_masked_diffusion(model, PROMPT, config)
    finished = events[-1]
    assert list(finished.output_ids) == PROMPT + [known[i] for i in sorted(known)]
    assert list(finished.output_positions) == [*range(4), *(4 + i for i in sorted(known))]
    assert finished.stop_reason == ("eos" if EOS in known.values() else "length")
    stats = finished.stats
    assert (stats.forwards, stats.tokens_computed) == (steps, fed)
    assert stats.cache_hits == 0
    assert stats.entries_discarded == fed


def test_eos_occurs_among_those_cases_and_so_does_its_absence():
    """Otherwise the tests above would miss one of the two."""
    ends = {
        EOS in plain_autoregressive(tiny(seed, eos_bias=0.4 * (seed % 3)), PROMPT, AR[0])
        for seed in range(8)
    }
    diffused = {
        EOS in plain_masked_diffusion(tiny(s, eos_bias=0.4 * (s % 3)), PROMPT, MDM[0])[0].values()
        for s in range(8)
    }
    assert ends == diffused == {True, False}


@pytest.mark.parametrize(
    "decoder, config", [(AutoregressiveDecoder, AR[0]), (MaskedDiffusionDecoder, MDM[1])]
)
class TestBoth:
    def test_the_events_are_a_valid_trace_whose_fold_is_the_statistics(self, decoder, config):
        events = run(decoder, tiny(3), config)
        trace = parse_trace("\n".join(map(dump_event, events)))
        assert list(trace) == events
        assert fold_statistics(events) == events[-1].stats
        assert trace.started.decoder == decoder.decoder

    def test_every_commit_is_what_its_plan_chose(self, decoder, config):
        events = run(decoder, tiny(3), config)
        plans = [event for event in events if isinstance(event, Plan)]
        commits = [event for event in events if isinstance(event, Commit)]
        assert len(plans) == len(commits) > 1
        for plan, commit in zip(plans, commits, strict=True):
            chosen = {slot.slot: slot.tokens for slot in plan.slots if slot.chosen}
            gone = set(commit.dropped_slots)
            assert {slot.slot: slot.tokens for slot in commit.slots} == {
                slot: tokens for slot, tokens in chosen.items() if slot not in gone
            }

    def test_watching_changes_nothing(self, decoder, config):
        watched, silent = (
            run(decoder, tiny(3), config, record=record)[-1] for record in (WATCHED, None)
        )
        assert watched.output_ids == silent.output_ids
        assert watched.stats.forwards == silent.stats.forwards

    def test_a_stopped_run_keeps_what_it_had(self, decoder, config):
        asked = iter([False, False, True])
        whole = run(decoder, tiny(3), config)
        events = run(decoder, tiny(3), config, stop=lambda: next(asked))
        assert events[-1].stop_reason == "stopped"
        assert events[-1].stats.forwards == 2
        kinds = [(type(event), event.iteration) for event in whole]
        assert [(type(event), event.iteration) for event in events[:-1]] == kinds[: len(events) - 1]

    def test_an_empty_prompt_works(self, decoder, config):
        model = tiny(3)
        events = run(decoder, model, config, prompt=[])
        if decoder is AutoregressiveDecoder:
            assert list(events[-1].output_ids) == plain_autoregressive(model, [], config)
        else:
            known, _, _ = plain_masked_diffusion(model, [], config)
            assert list(events[-1].output_ids) == [known[i] for i in sorted(known)]


def test_an_empty_prompt_asks_a_mask_even_of_a_plain_next_token_model():
    model, config = tiny(3), AutoregressiveConfig(gen_length=4, slot_size=None)
    events = run(AutoregressiveDecoder, model, config, prompt=[])
    assert list(events[-1].output_ids) == plain_autoregressive(model, [], config)


def test_a_rounded_up_length_is_told():
    events = run(MaskedDiffusionDecoder, tiny(0), MDM[2])
    assert events[0].response_length == 12
    assert "11" in events[0].notices[0] and "12" in events[0].notices[0]


@pytest.mark.parametrize(
    "config, settings",
    [
        (AutoregressiveConfig, {"gen_length": 0}),
        (AutoregressiveConfig, {"slot_size": 0}),
        (MaskedDiffusionConfig, {"gen_length": 2, "serial_blocks": 3}),
        (MaskedDiffusionConfig, {"tokens_per_step": 0}),
        (MaskedDiffusionConfig, {"confidence_threshold": 1.5}),
        (MaskedDiffusionConfig, {"layout": "random"}),
    ],
)
def test_impossible_settings_are_refused_by_name(config, settings):
    with pytest.raises(ConfigError, match=list(settings)[-1]):
        config(**settings)
