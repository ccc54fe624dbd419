"""Apply sql/schema/0001_catalogue.sql."""

from __future__ import annotations

from tool_rag_pg._migrate import apply_step

revision = "0001_catalogue"
down_revision = None


def upgrade() -> None:
    apply_step(revision)
