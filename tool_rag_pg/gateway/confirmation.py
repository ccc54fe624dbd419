"""Asking a person before a call that may change something, in whichever shape the client knows.

Clients of the revisions with sessions are asked while the call waits (`elicitation/create`).
Clients of the stateless one get the question as the call's result and repeat the call with the
answer; the state that they carry back is sealed by the SDK, bound to the caller, the arguments and
a time. A confirmation is good for one call of exactly what the person was shown.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import anyio
import mcp_types as types
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from tool_rag_pg._visible import visible

from .callers import Caller

__all__ = ["Confirmations", "Question", "state_boundary"]

_KEY = "confirm"
_SHOWN_CHARACTERS = 2000
_LABEL = b"tool-rag gateway request state"


@dataclass(frozen=True, slots=True)
class Question:
    """What a person is asked to confirm.

    Attributes:
        server: the tool's server.
        tool: its name.
        arguments: what the model wrote; identity is not among them.
        prepared: all that will be sent, which the confirmation is bound to.
        definition: the tool as it is described, which it is bound to as well.
    """

    server: str
    tool: str
    arguments: Mapping[str, Any]
    prepared: Mapping[str, Any]
    definition: str

    @property
    def digest(self) -> str:
        """Tells this call from any other."""
        text = json.dumps(
            [self.server, self.tool, dict(self.prepared), self.definition], sort_keys=True
        )
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def text(self) -> str:
        """Return the question for a person: tool and arguments, nothing hidden in them."""
        shown = visible(json.dumps(dict(self.arguments), ensure_ascii=False, indent=1))
        if len(shown) > _SHOWN_CHARACTERS:
            left = len(shown) - _SHOWN_CHARACTERS
            shown = f"{shown[:_SHOWN_CHARACTERS]}\n... and {left:,} more characters"
        return (
            f"Call {visible(self.tool)} of {visible(self.server)}? It may change something.\n"
            f"{shown}"
        )


Answer = Literal["confirmed", "declined", "impossible"]


class Confirmations:
    """Asks, and remembers which answers were used.

    Args:
        seconds: how long a question may stay open, and an answer is good.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._used: OrderedDict[str, float] = OrderedDict()

    async def ask(
        self,
        context: ServerRequestContext[Any, Any],
        params: types.CallToolRequestParams,
        question: Question,
    ) -> Answer | types.InputRequiredResult:
        """Return what the person said, or the result by which the client learns to ask."""
        session = context.session
        capabilities = session.client_capabilities
        elicitation = None if capabilities is None else capabilities.elicitation
        # An empty one means forms; one that names addresses alone can't show this question.
        if elicitation is None or (elicitation.form is None and elicitation.url is not None):
            return "impossible"
        if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return self._resume(params, question) or self._demand(question)
        if not session.can_send_request:
            return "impossible"
        try:
            with anyio.fail_after(self._seconds):
                answer = await session.elicit_form(
                    question.text(), _schema(), related_request_id=context.request_id
                )
        except TimeoutError:
            return "declined"
        except MCPError as error:
            # A client that declares the capability and refuses the request has nobody to ask.
            return "impossible" if error.code == types.METHOD_NOT_FOUND else "declined"
        return "confirmed" if answer.action == "accept" else "declined"

    def _demand(self, question: Question) -> types.InputRequiredResult:
        state = {"confirm": question.digest, "once": secrets.token_urlsafe(16)}
        return types.InputRequiredResult(
            input_requests={
                _KEY: types.ElicitRequest(
                    params=types.ElicitRequestFormParams(
                        message=question.text(), requested_schema=_schema()
                    )
                )
            },
            request_state=json.dumps(state),
        )

    def _resume(self, params: types.CallToolRequestParams, question: Question) -> Answer | None:
        """Read the answer that a repeated call carries; None where it carries none for this."""
        given = (params.input_responses or {}).get(_KEY)
        if params.request_state is None or not isinstance(given, types.ElicitResult):
            return None
        # The SDK has checked the seal: it is ours, this caller's, for these arguments, and fresh.
        state = json.loads(params.request_state)
        if not hmac.compare_digest(state["confirm"], question.digest):
            # The tool has changed since it was shown.
            return None
        if given.action != "accept":
            return "declined"
        return "confirmed" if self._use(state["once"]) else None

    def _use(self, once: str) -> bool:
        now = time.monotonic()
        while self._used and next(iter(self._used.values())) < now - self._seconds:
            self._used.popitem(last=False)
        if once in self._used:
            return False
        self._used[once] = now
        return True


def _schema() -> dict[str, Any]:
    return {"type": "object", "properties": {}}


def state_boundary(name: str, seconds: float, secret: bytes | None) -> RequestStateBoundary:
    """Return what seals and checks the state that clients carry.

    Args:
        name: of the gateway; states of another one are refused.
        seconds: how long a state is good.
        secret: that several processes of one gateway share, or None for one of this process alone.
    """
    key = secrets.token_bytes(32) if secret is None else hmac.digest(secret, _LABEL, "sha256")
    security = RequestStateSecurity(keys=[key], ttl=seconds, bind_principal=_principal)
    return RequestStateBoundary(security, default_audience=name)


def _principal(context: ServerRequestContext[Any, Any]) -> str | None:
    request = context.request
    caller: Caller | None = None if request is None else request.scope.get("tool_rag.caller")
    return None if caller is None else caller.name
