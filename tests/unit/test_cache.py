"""The key/value cache: exact moves, and refusal of all others."""

import pytest
import torch

from refusion_core.cache import KVCache
from refusion_core.errors import ConfigError


@pytest.fixture
def cache():
    """Five entries whose keys are 0 … 4, groups 0, 0, 1, 2, 1, in a cache for eight."""
    cache = KVCache(layers=2, kv_heads=1, head_dim=2, capacity=8)
    keys = torch.arange(5.0).view(1, 5, 1).expand(1, 5, 2)
    for layer in range(2):
        cache.append(layer, keys, keys + 100)
    cache.advance(torch.tensor([0, 0, 1, 2, 1]))
    return cache


def contents(cache):
    """Keys of the second layer, read back by appending nothing."""
    empty = torch.zeros(1, 0, 2)
    keys, values = cache.append(1, empty, empty)
    assert torch.equal(keys + 100, values)
    return keys[0, :, 0].tolist()


@pytest.mark.parametrize("length", [0, 3, 5])
def test_rewind_is_exact_at_zero_and_at_length(cache, length):
    """transformers#47433: crop(0) kept everything, an oversized crop left a stale token."""
    cache.rewind(length)
    assert cache.length == length
    assert contents(cache) == list(range(length))


@pytest.mark.parametrize("length", [-1, 6, 8])
def test_rewind_refuses_other_lengths(cache, length):
    with pytest.raises(ConfigError, match="rewind length"):
        cache.rewind(length)
    assert cache.length == 5


def test_keep_reorders_and_takes_groups_along(cache):
    cache.keep([0, 1, 4, 2])
    assert contents(cache) == [0, 1, 4, 2]
    assert cache.groups.tolist() == [0, 0, 1, 1]
    cache.commit()
    assert cache.groups.tolist() == [0, 0, 0, 0]


def test_keep_may_drop_and_swap_the_first_entries(cache):
    cache.keep([3, 1, 0])
    assert contents(cache) == [3, 1, 0]
    cache.keep([])
    assert cache.length == 0


@pytest.mark.parametrize("indices", [[0, 0], [5], [-1]])
def test_keep_refuses_repeated_and_foreign_indices(cache, indices):
    with pytest.raises(ConfigError, match="keep indices"):
        cache.keep(indices)


def test_append_beyond_the_capacity_is_refused(cache):
    four = torch.zeros(1, 4, 2)
    with pytest.raises(ConfigError, match="capacity"):
        cache.append(0, four, four)


def test_bytes_per_entry_counts_keys_and_values_of_all_layers(cache):
    assert cache.bytes_per_entry == 2 * 2 * 1 * 2 * 4
