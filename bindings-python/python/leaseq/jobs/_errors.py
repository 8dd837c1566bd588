"""Why there is no result."""

from __future__ import annotations


class JobError(Exception):
    """A job has no result. Its subclasses say why."""


class JobFailedError(JobError):
    """The job is dead; the text is its last error."""


class JobCancelledError(JobError):
    """The job was cancelled. Also what `Job.raise_if_cancelled` raises in a handler."""


class JobRemovedError(JobError):
    """The job was removed or replaced."""


class JobGoneError(JobError):
    """The job has ended and was not retained, so nobody knows how, or it never existed."""


class JobNotRetainedError(JobGoneError):
    """The job was completed, and was not retained, so its result is not known."""
