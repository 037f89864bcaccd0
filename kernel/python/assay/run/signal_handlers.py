"""The user's signal handlers: they may raise, so they are called only while the user's code runs."""

from __future__ import annotations

import signal
import threading
from _thread import start_new_thread
from time import sleep

from assay.run.user_code import KERNEL_PATH, call_user_code, deferred_actions, is_in_user_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

_RESEND_INTERVAL = 0.010  # seconds until a deferred signal is sent again

# The functions of the module signal, before install replaces them.
_real_signal, _real_getsignal = signal.signal, signal.getsignal


def install() -> None:
    """Replaces signal.signal and signal.getsignal, so that each handler that the user sets is deferred."""
    signal.signal = _signal
    signal.getsignal = _getsignal


def _signal(signalnum: int, handler: Any) -> Any:
    """Sets the handler of a signal and returns the one before, as signal.signal does."""
    deferring = _DeferringHandler(handler) if callable(handler) else handler
    return _users_handler(_real_signal(signalnum, deferring))


def _getsignal(signalnum: int) -> Any:
    """Returns the handler of a signal, as signal.getsignal does."""
    return _users_handler(_real_getsignal(signalnum))


def _users_handler(handler: Any) -> Any:
    return handler.handler if isinstance(handler, _DeferringHandler) else handler


class _DeferringHandler:
    """Calls a handler if the main thread is in the user's code, else as soon as it is."""

    def __init__(self, handler: Any) -> None:
        self.handler = handler
        self._deferred: tuple[int, FrameType | None] | None = None  # the handler's arguments
        self._is_resent = False  # the next signal is the deferred one, sent again by _resend

    def __call__(self, number: int, frame: FrameType | None) -> None:
        is_resent, self._is_resent = self._is_resent, False
        if is_resent and self._deferred is None:
            return  # the handler was called meanwhile
        if is_in_user_code(frame):
            self._deferred = None
            call_user_code(self.handler, number, frame)
        elif self._deferred is None:
            self._deferred = number, _innermost_user_frame(frame)
            deferred_actions.append(self._call_deferred)
            try:
                start_new_thread(self._resend, (number,))
            except RuntimeError:  # no memory for a thread: the next call of user code runs the handler
                pass

    def _call_deferred(self) -> None:
        if self._deferred is not None:
            arguments, self._deferred = self._deferred, None
            call_user_code(self.handler, *arguments)

    def _resend(self, number: int) -> None:
        """Sends the signal to the main thread until the handler was called."""
        main = threading.main_thread().ident
        while self._deferred is not None and main is not None:
            sleep(_RESEND_INTERVAL)
            if self._deferred is not None:
                self._is_resent = True
                signal.pthread_kill(main, number)


def _innermost_user_frame(frame: FrameType | None) -> FrameType | None:
    """Returns the frame nearest to the top that is not the kernel's, or None."""
    while frame is not None and frame.f_code.co_filename.startswith(KERNEL_PATH):
        frame = frame.f_back
    return frame
