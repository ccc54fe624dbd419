"""Apply sql/schema/0002_access.sql."""

from __future__ import annotations

from tool_rag_pg._migrate import apply_step

revision = "0002_access"
down_revision = "0001_catalogue"


def upgrade() -> None:
    apply_step(revision)
