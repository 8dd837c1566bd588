"""A child that dies when it gets its first job, unless LUCK exists: before it has started it."""

import os
import sys

import child
from steps import steps


class Unlucky(child.Worker):
    """A connection that notices the first job."""

    def receive(self) -> child.Message | None:
        """Return the next message, or die."""
        message = super().receive()
        luck = os.environ["LUCK"]
        if message and message["type"] == "run" and not os.path.exists(luck):
            os.mkdir(luck)
            os._exit(9)
        return message


child.Worker = Unlucky  # type: ignore[misc]
child.main({"test.steps": steps}, child.JOBS, "--fork" in sys.argv)
