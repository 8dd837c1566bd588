"""How a handler has ended, for the worker."""

from __future__ import annotations

import asyncio
import os
import traceback
from types import TracebackType
from typing import TYPE_CHECKING

from .. import _leaseq
from ._encode import encode
from ._errors import JobCancelledError
from ._retry import Bury, Decision, Discard, RetryAfter, Snooze

if TYPE_CHECKING:
    from ._context import Task

HERE = os.path.dirname(__file__)
MESSAGE = 500
"""The longest message that is kept, in characters. A queue keeps 1,024 bytes of an error."""
ERROR = 1_000
"""The longest message with its traceback."""


def _text(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _message(error: BaseException) -> str:
    try:
        text = str(error)
    except BaseException:  # whatever a program writes there
        return "its message cannot be shown"
    return _text(text if len(text) <= MESSAGE else text[:MESSAGE] + "…")


def _trace(error: BaseException, most: int) -> str:
    """Return the innermost calls, and those of its cause."""
    parts: list[str] = []
    seen: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in seen and len(parts) < 3:
        seen.add(id(one))
        head = "" if one is error else f"caused by {type(one).__name__}: {_message(one)}\n"
        parts.append(head + "".join(traceback.format_tb(_outside(one.__traceback__), limit=-8)))
        one = one.__cause__ or (None if one.__suppress_context__ else one.__context__)
    text = _text("".join(parts)).rstrip()
    return (
        text
        if len(text.encode()) <= most
        else "…" + text.encode()[-most:].decode("utf-8", "ignore")
    )


def _outside(trace: TracebackType | None) -> TracebackType | None:
    """Skip the calls of the worker."""
    while trace is not None and os.path.dirname(trace.tb_frame.f_code.co_filename) == HERE:
        trace = trace.tb_next
    return trace


def _classes(error: BaseException) -> list[str]:
    return [_text(one.__name__) for one in type(error).__mro__ if one is not object]


def report_result(task: Task, result: object) -> None:
    """Report what a handler has returned."""
    if isinstance(result, Decision):
        report_error(task, result)
        return
    data = None
    if result is not None:
        try:
            data = _leaseq.to_json(result, encode)
        except BaseException as error:
            task.failed(["InvalidResult"], f"the result: {_message(error)}", None, "retry", 0.0)
            return
    task.done(data)


def report_error(task: Task, error: BaseException) -> None:
    """Report what a handler has raised."""
    try:
        _report_error(task, error)
    except (MemoryError, RecursionError):
        task.failed([type(error).__name__], "", None, "retry", 0.0)


def _report_error(task: Task, error: BaseException) -> None:
    match error:
        case Snooze():
            task.snooze(error.delay)
        case RetryAfter():
            task.failed(["RetryAfter"], _message(error), None, "retry_after", error.delay)
        case Discard():
            task.failed(["Discard"], _message(error), None, "discard", 0.0)
        case Bury():
            task.failed(["Bury"], _message(error), None, "bury", 0.0)
        case JobCancelledError() | asyncio.CancelledError() if task.cancel_reason is not None:
            task.cancelled()
        case _:
            classes, message = _classes(error), _message(error)
            left = ERROR - len(classes[0].encode()) - len(message.encode())
            task.failed(classes, message, _trace(error, max(left, 200)), "retry", 0.0)
