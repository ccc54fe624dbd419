"""Quality, measured: data sets, metrics, reports."""

from __future__ import annotations
