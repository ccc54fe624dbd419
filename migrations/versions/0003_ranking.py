"""Apply sql/schema/0003_ranking.sql."""

from __future__ import annotations

from tool_rag_pg._migrate import apply_step

revision = "0003_ranking"
down_revision = "0002_access"


def upgrade() -> None:
    apply_step(revision)
