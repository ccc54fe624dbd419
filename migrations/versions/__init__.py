"""One revision per file of sql/schema."""

from __future__ import annotations
