"""Apply sql/schema/0008_keys.sql."""

from __future__ import annotations

from tool_rag_pg._migrate import apply_step

revision = "0008_keys"
down_revision = "0007_audit"


def upgrade() -> None:
    apply_step(revision)
