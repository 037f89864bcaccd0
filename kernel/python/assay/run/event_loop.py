"""The main thread's event loop, which exists from when asyncio is first needed."""

from __future__ import annotations

import threading
from contextvars import Context, copy_context

from assay.run.user_code import enter_loop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Callable, Coroutine
    from types import ModuleType
    from typing import Any

    from assay.run.work import Work

_PATIENCE = 1.0  # seconds for cancelled tasks to end


class Loop:
    """An asyncio event loop that runs while the main thread has nothing else to do.

    Only wake and cancel may be called by other threads.
    """

    def __init__(self) -> None:
        self._main = threading.get_ident()
        self._loop: AbstractEventLoop | None = None
        self._waiting = False  # in wait; else the loop may be run by the user's code

    @property
    def exists(self) -> bool:
        """Whether there is a loop to wait on."""
        return self._loop is not None

    def attach(self, _: ModuleType) -> None:
        """Makes the loop, when the user's code has just imported asyncio.

        So asyncio.get_event_loop() returns it also where no loop is running.
        """
        if threading.get_ident() == self._main:
            self._ready()

    def restore(self) -> None:
        """Makes it the current loop again, which asyncio.run undoes."""
        if self.exists:
            self._ready()

    def _ready(self) -> AbstractEventLoop:
        import asyncio

        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            vars(self._loop)["close"] = _keep_open
        asyncio.set_event_loop(self._loop)
        return self._loop

    def start(
        self, work: Work, coroutine: Coroutine[Any, Any, Any], done: Callable[[], None] | None
    ) -> None:
        """Starts the coroutine as the task of work, and calls done when it has ended.

        The task runs in a copy of the calling context, which names the work.
        The loop around it runs in an empty one: it is not the user's code.
        """

        def on_done(_: object) -> None:
            if done is not None:
                done()
            self._stop()

        work.task = copy_context().run(self._ready().create_task, coroutine)
        work.task.add_done_callback(on_done, context=Context())

    def complete(self, work: Work, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Runs the coroutine as the task of work, and returns its value or raises."""
        self.start(work, coroutine, None)
        assert work.task is not None
        while not work.task.done():
            self.wait()
        return work.task.result()

    def wait(self) -> None:
        """Runs the loop until wake is called or a work's task has ended."""
        assert self._loop is not None
        self._waiting = True
        try:
            Context().run(enter_loop, self._loop)
        finally:
            self._waiting = False

    def wake(self) -> None:
        """Makes wait return. Safe on any thread."""
        self._call(self._stop)

    def cancel(self, work: Work) -> None:
        """Cancels the task of work, when it may be interrupted. Safe on any thread."""

        def cancel() -> None:
            if work.task is not None and not work.task.done() and work.strike():
                work.task.cancel()

        self._call(cancel)

    def clear(self, work: Work) -> None:
        """Cancels all tasks, and waits up to 1 s for them, on behalf of work."""
        if not self.exists:
            return
        import asyncio

        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        if tasks:
            self.complete(work, asyncio.wait(tasks, timeout=_PATIENCE))

    def _stop(self) -> None:
        if self._waiting and self._loop is not None:
            self._loop.stop()

    def _call(self, callback: Callable[[], None]) -> None:
        if self._loop is not None:
            self._loop.call_soon_threadsafe(callback)


def _keep_open() -> None:
    """Takes the place of the loop's close, which scripts call when they are done."""
