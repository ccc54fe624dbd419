"""What the gateway does for a caller, apart from the protocol: find tools, and call them.

The order in a call: may this caller use the tool; do the arguments fit; who is it made for; has a
person agreed; may the caller still. Only then it goes to the upstream, and whatever the outcome,
it is recorded.
"""

from __future__ import annotations

import hashlib
import json
import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
from mcp import MCPError
from mcp.shared.dispatcher import ProgressFnT

from tool_rag_pg.errors import InvalidArgument, ToolRagError
from tool_rag_pg.guards import InvalidCall, MissingIdentity, PreparedCall, prepare_call

from .confirmation import Question
from .metrics import Metrics
from .transport import UpstreamUnavailable
from .upstream import CallLost, CallTimedOut, Upstream

if TYPE_CHECKING:
    from tool_rag_pg.models import PermittedServer, ToolDefinition, ToolHit
    from tool_rag_pg.retriever import AsyncToolRetriever

    from .callers import Caller
    from .config import GatewayConfig

__all__ = ["Confirm", "Found", "Gateway", "Refusal"]

logger = logging.getLogger(__name__)

Confirm = Callable[[Question], Awaitable[Any]]


class Refusal(ToolRagError):
    """A call that is not made, with what the model can do about it.

    Attributes:
        outcome: what audit and metrics call it.
    """

    def __init__(self, outcome: str, message: str, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.outcome = outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """An answer of a search.

    Attributes:
        hits: the tools, best first.
        unavailable: servers among theirs that can't be reached at the moment.
        unmatched: where nothing was found, words of the request that stand in no tool.
        conversation: the caller's handle of the conversation.
    """

    hits: Sequence[ToolHit]
    unavailable: frozenset[str]
    unmatched: Sequence[str]
    conversation: str


@dataclass(slots=True)
class _Trail:
    """What is recorded of a call."""

    server: str
    tool: str
    detail: dict[str, Any] = field(default_factory=dict)


class Gateway:
    """Tools of many servers, for callers with rights of their own.

    Args:
        config: the settings.
        retriever: asks the database.
        upstreams: the servers by name.
        metrics: counts.
    """

    def __init__(
        self,
        config: GatewayConfig,
        retriever: AsyncToolRetriever,
        upstreams: Mapping[str, Upstream],
        metrics: Metrics,
    ) -> None:
        self.config = config
        self.upstreams = upstreams
        self.metrics = metrics
        self._retriever = retriever
        self._calls = anyio.CapacityLimiter(config.limits.calls_at_once)
        self.calls_under_way = 0

    async def servers(self, caller: Caller) -> list[PermittedServer]:
        """Return the servers of this gateway of which the caller may see tools."""
        found = await self._retriever.permitted_servers(**caller.asks())
        return [each for each in found if each.server in self.upstreams]

    async def search(
        self, caller: Caller, query: str, *, limit: int | None = None, conversation: str | None
    ) -> Found:
        """Find tools for a request.

        Args:
            caller: who asks.
            query: the request.
            limit: how many tools at most; None for the configuration's.
            conversation: the caller's handle; None begins a conversation.

        Raises:
            InvalidArgument: the request is not one.
            ToolRagError: the search failed, which is no empty answer.
        """
        handle = conversation or secrets.token_urlsafe(9)
        name = conversation_name(caller, handle)
        down = frozenset(each.name for each in self.upstreams.values() if not each.is_available)
        names = sorted(self.upstreams)
        if self.config.unavailable == "hide":
            names = [each for each in names if each not in down]
        if not names:
            raise Refusal(
                "unavailable",
                "none of the servers behind this gateway can be reached at the moment",
                hint="try again in a minute",
            )
        with self.metrics.searching() as search:
            _, context = await self._retriever.record_message(name, query)
            hits = await self._retriever.search_tools(
                query,
                **caller.asks(),
                k=limit or self.config.limit,
                context=context,
                conversation=name,
                servers=names,
                min_relevance=self.config.min_relevance,
            )
            search.found = len(hits)
        unmatched: list[str] = []
        if not hits:
            unmatched = await self._retriever.unmatched_words(query, **caller.asks(), servers=names)
        return Found(hits=hits, unavailable=down, unmatched=unmatched, conversation=handle)

    async def describe(self, caller: Caller, server: str, tool: str) -> ToolDefinition | None:
        """Return a tool that the caller may use; None for any other."""
        if server not in self.upstreams:
            return None
        try:
            found = await self._retriever.describe_tool(server, tool, **caller.asks())
        except InvalidArgument:
            return None
        return found if found.enabled else None

    async def call(
        self,
        caller: Caller,
        server: str,
        tool: str,
        arguments: Mapping[str, Any] | str,
        *,
        conversation: str | None,
        confirm: Confirm,
        on_progress: ProgressFnT | None = None,
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Call a tool as a caller may, or say why not.

        Args:
            caller: who calls.
            server: the tool's server, as the model names it.
            tool: its name, as the model writes it.
            arguments: what the model wrote, as an object or as JSON.
            conversation: the caller's handle, or None.
            confirm: asks a person; returns "confirmed", "declined", "impossible", or a result that
                the client is to have instead.
            on_progress: called with the upstream's progress.

        Raises:
            Refusal: it was not made, or did not succeed; the text is for the model.
            MCPError: the upstream's own error.
        """
        trail = _Trail(server, tool)
        outcome = "failed"
        name = None if conversation is None else conversation_name(caller, conversation)
        self.calls_under_way += 1
        try:
            with self.metrics.calling() as timing:
                try:
                    result = await self._call(caller, trail, arguments, confirm, on_progress)
                    if isinstance(result, types.InputRequiredResult):
                        outcome = "asked"
                    elif result.is_error:
                        outcome = "failed"
                    else:
                        outcome = "called"
                    return result
                except Refusal as refusal:
                    outcome = refusal.outcome
                    raise
                except MCPError as error:
                    trail.detail["error"] = error.code
                    raise
                except anyio.get_cancelled_exc_class():
                    outcome = "cancelled"
                    raise
                finally:
                    timing.finish(trail.server if trail.server in self.upstreams else "", outcome)
                    trail.detail["milliseconds"] = round(timing.seconds * 1000, 1)
                    with anyio.CancelScope(shield=True):
                        await self._record(caller, trail, outcome, name)
        finally:
            self.calls_under_way -= 1

    async def _call(
        self,
        caller: Caller,
        trail: _Trail,
        arguments: Mapping[str, Any] | str,
        confirm: Confirm,
        on_progress: ProgressFnT | None,
    ) -> types.CallToolResult | types.InputRequiredResult:
        definition = await self._find(caller, trail)
        upstream = self.upstreams[definition.server]
        # In a thread: a schema is a server's, and how long its check takes is up to it.
        written, prepared = await anyio.to_thread.run_sync(
            self._prepare, caller, definition, arguments
        )
        trail.detail["arguments"] = written
        if prepared.overridden:
            trail.detail["overridden"] = list(prepared.overridden)
        if self._wants_confirmation(upstream, prepared):
            answer = await confirm(
                Question(
                    definition.server,
                    definition.name,
                    written,
                    prepared.arguments,
                    f"{definition.description}\0{json.dumps(definition.input_schema)}",
                )
            )
            if isinstance(answer, types.InputRequiredResult):
                return answer
            self._check_answer(answer, definition)
            trail.detail["confirmed"] = answer == "confirmed"
            # A person takes a while, in which the right may have gone, or the tool changed.
            again = await self.describe(caller, definition.server, definition.name)
            if again is None or again.input_schema != definition.input_schema:
                raise self._not_permitted(definition.server, definition.name, [])
        try:
            async with self._calls:
                return await upstream.call(
                    definition.name,
                    prepared.arguments,
                    key=caller.key,
                    may_repeat=not definition.is_action,
                    on_progress=on_progress,
                )
        except UpstreamUnavailable as error:
            raise Refusal("unavailable", error.message, hint=error.hint) from error
        except CallTimedOut as error:
            raise Refusal("timed_out", error.message, hint=error.hint) from error
        except CallLost as error:
            raise Refusal("lost", error.message, hint=error.hint) from error

    async def _find(self, caller: Caller, trail: _Trail) -> ToolDefinition:
        """Return the tool that a model means, under its true name."""
        definition = await self.describe(caller, trail.server, trail.tool)
        if definition is not None:
            return definition
        wanted = f"{trail.server}/{trail.tool}" if trail.server else trail.tool
        meant = [
            each
            for each in await self._retriever.resolve_tool(wanted, **caller.asks())
            if each.server in self.upstreams
        ]
        if meant and meant[0].outcome in ("exact", "corrected"):
            definition = await self.describe(caller, meant[0].server, meant[0].name)
        if definition is None:
            raise self._not_permitted(
                trail.server, trail.tool, [f"{each.server}/{each.name}" for each in meant]
            )
        trail.detail["written"] = wanted
        trail.server, trail.tool = definition.server, definition.name
        return definition

    @staticmethod
    def _not_permitted(server: str, tool: str, nearest: Sequence[str]) -> Refusal:
        hint = f"nearest: {', '.join(nearest)}" if nearest else "find tools with search_tools"
        if not server:
            # Called directly, by a name that this list does not have.
            return Refusal(
                "not_permitted",
                f"there is no tool {tool[:100]!r} in this list",
                hint=f"call tools with call_tool, by their server and their name; {hint}",
            )
        return Refusal(
            "not_permitted", f"there is no tool {tool!r} of {server!r} that you may use", hint=hint
        )

    @staticmethod
    def _prepare(
        caller: Caller, definition: ToolDefinition, arguments: Mapping[str, Any] | str
    ) -> tuple[Mapping[str, Any], PreparedCall]:
        try:
            prepared = prepare_call(definition, arguments, caller.identity)
        except InvalidCall as error:
            raise Refusal("invalid", error.message, hint=error.hint) from error
        except MissingIdentity as error:
            raise Refusal(
                "no_identity", error.message, hint="an administrator has to add it to your key"
            ) from error
        except InvalidArgument as error:
            raise Refusal("no_identity", error.message, hint=error.hint) from error
        hidden = set(definition.identity_parameters)
        return {k: v for k, v in prepared.arguments.items() if k not in hidden}, prepared

    def _wants_confirmation(self, upstream: Upstream, prepared: PreparedCall) -> bool:
        policy = upstream.config.confirm or self.config.confirmation.calls
        return policy == "always" or (policy == "actions" and prepared.confirmation_required)

    def _check_answer(self, answer: str, definition: ToolDefinition) -> None:
        if answer == "declined":
            raise Refusal(
                "declined",
                f"the user did not agree to the call of {definition.name}",
                hint="ask the user what to do instead",
            )
        if answer == "impossible" and self.config.confirmation.without_elicitation == "refuse":
            raise Refusal(
                "unconfirmable",
                f"{definition.name} may change something, and this client can't ask its user",
                hint="use a client that supports elicitation; an administrator can also set "
                '"confirmation": {"without_elicitation": "allow"}',
            )

    async def _record(
        self, caller: Caller, trail: _Trail, outcome: str, conversation: str | None
    ) -> None:
        detail = {"caller": caller.name, "gateway": self.config.name, **trail.detail}
        logger.info(
            "call",
            extra={
                "server": trail.server[:256],
                "tool": trail.tool[:256],
                "outcome": outcome,
                "caller": caller.name,
                "milliseconds": detail.get("milliseconds"),
                "arguments": detail.get("arguments"),
            },
        )
        try:
            await self._retriever.record_call(
                trail.server[:256] or "-",
                trail.tool[:256] or "-",
                outcome,
                roles=caller.asks()["roles"],
                conversation=conversation,
                detail=_bounded(detail),
            )
            if conversation is not None and outcome == "called":
                await self._retriever.record_use(
                    conversation, None, trail.server, trail.tool, **caller.asks()
                )
        except ToolRagError as error:
            self.metrics.unrecorded()
            logger.error("call not recorded", extra={"reason": error.message})


def conversation_name(caller: Caller, handle: str) -> str:
    """Return what the database calls a caller's conversation: nobody else can name it."""
    text = f"{caller.name}\0{handle}"
    return "gateway " + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:40]


def _bounded(detail: dict[str, Any]) -> dict[str, Any]:
    """Return a detail of which the audit keeps all, or one that says that it was too long."""
    text = json.dumps(detail, default=str)
    if len(text) <= 90_000:
        return detail
    return {**detail, "arguments": f"(not kept: {len(text):,} characters)"}
