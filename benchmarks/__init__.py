"""Measurements behind the figures in the docs; run one with ``python -m benchmarks.NAME``."""
