"""The product: schema steps that run once, functions that are created anew at each upgrade."""

from __future__ import annotations
