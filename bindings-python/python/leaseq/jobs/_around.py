"""What is entered once in each process that runs handlers, such as a pool of connections."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    AsyncExitStack,
    ExitStack,
)
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from ._job_type import JobType

ProcessMiddleware: TypeAlias = Callable[
    [], AbstractContextManager[object] | AbstractAsyncContextManager[object]
]
"""Returns what is entered before the first handler runs in a process, and left at its end."""

HIDDEN = "around_process: what could not be entered was hidden by a context manager before it"

_kept: list[ExitStack | AsyncExitStack] = []


def keep(entered: ExitStack | AsyncExitStack) -> None:
    """Leave it never: handlers that did not return still use it, and the process ends soon."""
    _kept.append(entered)


def is_async(middleware: ProcessMiddleware) -> bool:
    """Whether an event loop enters it."""
    return inspect.isasyncgenfunction(inspect.unwrap(middleware))


class Around:
    """What these jobs want to be entered."""

    def __init__(self, handlers: dict[str, JobType[..., Any]]) -> None:
        several = dict.fromkeys(kind._jobs for kind in handlers.values())
        every = [one for jobs in several for one in jobs._around_process]
        self._blocking = [one for one in every if not is_async(one)]
        self._async = [one for one in every if is_async(one)]

    @property
    def needs_loop(self) -> bool:
        """Whether some of it is for an event loop."""
        return bool(self._async)

    def enter(self) -> ExitStack:
        """Enter what needs no event loop."""
        with ExitStack() as entered:
            for one in self._blocking:
                made = one()
                if not isinstance(made, AbstractContextManager):
                    raise TypeError(
                        f"around_process needs a context manager, and {one!r} returns {made!r}: "
                        "decorate it with contextlib.contextmanager or asynccontextmanager"
                    )
                entered.enter_context(made)
            return entered.pop_all()
        raise RuntimeError(HIDDEN)

    def in_loop(self) -> AsyncEntered:
        """Return what the current event loop is to enter."""
        return AsyncEntered(self._async)


class AsyncEntered:
    """What an event loop has entered.

    A task of its own enters and leaves it: groups of tasks, for example, must be left where they
    were entered.
    """

    def __init__(self, middleware: Sequence[ProcessMiddleware]) -> None:
        self._middleware = middleware
        self._entered = asyncio.Event()
        self._leave = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def enter(self) -> None:
        """Enter it. Raises what it raises."""
        if not self._middleware:
            return
        self._task = asyncio.create_task(self._keep(), name="leaseq-around-process")
        entered = asyncio.ensure_future(self._entered.wait())
        try:
            await asyncio.wait({entered, self._task}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self._task.cancel()
            await asyncio.wait({self._task})
            raise
        finally:
            entered.cancel()
        if not self._entered.is_set():
            await self._task
            raise RuntimeError(HIDDEN)

    async def _keep(self) -> None:
        async with AsyncExitStack() as entered:
            for one in self._middleware:
                made: Any = one()
                await entered.enter_async_context(made)
            self._entered.set()
            await self._leave.wait()

    async def leave(self) -> None:
        """Leave it. Raises what it raises."""
        self._leave.set()
        if self._task is not None:
            await self._task
