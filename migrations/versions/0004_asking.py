"""Apply sql/schema/0004_asking.sql."""

from __future__ import annotations

from tool_rag_pg._migrate import apply_step

revision = "0004_asking"
down_revision = "0003_ranking"


def upgrade() -> None:
    apply_step(revision)
