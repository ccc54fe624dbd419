"""OpenAPI 3.0 and 3.1 and Swagger 2.0 descriptions: every operation is a tool."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .context import NotAnExport, Origin, at, describe
from .fields import check_name
from .model import Tool
from .openapi_inputs import Operation, input_schema, output_schema
from .openapi_schema import References

__all__ = ["Description", "read_description"]

_METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_READING = ("get", "head", "options")
# RFC 9110, section 9.2.2.
_IDEMPOTENT = ("get", "head", "options", "trace", "put", "delete")


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """A whole description: its title, its text, and its operations with their positions."""

    title: str | None
    description: str | None
    tools: tuple[tuple[Tool, str], ...]


def read_description(document: Any, origin: Origin) -> Description:
    """Return the operations of a description.

    Raises:
        SourceError: a part is not what OpenAPI says, or the version is not supported.
        NotAnExport: it is no description at all.
    """
    if not isinstance(document, dict) or not {"openapi", "swagger"} & document.keys():
        raise NotAnExport("it has neither an 'openapi' nor a 'swagger' version")
    key = "openapi" if "openapi" in document else "swagger"
    version = str(document[key])
    if not re.match(r"3(\.|$)" if key == "openapi" else r"2(\.|$)", version):
        raise origin.error(
            key,
            f"the version is {describe(document[key])}, and 2.0, 3.0 and 3.1 are supported",
            hint="convert the description to OpenAPI 3.1",
        )
    references = References(document, origin)
    info = document.get("info")
    info = info if isinstance(info, dict) else {}
    tools: list[tuple[Tool, str]] = []
    taken = _operation_ids(document, origin)
    for operation in _operations(document, references, origin):
        tools.append((_tool(operation, references, origin, taken), operation.position))
    return Description(
        title=_text(info, "title"), description=_text(info, "description"), tools=tuple(tools)
    )


def _operations(
    document: Mapping[str, Any], references: References, origin: Origin
) -> Iterator[Operation]:
    paths = document.get("paths")
    if paths is None:
        return
    if not isinstance(paths, dict):
        raise origin.error(
            "paths",
            f"{describe(paths)} stands where an object of paths belongs",
            hint="correct it, or export the description again",
        )
    for path, item in paths.items():
        if path.startswith("x-"):
            continue
        where = f"paths.{path}"
        item = references.follow(item, where)
        if item is None:
            continue
        if not isinstance(item, dict):
            raise origin.error(
                where,
                f"{describe(item)} stands where the operations of a path belong",
                hint="correct it, or remove the path",
            )
        for method in _METHODS:
            operation = item.get(method)
            if operation is None:
                continue
            position = f"{method.upper()} {path}"
            if not isinstance(operation, dict):
                raise origin.error(
                    position,
                    f"{describe(operation)} stands where an operation belongs",
                    hint="correct it, or remove the operation",
                )
            yield Operation(
                method=method,
                path=path,
                position=position,
                value=operation,
                item=item,
                document=document,
            )


def _operation_ids(document: Mapping[str, Any], origin: Origin) -> set[str]:
    # The same walk comes again, so its warnings are not noted twice.
    quiet = origin.fork()
    known = References(document, quiet)
    return {
        operation.value["operationId"]
        for operation in _operations(document, known, quiet)
        if isinstance(operation.value.get("operationId"), str)
    }


def _tool(operation: Operation, references: References, origin: Origin, taken: set[str]) -> Tool:
    value, position = operation.value, operation.position
    summary = _text(value, "summary") or _text(operation.item, "summary")
    text = _text(value, "description") or _text(operation.item, "description")
    title = summary if text else None
    if summary and text and not text.startswith(summary):
        text = f"{summary}\n\n{text}"
    annotations: dict[str, Any] = {
        "readOnlyHint": operation.method in _READING,
        "destructiveHint": operation.method == "delete",
        "idempotentHint": operation.method in _IDEMPOTENT,
    }
    if value.get("deprecated") is True:
        annotations["deprecated"] = True
        origin.warn(position, "the operation is deprecated, and kept")
    return Tool(
        name=_name(operation, origin, taken),
        title=title,
        description=text or summary or "",
        input_schema=input_schema(operation, references, origin),
        output_schema=output_schema(operation, references),
        annotations=annotations,
        is_action=operation.method not in _READING,
    )


def _name(operation: Operation, origin: Origin, taken: set[str]) -> str:
    given = operation.value.get("operationId")
    where = at(operation.position, "operationId")
    if given is not None:
        if not isinstance(given, str):
            raise origin.error(
                where,
                f"the operationId is {describe(given)} where a text belongs",
                hint="write the operationId in quotes",
            )
        check_name(origin, given, where)
        return given
    base = re.sub(r"[^A-Za-z0-9]+", "_", f"{operation.method}_{operation.path}").strip("_")
    name, number = base, 1
    while name in taken:
        number += 1
        name = f"{base}_{number}"
    if name != base:
        origin.warn(
            operation.position,
            "method and path give a name that another operation has, so a number was added",
        )
    taken.add(name)
    check_name(origin, name, where)
    return name


def _text(value: Mapping[str, Any], key: str) -> str | None:
    found = value.get(key)
    return found.strip() or None if isinstance(found, str) else None
