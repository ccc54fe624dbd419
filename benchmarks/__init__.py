"""Benchmarks: ratios and medians within one run, with the machine noted beside them."""

from __future__ import annotations
