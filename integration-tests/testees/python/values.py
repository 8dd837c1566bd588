"""Shared by the testees in Python: values, as in `testees/README.md`."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import leaseq

Request = dict[str, Any]


def seconds(ms: float | None) -> float | None:
    return None if ms is None else ms / 1000


def ms(value: datetime | float | None) -> int | None:
    if isinstance(value, datetime):
        value = value.timestamp()
    return None if value is None else round(value * 1000)


def outcome(outcome: leaseq.Outcome | None) -> Request | None:
    if outcome is None:
        return None
    result = hexadecimal(outcome.result)
    return {
        "kind": outcome.kind.value,
        "result": result,
        "error": outcome.error,
        "retained": outcome.retained,
    }


def time(ms: int | None) -> datetime | None:
    first = datetime(1970, 1, 1, tzinfo=timezone.utc)
    return None if ms is None else first + timedelta(milliseconds=ms)


def hexadecimal(value: bytes | None) -> str | None:
    return None if value is None else value.hex()


def completion(request: Request) -> Request:
    how = {"strict": bool(request.get("strict")), "retain": seconds(request.get("retain_ms"))}
    if "result" in request:
        how["result"] = bytes.fromhex(request["result"])
    if "results" in request:
        how["results"] = [one if one is None else bytes.fromhex(one) for one in request["results"]]
    return how | additions(request)


def additions(request: Request) -> Request:
    if "add" in request:
        return {"add": [item(one) for one in request["add"]]}
    if "adds" in request:
        return {"adds": [[item(one) for one in items] for items in request["adds"]]}
    return {}


def trigger(of: Any) -> Request | None:
    of = of.trigger
    return of and {"id": of.id_bytes.hex(), "result": hexadecimal(of.result)}


def item(fields: Request) -> leaseq.Item:
    return leaseq.Item(
        bytes.fromhex(fields.get("data") or ""),
        id=bytes.fromhex(fields["id"]) if "id" in fields else None,
        priority=fields.get("priority"),
        delay=seconds(fields.get("delay_ms")),
        due_at=time(fields.get("due_at_ms")),
        max_attempts=fields.get("max_attempts"),
        retain=seconds(fields.get("retain_ms")),
        unique=bytes.fromhex(fields["unique"]) if "unique" in fields else None,
        unique_for=seconds(fields.get("unique_for_ms")),
        replace=bool(fields.get("replace")),
        successor=bool(fields.get("successor")),
        key=bytes.fromhex(fields["key"]) if "key" in fields else None,
        expires_in=seconds(fields.get("expires_in_ms")),
        follow_ups=[follow_up(one) for one in fields.get("follow_ups", [])],
        queue=fields.get("queue"),
        group=group(fields["group"]) if "group" in fields else None,
        place=fields.get("place"),
    )


def group(fields: Request) -> leaseq.Group:
    of_id = bytes.fromhex(fields["id"]).decode("utf-8", "surrogateescape")
    return leaseq.Group(fields["queue"], of_id, fields["generation"])


def group_value(group: leaseq.Group) -> Request:
    return {"queue": group.queue, "id": group.id_bytes.hex(), "generation": group.generation}


def group_info(info: leaseq.GroupInfo | None) -> Request | None:
    if info is None:
        return None
    names = ("places", "ended", "completed", "has_ended")
    return {name: getattr(info, name) for name in names} | {
        "group": group_value(info.group),
        "changed_at_ms": ms(info.changed_at),
    }


def group_outcome(outcome: leaseq.GroupOutcome | None) -> Request | None:
    if outcome is None:
        return None
    counts = {name: getattr(outcome.info, name, None) for name in ("places", "ended", "completed")}
    return {"kind": str(outcome.kind), **counts}


def follow_up(fields: Request) -> leaseq.FollowUp:
    return leaseq.FollowUp(fields["on"], item(fields["item"]), bool(fields.get("with_trigger")))


def generation(fields: Request) -> Request:
    return {name: fields[name] for name in ("if_generation",) if name in fields}


def revision(fields: Request) -> Request:
    """Return the arguments of a revision."""
    changed = {"id": bytes.fromhex(fields["id"]), **generation(fields)}
    if "data" in fields:
        changed["data"] = bytes.fromhex(fields["data"])
    if "delay_ms" in fields:
        changed["delay"] = seconds(fields["delay_ms"])
    if "due_at_ms" in fields:
        changed["due_at"] = time(fields["due_at_ms"])
    kept = ("priority", "max_attempts")
    return changed | {name: fields[name] for name in kept if name in fields}


def listing(fields: Request) -> Request:
    return {
        "reverse": fields.get("reverse", False),
        "since": time(fields.get("since_ms")),
        "until": time(fields.get("until_ms")),
        "data": fields.get("with_data", True),
        "id_prefix": bytes.fromhex(fields.get("id_prefix") or ""),
        "data_contains": bytes.fromhex(fields.get("data_contains") or ""),
        "error_contains": fields.get("error_contains"),
    }


def failure(error: leaseq.LeaseqError) -> Request:
    kind = "".join("_" + c if c.isupper() else c for c in type(error).__name__[: -len("Error")])
    unknown = getattr(error, "outcome_unknown", False)
    return {"kind": kind.lstrip("_").upper(), "message": str(error), "unknown": unknown}


def history(of: Any) -> Request:
    """Return what both a lease and an item tell of the past."""
    endings = [{"kind": ending.kind.value, "at_ms": ms(ending.at)} for ending in of.endings]
    return {"endings": endings, "releases": of.releases and releases(of.releases)}


def releases(releases: leaseq.Releases) -> Request:
    fields = {name: getattr(releases, name) for name in ("reason", "count")}
    return fields | {"first_at_ms": ms(releases.first_at)}


def lease(held: Any) -> Request:
    names = ("queue", "attempt", "failures", "expiries", "max_attempts", "priority", "last_error")
    return {name: getattr(held, name) for name in (*names, "generation", "lost", "completed")} | {
        "id": held.id_bytes.hex(),
        "data": held.data.hex(),
        "key": hexadecimal(held.key_bytes),
        "waited_ms": round(held.waited * 1000),
        "deadline_ms": ms(held.deadline),
        "trigger": trigger(held),
        **history(held),
    }


def info(found: leaseq.ItemInfo | None) -> Request | None:
    if found is None:
        return None
    names = ("priority", "max_attempts", "failures", "expiries", "last_error", "generation")
    return {name: getattr(found, name) for name in (*names, "cancel_requested")} | {
        "id": found.id_bytes.hex(),
        "data": found.data.hex(),
        "state": found.state.value,
        "added_at_ms": ms(found.added_at),
        "at_ms": ms(found.at),
        "ended_at_ms": ms(found.ended_at),
        "result": hexadecimal(found.result),
        "progress": hexadecimal(found.progress),
        "retain_ms": ms(found.retain),
        "unique": hexadecimal(found.unique_bytes),
        "key": hexadecimal(found.key_bytes),
        "expires_at_ms": ms(found.expires_at),
        "followed_by": found.follow_ups,
        **history(found),
    }


def settings_change(request: Request) -> Request:
    times = ("retain_ms", "max_dead_age_ms", "max_retained_age_ms")
    change = {
        name.removesuffix("_ms"): seconds(value) if name in times else value
        for name, value in request.get("change", {}).items()
    }
    for name in ("rate", "key_rate"):
        if rate := change.get(name):
            change[name] = leaseq.Rate(rate["count"], seconds(rate["period_ms"]), rate.get("burst"))
    return change | {name: request[name] for name in ("revision",) if name in request}


def settings(found: leaseq.Settings | None) -> Request | None:
    if found is None:
        return None
    names = (
        "max_attempts",
        "max_dead",
        "max_retained",
        "key_limit",
        "events",
        "revision",
        "paused",
        "paused_by",
        "pause_reason",
    )
    times = ("retain", "max_dead_age", "max_retained_age")
    times += ("paused_until", "paused_at", "rate_limited_until")
    rates = {
        name: rate and {"count": rate.count, "period_ms": ms(rate.period), "burst": rate.burst}
        for name, rate in (("rate", found.rate), ("key_rate", found.key_rate))
    }
    return (
        {name: getattr(found, name) for name in names}
        | {f"{name}_ms": ms(getattr(found, name)) for name in times}
        | rates
    )


def key_limits(request: Request) -> dict[bytes, int | None]:
    return {bytes.fromhex(one["key"]): one["limit"] for one in request["limits"]}


def keys(found: list[leaseq.KeyInfo]) -> list[Request]:
    names = ("limit", "own_limit", "leased")
    return [
        {"key": one.key_bytes.hex()} | {name: getattr(one, name) for name in names} for one in found
    ]


def counts(counted: leaseq.Counts) -> Request:
    totals = ("added", "leased", "completed", "expired", "failed", "died", "removed", "replaced")
    totals = (*totals, "expired_unleased", "cancelled")
    states = ("ready", "delayed", "leased", "dead", "completed", "cancelled", "held")
    names = (*states, "ready_by_priority", "paused", "rate_limited")
    return {name: getattr(counted, name) for name in names} | {
        "oldest_ready_ms": ms(counted.oldest_ready),
        "totals": {name: getattr(counted.totals, name) for name in totals},
    }


def light_report(report: leaseq.LightReport) -> Request:
    fields = {name: getattr(report, name) for name in ("promoted", "expired", "died", "removed")}
    return fields | {"next_in_ms": ms(report.next_in)}


def report(found: leaseq.DeepReport) -> Request:
    fields = {name: getattr(found, name) for name in ("items", "found", "mended")}
    return fields | {"sound": found.is_sound}


def page(shown: leaseq.Page) -> Request:
    items = [info(found) for found in shown.items]
    return {"items": items, "cursor": shown.cursor, "examined": shown.examined}


def schedule(fields: Request) -> Request:
    """Return the arguments of a schedule."""
    same = ("name", "cron", "zone", "missed", "overlap")
    times = ("every", "grace")
    return (
        {"item": item(fields.get("item", {}))}
        | {name: fields[name] for name in same if name in fields}
        | {name: seconds(fields[f"{name}_ms"]) for name in times if f"{name}_ms" in fields}
    )


def schedule_info(found: leaseq.ScheduleInfo) -> Request:
    same = ("name", "cron", "zone", "owner", "revision", "missed", "overlap", "paused", "last_id")
    same += ("priority", "max_attempts", "replace", "successor", "paused_by", "pause_reason")
    times = ("paused_at", "every", "grace", "next", "delay", "retain", "unique_for", "expires_in")
    return (
        {name: getattr(found, name) for name in same}
        | {f"{name}_ms": ms(getattr(found, name)) for name in times}
        | {"data": found.data.hex()}
        | {"unique": hexadecimal(found.unique_bytes), "key": hexadecimal(found.key_bytes)}
    )


def synced(done: leaseq.SyncedSchedules) -> Request:
    names = ("added", "updated", "removed", "unchanged", "outdated")
    return {name: getattr(done, name) for name in names}
