"""Guards for the agent's side: what happens between a model's answer and a tool.

`hide_identity` and `prepare_call` keep it to the backend on whose behalf a call is made, check the
arguments, and say whether a person has to confirm. `find_unknown_tool_names` reads a final text for
tools that do not exist. All are plain functions; none needs the database.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

from ._arguments import Problem, find_problems
from ._identity import hide_identity
from ._unknown_names import NameChecker, UnknownName, find_unknown_tool_names
from .errors import InvalidArgument

__all__ = [
    "InvalidCall",
    "MissingIdentity",
    "NameChecker",
    "PreparedCall",
    "Problem",
    "UnknownName",
    "find_unknown_tool_names",
    "hide_identity",
    "prepare_call",
]


_MAX_SIZE = 1_000_000


class CallableTool(Protocol):
    """What of a tool a call needs; `ToolHit` and `ToolDefinition` have it."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def input_schema(self) -> Mapping[str, Any]:
        """JSON Schema of its arguments."""

    @property
    def is_action(self) -> bool:
        """Whether a call may change something."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedCall:
    """A call that may be made.

    Attributes:
        arguments: what to call the tool with, identity included.
        confirmation_required: whether a person has to agree first, since it may change something.
        overridden: identity parameters that the model wrote itself; what it wrote is gone. Worth a
            line in a log: a model that is shown no such parameter has been told to write it.
    """

    arguments: dict[str, Any]
    confirmation_required: bool
    overridden: tuple[str, ...]


class InvalidCall(InvalidArgument):
    """Arguments that do not fit the tool's schema; the text is for the model, which can correct it.

    Attributes:
        problems: what is wrong, at most ten things.
    """

    def __init__(self, message: str, *, problems: tuple[Problem, ...]) -> None:
        super().__init__(message, hint="correct the arguments and call the tool again")
        self.problems = problems


class MissingIdentity(InvalidArgument):
    """A session that lacks what a tool needs to know of the user; not the model's to correct.

    Attributes:
        parameters: the identity parameters without a value.
    """

    def __init__(self, message: str, *, parameters: tuple[str, ...], hint: str) -> None:
        super().__init__(message, hint=hint)
        self.parameters = parameters


def prepare_call(
    tool: CallableTool,
    arguments: Mapping[str, Any] | str,
    session: Mapping[str, Any],
    *,
    schema: Mapping[str, Any] | None = None,
    identity_parameters: Iterable[str] | None = None,
) -> PreparedCall:
    """Return a model's call as it may be made: identity filled in, arguments checked.

    Args:
        tool: the tool that is called, looked up by the backend and not as the model describes it.
        arguments: what the model wrote, as an object or as JSON text, under the tool's own names
            (`Rendered.restore_arguments`).
        session: what the backend knows of the user, by the names of identity parameters.
        schema: JSON Schema of all arguments, identity included; None takes the tool's.
        identity_parameters: the arguments that say on whose behalf the call is made; None takes
            those of the tool. Pass `()` where there are none.

    Raises:
        InvalidCall: the arguments do not fit; says every reason, for the model.
        MissingIdentity: the session has no value for an identity parameter, or null.
        InvalidArgument: neither argument nor tool says which parameters are identity, or the schema
            refuses the session's value. No value of the session is in any message.
    """
    identity = _identity_of(tool, identity_parameters)
    wanted = dict(tool.input_schema if schema is None else schema)
    written = _read(tool.name, arguments)
    if missing := tuple(name for name in identity if session.get(name) is None):
        raise MissingIdentity(
            f"the session lacks {', '.join(missing)}, which {tool.name} needs",
            parameters=missing,
            hint="log the user in, or set it in the session",
        )
    # Whatever its case: a tool may take Customer_ID for customer_id.
    folded = {name.casefold() for name in identity}
    known = set(identity) | set(wanted.get("properties") or ())
    smuggled = [name for name in written if name not in known and name.casefold() in folded]
    overridden = [name for name in identity if name in written] + smuggled
    filled = {name: value for name, value in written.items() if name not in smuggled} | {
        name: copy.deepcopy(session[name]) for name in identity
    }
    problems = find_problems(wanted, filled)
    for problem in problems:
        name = next((each for each in identity if _is_within(problem.path, each)), None)
        if name is not None:
            raise InvalidArgument(
                f"the session's {name} does not fit the schema of {tool.name}",
                hint=f"expected: {problem.expected}" if problem.expected else "check its type",
            )
    if problems:
        _refuse(tool.name, problems)
    return PreparedCall(
        arguments=filled,
        confirmation_required=bool(tool.is_action),
        overridden=tuple(overridden),
    )


def _identity_of(tool: CallableTool, given: Iterable[str] | None) -> tuple[str, ...]:
    names = given if given is not None else getattr(tool, "identity_parameters", None)
    if names is None:
        raise InvalidArgument(
            f"nothing says which arguments of {tool.name} the session fills",
            hint="pass identity_parameters, () for none",
        )
    if isinstance(names, str):
        raise InvalidArgument(
            "identity_parameters is one text instead of a list", hint=f"pass [{names!r}]"
        )
    return tuple(dict.fromkeys(names))


def _read(name: str, arguments: Mapping[str, Any] | str) -> dict[str, Any]:
    value: Any = arguments
    if isinstance(arguments, str):
        try:
            value = json.loads(arguments, parse_constant=_no_number) if arguments.strip() else {}
        except (ValueError, RecursionError) as error:
            _refuse(name, [Problem(path="", message=f"they are no JSON: {error}")])
    if not isinstance(value, Mapping):
        _refuse(name, [Problem(path="", message="they are no JSON object")])
    try:
        copied = copy.deepcopy(dict(value))
        size = len(json.dumps(copied, allow_nan=False, default=str))
    except RecursionError:
        _refuse(name, [Problem(path="", message="they are nested too deeply")])
    except ValueError:
        _refuse(name, [Problem(path="", message="they hold a number that JSON lacks")])
    if size > _MAX_SIZE:
        message = f"they have {size:,} characters; at most {_MAX_SIZE:,} are taken"
        _refuse(name, [Problem(path="", message=message)])
    return copied


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")


def _refuse(name: str, problems: Iterable[Problem]) -> NoReturn:
    found = tuple(problems)
    listed = "; ".join(map(str, found))
    raise InvalidCall(f"the arguments do not fit {name}: {listed}", problems=found)


def _is_within(path: str, name: str) -> bool:
    return path == name or path.startswith((f"{name}.", f"{name}["))
