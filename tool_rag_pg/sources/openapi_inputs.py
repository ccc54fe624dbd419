"""An operation's parameters and bodies as one schema of arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .context import Origin, at, describe
from .openapi_schema import References, expand, merged_view

__all__ = ["MAX_INPUT_SCHEMAS", "MAX_OUTPUT_SCHEMAS", "Operation", "input_schema", "output_schema"]

#: Sub-schemas that are written out for the arguments of one operation: some 40 kB or
#: 10,000 tokens where they are well described. Of OpenAI's 288 operations 14 have more.
MAX_INPUT_SCHEMAS = 200
#: Sub-schemas that an answer may have; a larger one is left out, since callers rarely read it.
MAX_OUTPUT_SCHEMAS = 200

# Not parameters, says OpenAPI 3.1, section 4.8.12.
_IGNORED_HEADERS = ("accept", "content-type", "authorization")
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
_PARAMETER_KEYS = (
    "type",
    "format",
    "items",
    "enum",
    "default",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "maxItems",
    "uniqueItems",
    "multipleOf",
)
_ALTERNATIVES = frozenset({"allOf", "anyOf", "oneOf"})
_CUT = "the schema of arguments is very large: its deepest parts keep only type and description"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One method of one path, with the path item and the document around it."""

    method: str
    path: str
    position: str
    value: Mapping[str, Any]
    item: Mapping[str, Any]
    document: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Body:
    schema: dict[str, Any]
    required: bool
    description: str | None


def input_schema(operation: Operation, references: References, origin: Origin) -> dict[str, Any]:
    """Return the object schema of everything that a call of the operation passes.

    Parameters come first. The properties of a JSON or form body stand beside them, unless one has
    the name of a parameter or the body is no plain object: then the body is one argument, `body`.

    Raises:
        SourceError: parameters or body are not what OpenAPI says.
    """
    properties: dict[str, Any] = {}
    required: list[str] = []
    fields: dict[str, Any] = {}
    needed_fields: list[str] = []
    body = _request_body(operation, references, origin)
    for parameter, position in _parameters(operation, references, origin):
        name, place = parameter["name"], parameter.get("in")
        if place == "body":
            schema = parameter.get("schema")
            text = parameter.get("description")
            body = _Body(
                schema if isinstance(schema, dict) else {},
                parameter.get("required") is True,
                text if isinstance(text, str) else None,
            )
        elif place == "formData":
            fields[name] = _parameter_schema(parameter, references, position)
            needed_fields += [name] if parameter.get("required") is True else []
        elif place != "header" or name.lower() not in _IGNORED_HEADERS:
            key = name
            while key in properties:
                key = f"{place}_{key}"
            if key != name:
                origin.warn(position, f"two parameters share this name, so one is {key!r}")
            properties[key] = _parameter_schema(parameter, references, position)
            required += [key] if parameter.get("required") is True else []
    if fields:
        body = _Body(
            {"type": "object", "properties": fields, "required": needed_fields}, True, None
        )
    if body:
        _add_body(body, properties, required, references, operation.position)
    merged = {"type": "object", "properties": properties, "required": required}
    expanded = expand(
        references,
        merged,
        position=operation.position,
        direction="readOnly",
        max_schemas=MAX_INPUT_SCHEMAS,
    )
    if expanded.cut:
        origin.warn(operation.position, _CUT)
    return expanded.schema


def output_schema(operation: Operation, references: References) -> dict[str, Any] | None:
    """Return the schema of the first successful JSON answer, if it is a small object, or None."""
    responses = operation.value.get("responses")
    if not isinstance(responses, dict):
        return None
    code = next((code for code in sorted(responses, key=str) if str(code)[:1] == "2"), None)
    response = references.follow(responses.get(code), operation.position) if code else None
    if not isinstance(response, dict):
        return None
    schema = response.get("schema")
    content = response.get("content")
    if isinstance(content, dict):
        media = next((media for kind, media in content.items() if _is_json(kind)), None)
        schema = media.get("schema") if isinstance(media, dict) else None
    expanded = expand(
        references,
        schema,
        position=operation.position,
        direction="writeOnly",
        max_schemas=MAX_OUTPUT_SCHEMAS,
    )
    # The Model Context Protocol knows objects only as structured results.
    found = expanded.schema
    usable = found.get("type") == "object" and found.get("properties") and not expanded.cut
    return found if usable else None


def _parameters(
    operation: Operation, references: References, origin: Origin
) -> list[tuple[Mapping[str, Any], str]]:
    """Return the parameters, those of the operation before those of its path that it replaces."""
    found: dict[tuple[str, Any], tuple[Mapping[str, Any], str]] = {}
    for holder in (operation.item, operation.value):
        parameters = holder.get("parameters")
        where = at(operation.position, "parameters")
        if parameters is None:
            continue
        if not isinstance(parameters, list):
            raise origin.error(
                where,
                f"{describe(parameters)} stands where a list of parameters belongs",
                hint="correct it, or export the description again",
            )
        for index, parameter in enumerate(parameters):
            position = at(where, index)
            parameter = references.follow(parameter, position)
            if parameter is None:
                continue
            if not isinstance(parameter, dict) or not isinstance(parameter.get("name"), str):
                raise origin.error(
                    position,
                    "the parameter has no name",
                    hint="give it a name, or remove it",
                )
            place = parameter.get("in")
            found[parameter["name"], place if isinstance(place, str) else None] = (
                parameter,
                position,
            )
    return list(found.values())


def _parameter_schema(
    parameter: Mapping[str, Any], references: References, position: str
) -> dict[str, Any]:
    schema = parameter.get("schema")
    content = parameter.get("content")
    if isinstance(content, dict) and content:
        media = next(iter(content.values()))
        schema = media.get("schema") if isinstance(media, dict) else None
    if not isinstance(schema, dict):
        schema = {key: parameter[key] for key in _PARAMETER_KEYS if key in parameter}
    schema = dict(schema)
    # What is said about the parameter is closer to the caller than what is said about its type.
    text = parameter.get("description")
    if isinstance(text, str) and text.strip():
        schema["description"] = text
    if parameter.get("deprecated") is True:
        schema["deprecated"] = True
    if "example" in parameter:
        schema.setdefault("example", parameter["example"])
    return schema


def _request_body(operation: Operation, references: References, origin: Origin) -> _Body | None:
    position = at(operation.position, "requestBody")
    body = references.follow(operation.value.get("requestBody"), position)
    if body is None:
        return None
    content = body.get("content") if isinstance(body, dict) else None
    if not isinstance(content, dict):
        raise origin.error(
            position,
            "the body has no content",
            hint="give it a content with a media type, or remove it",
        )
    kinds = sorted(content, key=_preference)
    if not kinds:
        return None
    kind = kinds[0]
    media = content[kind]
    schema = media.get("schema") if isinstance(media, dict) else None
    if not isinstance(schema, dict):
        schema = {} if _preference(kind) < 2 else {"type": "string"}
    text = body.get("description")
    return _Body(
        schema, body.get("required") is True, text if isinstance(text, str) else f"Body, {kind}"
    )


def _preference(kind: str) -> int:
    if _is_json(kind):
        return 0
    return 1 if kind.partition(";")[0].strip().lower() in _FORMS else 2


def _is_json(kind: str) -> bool:
    name = kind.partition(";")[0].strip().lower()
    return name in ("application/json", "*/*", "application/*") or name.endswith("+json")


def _add_body(
    body: _Body,
    properties: dict[str, Any],
    required: list[str],
    references: References,
    position: str,
) -> None:
    view, _, repeated = merged_view(references, body.schema, position)
    own = view.get("properties")
    own = own if isinstance(own, dict) and not repeated else {}
    if own and not own.keys() & properties.keys() and not view.keys() & _ALTERNATIVES:
        properties.update(own)
        # Many descriptions forget that the body itself is required, so its fields decide.
        names = view.get("required")
        if isinstance(names, list):
            required += [name for name in names if isinstance(name, str) and name in own]
        return
    schema = dict(body.schema)
    if body.description:
        schema.setdefault("description", body.description)
    key = "body"
    while key in properties:
        key += "_"
    properties[key] = schema
    if body.required:
        required.append(key)
