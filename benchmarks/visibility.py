"""Access edited while many clients search: no answer may be of before a commit it came after.

    python -m benchmarks.visibility --clients 32 --edits 300

Each edit takes a tool from a role or gives it back: by a rule, a deny, a rule's end, inheritance,
or by switching the tool. The time just before and just after its commit is noted, and so is when
each search was sent and answered. An answer is stale if no state of the rules between the last
commit that was over when the search was sent, and its answer, allows it. Ends with status 1 when
there is one.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import threading
import time
from bisect import bisect_right
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import psycopg

from benchmarks.harness import machine, percentiles, print_report, temporary_database
from tool_rag_pg import _database, embedded
from tool_rag_pg._load_folder import load_folder
from tool_rag_pg.demo import DEMO_FOLDER, read_folder
from tool_rag_pg.retriever import ToolRetriever

SERVER, TOOL, ROLE = "payments", "refund_payment", "watched"
QUERY = "refund_payment: give a customer their money back"

# Pairs of edits: the first takes the tool from the role, the second gives it back.
EDITS = (
    (
        f"select tool_rag.revoke_tools('{ROLE}', '{SERVER}', '*')",
        f"select tool_rag.grant_tools('{ROLE}', '{SERVER}', '*')",
    ),
    (
        f"select tool_rag.grant_tools('{ROLE}', '{SERVER}', '{TOOL}', 'deny')",
        f"select tool_rag.revoke_tools('{ROLE}', '{SERVER}', '{TOOL}', 'deny')",
    ),
    (
        "update tool_rag.grant_rule set valid_until = now() where role_id ="
        f" (select role_id from tool_rag.role where name = '{ROLE}')",
        f"select tool_rag.grant_tools('{ROLE}', '{SERVER}', '*')",
    ),
    (
        "insert into tool_rag.role_parent select c.role_id, p.role_id from tool_rag.role c,"
        f" tool_rag.role p where c.name = '{ROLE}' and p.name = 'no_refunds'",
        "delete from tool_rag.role_parent where role_id ="
        f" (select role_id from tool_rag.role where name = '{ROLE}')",
    ),
    (
        f"update tool_rag.tool set enabled = false where name = '{TOOL}'",
        f"update tool_rag.tool set enabled = true where name = '{TOOL}'",
    ),
)


@dataclass(frozen=True, slots=True)
class Commit:
    """An edit: when its commit was sent and when it was over, and whether the tool is permitted."""

    sent: float
    over: float
    permitted: bool


@dataclass(frozen=True, slots=True)
class Reply:
    """A search: when it was sent and answered, and whether the tool was in the answer."""

    sent: float
    answered: float
    found: bool


def judge(commits: list[Commit], replies: list[Reply]) -> dict[str, int]:
    """Count answers, those between two commits (one right answer), and stale ones."""
    overs = [commit.over for commit in commits]
    sents = [commit.sent for commit in commits]
    certain = stale = 0
    for reply in replies:
        # The last commit that was over before the search was sent, and those since, as far as
        # they may have been seen by the answer.
        first = bisect_right(overs, reply.sent) - 1
        last = bisect_right(sents, reply.answered)
        allowed = {commit.permitted for commit in commits[max(first, 0) : max(last, first + 1)]}
        certain += len(allowed) == 1
        stale += reply.found not in allowed
    return {"answers": len(replies), "answers_between_commits": certain, "stale_answers": stale}


def measure(clients: int, edits: int) -> dict[str, Any]:
    """Edit and search at once on a database of its own; return the counts."""
    with temporary_database("tool_rag_bench_visibility") as connection:
        url = embedded.default_server().url(connection.info.dbname)
        return {"machine": machine(connection), **watch(url, clients, edits)}


def watch(url: str, clients: int, edits: int) -> dict[str, Any]:
    """Edit and search at once; return the counts.

    Args:
        url: a migrated database without tools, into which the demo company is loaded.
        clients: that search at once, each on a connection of its own.
        edits: committed one after another meanwhile.
    """
    done = threading.Event()
    ready = threading.Barrier(clients + 1)

    def ask() -> list[Reply]:
        replies = []
        with _database.connect(url, autocommit=True) as own:
            ready.wait()
            while not done.is_set():
                sent = time.monotonic()
                rows = own.execute(
                    "select name from tool_rag.search_tools(query => %s, roles => %s, k => 8)",
                    [QUERY, [ROLE]],
                ).fetchall()
                replies.append(Reply(sent, time.monotonic(), (TOOL,) in rows))
        return replies

    with _database.connect(url, autocommit=True) as connection:
        load_folder(connection, read_folder(DEMO_FOLDER))
        retriever = ToolRetriever(connection)
        retriever.add_role(ROLE)
        retriever.add_role("no_refunds")
        retriever.grant_tools("no_refunds", SERVER, TOOL, effect="deny")
        retriever.grant_tools(ROLE, SERVER, "*")
        now = time.monotonic()
        commits = [Commit(now, now, True)]
        with ThreadPoolExecutor(clients) as pool:
            searches = [pool.submit(ask) for _ in range(clients)]
            try:
                ready.wait()
                for pair, _ in zip(itertools.cycle(EDITS), range(edits // 2), strict=False):
                    for statement, permitted in zip(pair, (False, True), strict=True):
                        commits.append(_commit(connection, statement, permitted))
            finally:
                done.set()
            replies = [reply for search in searches for reply in search.result()]
    return {
        "clients": clients,
        "commits": len(commits) - 1,
        **judge(commits, replies),
        "search": percentiles([1000 * (reply.answered - reply.sent) for reply in replies]),
    }


def _commit(connection: psycopg.Connection[Any], statement: str, permitted: bool) -> Commit:
    with connection.transaction():
        connection.execute(statement.encode())
        sent = time.monotonic()
    over = time.monotonic()
    # So that searches come between two commits.
    time.sleep(0.02)
    return Commit(sent, over, permitted)


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description="Searches during edits of access.")
    parser.add_argument("--clients", type=int, default=32, help="that search at once")
    parser.add_argument("--edits", type=int, default=300, help="committed meanwhile")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    report = measure(arguments.clients, arguments.edits)
    print_report(report, as_json=arguments.json)
    if report["stale_answers"] or not report["answers_between_commits"]:
        sys.exit(1)


if __name__ == "__main__":
    main()
