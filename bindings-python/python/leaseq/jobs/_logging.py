"""Log records of the programs of this package, on the standard error."""

from __future__ import annotations

import logging

from ._context import JobFilter

_level: str | None = None


def log_level() -> str | None:
    """Return the level that `log_to_stderr` was called with, for child processes."""
    return _level


def log_to_stderr(level: str) -> None:
    """Write log records, with the job that they are about."""
    global _level
    _level = level
    handler = logging.StreamHandler()
    handler.addFilter(JobFilter())
    handler.setFormatter(LineFormatter())
    logging.basicConfig(level=level, handlers=[handler])


class LineFormatter(logging.Formatter):
    """A line for each record; those of handlers name their job."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line = super().format(record)
        job = getattr(record, "job", "-")
        return line if job == "-" else f"{line} [{job} {record.__dict__['job_id']}]"
