"""Making a database equal to a folder in the format of the demo company."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._wording_files import (
    resolve_dependencies,
    resolve_examples,
    resolve_synonyms,
    store_dependencies,
    store_examples,
    store_synonyms,
)
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

    So are synonyms, dependencies and examples, where the folder has a file of them. What is equal
    already is not touched, so that a second call takes milliseconds.

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
        _load_wording(retriever, folder)


def _load_wording(retriever: ToolRetriever, folder: DemoFolder) -> None:
    if folder.synonyms is not None:
        synonyms = resolve_synonyms(retriever, folder.synonyms)
        listed = {(row.words, row.server, row.tool, row.term) for row in retriever.list_synonyms()}
        if listed != synonyms:
            for synonym in sorted(listed - synonyms, key=repr):
                retriever.remove_synonym(*synonym)
            store_synonyms(retriever, folder.synonyms)
    if folder.examples is not None:
        examples = resolve_examples(retriever, folder.examples)
        known = {(row.server, row.tool, row.request) for row in retriever.list_examples()}
        if known != examples:
            for example in sorted(known - examples):
                retriever.remove_example(*example)
            store_examples(retriever, folder.examples)
    if folder.dependencies is not None:
        needs = resolve_dependencies(retriever, folder.dependencies)
        present = {
            (row.server, row.tool, row.needs_server, row.needs_tool, row.reason)
            for row in retriever.list_dependencies()
        }
        if present != needs:
            for server, tool, needs_server, needs_tool, _ in sorted(present - needs):
                retriever.remove_dependency(server, tool, needs_server, needs_tool)
            store_dependencies(retriever, folder.dependencies)


def _is_equal(retriever: ToolRetriever, access: Access) -> bool:
    roles = {role.name: frozenset(role.parents) for role in retriever.list_roles()}
    rules = {
        (
            *(rule.effect, rule.rule_role, rule.server_pattern, rule.tool_pattern),
            *(rule.valid_until, rule.valid_from, rule.hours),
        )
        for rule in retriever.list_rules()
    }
    return roles == {role.name: frozenset(role.parents) for role in access.roles} and rules == {
        (
            *(rule.effect, rule.role, rule.server_pattern, rule.tool_pattern),
            *(rule.valid_until, None, None),
        )
        for rule in access.rules
    }
