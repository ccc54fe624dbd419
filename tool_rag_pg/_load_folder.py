"""Making a database equal to a folder in the format of the demo company."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .retriever import ToolRetriever

if TYPE_CHECKING:
    import psycopg

    from .demo import Access, DemoFolder

__all__ = ["find_foreign", "load_folder"]


def find_foreign(connection: psycopg.Connection[Any], folder: DemoFolder) -> list[str]:
    """Return the servers and roles of a database that the folder does not have."""
    retriever = ToolRetriever(connection)
    servers = {tool.server for tool in retriever.list_tools()}
    roles = {role.name for role in retriever.list_roles()}
    return [
        *sorted(servers - {export.server for export in folder.exports}),
        *sorted(roles - {role.name for role in folder.access.roles}),
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
        for server in sorted({tool.server for tool in retriever.list_tools()} - named):
            retriever.remove_server(server)
        retriever.upsert_tools([export.as_payload() for export in folder.exports])
        if not _is_equal(retriever, folder.access):
            for listed in retriever.list_roles():
                retriever.remove_role(listed.name)
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


def _is_equal(retriever: ToolRetriever, access: Access) -> bool:
    roles = {role.name: frozenset(role.parents) for role in retriever.list_roles()}
    rules = {
        (rule.effect, rule.rule_role, rule.server_pattern, rule.tool_pattern, rule.valid_until)
        for rule in retriever.list_rules()
    }
    return roles == {role.name: frozenset(role.parents) for role in access.roles} and rules == {
        (rule.effect, rule.role, rule.server_pattern, rule.tool_pattern, rule.valid_until)
        for rule in access.rules
    }
