"""The schema as Postgres' own catalogue describes it: what two databases are compared by."""

from __future__ import annotations

from typing import Any

import psycopg

__all__ = ["differences", "snapshot"]

# Each query yields (what, name, definition). `%(schema)s` is the schema's present name; the caller
# puts the usual one in its place in the text of definitions, which name it too.
_QUERIES = (
    """
    select 'schema', 'tool_rag', concat_ws(' ',
        coalesce(n.nspacl, acldefault('n', n.nspowner))::text,
        obj_description(n.oid, 'pg_namespace'))
    from pg_namespace n
    where n.oid = %(schema)s::regnamespace
    """,
    # Tables, sequences and views.
    """
    select 'relation', c.relname,
        concat_ws(' ', c.relkind, c.relpersistence, c.relrowsecurity, c.reloptions::text,
            coalesce(c.relacl, acldefault(case c.relkind when 'S' then 's' else 'r' end::"char",
                c.relowner))::text,
            case when c.relkind = 'v' then pg_get_viewdef(c.oid) end,
            obj_description(c.oid, 'pg_class'))
    from pg_class c
    where c.relnamespace = %(schema)s::regnamespace and c.relkind not in ('i', 't')
    """,
    """
    select 'column', c.relname || '.' || a.attname,
        concat_ws(' ',
            row_number() over (partition by c.oid order by a.attnum),
            format_type(a.atttypid, a.atttypmod), case when a.attnotnull then 'not null' end,
            a.attidentity, a.attgenerated, pg_get_expr(d.adbin, d.adrelid),
            case when a.attcollation <> t.typcollation then a.attcollation::regcollation::text end,
            col_description(c.oid, a.attnum))
    from pg_class c
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    join pg_type t on t.oid = a.atttypid
    left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
    where c.relnamespace = %(schema)s::regnamespace and c.relkind in ('r', 'v', 'm', 'p')
    """,
    """
    select 'constraint', c.conrelid::regclass::text || '.' || c.conname,
        concat_ws(' ', pg_get_constraintdef(c.oid), c.condeferrable, c.convalidated)
    from pg_constraint c
    where c.connamespace = %(schema)s::regnamespace and c.conrelid <> 0
    """,
    """
    select 'index', i.indexrelid::regclass::text,
        concat_ws(' ', pg_get_indexdef(i.indexrelid), case when not i.indisvalid then 'invalid' end,
            obj_description(c.oid, 'pg_class'))
    from pg_index i
    join pg_class c on c.oid = i.indexrelid
    where c.relnamespace = %(schema)s::regnamespace
        -- Made by add_embedding_model, one for each model that this database has.
        and c.relname !~ '^tool_vector_model_[0-9]+_idx$'
    """,
    """
    select 'function', p.oid::regprocedure::text,
        concat_ws(' ', pg_get_functiondef(p.oid),
            coalesce(p.proacl, acldefault('f', p.proowner))::text,
            obj_description(p.oid, 'pg_proc'))
    from pg_proc p
    where p.pronamespace = %(schema)s::regnamespace and p.prokind <> 'a'
    """,
    """
    select 'trigger', t.tgrelid::regclass::text || '.' || t.tgname,
        concat_ws(' ', pg_get_triggerdef(t.oid), t.tgenabled)
    from pg_trigger t
    join pg_class c on c.oid = t.tgrelid
    where c.relnamespace = %(schema)s::regnamespace and not t.tgisinternal
    """,
    """
    select 'policy', p.polrelid::regclass::text || '.' || p.polname,
        concat_ws(' ', p.polcmd, p.polpermissive, p.polroles::regrole[]::text,
            pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid))
    from pg_policy p
    join pg_class c on c.oid = p.polrelid
    where c.relnamespace = %(schema)s::regnamespace
    """,
    """
    select 'type', t.typname, concat_ws(' ', t.typtype, (
        select string_agg(e.enumlabel, ',' order by e.enumsortorder)
        from pg_enum e where e.enumtypid = t.oid
    ))
    from pg_type t
    where t.typnamespace = %(schema)s::regnamespace and t.typtype in ('e', 'd', 'r')
    """,
)


def snapshot(
    connection: psycopg.Connection[Any], *, schema: str = "tool_rag"
) -> dict[tuple[str, str], str]:
    """Describe everything in a schema.

    Args:
        connection: used, not committed.
        schema: its present name; in what is returned it is always called `tool_rag`.

    Returns:
        (kind, name) -> definition, for tables, columns, constraints, indexes, functions, triggers,
        policies and types, each with its comment and privileges. Sizes, statistics and rows are
        left out.

    """
    found: dict[tuple[str, str], str] = {}
    for query in _QUERIES:
        for kind, name, definition in connection.execute(query, {"schema": schema}):
            found[kind, name.replace(f"{schema}.", "tool_rag.")] = definition.replace(
                f"{schema}.", "tool_rag."
            )
    return found


def differences(
    actual: dict[tuple[str, str], str], expected: dict[tuple[str, str], str]
) -> list[str]:
    """Say in sentences how one snapshot differs from the one that it should be equal to."""
    said = []
    for kind, name in sorted(actual.keys() | expected.keys()):
        if (kind, name) not in actual:
            said.append(f"{kind} {name} is missing")
        elif (kind, name) not in expected:
            said.append(f"{kind} {name} is not of this package")
        elif actual[kind, name] != expected[kind, name]:
            said.append(f"{kind} {name} differs")
    return said
