"""The page of permissions, written from the catalogue of a migrated database.

python -m tool_rag_pg.cli._permissions > docs/permissions.md
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import psycopg

__all__ = ["render"]

_GROUPS = ("tool_rag_reader", "tool_rag_editor", "tool_rag_admin")

_HEAD = """\
# Permissions

Written by `python -m tool_rag_pg.cli._permissions` from the catalogue of a new database; do not
edit. [security.md](security.md) says what this protects against.

Three group roles of Postgres, which cannot log in, hold all privileges. They are made by the first
upgrade whose user may create roles, and all databases of a server share them.

| group | for | may |
|---|---|---|
| `tool_rag_reader` | who searches | call the functions of the first table; read no table |
| `tool_rag_editor` | curators | edit rules, wording and dependencies by functions; read no table |
| `tool_rag_admin` | admins | call all public functions, read all tables, edit what people write |

```
tool-rag db grant-access web_backend --as reader --bind support
tool-rag db logins
```

The owner of the schema, who ran the first upgrade, may do all. `public` may do nothing.
"""

_FUNCTIONS = """
    select p.proname,
        pg_get_function_identity_arguments(p.oid),
        has_function_privilege('tool_rag_reader', p.oid, 'execute'),
        has_function_privilege('tool_rag_editor', p.oid, 'execute'),
        has_function_privilege('tool_rag_admin', p.oid, 'execute'),
        p.prosecdef,
        case
            when p.prosrc ~ '_(caller|find_called|resolve_tool)\\(' then 'asks who calls'
            when p.prosrc ~ '_check_unbound\\(' then 'refuses bound logins'
            when p.prosrc ~ 'tool_rag\\.(_search|search_tools)\\(' then 'asks who calls'
            when p.prosrc ~ '_read_login\\(' then 'tells a bound login of its own roles'
            else 'tells nothing of tools'
        end,
        obj_description(p.oid, 'pg_proc')
    from pg_proc p
    where p.pronamespace = 'tool_rag'::regnamespace
    order by p.proname collate "C"
"""
_TABLES = """
    select c.relname, c.relkind, c.relrowsecurity, (
        select array_agg(array_to_string(array(
            select lower(a.privilege_type)
            from aclexplode(c.relacl) a
            where a.grantee = g.name::regrole
            order by array_position(
                '{SELECT,INSERT,UPDATE,DELETE,TRUNCATE}'::text[], a.privilege_type
            )
        ), ', ') order by g.place)
        from unnest(%s::text[]) with ordinality g (name, place)
    ), obj_description(c.oid, 'pg_class')
    from pg_class c
    where c.relnamespace = 'tool_rag'::regnamespace and c.relkind in ('r', 'v', 'S')
    order by c.relkind <> 'v', c.relkind = 'S', c.relname collate "C"
"""
_POLICIES = """
    select c.relname || '.' || p.polname, p.polroles::regrole[]::text[],
        pg_get_expr(p.polqual, p.polrelid)
    from pg_policy p join pg_class c on c.oid = p.polrelid
    where c.relnamespace = 'tool_rag'::regnamespace
    order by 1
"""


def render(connection: psycopg.Connection[Any]) -> str:
    """Return the page, from a database that has the schema and the groups.

    Raises:
        ValueError: an object whose privileges the page could not tell as they are.
    """
    functions = connection.execute(_FUNCTIONS).fetchall()
    parts = [_HEAD]
    for title, reader, editor in (
        ("Functions of readers, editors and admins", True, True),
        ("Functions of editors and admins", False, True),
        ("Functions of admins", False, False),
    ):
        rows = [row for row in functions if row[2:5] == (reader, editor, True)]
        parts.append(f"## {title}\n")
        parts.append("| function | what guards it | |\n|---|---|---|")
        parts += [
            f"| `{name}({_arguments(arguments)})` | {guard} | {_first_sentence(comment)} |"
            for name, arguments, *_, guard, comment in rows
        ]
        parts.append("")
    public = [row for row in functions if row[2] or row[3] or row[4]]
    if not all(row[5] for row in public):
        raise ValueError("a function of a group does not run as its owner")
    private = [row for row in functions if row not in public]
    parts.append(
        "All of these run as the owner (`security definer`), with a fixed `search_path`, since\n"
        "who calls them may read no table. *Asks who calls*: it answers within what `_caller`\n"
        "says the argument, the session and the login permit. *Refuses bound logins*: it shows\n"
        "or edits more than one caller's tools.\n"
    )
    parts.append("## Functions of the owner alone\n")
    for title, definer in (("Triggers, which run as the owner:", True), ("Others:", False)):
        names = ", ".join(f"`{row[0]}`" for row in private if row[5] == definer)
        parts.append(f"{title} {names}.\n")
    parts.append("## Tables and views\n")
    parts.append("| | reader | editor | admin | |\n|---|---|---|---|---|")
    sequences = []
    secured = True
    for name, kind, row_security, privileges, comment in connection.execute(
        _TABLES, [list(_GROUPS)]
    ):
        if kind == "S":
            sequences.append(f"`{name}`")
            if any(privileges):
                raise ValueError(f"a group has privileges on the sequence {name}")
            continue
        secured &= row_security or kind == "v"
        told = _first_sentence(comment) if comment else "The version of the schema."
        parts.append(f"| `{name}` | {' | '.join(privileges)} | {told} |")
    if not secured:
        raise ValueError("a table has no row level security")
    policies = connection.execute(_POLICIES).fetchall()
    if any(row[1:] != (["tool_rag_admin"], "true") for row in policies):
        raise ValueError("a policy is for others than admins")
    parts.append(
        "\nRow level security is on for every table; the only policy, on each of the"
        f" {len(policies)},\nlets `tool_rag_admin` see its rows. So a `grant select` to others"
        " shows no row. The view\n`my_tools` shows what its session may see.\n"
    )
    parts.append(f"Sequences, on which no group has anything: {', '.join(sequences)}.\n")
    parts.append("## The schema\n")
    usage = connection.execute(
        """
        select a.grantee::regrole::text, lower(a.privilege_type)
        from pg_namespace n cross join lateral aclexplode(n.nspacl) a
        where n.nspname = 'tool_rag' and a.grantee <> n.nspowner
        order by array_position(%s::text[], a.grantee::regrole::text)
        """,
        [list(_GROUPS)],
    ).fetchall()
    parts.append(f"{', '.join(f'`{who}`: {what}' for who, what in usage)}.")
    return "\n".join(parts) + "\n"


def _arguments(arguments: str) -> str:
    """Return the names of arguments, without types."""
    return ", ".join(part.split(" ")[0] for part in arguments.split(", ") if part)


def _first_sentence(comment: str) -> str:
    head = comment.split(". ")[0].split(": ")[0].split("; ")[0].rstrip(".")
    if head.count("(") > head.count(")"):
        head = head[: head.rindex(" (")]
    return head.replace("|", "\\|") + "."


def _main() -> None:
    import psycopg

    from tool_rag_pg._migrate import upgrade
    from tool_rag_pg.embedded import EmbeddedServer

    with tempfile.TemporaryDirectory(prefix="tool-rag-") as folder:
        server = EmbeddedServer(Path(folder, "data"))
        server.start()
        try:
            server.create_database("permissions")
            upgrade(server.url("permissions"))
            with psycopg.connect(server.url("permissions")) as connection:
                print(render(connection), end="")
        finally:
            server.stop(immediate=True)


if __name__ == "__main__":
    _main()
