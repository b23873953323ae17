"""The task families that the compact model is trained and measured on."""

from __future__ import annotations

from . import code, extract, lists, sums
from .base import Family, Sample, Split, split_of

FAMILIES: dict[str, Family] = {
    family.name: family for family in (code.FAMILY, sums.FAMILY, extract.FAMILY, lists.FAMILY)
}

__all__ = ["FAMILIES", "Family", "Sample", "Split", "split_of"]
