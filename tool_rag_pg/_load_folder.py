"""Making a database equal to a folder in the format of the demo company."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._listing import list_role_names, list_roles, list_rules, list_tools
from .retriever import ToolRetriever, run

if TYPE_CHECKING:
    import psycopg

    from .demo import Access, DemoFolder

__all__ = ["find_foreign", "load_folder"]


def find_foreign(connection: psycopg.Connection[Any], folder: DemoFolder) -> list[str]:
    """Return the servers and roles of a database that the folder does not have."""
    servers = {tool.server for tool in run(connection, list_tools())}
    roles = run(connection, list_role_names())
    return [
        *sorted(servers - {export.server for export in folder.exports}),
        *sorted({*roles} - {role.name for role in folder.access.roles}),
    ]


def load_folder(connection: psycopg.Connection[Any], folder: DemoFolder) -> None:
    """Make the whole catalogue and all access equal to a folder, in one transaction.

    What is equal already is not touched, so that a second call takes milliseconds.

    Raises:
        psycopg.Error, ToolRagError: nothing was changed.
    """
    retriever = ToolRetriever(connection)
    with connection.transaction():
        named = {export.server for export in folder.exports}
        gone = {tool.server for tool in run(connection, list_tools())} - named
        retriever.upsert_tools(
            [export.as_payload() for export in folder.exports]
            + [{"server": server, "tools": []} for server in sorted(gone)]
        )
        if not _is_equal(connection, folder.access):
            for name in run(connection, list_role_names()):
                retriever.remove_role(name)
            for role in folder.access.roles:
                retriever.add_role(role.name, parents=role.parents)
            for rule in folder.access.rules:
                retriever.grant_tools(
                    rule.role,
                    rule.server_pattern,
                    rule.tool_pattern,
                    effect=rule.effect,
                    valid_until=rule.valid_until,
                )


def _is_equal(connection: psycopg.Connection[Any], access: Access) -> bool:
    roles = {role.name: frozenset(role.parents) for role in run(connection, list_roles())}
    rules = {
        (rule.effect, rule.role, rule.server_pattern, rule.tool_pattern, rule.valid_until)
        for rule in run(connection, list_rules())
    }
    return roles == {role.name: frozenset(role.parents) for role in access.roles} and rules == {
        (rule.effect, rule.role, rule.server_pattern, rule.tool_pattern, rule.valid_until)
        for rule in access.rules
    }
