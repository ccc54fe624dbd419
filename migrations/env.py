"""Alembic environment: one transaction around everything, opened and ended by the caller."""

from __future__ import annotations

from alembic import context

from tool_rag_pg._migrate import VERSION_SCHEMA

run = context.config.attributes
if context.is_offline_mode():
    context.configure(
        dialect_name="postgresql",
        version_table_schema=VERSION_SCHEMA,
        output_buffer=run["output"],
        transactional_ddl=True,
    )
else:
    context.configure(connection=run["connection"], version_table_schema=VERSION_SCHEMA)
with context.begin_transaction():
    run["before"]()
    context.run_migrations()
    run["after"]()
