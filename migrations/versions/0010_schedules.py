"""Apply sql/schema/0010_schedules.sql."""

from __future__ import annotations

from tool_rag_pg._migrate import apply_step

revision = "0010_schedules"
down_revision = "0009_review"


def upgrade() -> None:
    apply_step(revision)
