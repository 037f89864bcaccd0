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
    """Runs the actions that signal handlers have put off, which may raise. Does nothing off the main thread.

    The caller must not hold a lock.
    """
    while deferred_actions and get_ident() == _MAIN_THREAD:
        deferred_actions.popleft()()


def call_user_code(code: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Calls a function that is the user's code or may run it, and returns its value.

    Inside this call the main thread may be interrupted. Deferred actions of signal handlers run
    first.
    """
    if deferred_actions:
        run_deferred_actions()
    return code(*args, **kwargs)


def wait_idle(wait: Callable[[], Any]) -> None:
    """Calls wait, a blocking function written in C, while the kernel is idle. Any signal may be handled meanwhile."""
    run_deferred_actions()
    wait()


async def await_user_code(awaitable: Awaitable[Any]) -> Any:
    """Awaits an object of the user's, during which the user's code may be interrupted, and returns its value."""
    return await awaitable


def run_event_loop(loop: AbstractEventLoop) -> None:
    """Runs an asyncio loop, and with it tasks of the user's, until the loop is stopped.

    A KeyboardInterrupt or SystemExit that a task raises also ends the loop. It is dropped here,
    because the task keeps it for the code that awaits the task.
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
    """Returns whether a stack is in the user's code, or in wait_idle. frame is the top of the stack.

    A stack is in the user's code if its kernel frame nearest to the top is of this module and is
    not the top.
    """
    top = frame
    if top is not None and top.f_code is wait_idle.__code__:
        return True
    while frame is not None and not _is_kernel_file(frame.f_code.co_filename):
        frame = frame.f_back
    return frame is not None and frame is not top and frame.f_code.co_filename == _THIS_FILE


def _is_kernel_file(filename: str) -> bool:
    """Returns whether a source file is one of the kernel's. The import hooks do not count."""
    return filename.startswith(KERNEL_PATH) and filename != _IMPORT_HOOKS_FILE
