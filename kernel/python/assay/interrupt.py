"""Interrupting the user's code, and only that."""

from __future__ import annotations

import signal
import threading
from _thread import start_new_thread
from time import sleep

from assay.doors import in_user_code
from assay.work import WORK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from assay.work import Work

_FIRST_PAUSE = 0.001  # seconds until the signal is sent again, doubled each time
_LONGEST_PAUSE = 0.050


class Interrupter:
    """Makes a stopped work end: SIGINT to the main thread, and again until it is over.

    The signal's handler raises KeyboardInterrupt where the main thread is in
    the user's code, and that code belongs to a stopped work. Anywhere else it
    does nothing, and the next signal comes soon; so a stop is neither lost nor
    hits another run. A SIGINT that nobody asked for has no effect. Work.strike
    sees to it that code which swallows the interrupt is hit once a second.
    """

    def __init__(self, cancel: Callable[[Work], None]) -> None:
        """cancel, called on any thread, cancels what a stopped work awaits."""
        self._cancel = cancel
        self._main = threading.get_ident()

    def install(self) -> None:
        """Takes over SIGINT, on the main thread; also from a handler of the user's."""
        if signal.getsignal(signal.SIGINT) != self._on_signal:
            signal.signal(signal.SIGINT, self._on_signal)

    def _on_signal(self, _: int, frame: FrameType | None) -> None:
        work = WORK.get()
        if work is not None and in_user_code(frame) and work.strike():
            raise KeyboardInterrupt

    def interrupt(self, work: Work) -> None:
        """Begins to interrupt work, which is stopping."""
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
            signal.pthread_kill(self._main, signal.SIGINT)
            self._cancel(work)
