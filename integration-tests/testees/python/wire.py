"""Shared by the testees in Python: operations of a queue, as in `testees/README.md`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import leaseq
import values
from values import (
    Request,
    completion,
    counts,
    follow_up,
    generation,
    info,
    item,
    key_limits,
    keys,
    light_report,
    listing,
    ms,
    outcome,
    page,
    report,
    revision,
    schedule,
    schedule_info,
    seconds,
    settings,
    settings_change,
    synced,
)

Tell = Callable[[Any], Any]

LOST = {"fails": "LEASE_LOST"}


def each(tell: Tell) -> Tell:
    """Return the answers for many leases; `None` for a lost lease."""
    return lambda answers: [LOST if answer is None else tell(answer) for answer in answers]


def released(answers: list[bool]) -> list[Request | None]:
    return [None if answer else LOST for answer in answers]


def noted(request: Request) -> Request:
    """Return who pauses, and why."""
    return {name: request[name] for name in ("by", "reason") if name in request}


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
    "get_many": lambda answers: [info(answer) for answer in answers],
    "outcome": outcome,
    "outcome_many": lambda answers: [
        {"fails": values.failure(answer)}
        if isinstance(answer, leaseq.LeaseqError)
        else outcome(answer)
        for answer in answers
    ],
    "list": page,
    "configure": settings,
    "get_keys": keys,
    "settings": settings,
    "create_group": values.group_value,
    "group": values.group_info,
    "group_outcome": values.group_outcome,
    "put_schedule": str,
    "sync_schedules": synced,
    "schedules": lambda answers: [schedule_info(answer) for answer in answers],
}


def call(queue: Any, request: Request, held: Callable[[str], Any]) -> tuple[Any, Tell]:
    """Begin an operation of a queue, and return how to convert its answer."""
    op = request["op"]
    if op == "wait_cancelled":
        return held(request["lease"]).cancelled.wait(), lambda answer: answer
    # A step of the runner has the name `cancel`.
    name = {"cancel_item": "cancel"}.get(op, op)
    do, tell = getattr(queue, name), TELLS.get(op, lambda answer: answer)
    duration, delay = seconds(request.get("duration_ms")), seconds(request.get("delay_ms"))
    one = "lease" in request
    leases = held(request["lease"]) if one else [held(name) for name in request.get("leases", [])]
    ids = [bytes.fromhex(digits) for digits in request.get("ids", [])]
    match op:
        case "complete" | "complete_many":
            return do(leases, **completion(request)), tell
        case "extend" | "extend_many":
            return do(leases, duration), tell
        case "set_progress":
            return do(leases, bytes.fromhex(request["progress"])), tell
        case "release" | "release_many":
            return do(leases, delay=delay, reason=request.get("reason", "")), tell
        case "fail" | "fail_many":
            how = {"delay": delay, "dead": bool(request.get("dead")), **values.additions(request)}
            return do(leases, request.get("error", ""), **how), tell
        case "add_item":
            return do(item(request)), tell
        case "add_items":
            return do([item(fields) for fields in request["items"]]), tell
        case "lease" | "lease_many" | "complete_and_lease":
            both = op == "complete_and_lease"
            count = ([leases] if both else []) + ([request["count"]] if op != "lease" else [])
            wait, limit = (seconds(request.get(of)) for of in ("wait_ms", "keep_alive_limit_ms"))
            how = {"keep_alive": bool(request.get("keep_alive")), "keep_alive_limit": limit}
            how |= completion(request) if both else {}
            return do(*count, duration, wait, **how), tell
        case "outcome" | "outcome_many" | "group_outcome":
            of = ids if op == "outcome_many" else bytes.fromhex(request["id"])
            return do(of, seconds(request.get("wait_ms")), expect=bool(request.get("expect"))), tell
        case "get":
            return do(bytes.fromhex(request["id"])), tell
        case "get_many":
            return do(ids, data=request.get("with_data", True)), tell
        case "remove" | "cancel_item":
            return do(bytes.fromhex(request["id"]), **generation(request)), tell
        case "remove_many" | "cancel_many":
            return do(ids, **generation(request)), tell
        case "attach":
            return do(bytes.fromhex(request["id"]), follow_up(request), **generation(request)), tell
        case "attach_many":
            pairs = [(bytes.fromhex(one["id"]), follow_up(one)) for one in request["attachments"]]
            return do(pairs), tell
        case "create_group":
            follow_ups = [follow_up(one) for one in request.get("follow_ups", [])]
            return do(bytes.fromhex(request["id"]), follow_ups), tell
        case "seal_group":
            return do(values.group(request["group"]), request["places"]), tell
        case "cancel_group" | "remove_group":
            return do(values.group(request["group"])), tell
        case "group":
            return do(bytes.fromhex(request["id"])), tell
        case "group_places":
            return do(values.group(request["group"]), request.get("first", 0)), tell
        case "requeue":
            return do(*ids, **generation(request)), tell
        case "bury":
            return do(*ids, error=request.get("error", ""), **generation(request)), tell
        case "revise":
            given = revision(request)
            return do(given.pop("id"), given.pop("data", None), **given), tell
        case "revise_many":
            return do([leaseq.Revision(**revision(one)) for one in request["revisions"]]), tell
        case "list":
            where = request["state"], request.get("cursor"), request.get("limit", 100)
            return do(*where, **listing(request)), tell
        case "configure":
            return do(**settings_change(request)), tell
        case "record_history":
            return do(**request["measured"]), tell
        case "history":
            return do(request["kind"]), tell
        case "events":
            wait = request.get("wait_ms", 0) / 1000
            return do(request.get("after"), limit=request.get("limit", 100), wait=wait), tell
        case "set_key_limits":
            return do(key_limits(request)), tell
        case "get_keys":
            return do([bytes.fromhex(digits) for digits in request["keys"]]), tell
        case "pause":
            return do(*([] if duration is None else [duration]), **noted(request)), tell
        case "purge":
            return do(request["state"]), tell
        case "schedules":
            return do(data=request.get("with_data", True)), tell
        case "put_schedule":
            owned = {name: request[name] for name in ("owner", "revision") if name in request}
            return do(**schedule(request), **owned), tell
        case "sync_schedules":
            all_of = [leaseq.Schedule(**schedule(one)) for one in request["schedules"]]
            return do(request["owner"], request["revision"], all_of), tell
        case "pause_schedule":
            return do(request["name"], **noted(request)), tell
        case "remove_schedule" | "resume_schedule" | "run_now":
            return do(request["name"]), tell
        case _:  # counts of all kinds, settings, resume, drop_queue, cleans, check
            return do(), tell


def call_registry(client: Any, request: dict[str, Any]) -> Any:
    arguments = request["arguments"]
    match operation := request["operation"]:
        case "workers":
            return client.workers(**arguments)
        case "command_worker":
            return client.command_worker(arguments["worker"], arguments["command"])
        case "quiet_worker" | "resume_worker":
            return getattr(client, operation)(arguments["name"])
        case _:
            return getattr(client, operation)(arguments)
