"""Signals for child processes of a worker, which ends them itself.

A supervisor may send SIGTERM to all processes of a service, while the worker lets handlers go on
for its grace period.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

SIGNALS = (signal.SIGTERM, signal.SIGINT)

_is_kept = False
_before: dict[signal.Signals, Any] = {}
_masks = threading.local()


def ignore_signals() -> None:
    """Do not end by these signals. What handlers fork or start does, as ever."""
    for number in SIGNALS:
        # Not SIG_IGN: that would hold for programs that are started, too.
        _before[number] = signal.signal(number, _do_nothing)
    # A forked process may get one before it has its own ways, which would be lost.
    os.register_at_fork(before=_block, after_in_parent=_unblock, after_in_child=_end_as_ever)


@contextmanager
def keep_ignoring() -> Iterator[None]:
    """Let a process that is forked here be as this one."""
    global _is_kept
    _is_kept = True
    try:
        yield
    finally:
        _is_kept = False


def _do_nothing(_number: int, _frame: object) -> None:
    pass


def _block() -> None:
    _masks.mask = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)


def _unblock() -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, _masks.mask)


def _end_as_ever() -> None:
    if not _is_kept:
        for number in SIGNALS:
            # Not one that a handler has set.
            if signal.getsignal(number) is _do_nothing:
                signal.signal(number, _before[number])
    _unblock()
