"""Shared by the testees in Python: values and operations, as in `testees/README.md`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import leaseq

Request = dict[str, Any]
Tell = Callable[[Any], Any]


def seconds(ms: float | None) -> float | None:
    return None if ms is None else ms / 1000


def ms(value: datetime | float | None) -> int | None:
    if isinstance(value, datetime):
        value = value.timestamp()
    return None if value is None else round(value * 1000)


def item(fields: Request) -> leaseq.Item:
    return leaseq.Item(
        bytes.fromhex(fields.get("data") or ""),
        id=bytes.fromhex(fields["id"]) if "id" in fields else None,
        priority=fields.get("priority"),
        delay=seconds(fields.get("delay_ms")),
        max_attempts=fields.get("max_attempts"),
    )


def failure(error: leaseq.LeaseqError) -> Request:
    kind = "".join("_" + c if c.isupper() else c for c in type(error).__name__[: -len("Error")])
    unknown = getattr(error, "outcome_unknown", False)
    return {"kind": kind.lstrip("_").upper(), "message": str(error), "unknown": unknown}


def lease(held: Any) -> Request:
    names = ("queue", "attempt", "failures", "expiries", "max_attempts", "priority", "last_error")
    return {name: getattr(held, name) for name in (*names, "generation", "lost", "completed")} | {
        "id": held.id_bytes.hex(),
        "data": held.data.hex(),
        "deadline_ms": ms(held.deadline),
    }


def info(found: leaseq.ItemInfo | None) -> Request | None:
    if found is None:
        return None
    names = ("priority", "max_attempts", "failures", "expiries", "last_error")
    return {name: getattr(found, name) for name in names} | {
        "id": found.id_bytes.hex(),
        "data": found.data.hex(),
        "state": found.state.value,
        "added_at_ms": ms(found.added_at),
        "at_ms": ms(found.at),
    }


def counts(counted: leaseq.Counts) -> Request:
    totals = ("added", "leased", "completed", "expired", "failed", "died", "removed")
    names = ("ready", "ready_by_priority", "delayed", "leased", "dead", "paused")
    return {name: getattr(counted, name) for name in names} | {
        "oldest_ready_ms": ms(counted.oldest_ready),
        "totals": {name: getattr(counted.totals, name) for name in totals},
    }


def light_report(report: leaseq.LightReport) -> Request:
    fields = {name: getattr(report, name) for name in ("promoted", "expired", "died")}
    return fields | {"next_in_ms": ms(report.next_in)}


def report(found: leaseq.DeepReport) -> Request:
    fields = {name: getattr(found, name) for name in ("items", "found", "mended")}
    return fields | {"sound": found.is_sound}


def page(shown: leaseq.Page) -> Request:
    return {"items": [info(found) for found in shown.items], "cursor": shown.cursor}


LOST = {"fails": "LEASE_LOST"}


def each(tell: Tell) -> Tell:
    """Return the answers for many leases; `None` for a lost lease."""
    return lambda answers: [LOST if answer is None else tell(answer) for answer in answers]


def released(answers: list[bool]) -> list[Request | None]:
    return [None if answer else LOST for answer in answers]


TELLS: dict[str, Tell] = {
    "extend": ms,
    "extend_many": each(ms),
    "release_many": released,
    "fail": str,
    "fail_many": each(str),
    "light_clean": light_report,
    "deep_clean": report,
    "check": report,
    "counts": counts,
    "get": info,
    "list": page,
}


def call(queue: Any, request: Request, held: Callable[[str], Any]) -> tuple[Any, Tell]:
    """Begin an operation of a queue, and return how to convert its answer."""
    op = request["op"]
    do, tell = getattr(queue, op), TELLS.get(op, lambda answer: answer)
    duration, delay = seconds(request.get("duration_ms")), seconds(request.get("delay_ms"))
    one = "lease" in request
    leases = held(request["lease"]) if one else [held(name) for name in request.get("leases", [])]
    ids = [bytes.fromhex(digits) for digits in request.get("ids", [])]
    match op:
        case "complete" | "complete_many":
            return do(leases, strict=bool(request.get("strict"))), tell
        case "extend" | "extend_many":
            return do(leases, duration), tell
        case "release" | "release_many":
            return do(leases, delay=delay), tell
        case "fail" | "fail_many":
            return do(leases, request.get("error", ""), delay=delay), tell
        case "add_item":
            return do(item(request)), tell
        case "add_items":
            return do([item(fields) for fields in request["items"]]), tell
        case "lease" | "lease_many" | "complete_and_lease":
            both = op == "complete_and_lease"
            count = ([leases] if both else []) + ([request["count"]] if op != "lease" else [])
            wait, limit = (seconds(request.get(of)) for of in ("wait_ms", "keep_alive_limit_ms"))
            how = {"keep_alive": bool(request.get("keep_alive")), "keep_alive_limit": limit}
            how |= {"strict": bool(request.get("strict"))} if both else {}
            return do(*count, duration, wait, **how), tell
        case "get" | "remove":
            return do(bytes.fromhex(request["id"])), tell
        case "remove_many" | "requeue":
            return (do(*ids) if op == "requeue" else do(ids)), tell
        case "list":
            return do(request["state"], request.get("cursor"), request.get("limit", 100)), tell
        case "purge":
            return do(request["state"]), tell
        case _:  # counts of all kinds, pause, resume, drop_queue, cleans, check
            return do(), tell
