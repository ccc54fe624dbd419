"""One statement for each SQL function, shared by the blocking and the asynchronous retriever.

A function here takes what its SQL function takes, under the same names, and returns a `Call`: what
to send, and how to read the answer. Its docstring is the one that users see on the retrievers.
"""

from __future__ import annotations

from ._call import Call
from .access import (
    add_role,
    explain_access,
    grant_tools,
    list_roles,
    list_rules,
    list_tool_access,
    permitted_tools,
    remove_role,
    resolve_tool,
    revoke_tools,
    unknown_roles,
)
from .audit import (
    list_access_changes,
    list_audit_events,
    list_changes,
    purge_audit,
    record_call,
    set_audit,
)
from .catalogue import (
    count_tools,
    describe_tool,
    list_tools,
    reindex_tools,
    remove_server,
    set_description,
    upsert_tools,
)
from .conversation import (
    add_dependency,
    forget_conversations,
    list_dependencies,
    record_sent,
    record_use,
    remove_dependency,
    suggest_dependencies,
)
from .keys import (
    add_api_key,
    authenticate_key,
    list_api_keys,
    revoke_api_key,
    rotate_api_key,
)
from .logins import (
    bind_login,
    distrust_login,
    grant_access,
    list_logins,
    revoke_access,
    set_roles_claim,
    trust_login,
    unbind_login,
)
from .models import (
    add_embedding_model,
    drop_embedding_model,
    list_embedding_models,
    store_vectors,
    texts_to_embed,
    use_embedding_model,
)
from .search import embed, explain_missing, search_tools, search_tools_batch, unmatched_words
from .wording import (
    add_example,
    add_synonym,
    list_examples,
    list_synonyms,
    remove_example,
    remove_synonym,
)

__all__ = [
    "Call",
    "add_api_key",
    "add_dependency",
    "add_embedding_model",
    "add_example",
    "add_role",
    "add_synonym",
    "authenticate_key",
    "bind_login",
    "count_tools",
    "describe_tool",
    "distrust_login",
    "drop_embedding_model",
    "embed",
    "explain_access",
    "explain_missing",
    "forget_conversations",
    "grant_access",
    "grant_tools",
    "list_access_changes",
    "list_api_keys",
    "list_audit_events",
    "list_changes",
    "list_dependencies",
    "list_embedding_models",
    "list_examples",
    "list_logins",
    "list_roles",
    "list_rules",
    "list_synonyms",
    "list_tool_access",
    "list_tools",
    "permitted_tools",
    "purge_audit",
    "record_call",
    "record_sent",
    "record_use",
    "reindex_tools",
    "remove_dependency",
    "remove_example",
    "remove_role",
    "remove_server",
    "remove_synonym",
    "resolve_tool",
    "revoke_access",
    "revoke_api_key",
    "revoke_tools",
    "rotate_api_key",
    "search_tools",
    "search_tools_batch",
    "set_audit",
    "set_description",
    "set_roles_claim",
    "store_vectors",
    "suggest_dependencies",
    "texts_to_embed",
    "trust_login",
    "unbind_login",
    "unknown_roles",
    "unmatched_words",
    "upsert_tools",
    "use_embedding_model",
]
