"""What belongs to the process: its end, its forks, its log."""

from __future__ import annotations

import atexit
import logging
import os
import sys
import threading
import time
from collections.abc import Iterable
from contextlib import suppress

from . import _leaseq
from ._gevent import has_replaced_threads, start_real_thread
from .exceptions import ClosedError, LeaseqError

logger = logging.getLogger("leaseq")

AT_EXIT = 2.0
"""How long the end of the process waits for requests in flight, in seconds."""


class _Log:
    """Passes the core's warnings to `logging`, on a thread of its own."""

    def __init__(self) -> None:
        self.logs = _leaseq.Logs()
        self.thread: threading.Thread | None = None
        if has_replaced_threads():
            start_real_thread(self.run)
        else:
            self.thread = threading.Thread(target=self.run, name="leaseq-log", daemon=True)
            self.thread.start()

    def run(self) -> None:
        while (record := self.logs.next()) is not None:
            level, message = record
            # If a handler or filter of the program raises, the log goes on.
            with suppress(Exception):
                logger.log(level, "%s", message)

    def stop(self) -> None:
        self.logs.stop()
        if self.thread is not None:
            self.thread.join(AT_EXIT)


_log: _Log | None = None


def opened() -> None:
    """Have all clients closed when the process ends."""
    global _log
    if _log is None:
        _log = _Log()
        atexit.register(_at_exit)
        _in_multiprocessing()


def _close_all() -> None:
    until = time.monotonic() + AT_EXIT
    for client in _leaseq.open_clients():
        with suppress(LeaseqError):
            client.give_back_unused()
            client.close(None, max(0.0, until - time.monotonic()))


def _at_exit() -> None:
    # Daemon threads that wait for a lease wait on: no caller is left to report an error to.
    _leaseq.exiting()
    _close_all()
    if _log is not None:
        _log.stop()


def _in_multiprocessing() -> None:
    """Close the clients of processes of `multiprocessing`, which end without `atexit`."""
    if "multiprocessing.util" in sys.modules:
        from multiprocessing.util import Finalize

        Finalize(None, _close_all, exitpriority=0)


_registered_with_multiprocessing = False


def _before_fork() -> None:
    # A child of multiprocessing drops every other registration.
    global _registered_with_multiprocessing
    if (
        _log is None
        or _registered_with_multiprocessing
        or "multiprocessing.util" not in sys.modules
    ):
        return
    from multiprocessing.util import register_after_fork

    register_after_fork(_in_multiprocessing, lambda register: register())
    _registered_with_multiprocessing = True


def _after_fork() -> None:
    global _log
    if _log is not None:
        # The child has no copy of the thread.
        _log = _Log()


os.register_at_fork(before=_before_fork, after_in_child=_after_fork)


class _ClosedQueue:
    """Replaces the native part of a queue that was closed."""

    def __getattr__(self, name: str) -> object:
        # Python itself looks up names with two underscores.
        raise AttributeError(name) if name.startswith("__") else ClosedError("the queue is closed")


CLOSED = _ClosedQueue()


def describe(error: str | BaseException) -> str:
    """Return the text of an error, as it is kept with an item."""
    if isinstance(error, str):
        return error
    try:
        text = str(error)
    except Exception:  # an error that cannot be written is kept as its kind
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def describe_all(errors: str | BaseException | Iterable[str | BaseException]) -> str | list[str]:
    """Return the text of one error for all items, or of one for each."""
    if isinstance(errors, str | BaseException):
        return describe(errors)
    return [describe(error) for error in errors]


def not_given_back(lease: _leaseq.Lease, problem: LeaseqError) -> None:
    """Log that a lease is left to expire: the exception that ended its block or loop is raised."""
    logger.warning("%r could not be given back: %s", lease, problem)
