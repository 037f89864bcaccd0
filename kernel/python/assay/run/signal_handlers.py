"""The user's signal handlers, which may raise: they run in the user's code only."""

from __future__ import annotations

import signal
import threading
from _thread import start_new_thread
from time import sleep

from assay.run.user_code import KERNEL, enter, in_user_code, late

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

_PAUSE = 0.010  # seconds until a signal that was put off comes again

# As they are before install.
_signal, _getsignal = signal.signal, signal.getsignal


def install() -> None:
    """Has the user's calls of signal.signal put a guard before each handler."""
    signal.signal = _set
    signal.getsignal = _get


def _set(signalnum: int, handler: Any) -> Any:
    """Sets the handler of a signal and returns the one before, as signal.signal does."""
    return _unguarded(_signal(signalnum, _Guard(handler) if callable(handler) else handler))


def _get(signalnum: int) -> Any:
    """Returns the handler of a signal, as signal.getsignal does."""
    return _unguarded(_getsignal(signalnum))


def _unguarded(handler: Any) -> Any:
    return handler.handler if isinstance(handler, _Guard) else handler


class _Guard:
    """Calls a handler where the main thread is in the user's code, else as soon as it is."""

    def __init__(self, handler: Any) -> None:
        self.handler = handler
        self._waiting: tuple[int, FrameType | None] | None = None
        self._reminded = False  # the next signal is the one that was put off, once more

    def __call__(self, number: int, frame: FrameType | None) -> None:
        reminded, self._reminded = self._reminded, False
        if reminded and self._waiting is None:
            return  # it was done meanwhile
        if in_user_code(frame):
            self._waiting = None
            enter(self.handler, number, frame)
        elif self._waiting is None:
            self._waiting = number, _outside(frame)
            late.append(self._catch_up)
            try:
                start_new_thread(self._remind, (number,))
            except RuntimeError:  # there is no memory for one: it waits for the next door
                pass

    def _catch_up(self) -> None:
        if self._waiting is not None:
            waiting, self._waiting = self._waiting, None
            enter(self.handler, *waiting)

    def _remind(self, number: int) -> None:
        main = threading.main_thread().ident
        while self._waiting is not None and main is not None:
            sleep(_PAUSE)
            if self._waiting is not None:
                self._reminded = True
                signal.pthread_kill(main, number)


def _outside(frame: FrameType | None) -> FrameType | None:
    """Returns the nearest frame that is not the kernel's."""
    while frame is not None and frame.f_code.co_filename.startswith(KERNEL):
        frame = frame.f_back
    return frame
