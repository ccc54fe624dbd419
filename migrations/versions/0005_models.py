"""Apply sql/schema/0005_models.sql."""

from __future__ import annotations

from tool_rag_pg._migrate import apply_step

revision = "0005_models"
down_revision = "0004_asking"


def upgrade() -> None:
    apply_step(revision)
