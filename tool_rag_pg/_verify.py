"""Comparing a database with what this package would have made of it."""

from __future__ import annotations

from typing import Any, LiteralString

import psycopg

from tool_rag_pg import _assets, _load_model
from tool_rag_pg._catalogue import differences, snapshot
from tool_rag_pg._database import check_ready, connect, read_state, translated
from tool_rag_pg._migrate import GROUPS, apply_functions, begin, find_vector, missing_groups

__all__ = ["DERIVED", "verify"]

# The schema under its usual name is set aside, inside a transaction that is rolled back.
_ASIDE = "tool_rag_set_aside_for_verify"

# What is stored against what it is derived from: (what a number other than 0 counts, query).
DERIVED: tuple[tuple[str, LiteralString], ...] = (
    (
        "rows of role_tool differ from the rules",
        """
        with stored as (
            select role_id, tool_id, server_id, grant_id, allow_until, deny_until
            from tool_rag.role_tool
        ),
        wanted as materialized (select * from tool_rag._expand_access(null, null))
        select count(*) from (
            (select * from stored except select * from wanted)
            union all
            (select * from wanted except select * from stored)
        ) d
        """,
    ),
    (
        "tools are not in the lexical index",
        """
        select count(*) from tool_rag.tool t
        where not exists (select from tool_rag.document d where d.tool_id = t.tool_id)
        """,
    ),
    (
        "indexed documents have no tool",
        """
        select count(*) from tool_rag.document d
        where not exists (select from tool_rag.tool t where t.tool_id = d.tool_id)
        """,
    ),
    (
        "folded names differ from the tools' names",
        """
        select count(*) from tool_rag.tool t
        full join tool_rag.tool_name n on n.tool_id = t.tool_id
        where n.folded is distinct from tool_rag._fold_name(t.name)
            or n.signature is distinct from tool_rag._name_signature(n.folded)
        """,
    ),
    (
        "schedules of roles differ from those of the rules",
        """
        select count(*) from tool_rag.role_schedule s
        full join (
            select distinct schedule_id, role_id, effect, valid_from, weekdays, hours_from,
                hours_until, time_zone
            from tool_rag.grant_rule
            where valid_from > '-infinity' or time_zone is not null
        ) g on g.schedule_id = s.schedule_id
        where (
            s.role_id, s.effect, s.valid_from, s.weekdays, s.hours_from, s.hours_until, s.time_zone
        ) is distinct from (
            g.role_id, g.effect, g.valid_from, g.weekdays, g.hours_from, g.hours_until, g.time_zone
        )
        """,
    ),
    (
        "documents differ from their postings",
        """
        select count(*) from tool_rag.document d
        full join (
            select tool_id, array_agg(lexeme_id order by lexeme_id) as lexeme_ids,
                max(length) as length, min(length) as shortest
            from tool_rag.posting group by tool_id
        ) p on p.tool_id = d.tool_id
        where coalesce(p.lexeme_ids, '{}') is distinct from d.lexeme_ids
            or p.length <> d.length or p.shortest <> d.length
        """,
    ),
    (
        "lexemes have a wrong document frequency",
        """
        select count(*) from tool_rag.lexeme l
        full join (
            select lexeme_id, count(*) as tools from tool_rag.posting group by lexeme_id
        ) p on p.lexeme_id = l.lexeme_id
        where l.document_frequency is distinct from coalesce(p.tools, 0)
        """,
    ),
    (
        "statistics of the catalogue differ from its documents",
        """
        select count(*) from tool_rag.catalogue_state s
        cross join (
            select count(*) as documents, coalesce(sum(length), 0) as length from tool_rag.document
        ) d
        where (s.document_count, s.total_length) is distinct from (d.documents, d.length)
        """,
    ),
)


def verify(url: str) -> list[str]:
    """Say how a database differs from what this package makes; nothing in it is changed.

    The whole schema is built anew beside the real one, in a transaction that is rolled back, and
    the two are compared object by object. That needs the privileges of an upgrade. Other sessions
    are not kept waiting.

    Args:
        url: URL or conninfo string.

    Returns:
        One sentence for each difference; none where all is as it should be.

    Raises:
        DatabaseUnavailable: no connection, or a server that lacks what the schema needs.
        SchemaNotReady: the schema is missing or older than this package.
        DatabaseNewer: the schema is newer than this package.

    """
    with connect(url) as connection, translated():
        check_ready(read_state(connection))
        try:
            return [
                *_group_differences(connection),
                *_schema_differences(connection),
                *_model_differences(connection),
                *_derived_differences(connection),
            ]
        finally:
            connection.rollback()


def _group_differences(connection: psycopg.Connection[Any]) -> list[str]:
    missing = missing_groups(connection)
    rows = connection.execute(
        """
        select rolname from pg_roles
        where rolname = any(%s) and (
            rolsuper or rolcanlogin or rolcreaterole or rolcreatedb or rolreplication
            or rolbypassrls
        )
        order by 1
        """,
        [list(GROUPS)],
    )
    return [
        *(
            f"group role {name} is missing; run, as a user who may create roles: tool-rag db"
            " upgrade"
            for name in missing
        ),
        *(f"group role {name} has powers of its own in the server" for (name,) in rows),
    ]


def _schema_differences(connection: psycopg.Connection[Any]) -> list[str]:
    begin(connection)
    vector_schema = find_vector(connection)
    with connection.transaction(force_rollback=True):
        connection.execute(f"alter schema tool_rag rename to {_ASIDE}")
        connection.execute("create schema tool_rag")
        for step in _assets.schema_files():
            connection.execute(_assets.render(step.text, vector_schema=vector_schema).encode())
        apply_functions(connection, vector_schema, create_groups=False)
        expected = snapshot(connection)
        actual = snapshot(connection, schema=_ASIDE)
    # Alembic's own table is no part of the files.
    ours = {key: text for key, text in actual.items() if "alembic_version" not in key[1]}
    return differences(ours, expected)


def _model_differences(connection: psycopg.Connection[Any]) -> list[str]:
    if _load_model.is_loaded(connection):
        return []
    return ["the built-in embedding model is missing or another one; run: tool-rag db upgrade"]


def _derived_differences(connection: psycopg.Connection[Any]) -> list[str]:
    said = []
    for what, query in DERIVED:
        row = connection.execute(query).fetchone()
        if row is not None and row[0]:
            said.append(f"{row[0]} {what}")
    return said
