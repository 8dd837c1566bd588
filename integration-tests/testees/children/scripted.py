"""A child process whose handlers do what the arguments of their jobs say: see testees/README.md.

Testees of any language start it for workers with children. The environment names the jobs, and
where the handlers note what they do: the socket of a testee, or a log.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "jobs" / "tests" / "children"))

import child

import harm
from notes import Notes

ON_PURPOSE = "on purpose"

Step = tuple[str, Any]


class Run:
    """One run of a job."""

    def __init__(self, worker: child.Worker, job: child.Message, told: child.Cancellation) -> None:
        self.worker = worker
        self.job = job
        self.cancellation = told
        self.id = job["id"]
        self.notes = Notes(self.id)
        self.steps: list[object] = []

    def send(self, **message: object) -> None:
        """Send a message about the job."""
        self.worker.send(task=self.job["task"], **message)

    def execute(self) -> object:
        """Do the steps."""
        steps = self.job["args"]["steps"]
        # Of several lists each is for one run, and the last one for all later runs.
        if steps and isinstance(steps[0], list):
            steps = steps[min(self.notes.count_run(), len(steps) - 1)]
        self.notes.start(self.job["attempt"], self.job["meta"])
        self.steps = list(steps)
        try:
            while self.steps:
                name, value = named(self.steps.pop(0))
                if name == "return":
                    return value
                step = getattr(self, "step_" + name, None)
                if step:
                    step(value)
                else:
                    getattr(harm, "step_" + name)(self, value)
        finally:
            self.notes.end()
        return None

    def stop_if_cancelled(self) -> None:
        """End as cancelled handlers do."""
        if self.cancellation.reason:
            self.notes.note(f"cancelled {self.cancellation.reason}")
            raise child.Answer(type="cancelled")

    def step_raise(self, value: Any) -> None:
        classes = value if isinstance(value, list) else [value]
        raise child.Answer(type="failed", classes=classes, message=ON_PURPOSE)

    def step_panic(self, _: object) -> None:
        os._exit(1)

    def policy(self, policy: str, ms: int = 0) -> None:
        raise child.Answer(
            type="failed", classes=["Policy"], message=ON_PURPOSE, policy=policy, ms=ms
        )

    def step_retry_after_ms(self, value: int) -> None:
        self.policy("retry_after", value)

    def step_discard(self, _: object) -> None:
        self.policy("discard")

    def step_bury(self, _: object) -> None:
        self.policy("bury")

    def step_snooze_ms(self, value: int) -> None:
        raise child.Answer(type="snooze", ms=value)

    def step_say(self, value: str) -> None:
        self.notes.note(value)

    def step_meta(self, value: str) -> None:
        self.notes.note(f"{value}={self.job['meta'][value]}")

    def step_progress(self, value: str) -> None:
        self.send(type="progress", progress=value)

    def step_more_time_ms(self, value: int) -> None:
        self.send(type="more_time", ms=value)

    def step_skip_from(self, value: int) -> None:
        if self.job["attempt"] >= value:
            self.steps.pop(0)

    def step_wait(self, _: object) -> None:
        told = self.notes.told(self.cancellation)
        if told is None:
            self.stop_if_cancelled()
        self.steps[:0] = told or []

    def step_ignore(self, _: object) -> None:
        self.steps[:0] = self.notes.told(None) or []

    def step_cancelled(self, _: object) -> None:
        self.cancellation.event.wait()
        self.notes.note(f"cancelled {self.cancellation.reason}")

    def step_sleep_ms(self, value: int) -> None:
        self.cancellation.event.wait(value / 1000)
        self.stop_if_cancelled()

    def step_block_ms(self, value: int) -> None:
        harm.block(value / 1000)


def named(step: object) -> Step:
    """Return the name of a step and its value."""
    if isinstance(step, dict):
        return next(iter(step.items()))
    return str(step), None


def handle(worker: child.Worker, job: child.Message, told: child.Cancellation) -> object:
    """Run a job."""
    return Run(worker, job, told).execute()


def main() -> None:
    """Serve, unless children are not to start for now."""
    if os.path.exists(os.environ.get("LEASEQ_TESTEE_NO_STARTS", "")):
        sys.exit("no starts for now")
    jobs = json.loads(os.environ["LEASEQ_TESTEE_JOBS"])
    handler: Callable[[child.Worker, child.Message, child.Cancellation], object] = handle
    child.main(dict.fromkeys(jobs, handler), jobs, "--fork" in sys.argv)


if __name__ == "__main__":
    main()
