"""What the gateway counts, for Prometheus to scrape."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from .upstream import Upstream

__all__ = ["Metrics"]

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30, 60)


@dataclass(slots=True)
class _Search:
    found: int = 0


class _Call:
    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._start = time.perf_counter()
        self.seconds = 0.0

    def finish(self, server: str, outcome: str) -> None:
        """Count the call; servers that there are not would make a series each, and are one."""
        self.seconds = time.perf_counter() - self._start
        self._metrics.calls.labels(server or "(none)", outcome).inc()
        self._metrics.call_seconds.labels(server or "(none)").observe(self.seconds)


class Metrics:
    """Counters of one gateway, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._searches = Counter(
            "tool_rag_searches",
            "Searches by what came of them: found, empty or failed.",
            ["outcome"],
            registry=self.registry,
        )
        self._search_seconds = Histogram(
            "tool_rag_search_seconds",
            "How long searches took.",
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.calls = Counter(
            "tool_rag_calls",
            "Calls by server and by what came of them.",
            ["server", "outcome"],
            registry=self.registry,
        )
        self.call_seconds = Histogram(
            "tool_rag_call_seconds",
            "How long calls took, confirmation included.",
            ["server"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.under_way = Gauge(
            "tool_rag_calls_under_way", "Calls that have no answer yet.", registry=self.registry
        )
        self._refused = Counter(
            "tool_rag_requests_refused",
            "HTTP requests that were turned away, by reason.",
            ["reason"],
            registry=self.registry,
        )
        self._unrecorded = Counter(
            "tool_rag_calls_unrecorded",
            "Calls that the database did not take into the audit.",
            registry=self.registry,
        )
        self._refreshes = Counter(
            "tool_rag_refreshes",
            "Listings of a server's tools, by what came of them.",
            ["server", "outcome"],
            registry=self.registry,
        )
        self._up = Gauge(
            "tool_rag_upstream_up",
            "1 where a server behind the gateway can be reached, 0 where not.",
            ["server"],
            registry=self.registry,
        )

    @contextmanager
    def searching(self) -> Iterator[_Search]:
        """Time a search; one that raises has failed."""
        search, start = _Search(), time.perf_counter()
        try:
            yield search
        except BaseException:
            self._searches.labels("failed").inc()
            raise
        else:
            self._searches.labels("found" if search.found else "empty").inc()
        finally:
            self._search_seconds.observe(time.perf_counter() - start)

    @contextmanager
    def calling(self) -> Iterator[_Call]:
        """Time a call."""
        with self.under_way.track_inprogress():
            yield _Call(self)

    def refused(self, reason: str) -> None:
        """Count an HTTP request that was turned away."""
        self._refused.labels(reason).inc()

    def unrecorded(self) -> None:
        """Count a call that could not be recorded."""
        self._unrecorded.inc()

    def refreshed(self, server: str, outcome: str) -> None:
        """Count a listing of a server's tools."""
        self._refreshes.labels(server, outcome).inc()

    def page(self, upstreams: Iterable[Upstream]) -> bytes:
        """Return all of it in Prometheus' text format."""
        for upstream in upstreams:
            self._up.labels(upstream.name).set(upstream.is_available)
        return generate_latest(self.registry)
