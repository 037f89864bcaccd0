"""Interrupting the user's code, and only that."""

from __future__ import annotations

import threading
from _signal import SIGINT, getsignal, pthread_kill, signal  # type: ignore[import]  # in C
from _thread import start_new_thread
from sys import _getframe
from time import monotonic, sleep

from assay.run.awaited_process import end_awaited, is_starting
from assay.run.user_code import in_user_code, late
from assay.run.work import WORK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from assay.run.work import Work

_FIRST_PAUSE = 0.001  # seconds until the signal is sent again, doubled each time
_LONGEST_PAUSE = 0.050
_PATIENCE = 0.100  # seconds in which the user's code should be met between two calls of the kernel
_SPARED = 2.0  # seconds that an import has to end, and a process to start
_IMPORTLIB = "<frozen importlib."  # the file names of what imports begin with it


class Interrupter:
    """Makes a stopped work end: SIGINT to the main thread, and again until it is over.

    The signal's handler raises KeyboardInterrupt where the main thread is in
    the user's code, and that code belongs to a stopped work. Anywhere else it
    does nothing, and the next signal comes soon; so a stop is neither lost nor
    hits another run. Where the user's code is nothing but calls of the kernel
    (C code that prints in a loop), the interrupt waits for the end of a call. A
    SIGINT that nobody asked for has no effect. Work.strike sees to it that code
    which swallows the interrupt is hit once a second.

    An import is interrupted only when it goes on for 2 s: Python forgets the
    package but not what it had loaded of it, and many packages, asyncio among
    them, can then not be imported again in this process.

    A process that only the library knows (subprocess.run, %%bash) is ended before
    the code that waits for it is interrupted, with all that it has started. While
    it is being started, for at most 2 s, the interrupt waits: nobody knows it yet.
    """

    def __init__(self, cancel: Callable[[Work], None]) -> None:
        """cancel, called on any thread, cancels what a stopped work awaits."""
        self._cancel = cancel
        self._main = threading.get_ident()
        self._since = 0.0  # when the last stop came, by monotonic()

    def install(self) -> None:
        """Takes over SIGINT, on the main thread; also from a handler of the user's."""
        if getsignal(SIGINT) != self._on_signal:
            signal(SIGINT, self._on_signal)

    def _on_signal(self, _: int, frame: FrameType | None) -> None:
        if in_user_code(frame):
            self._strike()
        elif monotonic() - self._since > _PATIENCE and self._strike not in late:
            late.append(self._strike)

    def _strike(self) -> None:
        work = WORK.get()
        if work is not None and not self._spares(_getframe()) and work.strike():
            end_awaited(_getframe())
            raise KeyboardInterrupt

    def _spares(self, frame: FrameType) -> bool:
        return monotonic() - self._since < _SPARED and (_imports(frame) or is_starting(frame))

    def interrupt(self, work: Work) -> None:
        """Begins to interrupt work, which is stopping."""
        self._since = monotonic()
        self._hit(work)
        start_new_thread(self._pursue, (work,))

    def _pursue(self, work: Work) -> None:
        pause = _FIRST_PAUSE
        while not work.over:
            sleep(pause)
            self._hit(work)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _hit(self, work: Work) -> None:
        if not work.over:
            pthread_kill(self._main, SIGINT)
            self._cancel(work)


def _imports(frame: FrameType | None) -> bool:
    """Tells whether frame, the top of a stack, is part of an import."""
    while frame is not None and not frame.f_code.co_filename.startswith(_IMPORTLIB):
        frame = frame.f_back
    return frame is not None
