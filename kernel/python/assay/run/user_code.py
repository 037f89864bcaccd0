"""Calls from the kernel into the user's code, and where interrupts may strike.

The user's code may be interrupted, the kernel's code never: a frame half written
or a lock left held would end the kernel. So the kernel calls the user's code only
through the functions of this module. is_in_user_code looks at the stack: the main
thread is in the user's code if the kernel's frame nearest to the top belongs to
this module and is not the top itself. What a signal must not do elsewhere is
deferred to the next call of the user's code, or to where the kernel returns to
user code that called it.
"""

from __future__ import annotations

import os
from _thread import get_ident
from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Awaitable, Callable
    from types import FrameType
    from typing import Any

_MAIN_THREAD = get_ident()

# What signal handlers have put off, for the main thread. An action may raise.
deferred_actions: deque[Callable[[], None]] = deque()


def run_deferred_actions() -> None:
    """Runs what signal handlers have put off, if the caller is the main thread. It must hold no lock."""
    while deferred_actions and get_ident() == _MAIN_THREAD:
        deferred_actions.popleft()()


def call_user_code(code: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Calls code, which is the user's or may run the user's, and returns what it returns."""
    if deferred_actions:
        run_deferred_actions()
    return code(*args, **kwargs)


def wait_idle(wait: Callable[[], Any]) -> None:
    """Calls wait, a function in C, while the kernel has nothing to do and any signal may be handled."""
    run_deferred_actions()
    wait()


async def await_user_code(awaitable: Awaitable[Any]) -> Any:
    """Awaits an awaitable of the user's and returns its value."""
    return await awaitable


def run_event_loop(loop: AbstractEventLoop) -> None:
    """Runs the event loop, and with it tasks of the user's, until the loop is stopped.

    KeyboardInterrupt and SystemExit of a task also end the loop. The task keeps
    them for the code that awaits it, so they are dropped here.
    """
    try:
        loop.run_forever()
    except (KeyboardInterrupt, SystemExit):
        pass


_THIS_FILE = call_user_code.__code__.co_filename
KERNEL_PATH = os.path.dirname(os.path.dirname(_THIS_FILE)) + os.sep  # files of the kernel begin with it

# Frames of this module are ignored: they are on the side of the code that imports.
_IMPORT_HOOKS_FILE = os.path.join(KERNEL_PATH, "run", "import_hooks.py")


def is_in_user_code(frame: FrameType | None) -> bool:
    """Returns whether frame, the top of a stack, is in code that the kernel called here, or in wait_idle."""
    top = frame
    if top is not None and top.f_code is wait_idle.__code__:
        return True
    while frame is not None and not _is_kernel_file(frame.f_code.co_filename):
        frame = frame.f_back
    return frame is not None and frame is not top and frame.f_code.co_filename == _THIS_FILE


def _is_kernel_file(filename: str) -> bool:
    return filename.startswith(KERNEL_PATH) and filename != _IMPORT_HOOKS_FILE
