"""Shows on the standard error how far a job has come."""

from __future__ import annotations

import shutil
import sys
import time

from .._values import ItemInfo, Seconds
from ._retry import seconds

LOOK = 0.5
"""How often the job is looked at, in seconds."""


class ProgressLine:
    """One line, which changes on a terminal; elsewhere a line for each change."""

    def __init__(self, name: str, timeout: Seconds | None) -> None:
        self._name = name
        self._begun = time.monotonic()
        self._timeout = None if timeout is None else seconds(timeout)
        self._shown = ""
        self._is_terminal = sys.stderr.isatty()

    def next_wait(self) -> float:
        """Return how long to wait until the next look; 0: the time is over."""
        if self._timeout is None:
            return LOOK
        return min(max(self._begun + self._timeout - time.monotonic(), 0.0), LOOK)

    def show(self, info: ItemInfo | None) -> None:
        """Show the state of a job, or what it says about its progress."""
        if info is None:
            return
        said = (info.progress or b"").decode("utf-8", "replace") or str(info.state)
        # A job may say anything, and a terminal may obey.
        said = "".join(letter if letter.isprintable() else "?" for letter in said)
        text = f"{self._name}: {said}"
        if self._is_terminal:
            width = shutil.get_terminal_size().columns - 1
            passed = f" ({time.monotonic() - self._begun:.0f} s)"
            sys.stderr.write("\r\x1b[K" + text[: max(width - len(passed), 0)] + passed)
        elif text != self._shown:
            sys.stderr.write(text + "\n")
        self._shown = text
        sys.stderr.flush()

    def close(self) -> None:
        """Leave the line."""
        if self._is_terminal and self._shown:
            sys.stderr.write("\n")
            sys.stderr.flush()
