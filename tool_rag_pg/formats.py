"""Tools of a search as the definitions that a provider's API takes.

Each function takes `ToolHit`s, or whatever has the same attributes, and returns a `Rendered`: what
goes into the request, and the way back from a model's call to the server, the tool and its own
arguments. A tool has the same name in every request and for every provider, so that prompt caches
and references to earlier turns hold. Of a tool that names its `identity_parameters` the model does
not see these.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any, NoReturn, Protocol

from ._dialects import ANTHROPIC_KEY, GEMINI_KEY, openai, rename, renamings, restore
from ._gemini_schema import gemini
from ._identity import hide_identity
from ._openai_strict import NotStrict
from ._openai_strict import strict as make_strict
from ._provider_names import SEPARATOR, provider_names
from ._schema_algebra import Schema
from ._schemas import canonical
from .errors import InvalidArgument

__all__ = [
    "Rendered",
    "ToolLike",
    "provider_names",
    "to_anthropic",
    "to_anthropic_tool_references",
    "to_gemini",
    "to_mcp",
    "to_openai_chat",
    "to_openai_responses",
    "to_openai_tool_search_output",
]

#: The API refuses more characters: "Invalid 'tools[0].function.description': string too long".
OPENAI_DESCRIPTION = 1024

_ONE_OBJECT = "write one JSON object"


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")


class ToolLike(Protocol):
    """What of a tool is rendered; `ToolHit` has it."""

    @property
    def server(self) -> str:
        """Where the tool comes from."""

    @property
    def name(self) -> str:
        """Its name there."""

    @property
    def title(self) -> str | None:
        """A name for people, or None."""

    @property
    def description(self) -> str:
        """What it does, possibly empty."""

    @property
    def input_schema(self) -> Mapping[str, Any]:
        """JSON Schema of its arguments."""

    @property
    def is_action(self) -> bool:
        """Whether a call may change something."""


@dataclass(frozen=True, slots=True)
class _Binding:
    """How to read the arguments of one rendered tool, and what there is to say about it."""

    schema: Schema = field(default_factory=dict)
    renamed: Mapping[str, str] = field(default_factory=dict)
    is_strict: bool = False
    has_json_text: bool = False
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """Tools as a provider takes them.

    Attributes:
        tools: what goes into the request, in the order of the hits.
        names: the server and the tool that each name in it stands for.
        notes: a sentence for each tool that could not be rendered as asked.
    """

    tools: list[dict[str, Any]]
    names: Mapping[str, tuple[str, str]]
    notes: tuple[str, ...] = ()
    _bindings: Mapping[str, _Binding] = field(default_factory=dict, repr=False)

    def resolve(self, provider_name: str) -> tuple[str, str]:
        """Return the server and the tool that a model means by a name.

        Raises:
            InvalidArgument: no tool here has this name; the hint names the nearest.
        """
        if (found := self.names.get(provider_name)) is not None:
            return found
        nearest = get_close_matches(provider_name, self.names, n=3)
        raise InvalidArgument(
            f"no tool of this list is named {provider_name!r}",
            hint=f"the nearest: {', '.join(nearest)}" if nearest else "call one of the list",
        )

    def full_name(self, provider_name: str) -> str:
        """Return the name that a model called, right or not, as `resolve_tool` takes it.

        Of a name in this list that is "SERVER/TOOL" of the tool that it stands for, and of another
        one the same of its parts: "shop__refundPaymnt" is "shop/refundPaymnt".
        """
        if (found := self.names.get(provider_name)) is not None:
            return "/".join(found)
        return provider_name.replace(SEPARATOR, "/", 1)

    def name_of(self, server: str, tool: str) -> str:
        """Return the name that a tool has in this list.

        Raises:
            InvalidArgument: the list does not hold the tool.
        """
        for name, pair in self.names.items():
            if pair == (server, tool):
                return name
        raise InvalidArgument(
            f"no tool of this list is {server}/{tool}", hint="call one of the list"
        )

    def restore_arguments(
        self, provider_name: str, arguments: Mapping[str, Any] | str
    ) -> dict[str, Any]:
        """Return a call's arguments as the tool's own schema names them.

        Properties get their own names back, nulls that only strict mode made the model write are
        left out, and what was declared as JSON text is read.

        Args:
            provider_name: which tool the model calls.
            arguments: what it wrote, as an object or as JSON text; empty text is no arguments.

        Raises:
            InvalidArgument: no tool has this name, or the text is no JSON object.
        """
        self.resolve(provider_name)
        binding = self._bindings[provider_name]
        try:
            given: Any = arguments
            if isinstance(arguments, str):
                given = (
                    json.loads(arguments, parse_constant=_no_number) if arguments.strip() else {}
                )
            if not isinstance(given, Mapping):
                raise InvalidArgument(
                    f"the arguments of {provider_name} are no object", hint=_ONE_OBJECT
                )
            restored: dict[str, Any] = restore(
                dict(given),
                [binding.schema],
                names=binding.renamed,
                drop_nulls=binding.is_strict,
                read_json=binding.has_json_text,
            )
        except ValueError as error:
            raise InvalidArgument(
                f"the arguments of {provider_name} are no JSON: {error}", hint=_ONE_OBJECT
            ) from error
        except RecursionError as error:
            raise InvalidArgument(
                f"the arguments of {provider_name} are nested too deeply", hint=_ONE_OBJECT
            ) from error
        return restored


def to_openai_chat(hits: Iterable[ToolLike], *, strict: bool = False) -> Rendered:
    """Return tools for `tools` of OpenAI's Chat Completions.

    Args:
        hits: the tools.
        strict: have the model's arguments fit the schema for certain; a tool whose schema strict
            mode can't represent goes without, and `notes` says why.
    """
    rendered = _render(hits, lambda hit, name: _openai_function(hit, name, strict=strict))
    tools = []
    for tool in rendered.tools:
        del tool["type"]
        tools.append({"type": "function", "function": tool})
    return replace(rendered, tools=tools)


def to_openai_responses(hits: Iterable[ToolLike], *, strict: bool = False) -> Rendered:
    """Return tools for `tools` of OpenAI's Responses; `strict` as in `to_openai_chat`."""
    return _render(hits, lambda hit, name: _openai_function(hit, name, strict=strict))


def to_openai_tool_search_output(
    hits: Iterable[ToolLike], *, call_id: str, strict: bool = False
) -> Rendered:
    """Return the item for `input` of OpenAI's Responses that answers a `tool_search_call`.

    The request declares `{"type": "tool_search", "execution": "client"}`; the model appends what is
    found to its context, so that the cached prefix stays. Source: OpenAI, "Tool search", section
    "Client-executed tool search".

    Args:
        hits: the tools found.
        call_id: that of the `tool_search_call` item.
        strict: as in `to_openai_chat`.
    """
    rendered = to_openai_responses(hits, strict=strict)
    item = {
        "type": "tool_search_output",
        "execution": "client",
        "call_id": call_id,
        "status": "completed",
        "tools": [{**tool, "defer_loading": True} for tool in rendered.tools],
    }
    return replace(rendered, tools=[item])


def to_anthropic(hits: Iterable[ToolLike], *, defer_loading: bool = False) -> Rendered:
    """Return tools for `tools` of Anthropic's Messages.

    Args:
        hits: the tools.
        defer_loading: keep them out of the context until a `tool_reference` names them. At least
            one tool of a request, the one that searches, has to go without it.
    """

    def make(hit: ToolLike, name: str) -> _Made:
        schema = canonical(_shown_schema(hit))
        renamed = renamings(schema, ANTHROPIC_KEY)
        tool = {
            "name": name,
            "description": _description(hit),
            "input_schema": rename(schema, renamed),
        }
        return tool | ({"defer_loading": True} if defer_loading else {}), _Binding(schema, renamed)

    return _render(hits, make)


def to_anthropic_tool_references(hits: Iterable[ToolLike]) -> Rendered:
    """Return blocks for the `content` of the `tool_result` of a tool search of your own.

    Each names a tool that the request's `tools` hold with `defer_loading`: render all tools that
    the user may see once, with `to_anthropic(..., defer_loading=True)`. The prompt's cached prefix
    stays. Source: Anthropic, "Tool search tool", section "Custom tool search implementation".
    """
    rendered = to_anthropic(hits)
    blocks = [{"type": "tool_reference", "tool_name": tool["name"]} for tool in rendered.tools]
    return replace(rendered, tools=blocks)


def to_gemini(hits: Iterable[ToolLike]) -> Rendered:
    """Return tools for `tools` of Google's generateContent: one, with a declaration for each hit.

    A value of any type, and an object of any keys, is declared as JSON text, since the declared
    subset of OpenAPI can't express it; `Rendered.restore_arguments` reads it.
    """

    def make(hit: ToolLike, name: str) -> _Made:
        schema = canonical(_shown_schema(hit))
        renamed = renamings(schema, GEMINI_KEY)
        declaration: dict[str, Any] = {"name": name, "description": _description(hit)}
        note = None
        if (parameters := gemini(rename(schema, renamed))) is not None:
            declaration["parameters"] = parameters
        elif schema.get("additionalProperties", False) is not False:
            note = f"{name} takes arguments of any name, which Gemini can't declare"
        return declaration, _Binding(schema, renamed, has_json_text=True, note=note)

    rendered = _render(hits, make)
    tools = [{"functionDeclarations": rendered.tools}] if rendered.tools else []
    return replace(rendered, tools=tools)


def to_mcp(hits: Iterable[ToolLike]) -> Rendered:
    """Return tools for `tools` of the result of MCP's tools/list, schemas as their servers have it.

    Source: Model Context Protocol, "Tools", revision 2025-11-25.
    """

    def make(hit: ToolLike, name: str) -> _Made:
        schema = _shown_schema(hit)
        tool = {
            "name": name,
            "title": hit.title,
            "description": _description(hit),
            "inputSchema": schema if schema.get("type") == "object" else canonical(schema),
            "annotations": {"readOnlyHint": not hit.is_action},
        }
        return {key: value for key, value in tool.items() if value is not None}, _Binding()

    return _render(hits, make)


_Made = tuple[dict[str, Any], _Binding]


def _render(hits: Iterable[ToolLike], make: Callable[[ToolLike, str], _Made]) -> Rendered:
    distinct: dict[tuple[str, str], ToolLike] = {}
    for hit in hits:
        distinct.setdefault((hit.server, hit.name), hit)
    names = provider_names(distinct)
    made = {names[pair]: make(hit, names[pair]) for pair, hit in distinct.items()}
    return Rendered(
        tools=[tool for tool, _ in made.values()],
        names={names[pair]: pair for pair in distinct},
        notes=tuple(binding.note for _, binding in made.values() if binding.note),
        _bindings={name: binding for name, (_, binding) in made.items()},
    )


def _openai_function(hit: ToolLike, name: str, *, strict: bool) -> _Made:
    schema = canonical(_shown_schema(hit))
    parameters, is_strict, note = openai(schema), False, None
    if strict:
        try:
            parameters, is_strict = make_strict(schema), True
        except NotStrict as reason:
            note = f"{name} goes without strict mode: {reason}"
    tool = {
        "type": "function",
        "name": name,
        "description": _shorten(_description(hit), OPENAI_DESCRIPTION),
        "parameters": parameters,
        # The Responses API takes a missing one for true.
        "strict": is_strict,
    }
    return tool, _Binding(schema, is_strict=is_strict, note=note)


def _shown_schema(hit: ToolLike) -> dict[str, Any]:
    """Return the schema without the tool's identity parameters, where it names some."""
    identity = getattr(hit, "identity_parameters", ())
    return hide_identity(hit.input_schema, identity) if identity else dict(hit.input_schema)


def _description(hit: ToolLike) -> str:
    """Return what the tool does; its title or the words of its name where it does not say."""
    words = re.sub(r"[\W_]+", " ", hit.name).strip() or hit.name
    return hit.description.strip() or (hit.title or "").strip() or words


def _shorten(text: str, length: int) -> str:
    """Return a text of at most so many characters, cut between words and ended by an ellipsis."""
    if len(text) <= length:
        return text
    cut = text[: length - 1]
    words = cut.rsplit(None, 1)[0] if not text[length - 1].isspace() else cut
    # A last word that is most of the text is none: languages that do not write spaces.
    return f"{(words if len(words) > length // 2 else cut).rstrip()}…"
