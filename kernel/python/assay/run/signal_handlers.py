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


def replace_signal_functions() -> None:
    """Replaces signal.signal and signal.getsignal, so that handlers of the user's run only in the user's code."""
    signal.signal = _set_deferring_handler
    signal.getsignal = _get_user_signal_handler


def _set_deferring_handler(signalnum: int, handler: Any) -> Any:
    """Is signal.signal for the user's code: sets a handler, wrapped, and returns the one before."""
    deferring = _DeferringHandler(handler) if callable(handler) else handler
    return _unwrap_handler(_real_signal(signalnum, deferring))


def _get_user_signal_handler(signalnum: int) -> Any:
    """Is signal.getsignal for the user's code: returns the handler that it has set for a signal."""
    return _unwrap_handler(_real_getsignal(signalnum))


def _unwrap_handler(handler: Any) -> Any:
    """Returns the user's handler inside a _DeferringHandler; any other handler as it is."""
    return handler.handler if isinstance(handler, _DeferringHandler) else handler


class _DeferringHandler:
    """A signal handler that calls the user's handler as soon as the main thread is in the user's code."""

    def __init__(self, handler: Any) -> None:
        self.handler = handler
        self._deferred: tuple[int, FrameType | None] | None = None  # the handler's arguments
        self._is_resent = False  # the next signal is the deferred one, sent again by _resend_until_called

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
                start_new_thread(self._resend_until_called, (number,))
            except RuntimeError:  # no memory for a thread: the next call of user code runs the handler
                pass

    def _call_deferred(self) -> None:
        if self._deferred is not None:
            arguments, self._deferred = self._deferred, None
            call_user_code(self.handler, *arguments)

    def _resend_until_called(self, number: int) -> None:
        """Sends the signal to the main thread every 10 ms until the user's handler was called."""
        main = threading.main_thread().ident
        while self._deferred is not None and main is not None:
            sleep(_RESEND_INTERVAL)
            if self._deferred is not None:
                self._is_resent = True
                signal.pthread_kill(main, number)


def _innermost_user_frame(frame: FrameType | None) -> FrameType | None:
    """Returns the frame nearest to the top of a stack that is not the kernel's, or None."""
    while frame is not None and frame.f_code.co_filename.startswith(KERNEL_PATH):
        frame = frame.f_back
    return frame
