"""Calling the SQL functions from Python, blocking or asynchronously.

Both retrievers have one method per SQL function, with the names of its arguments. They take a
psycopg connection, a pool of psycopg_pool, or a connection string:

- a connection stays its owner's: it is neither committed nor closed, so that own rows and ours
  commit together;
- a pool lends a connection for each call, and commits after it, as pools do;
- with a connection string the retriever opens a connection of its own at the first call, in
  autocommit, opens it anew after a loss, and closes it in `close()` or at the end of `with`.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    contextmanager,
    nullcontext,
)
from functools import wraps
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, Self, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import dict_row
from psycopg.types.datetime import TimestamptzLoader

from . import _database, _statements
from ._statements import Call
from ._statements._check import checked
from ._statements.search import query_to_embed, with_embedding
from .errors import DatabaseUnavailable, InvalidArgument
from .models import ToolHit

if TYPE_CHECKING:
    from .embedding import Embedder

__all__ = ["AsyncToolRetriever", "ToolRetriever", "run"]

P = ParamSpec("P")
T = TypeVar("T")


class _Pool(Protocol):
    def connection(self) -> AbstractContextManager[psycopg.Connection[Any]]: ...


class _AsyncPool(Protocol):
    def connection(self) -> AbstractAsyncContextManager[psycopg.AsyncConnection[Any]]: ...


class _OpenEndLoader(TimestamptzLoader):
    """Reads the end of a rule: "infinity" is None, since Python's time ends with the year 9999."""

    def load(self, data: Any) -> Any:
        return None if bytes(data) == b"infinity" else super().load(data)


def _method(build: Callable[P, Call[T]]) -> Callable[Concatenate[ToolRetriever, P], T]:
    """Return the method that runs the statement which `build` makes of its arguments."""
    make = checked(build)

    def method(self: ToolRetriever, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._run(make(*args, **kwargs))

    return _present(method, build)


def _async_method(
    build: Callable[P, Call[T]],
) -> Callable[Concatenate[AsyncToolRetriever, P], Coroutine[Any, Any, T]]:
    """Return the coroutine method that runs the statement which `build` makes."""
    make = checked(build)

    async def method(self: AsyncToolRetriever, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._run(make(*args, **kwargs))

    return _present(method, build)


def _search(
    build: Callable[P, Call[list[ToolHit]]],
) -> Callable[Concatenate[ToolRetriever, P], list[ToolHit]]:
    """Return the method that searches, with the vector that the retriever's embedder computes."""
    make = checked(build)

    def method(self: ToolRetriever, /, *args: P.args, **kwargs: P.kwargs) -> list[ToolHit]:
        call = make(*args, **kwargs)
        if self._embedder is not None and (query := query_to_embed(call)) is not None:
            call = with_embedding(call, self._embedder.name, self._embedder.embed_query(query))
        return self._run(call)

    return _present(method, build)


def _async_search(
    build: Callable[P, Call[list[ToolHit]]],
) -> Callable[Concatenate[AsyncToolRetriever, P], Coroutine[Any, Any, list[ToolHit]]]:
    """Return the coroutine method that searches, its request embedded in a thread."""
    make = checked(build)

    async def method(
        self: AsyncToolRetriever, /, *args: P.args, **kwargs: P.kwargs
    ) -> list[ToolHit]:
        call = make(*args, **kwargs)
        if self._embedder is not None and (query := query_to_embed(call)) is not None:
            embedding = await asyncio.to_thread(self._embedder.embed_query, query)
            call = with_embedding(call, self._embedder.name, embedding)
        return await self._run(call)

    return _present(method, build)


M = TypeVar("M", bound=Callable[..., Any])


def _present(method: M, build: Callable[..., Any]) -> M:
    """Give a method the name, documentation and signature of its builder."""
    wraps(build)(method)
    signature = inspect.signature(build)
    self_ = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    method.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[self_, *signature.parameters.values()],
        return_annotation=str(signature.return_annotation).removeprefix("Call[").removesuffix("]"),
    )
    return method


@contextmanager
def _translated() -> Iterator[None]:
    try:
        with _database.translated():
            yield
    except UnicodeEncodeError as error:
        raise InvalidArgument("an argument holds half of a surrogate pair") from error


def run(connection: psycopg.Connection[Any], call: Call[T]) -> T:
    """Run a statement and read its answer, whatever row factory the connection has.

    Raises:
        psycopg.Error: as the driver reports it.
    """
    with connection.cursor(row_factory=dict_row) as cursor:
        cursor.adapters.register_loader("timestamptz", _OpenEndLoader)
        cursor.execute(call.statement, call.parameters)
        return call.read(cursor.fetchall())


async def _connect(conninfo: str) -> psycopg.AsyncConnection[Any]:
    try:
        conninfo_to_dict(conninfo)
    except psycopg.ProgrammingError:
        # Whose text quotes the string, password and all.
        raise DatabaseUnavailable(
            "the connection string can't be read",
            hint="write it as postgresql://USER@HOST:PORT/DATABASE",
        ) from None
    return await psycopg.AsyncConnection.connect(conninfo, autocommit=True)


class ToolRetriever:
    """Searches and administers tools; blocking.

    Args:
        database: a psycopg connection, a `psycopg_pool.ConnectionPool`, or a connection string.
        embedder: computes the vector of each request of `search_tools`, so that its model ranks
            beside the rest; its name is that of a model which has embedded the catalogue
            (`tool_rag_pg.embedding.embed_catalogue`).

    The constructor neither connects nor creates anything. A retriever may be shared by threads as
    far as what it was given may be.
    """

    def __init__(
        self,
        database: psycopg.Connection[Any] | _Pool | str,
        *,
        embedder: Embedder | None = None,
    ) -> None:
        if isinstance(database, psycopg.AsyncConnection):
            raise InvalidArgument(
                "an asynchronous connection was given", hint="use AsyncToolRetriever"
            )
        self._database = database
        self._embedder = embedder
        self._own: psycopg.Connection[Any] | None = None
        self._closed = False
        self._lock = threading.Lock()

    search_tools = _search(_statements.search_tools)
    search_tools_batch = _method(_statements.search_tools_batch)
    unmatched_words = _method(_statements.unmatched_words)
    permitted_servers = _method(_statements.permitted_servers)
    permitted_tools = _method(_statements.permitted_tools)
    resolve_tool = _method(_statements.resolve_tool)
    upsert_tools = _method(_statements.upsert_tools)
    set_description = _method(_statements.set_description)
    remove_server = _method(_statements.remove_server)
    set_review_policy = _method(_statements.set_review_policy)
    list_review_policies = _method(_statements.list_review_policies)
    list_pending_tools = _method(_statements.list_pending_tools)
    try_approval = _method(_statements.try_approval)
    approve_tools = _method(_statements.approve_tools)
    reject_tools = _method(_statements.reject_tools)
    lint_tools = _method(_statements.lint_tools)
    lint_catalogue = _method(_statements.lint_catalogue)
    add_role = _method(_statements.add_role)
    remove_role = _method(_statements.remove_role)
    grant_tools = _method(_statements.grant_tools)
    revoke_tools = _method(_statements.revoke_tools)
    store_rules = _method(_statements.store_rules)
    explain_access = _method(_statements.explain_access)
    explain_missing = _method(_statements.explain_missing)
    list_tools = _method(_statements.list_tools)
    describe_tool = _method(_statements.describe_tool)
    list_tool_access = _method(_statements.list_tool_access)
    count_tools = _method(_statements.count_tools)
    unknown_roles = _method(_statements.unknown_roles)
    list_roles = _method(_statements.list_roles)
    list_rules = _method(_statements.list_rules)
    grant_access = _method(_statements.grant_access)
    revoke_access = _method(_statements.revoke_access)
    bind_login = _method(_statements.bind_login)
    unbind_login = _method(_statements.unbind_login)
    trust_login = _method(_statements.trust_login)
    distrust_login = _method(_statements.distrust_login)
    set_roles_claim = _method(_statements.set_roles_claim)
    set_strict_statistics = _method(_statements.set_strict_statistics)
    list_logins = _method(_statements.list_logins)
    add_synonym = _method(_statements.add_synonym)
    remove_synonym = _method(_statements.remove_synonym)
    list_synonyms = _method(_statements.list_synonyms)
    add_example = _method(_statements.add_example)
    remove_example = _method(_statements.remove_example)
    list_examples = _method(_statements.list_examples)
    add_dependency = _method(_statements.add_dependency)
    remove_dependency = _method(_statements.remove_dependency)
    list_dependencies = _method(_statements.list_dependencies)
    suggest_dependencies = _method(_statements.suggest_dependencies)
    record_use = _method(_statements.record_use)
    record_message = _method(_statements.record_message)
    record_sent = _method(_statements.record_sent)
    forget_conversations = _method(_statements.forget_conversations)
    embed = _method(_statements.embed)
    add_embedding_model = _method(_statements.add_embedding_model)
    use_embedding_model = _method(_statements.use_embedding_model)
    drop_embedding_model = _method(_statements.drop_embedding_model)
    list_embedding_models = _method(_statements.list_embedding_models)
    texts_to_embed = _method(_statements.texts_to_embed)
    store_vectors = _method(_statements.store_vectors)
    reindex_tools = _method(_statements.reindex_tools)
    add_api_key = _method(_statements.add_api_key)
    rotate_api_key = _method(_statements.rotate_api_key)
    revoke_api_key = _method(_statements.revoke_api_key)
    list_api_keys = _method(_statements.list_api_keys)
    authenticate_key = _method(_statements.authenticate_key)
    list_changes = _method(_statements.list_changes)
    list_access_changes = _method(_statements.list_access_changes)
    list_audit_events = _method(_statements.list_audit_events)
    set_audit = _method(_statements.set_audit)
    record_call = _method(_statements.record_call)
    purge_audit = _method(_statements.purge_audit)

    def close(self) -> None:
        """Close the retriever's own connection; one that was given stays open."""
        with self._lock:
            self._closed = True
            if self._own is not None:
                self._own.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _run(self, call: Call[T]) -> T:
        with _translated(), self._connection() as connection:
            return run(connection, call)

    def _connection(self) -> AbstractContextManager[psycopg.Connection[Any]]:
        if self._closed:
            raise InvalidArgument("the retriever is closed", hint="make a new one")
        if isinstance(self._database, psycopg.Connection):
            return nullcontext(self._database)
        if not isinstance(self._database, str):
            return self._database.connection()
        with self._lock:
            if self._own is None or self._own.closed:
                self._own = _database.connect(self._database, autocommit=True)
            return nullcontext(self._own)


class AsyncToolRetriever:
    """Searches and administers tools; every method is a coroutine.

    Args:
        database: a psycopg `AsyncConnection`, a `psycopg_pool.AsyncConnectionPool`, or a
            connection string.
        embedder: as in `ToolRetriever`; it is run in a thread.

    The constructor neither connects nor creates anything.
    """

    def __init__(
        self,
        database: psycopg.AsyncConnection[Any] | _AsyncPool | str,
        *,
        embedder: Embedder | None = None,
    ) -> None:
        if isinstance(database, psycopg.Connection):
            raise InvalidArgument("a blocking connection was given", hint="use ToolRetriever")
        self._database = database
        self._embedder = embedder
        self._own: psycopg.AsyncConnection[Any] | None = None
        self._closed = False
        self._lock = asyncio.Lock()

    search_tools = _async_search(_statements.search_tools)
    search_tools_batch = _async_method(_statements.search_tools_batch)
    unmatched_words = _async_method(_statements.unmatched_words)
    permitted_servers = _async_method(_statements.permitted_servers)
    permitted_tools = _async_method(_statements.permitted_tools)
    resolve_tool = _async_method(_statements.resolve_tool)
    upsert_tools = _async_method(_statements.upsert_tools)
    set_description = _async_method(_statements.set_description)
    remove_server = _async_method(_statements.remove_server)
    set_review_policy = _async_method(_statements.set_review_policy)
    list_review_policies = _async_method(_statements.list_review_policies)
    list_pending_tools = _async_method(_statements.list_pending_tools)
    try_approval = _async_method(_statements.try_approval)
    approve_tools = _async_method(_statements.approve_tools)
    reject_tools = _async_method(_statements.reject_tools)
    lint_tools = _async_method(_statements.lint_tools)
    lint_catalogue = _async_method(_statements.lint_catalogue)
    add_role = _async_method(_statements.add_role)
    remove_role = _async_method(_statements.remove_role)
    grant_tools = _async_method(_statements.grant_tools)
    revoke_tools = _async_method(_statements.revoke_tools)
    store_rules = _async_method(_statements.store_rules)
    explain_access = _async_method(_statements.explain_access)
    explain_missing = _async_method(_statements.explain_missing)
    list_tools = _async_method(_statements.list_tools)
    describe_tool = _async_method(_statements.describe_tool)
    list_tool_access = _async_method(_statements.list_tool_access)
    count_tools = _async_method(_statements.count_tools)
    unknown_roles = _async_method(_statements.unknown_roles)
    list_roles = _async_method(_statements.list_roles)
    list_rules = _async_method(_statements.list_rules)
    grant_access = _async_method(_statements.grant_access)
    revoke_access = _async_method(_statements.revoke_access)
    bind_login = _async_method(_statements.bind_login)
    unbind_login = _async_method(_statements.unbind_login)
    trust_login = _async_method(_statements.trust_login)
    distrust_login = _async_method(_statements.distrust_login)
    set_roles_claim = _async_method(_statements.set_roles_claim)
    set_strict_statistics = _async_method(_statements.set_strict_statistics)
    list_logins = _async_method(_statements.list_logins)
    add_synonym = _async_method(_statements.add_synonym)
    remove_synonym = _async_method(_statements.remove_synonym)
    list_synonyms = _async_method(_statements.list_synonyms)
    add_example = _async_method(_statements.add_example)
    remove_example = _async_method(_statements.remove_example)
    list_examples = _async_method(_statements.list_examples)
    add_dependency = _async_method(_statements.add_dependency)
    remove_dependency = _async_method(_statements.remove_dependency)
    list_dependencies = _async_method(_statements.list_dependencies)
    suggest_dependencies = _async_method(_statements.suggest_dependencies)
    record_use = _async_method(_statements.record_use)
    record_message = _async_method(_statements.record_message)
    record_sent = _async_method(_statements.record_sent)
    forget_conversations = _async_method(_statements.forget_conversations)
    embed = _async_method(_statements.embed)
    add_embedding_model = _async_method(_statements.add_embedding_model)
    use_embedding_model = _async_method(_statements.use_embedding_model)
    drop_embedding_model = _async_method(_statements.drop_embedding_model)
    list_embedding_models = _async_method(_statements.list_embedding_models)
    texts_to_embed = _async_method(_statements.texts_to_embed)
    store_vectors = _async_method(_statements.store_vectors)
    reindex_tools = _async_method(_statements.reindex_tools)
    add_api_key = _async_method(_statements.add_api_key)
    rotate_api_key = _async_method(_statements.rotate_api_key)
    revoke_api_key = _async_method(_statements.revoke_api_key)
    list_api_keys = _async_method(_statements.list_api_keys)
    authenticate_key = _async_method(_statements.authenticate_key)
    list_changes = _async_method(_statements.list_changes)
    list_access_changes = _async_method(_statements.list_access_changes)
    list_audit_events = _async_method(_statements.list_audit_events)
    set_audit = _async_method(_statements.set_audit)
    record_call = _async_method(_statements.record_call)
    purge_audit = _async_method(_statements.purge_audit)

    async def close(self) -> None:
        """Close the retriever's own connection; one that was given stays open."""
        async with self._lock:
            self._closed = True
            if self._own is not None:
                await self._own.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def _run(self, call: Call[T]) -> T:
        with _translated():
            async with (
                await self._connection() as connection,
                connection.cursor(row_factory=dict_row) as cursor,
            ):
                cursor.adapters.register_loader("timestamptz", _OpenEndLoader)
                await cursor.execute(call.statement, call.parameters)
                return call.read(await cursor.fetchall())

    async def _connection(self) -> AbstractAsyncContextManager[psycopg.AsyncConnection[Any]]:
        if self._closed:
            raise InvalidArgument("the retriever is closed", hint="make a new one")
        if isinstance(self._database, psycopg.AsyncConnection):
            return nullcontext(self._database)
        if not isinstance(self._database, str):
            return self._database.connection()
        async with self._lock:
            if self._own is None or self._own.closed:
                self._own = await _connect(self._database)
            return nullcontext(self._own)
