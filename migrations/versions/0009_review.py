"""Apply sql/schema/0009_review.sql."""

from __future__ import annotations

from tool_rag_pg._migrate import apply_step

revision = "0009_review"
down_revision = "0008_keys"


def upgrade() -> None:
    apply_step(revision)
