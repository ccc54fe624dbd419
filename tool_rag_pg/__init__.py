"""The few tools an agent needs, and only those its user may use, from inside Postgres."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .errors import (
        DatabaseError,
        DatabaseNewer,
        DatabaseUnavailable,
        InvalidArgument,
        SchemaNotReady,
        SourceError,
        ToolRagError,
    )
    from .models import (
        AccessExplanation,
        AccessRule,
        ListedRole,
        ListedTool,
        PermittedTool,
        RoleAccess,
        ServerChange,
        ToolCount,
        ToolDefinition,
        ToolHit,
    )
    from .retriever import AsyncToolRetriever, ToolRetriever

__all__ = [
    "AccessExplanation",
    "AccessRule",
    "AsyncToolRetriever",
    "DatabaseError",
    "DatabaseNewer",
    "DatabaseUnavailable",
    "InvalidArgument",
    "ListedRole",
    "ListedTool",
    "PermittedTool",
    "RoleAccess",
    "SchemaNotReady",
    "ServerChange",
    "SourceError",
    "ToolCount",
    "ToolDefinition",
    "ToolHit",
    "ToolRagError",
    "ToolRetriever",
]

_MODULES = ("errors", "models", "retriever")


def __getattr__(name: str) -> Any:
    """Import what is exported when it is first asked for: the command line starts faster so."""
    if name in __all__:
        from importlib import import_module

        for module in map(import_module, (f"{__name__}.{part}" for part in _MODULES)):
            if name in module.__all__:
                value = getattr(module, name)
                globals()[name] = value
                return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
