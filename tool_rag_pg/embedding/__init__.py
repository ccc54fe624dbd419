"""Text to vectors: the built-in static model, and adapters for stronger ones."""

from __future__ import annotations
