"""Apply sql/schema/0006_callers.sql."""

from __future__ import annotations

from tool_rag_pg._migrate import apply_step

revision = "0006_callers"
down_revision = "0005_models"


def upgrade() -> None:
    apply_step(revision)
