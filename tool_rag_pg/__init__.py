"""The few tools an agent needs, and only those its user may use, from inside Postgres."""

from __future__ import annotations
