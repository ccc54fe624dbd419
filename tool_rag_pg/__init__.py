"""The few tools an agent needs, and only those its user may use, from inside Postgres."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .curator import (
        Curator,
        get_curator,
        load_tool_context,
    )
    from .errors import (
        DatabaseError,
        DatabaseNewer,
        DatabaseUnavailable,
        EmbeddingError,
        InvalidArgument,
        SchemaNotReady,
        SourceError,
        ToolRagError,
    )
    from .formats import (
        Rendered,
        provider_names,
        to_anthropic,
        to_anthropic_tool_references,
        to_gemini,
        to_mcp,
        to_openai_chat,
        to_openai_responses,
        to_openai_tool_search_output,
    )
    from .guards import (
        InvalidCall,
        MissingIdentity,
        PreparedCall,
        find_unknown_tool_names,
        hide_identity,
        prepare_call,
    )
    from .models import (
        AccessExplanation,
        AccessRule,
        ListedDependency,
        ListedEmbeddingModel,
        ListedExample,
        ListedLogin,
        ListedPolicy,
        ListedRole,
        ListedSynonym,
        ListedTool,
        MissingTool,
        PendingTool,
        PermittedServer,
        PermittedTool,
        ResolvedTool,
        ReviewedTool,
        RoleAccess,
        RuleChange,
        ServerChange,
        SuggestedDependency,
        TextToEmbed,
        ToolCount,
        ToolDefinition,
        ToolFinding,
        ToolHit,
        TriedTool,
    )
    from .retriever import AsyncToolRetriever, ToolRetriever

__all__ = [
    "AccessExplanation",
    "AccessRule",
    "AsyncToolRetriever",
    "Curator",
    "DatabaseError",
    "DatabaseNewer",
    "DatabaseUnavailable",
    "EmbeddingError",
    "InvalidArgument",
    "InvalidCall",
    "ListedDependency",
    "ListedEmbeddingModel",
    "ListedExample",
    "ListedLogin",
    "ListedPolicy",
    "ListedRole",
    "ListedSynonym",
    "ListedTool",
    "MissingIdentity",
    "MissingTool",
    "PendingTool",
    "PermittedServer",
    "PermittedTool",
    "PreparedCall",
    "Rendered",
    "ResolvedTool",
    "ReviewedTool",
    "RoleAccess",
    "RuleChange",
    "SchemaNotReady",
    "ServerChange",
    "SourceError",
    "SuggestedDependency",
    "TextToEmbed",
    "ToolCount",
    "ToolDefinition",
    "ToolFinding",
    "ToolHit",
    "ToolRagError",
    "ToolRetriever",
    "TriedTool",
    "find_unknown_tool_names",
    "get_curator",
    "hide_identity",
    "load_tool_context",
    "prepare_call",
    "provider_names",
    "to_anthropic",
    "to_anthropic_tool_references",
    "to_gemini",
    "to_mcp",
    "to_openai_chat",
    "to_openai_responses",
    "to_openai_tool_search_output",
]

# Which module has which name, so that asking for one imports no other.
_MODULES = {
    "curator": ("Curator", "get_curator", "load_tool_context"),
    "formats": (
        "Rendered",
        "provider_names",
        "to_anthropic",
        "to_anthropic_tool_references",
        "to_gemini",
        "to_mcp",
        "to_openai_chat",
        "to_openai_responses",
        "to_openai_tool_search_output",
    ),
    "guards": (
        "InvalidCall",
        "MissingIdentity",
        "PreparedCall",
        "find_unknown_tool_names",
        "hide_identity",
        "prepare_call",
    ),
    "retriever": ("AsyncToolRetriever", "ToolRetriever"),
}


def __getattr__(name: str) -> Any:
    """Import what is exported when it is first asked for: the command line starts faster so."""
    if name in __all__:
        from importlib import import_module

        known = [module for module, names in _MODULES.items() if name in names]
        for part in known or ["errors", "models"]:
            module = import_module(f"{__name__}.{part}")
            if name in module.__all__:
                value = getattr(module, name)
                globals()[name] = value
                return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
