"""Alembic environment: each revision applies one file of sql/schema."""

from __future__ import annotations
