"""What the SQL functions return, as frozen dataclasses with the names of their columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal

__all__ = [
    "AccessChange",
    "AccessExplanation",
    "AccessRule",
    "AuditEvent",
    "AuditSettings",
    "ListedDependency",
    "ListedEmbeddingModel",
    "ListedExample",
    "ListedKey",
    "ListedLogin",
    "ListedPolicy",
    "ListedRole",
    "ListedSynonym",
    "ListedTool",
    "MissingTool",
    "PendingTool",
    "PermittedServer",
    "PermittedTool",
    "RecordedChange",
    "ResolvedTool",
    "ReviewedTool",
    "RoleAccess",
    "RuleChange",
    "ServerChange",
    "SuggestedDependency",
    "TextToEmbed",
    "ToolCount",
    "ToolDefinition",
    "ToolFinding",
    "ToolHit",
    "TriedTool",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolHit:
    """One row of `tool_rag.search_tools`.

    Attributes:
        rank: place in the shortlist, from 1.
        server: where the tool comes from.
        name: what a caller gives to call it; unique within its server.
        title: a name for people, or None.
        description: what the tool does, possibly empty.
        input_schema: JSON Schema of the arguments.
        is_action: whether a call may change something.
        relevance: how likely it is, 0 to 1, that the tool serves the request; None for tools that
            came on top of the best.
        score: what the best k are ordered by, comparable within one search only; None for tools
            that came on top of these, needed by another one or used by the conversation.
        tokens: estimated tokens of the definition in a model's prompt.
        reason: why it is in the list, as a clause for people, or None.
        explain: the same as data: rank and score in each arm, and what matched; docs/sql.md lists
            the keys.
    """

    rank: int
    server: str
    name: str
    title: str | None
    description: str
    input_schema: dict[str, Any]
    is_action: bool
    relevance: float | None
    score: float | None
    tokens: int
    reason: str | None
    explain: dict[str, Any] | None

    @property
    def identity_parameters(self) -> list[str] | None:
        """Arguments that say on whose behalf a call is made, from `explain`.

        Renderers hide them from the model, and `prepare_call` fills them in. None where `explain`
        does not say, so that nothing is guessed.
        """
        return None if self.explain is None else self.explain.get("identity_parameters")


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingTool:
    """What `tool_rag.explain_missing` says of a tool that a search did not return.

    Attributes:
        outcome: `crowded_out` by better ones, `below_cut_off`, `over_budget`, `other_server`,
            `not_permitted` (or it does not exist), or `listed` after all.
        rank: where it stands among all that the roles may see, or None beyond 1,000.
        relevance: as in `ToolHit`.
        reason: the same, as a clause for people.
        detail: the tool's `explain`, with the last tool of the list and the request's words that
            match nothing; or None.
    """

    outcome: str
    rank: int | None
    relevance: float | None
    reason: str
    detail: dict[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PermittedTool:
    """One row of `tool_rag.permitted_tools`; fields as in `ToolHit`."""

    server: str
    name: str
    title: str | None
    description: str
    is_action: bool
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PermittedServer:
    """One row of `tool_rag.permitted_servers`.

    Attributes:
        server: its name.
        title: a name for people, or None.
        description: what it is for, or None.
        tools: how many of its tools the roles may see.
        actions: how many of these may change something.
    """

    server: str
    title: str | None
    description: str | None
    tools: int
    actions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedTool:
    """One row of `tool_rag.resolve_tool`: a tool that a name may mean.

    Attributes:
        outcome: "exact", "corrected" (misspelt beyond doubt; the only row), or "hint" (one of up to
            three tools to ask about, never to be called unasked).
        server: where the tool comes from.
        name: what it is called.
        similarity: of the two names, 0 to 1, without regard to case, accents and separators.
    """

    outcome: str
    server: str
    name: str
    similarity: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerChange:
    """One row of `tool_rag.upsert_tools`: how many tools of a server an export changed.

    Attributes:
        server: its name.
        added: tools that are new.
        changed: tools whose definition differs.
        unchanged: tools that were left alone.
        removed: tools that the export no longer lists.
        waiting: new or changed tools that wait for review; what was approved serves.
        rejected: new or changed tools that the policy refuses or a person has rejected.
        flagged: new or changed tools of which the linter thinks the worst, wherever they are.
    """

    server: str
    added: int
    changed: int
    unchanged: int
    removed: int
    waiting: int = 0
    rejected: int = 0
    flagged: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessRule:
    """A rule of a role, as `tool_rag.explain_access` and `tool_rag.list_rules` list them.

    Attributes:
        rule_role: whose rule it is.
        server_pattern: which servers it fits; "*" is any run of characters.
        tool_pattern: which tools of these it fits.
        effect: "allow" or "deny".
        valid_until: end of validity, or None for a rule without end.
        valid: whether it holds now.
        valid_from: beginning of validity, or None for a rule that held at once.
        hours: when it holds, as "Mon-Fri 09:00-17:00 Europe/Berlin"; None for at all hours.
    """

    rule_role: str
    server_pattern: str
    tool_pattern: str
    effect: str
    valid_until: datetime | None
    valid: bool
    valid_from: datetime | None = None
    hours: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleChange:
    """What `tool_rag.store_rules` did to one rule.

    Attributes:
        change: "added", "changed" (its end is another one) or "removed".
        role: whose rule it is.
        server_pattern: which servers it fits; "*" is any run of characters.
        tool_pattern: which tools of these it fits.
        effect: "allow" or "deny".
        former_until: end of validity before; None for no end, and of a rule that was added.
        valid_until: end of validity now; None for no end, and of a rule that was removed.
        valid_from: beginning of validity, or None. Another beginning makes another rule.
        hours: when it holds, or None. Other hours make another rule.
    """

    change: str
    role: str
    server_pattern: str
    tool_pattern: str
    effect: str
    former_until: datetime | None
    valid_until: datetime | None
    valid_from: datetime | None = None
    hours: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessExplanation:
    """What `tool_rag.explain_access` says of a role and a tool.

    Attributes:
        permitted: whether the role may see the tool now.
        reason: why, as a clause for people.
        rules: every rule that fits the tool, denies first.
    """

    permitted: bool
    reason: str
    rules: tuple[AccessRule, ...] = field(default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedTool:
    """One row of `tool_rag.list_tools`; fields as in `ToolHit`.

    Attributes:
        enabled: false where the tool or its server is switched off, so that no role sees it.
    """

    server: str
    name: str
    title: str | None
    description: str
    is_action: bool
    tokens: int
    enabled: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDefinition:
    """What `tool_rag.describe_tool` returns: all that the catalogue knows of a tool.

    Attributes:
        output_schema: JSON Schema of the answer, or None.
        annotations: MCP tool annotations, as exported.
        identity_parameters: arguments that say on whose behalf a call is made.
        enabled: false where the tool or its server is switched off.
        updated_at: when the definition changed last.
    """

    server: str
    name: str
    title: str | None
    description: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None
    annotations: dict[str, Any]
    is_action: bool
    identity_parameters: list[str]
    enabled: bool
    tokens: int
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleAccess:
    """One row of `tool_rag.list_tool_access`: whether a role may see a tool now, and why."""

    role: str
    permitted: bool
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCount:
    """What `tool_rag.count_tools` returns.

    Attributes:
        tools: how many tools the roles may see now.
        tokens: their estimated tokens in a model's prompt.
        all_tools: how many tools the catalogue holds; None for a login that may not list it.
        all_tokens: the tokens of all these, or None.
    """

    tools: int
    tokens: int
    all_tools: int | None
    all_tokens: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedRole:
    """One row of `tool_rag.list_roles`.

    Attributes:
        name: what it is called.
        description: for people, or None.
        parents: the roles that it inherits from directly.
        rules: how many rules it has itself.
        tools: how many tools it may see now.
    """

    name: str
    description: str | None
    parents: list[str]
    rules: int
    tools: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedLogin:
    """One row of `tool_rag.list_logins`.

    Attributes:
        login: its name in Postgres.
        access: "reader", "editor", "admin", "owner" or "superuser"; None for nothing.
        is_bound: whether it sees at most what `roles` see together.
        roles: what it is bound to.
        is_trusted: whether `allowed` counts without roles, and roles beside a token.
        note: what is odd about it, for example that no such login exists any more; or None.
    """

    login: str
    access: str | None
    is_bound: bool
    roles: list[str]
    is_trusted: bool
    note: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedSynonym:
    """One row of `tool_rag.list_synonyms`: a synonym of a tool, or of a term in any request.

    Attributes:
        server: of the tool; None for a term's.
        tool: its name; None for a term's.
        term: what a request has to hold for the words to count as asked; None for a tool's.
        words: the words, separated by spaces.
    """

    server: str | None
    tool: str | None
    term: str | None
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedExample:
    """One row of `tool_rag.list_examples`.

    Attributes:
        server: where the tool comes from.
        tool: its name.
        request: a request that it serves.
        origin: who wrote the request: "human", "generated" or "feedback".
    """

    server: str
    tool: str
    request: str
    origin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedDependency:
    """One row of `tool_rag.list_dependencies`.

    Attributes:
        server: where the tool comes from.
        tool: its name.
        needs_server: where the tool comes from that it needs.
        needs_tool: the name of that one.
        reason: what for.
    """

    server: str
    tool: str
    needs_server: str
    needs_tool: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SuggestedDependency:
    """One row of `tool_rag.suggest_dependencies`: a dependency that nobody has accepted yet.

    Attributes:
        server: where the tool comes from.
        tool: its name.
        needs_server: where the tool comes from that it seems to need.
        needs_tool: the name of that one.
        parameter: the required parameter that speaks for it.
        reason: what for, as `add_dependency` takes it.
        confidence: how much speaks for it, 0 to 1; an order of preference, not a probability.
    """

    server: str
    tool: str
    needs_server: str
    needs_tool: str
    parameter: str
    reason: str
    confidence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedEmbeddingModel:
    """One row of `tool_rag.list_embedding_models`.

    Attributes:
        name: what it is called here.
        dimensions: components of its vectors.
        query_prompt: what goes before a request when it is embedded.
        document_prompt: what goes before a tool's text.
        is_active: whether a vector counts as this model's where the caller names none.
        embedded: how many vectors of it are stored.
        missing: how many texts it has still to embed.
    """

    name: str
    dimensions: int
    query_prompt: str
    document_prompt: str
    is_active: bool
    embedded: int
    missing: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TextToEmbed:
    """One row of `tool_rag.texts_to_embed`; all but the content goes back to `store_vectors`.

    Attributes:
        tool_id: whose text it is.
        kind: "definition", "synonym" or "example".
        source_id: which synonym or example; 0 for the definition.
        source_hash: of the text's wording.
        content: the text, with the model's document prompt before it.
    """

    tool_id: int
    kind: str
    source_id: int
    source_hash: bytes
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedChange:
    """One row of `tool_rag.list_changes`.

    Attributes:
        changed_at: when.
        login: the Postgres login.
        acting_role: the Postgres role set by SET ROLE, or None.
        actor: the person as the backend named them in the setting `tool_rag.actor`, or None.
        object: which table.
        label: the row in words, as it was called then.
        action: "insert", "update" or "delete".
        before: the row before, or None for a new one.
        after: the row after, or None for one that went.
        change_id: orders the changes.
    """

    changed_at: datetime
    login: str
    acting_role: str | None
    actor: str | None
    object: str
    label: str
    action: Literal["insert", "update", "delete"]
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    change_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessChange:
    """One row of `tool_rag.list_access_changes`.

    Attributes:
        role: whose access changed.
        server: the tool's server.
        tool: the tool.
        change: "gained" or "lost".
    """

    role: str
    server: str
    tool: str
    change: Literal["gained", "lost"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEvent:
    """One row of `tool_rag.list_audit_events`: a search or a call.

    Attributes:
        happened_at: when.
        kind: "search" or "call".
        login: the Postgres login.
        acting_role: the Postgres role set by SET ROLE, or None.
        actor: the person as the backend named them, or None.
        roles: the roles asked with; None: those of the session.
        conversation: the caller's name for it, or None.
        outcome: of a search "found" or "empty"; of a call what was recorded.
        tools: how many tools the answer held.
        tokens: their estimated tokens.
        milliseconds: how long a search took in the server.
        detail: at the level "full": the query and what was found, or the tool called.
        event_id: orders the events.
    """

    happened_at: datetime
    kind: Literal["search", "call"]
    login: str
    acting_role: str | None
    actor: str | None
    roles: list[str] | None
    conversation: str | None
    outcome: str
    tools: int | None
    tokens: int | None
    milliseconds: float | None
    detail: dict[str, Any] | None
    event_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditSettings:
    """What is recorded of searches and calls, and how long.

    Attributes:
        level: "off", "counts" or "full".
        keep_events: how long `purge_audit` leaves searches and calls.
        keep_changes: how long it leaves changes; None: for ever.
    """

    level: Literal["off", "counts", "full"]
    keep_events: timedelta
    keep_changes: timedelta | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedKey:
    """One row of `tool_rag.list_api_keys`.

    Attributes:
        name: whom or what it is for.
        public_id: the part of the key that is no secret.
        roles: what it asks with.
        identity: values of identity parameters by name.
        state: "good", "expired" or "revoked".
        expires_at: its end, or None.
        created_at: when it was made.
        rotated_at: when it was last replaced, or None.
        last_used_at: when it was last good for a request, right to a minute, or None.
    """

    name: str
    public_id: str
    roles: list[str]
    identity: dict[str, Any]
    state: Literal["good", "expired", "revoked"]
    expires_at: datetime | None
    created_at: datetime
    rotated_at: datetime | None
    last_used_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingTool:
    """One row of `tool_rag.list_pending_tools`: a version of a tool that does not serve.

    Attributes:
        server: where the tool comes from.
        name: the tool's.
        is_new: whether the catalogue has no such tool.
        state: "waiting", "refused" by the policy, or "rejected" by a person.
        reason: the policy that holds it ("review", "withhold", "refuse"), or "flagged": the
            linter's findings do.
        hash: SHA-256 of the version, as hexadecimal digits; what `approve_tools` takes.
        findings: what the linter says of it, each with rule, severity, field, place and excerpt.
        current: the tool as it is, or None where it is new.
        definition: the tool as it would be.
        submitted_at: when an export brought it first.
        submitted_by: the Postgres user that ingested the export.
        decided_at: when it was rejected, or None.
        decided_by: by which Postgres user, or None.
        note: why, or None.
    """

    server: str
    name: str
    is_new: bool
    state: str
    reason: str
    hash: str
    findings: list[dict[str, Any]]
    current: dict[str, Any] | None
    definition: dict[str, Any]
    submitted_at: datetime
    submitted_by: str
    decided_at: datetime | None
    decided_by: str | None
    note: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewedTool:
    """One row of `tool_rag.approve_tools` and `tool_rag.reject_tools`.

    Attributes:
        server: where the tool comes from.
        name: the tool's.
        is_new: whether the catalogue had no such tool.
    """

    server: str
    name: str
    is_new: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedTool:
    """One row of `tool_rag.try_approval`: what a version would do to requests of other tools.

    Attributes:
        server: where the tool comes from.
        name: the tool's.
        examined: how many known requests were tried, the newest ones.
        known: how many there are.
        first_before: for how many of `first` it is the first already.
        first: for how many requests of other tools it would be the first.
        among_before: for how many of `among` it is among the first five already.
        among: for how many requests of other tools it would be among the first five.
        requests: those for which it would come further ahead, the best places first, each with
            request, place, place_before and the tools that serve it.
    """

    server: str
    name: str
    examined: int
    known: int
    first_before: int
    first: int
    among_before: int
    among: int
    requests: list[dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedPolicy:
    """One row of `tool_rag.list_review_policies`.

    Attributes:
        server: whose; None for that of all servers.
        policy: "trust", "review", "withhold" or "refuse".
        lint: "quarantine" or "report".
        is_default: whether the server has none of its own.
        waiting: how many of its versions wait.
        rejected: how many were rejected or refused.
    """

    server: str | None
    policy: str
    lint: str
    is_default: bool
    waiting: int
    rejected: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFinding:
    """One row of `tool_rag.lint_tools` and `tool_rag.lint_catalogue`.

    Attributes:
        server: where the tool comes from, or None where the export names none.
        tool: its name.
        rule: what was found; docs/review.md lists the rules.
        severity: "high", "medium" or "low".
        field: in which part of the definition: `input_schema.properties.path.description`.
        place: at which character of it, from 1.
        excerpt: what stands there, hidden characters as <U+202E>.
    """

    server: str | None
    tool: str
    rule: str
    severity: str
    field: str
    place: int
    excerpt: str
