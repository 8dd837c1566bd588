"""The history of a queue."""

from __future__ import annotations

from typing import TypedDict


class HistoryTotals(TypedDict):
    """What had happened in a queue since it was new."""

    added: int
    leased: int
    completed: int
    expired: int
    failed: int
    died: int
    removed: int
    replaced: int
    expired_unleased: int
    cancelled: int


class Measurements(TypedDict):
    """What workers have measured: within 7 percent, `None` if there is nothing."""

    count: int
    p50: int | None
    p90: int | None
    p99: int | None
    values: list[tuple[int, int]]
    """Each value, and how often it was measured."""


class HistoryRow(TypedDict):
    """How a queue was when a minute or an hour began, and what was measured in it."""

    at: str
    """When it was written: RFC 3339."""
    totals: HistoryTotals
    """The difference to the next row is what happened in between."""
    ready: int
    delayed: int
    leased: int
    dead: int
    held: int
    waiting_us: Measurements
    """For how long items were ready before they were leased, in microseconds."""
    run_us: Measurements
    """For how long workers worked on items, in microseconds."""
    lease_use: Measurements
    """How much of their leases items had used when they ended, in thousandths."""
