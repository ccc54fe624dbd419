"""Data that ships with the package."""

from __future__ import annotations
