"""Apply sql/schema/0007_audit.sql."""

from __future__ import annotations

from tool_rag_pg._migrate import apply_step

revision = "0007_audit"
down_revision = "0006_callers"


def upgrade() -> None:
    apply_step(revision)
