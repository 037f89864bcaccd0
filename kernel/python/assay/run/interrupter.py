"""Interrupts the user's code, and never the kernel's."""

from __future__ import annotations

import threading
from _signal import SIGINT, getsignal, pthread_kill, signal  # type: ignore[import]  # in C
from _thread import start_new_thread
from sys import _getframe
from time import monotonic, sleep

from assay.run.awaited_process import end_awaited_process, is_starting_process
from assay.run.user_code import deferred_actions, is_in_user_code
from assay.run.work import CURRENT_WORK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from assay.run.work import Work

_FIRST_RETRY_INTERVAL = 0.001  # seconds until the signal is sent again; doubles each time
_MAX_RETRY_INTERVAL = 0.050  # seconds
_DEFER_DELAY = 0.100  # seconds without meeting the user's code after which an interrupt is deferred
_SPARE_TIMEOUT = 2.0  # seconds that an import has to end, or a process to start
_IMPORTLIB_PREFIX = "<frozen importlib."  # of the file names of import machinery

# Functions of asyncio, written in Python, that the C code of a task calls to have its
# next step run.
_SCHEDULING_FUNCTIONS = frozenset(
    ("call_soon", "call_at", "call_later", "call_soon_threadsafe", "add_done_callback")
)


class Interrupter:
    """Interrupts works that were stopped: sends SIGINT to the main thread again and again until they are over.

    The handler of the signal raises KeyboardInterrupt if the main thread is in the user's code and
    that code belongs to a stopped work. Anywhere else it does nothing and waits for the next
    signal, so that no stop is lost and no other run is hit. If the user's code does nothing but
    call the kernel (C code that prints in a loop), the interrupt is raised at the end of such a
    call. A SIGINT that the kernel did not send has no effect. Work.claim_interrupt limits
    interrupts to one a second, for code that swallows them.

    asyncio is not interrupted while it schedules a callback: the task that is being scheduled would
    be lost, and could then neither go on nor be cancelled.

    An import is only interrupted if it takes over 2 s: Python forgets the package but not the
    modules that it had loaded, and many packages, for example asyncio, cannot be imported again in
    this process after that.

    A process that only a library function knows (subprocess.run, %%bash) is ended, with all that it
    has started, before the code that waits for it is interrupted. While such a process is being
    started, the interrupt waits for at most 2 s, because the process cannot be found yet.
    """

    def __init__(self, cancel_task: Callable[[Work], None]) -> None:
        """cancel_task cancels the asyncio task of a stopped work.

        It is called on any thread, and again and again until the work is over.
        """
        self._cancel_task = cancel_task
        self._main_thread = threading.get_ident()
        self._last_stop = 0.0  # by monotonic()

    def install_sigint_handler(self) -> None:
        """Sets the interrupter's handler for SIGINT, even if the user's code has set another. Main thread only."""
        if getsignal(SIGINT) != self._on_sigint:
            signal(SIGINT, self._on_sigint)

    def _on_sigint(self, _: int, frame: FrameType | None) -> None:
        if is_in_user_code(frame):
            self._raise_if_stopped()
        elif monotonic() - self._last_stop > _DEFER_DELAY:
            if self._raise_if_stopped not in deferred_actions:
                deferred_actions.append(self._raise_if_stopped)

    def _raise_if_stopped(self) -> None:
        """Raises KeyboardInterrupt if the current work was stopped and may be interrupted now.

        First ends the process for which the work waits, if there is one.
        """
        work = CURRENT_WORK.get()
        frame = _getframe()
        if work is None or _is_scheduling(frame) or self._must_delay_interrupt(frame):
            return
        if work.claim_interrupt():
            end_awaited_process(frame)
            raise KeyboardInterrupt

    def _must_delay_interrupt(self, frame: FrameType) -> bool:
        """Returns whether an interrupt must wait, up to 2 s, for an import or the start of a process to end."""
        return monotonic() - self._last_stop < _SPARE_TIMEOUT and (
            _is_importing(frame) or is_starting_process(frame)
        )

    def interrupt(self, work: Work) -> None:
        """Interrupts a stopped work now, and then again and again, from a new thread, until it is over."""
        self._last_stop = monotonic()
        self._send_interrupt(work)
        start_new_thread(self._interrupt_until_over, (work,))

    def _interrupt_until_over(self, work: Work) -> None:
        interval = _FIRST_RETRY_INTERVAL
        while not work.is_over:
            sleep(interval)
            self._send_interrupt(work)
            interval = min(2 * interval, _MAX_RETRY_INTERVAL)

    def _send_interrupt(self, work: Work) -> None:
        if not work.is_over:
            pthread_kill(self._main_thread, SIGINT)
            self._cancel_task(work)


def _is_importing(frame: FrameType | None) -> bool:
    """Returns whether the code at the top of a stack is part of an import. frame is the top of the stack."""
    while frame is not None and not frame.f_code.co_filename.startswith(_IMPORTLIB_PREFIX):
        frame = frame.f_back
    return frame is not None


def _is_scheduling(frame: FrameType | None) -> bool:
    """Returns whether asyncio is scheduling a callback in a stack, of which frame is the top."""
    while frame is not None:
        if frame.f_code.co_name in _SCHEDULING_FUNCTIONS:
            if frame.f_globals.get("__name__", "").startswith("asyncio."):
                return True
        frame = frame.f_back
    return False
