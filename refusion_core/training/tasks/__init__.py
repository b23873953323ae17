"""The task families that the compact model is trained and measured on."""

from __future__ import annotations

from . import code, extract, invent, lists, other, story, summarise, sums, table, translate
from .base import Family, Part, Sample, Split, split_of

_MODULES = (code, sums, translate, summarise, extract, table, lists, story, invent, other)
FAMILIES: dict[str, Family] = {module.FAMILY.name: module.FAMILY for module in _MODULES}

__all__ = ["FAMILIES", "Family", "Part", "Sample", "Split", "split_of"]
