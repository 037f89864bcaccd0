"""The main thread's asyncio event loop, which is made when asyncio is first needed."""

from __future__ import annotations

import threading
from _contextvars import Context, copy_context  # contextvars itself is slower to import

from assay.run.user_code import run_event_loop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Callable, Coroutine
    from types import ModuleType
    from typing import Any

    from assay.run.work import Work

_CANCEL_TIMEOUT = 1.0  # seconds that cancelled tasks have to end


class EventLoop:
    """The main thread's asyncio event loop. It runs while the main thread is idle, for background tasks.

    Other threads may call only wake and cancel_task.
    """

    def __init__(self) -> None:
        self._main_thread = threading.get_ident()
        self._loop: AbstractEventLoop | None = None
        self._is_waiting = False  # in run_until_woken; otherwise the user's code may be running the loop

    @property
    def has_loop(self) -> bool:
        """Whether the asyncio loop has been made."""
        return self._loop is not None

    def on_asyncio_imported(self, asyncio: ModuleType) -> None:
        """Makes the asyncio loop right after asyncio was imported on the main thread.

        asyncio.get_event_loop() then returns it even while no loop is running, and
        asyncio.create_task() starts tasks on it, as in notebooks whose cells run inside of the loop.
        It is not shown as running, so that asyncio.run() works in a cell.
        """
        if threading.get_ident() == self._main_thread:
            self._get_or_make_loop()
        original = asyncio.create_task

        def create_task(coro: Any, **options: Any) -> Any:
            """Starts a coroutine as a task: on the running event loop, or else on the notebook's."""
            if threading.get_ident() == self._main_thread and asyncio._get_running_loop() is None:
                return self._get_or_make_loop().create_task(coro, **options)
            return original(coro, **options)

        asyncio.create_task = asyncio.tasks.create_task = create_task  # type: ignore[attr-defined]

    def make_current(self) -> None:
        """Makes the asyncio loop the thread's current one again, if there is one, because asyncio.run unsets it."""
        if self.has_loop:
            self._get_or_make_loop()

    def _get_or_make_loop(self) -> AbstractEventLoop:
        """Returns the asyncio loop, made if necessary, and sets it as the thread's current one."""
        import asyncio

        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            vars(self._loop)["close"] = _ignore_close
        asyncio.set_event_loop(self._loop)
        return self._loop

    def start_task(
        self, work: Work, coroutine: Coroutine[Any, Any, Any], on_done: Callable[[], None] | None
    ) -> None:
        """Starts a coroutine as the asyncio task of work, and calls on_done when the task has ended.

        The task runs in a copy of the calling context, which holds the work. on_done runs in an
        empty context, because it is not the user's code.
        """

        def finish(_: object) -> None:
            if on_done is not None:
                on_done()
            self._stop_waiting()

        work.task = copy_context().run(self._get_or_make_loop().create_task, coroutine)
        work.task.add_done_callback(finish, context=Context())

    def run_to_end(self, work: Work, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Runs a coroutine as the asyncio task of work, and waits for its end.

        Returns the coroutine's value or raises its exception.
        """
        self.start_task(work, coroutine, None)
        assert work.task is not None
        while not work.task.done():
            self.run_until_woken()
        return work.task.result()

    def run_until_woken(self) -> None:
        """Runs the asyncio loop until wake is called or the task of a work has ended."""
        assert self._loop is not None
        self._is_waiting = True
        try:
            Context().run(run_event_loop, self._loop)
        finally:
            self._is_waiting = False

    def wake(self) -> None:
        """Makes run_until_woken return. Safe on any thread."""
        self._call_on_loop(self._stop_waiting)

    def cancel_task(self, work: Work) -> None:
        """Cancels the asyncio task of work, if that may be interrupted now. Safe on any thread."""

        def cancel() -> None:
            if work.task is not None and not work.task.done() and work.claim_interrupt():
                work.task.cancel()

        self._call_on_loop(cancel)

    def cancel_all_tasks(self, work: Work) -> None:
        """Cancels all asyncio tasks and waits up to 1 s for their end, as part of work."""
        if not self.has_loop:
            return
        import asyncio

        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        if tasks:
            self.run_to_end(work, asyncio.wait(tasks, timeout=_CANCEL_TIMEOUT))

    def _stop_waiting(self) -> None:
        """Makes run_until_woken return, if it is running the loop."""
        if self._is_waiting and self._loop is not None:
            self._loop.stop()

    def _call_on_loop(self, callback: Callable[[], None]) -> None:
        if self._loop is not None:
            self._loop.call_soon_threadsafe(callback)


def _ignore_close() -> None:
    """Replaces the close method of the asyncio loop, so that scripts that close it when they are done do not."""
