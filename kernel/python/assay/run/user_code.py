"""The doors between the kernel and the user's code.

The user's code may be interrupted, the kernel's never: a frame half written or
a lock left held would be the end of it. So the kernel calls the user's code
only through the functions here, and in_user_code tells on which side of them
the main thread is: the kernel's frame that is nearest to the top of the stack
is a door, and not itself the top. What a signal cannot do elsewhere is done at
the next door, or where the kernel returns to the user's code that called it.
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

_MAIN = get_ident()

# What signals have put off, to be done by the main thread. It may raise.
late: deque[Callable[[], None]] = deque()


def catch_up() -> None:
    """Does what signals have put off, where the caller is the main thread and holds nothing."""
    while late and get_ident() == _MAIN:
        late.popleft()()


def enter(code: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Calls code, which is the user's or may run the user's."""
    if late:
        catch_up()
    return code(*args, **kwargs)


def rest(wait: Callable[[], Any]) -> None:
    """Calls wait, in C, while the kernel has nothing to do and signals are welcome."""
    catch_up()
    wait()


async def enter_awaiting(awaitable: Awaitable[Any]) -> Any:
    """Awaits the user's awaitable."""
    return await awaitable


def enter_loop(loop: AbstractEventLoop) -> None:
    """Runs the event loop, and with it tasks of the user, until it is stopped.

    KeyboardInterrupt and SystemExit of a task also leave the loop. The task
    keeps them for whoever awaits it, so nothing is lost here.
    """
    try:
        loop.run_forever()
    except (KeyboardInterrupt, SystemExit):
        pass


_HERE = enter.__code__.co_filename
KERNEL = os.path.dirname(os.path.dirname(_HERE)) + os.sep  # file names of the kernel's code begin with it
_IMPORTS = os.path.join(KERNEL, "run", "import_hooks.py")  # on whose side depends on who imports: it is looked through


def in_user_code(frame: FrameType | None) -> bool:
    """Tells whether frame, the top of a stack, is beyond a door, or the kernel rests."""
    top = frame
    if top is not None and top.f_code is rest.__code__:
        return True
    while frame is not None and not _is_kernel(frame.f_code.co_filename):
        frame = frame.f_back
    return frame is not None and frame is not top and frame.f_code.co_filename == _HERE


def _is_kernel(filename: str) -> bool:
    return filename.startswith(KERNEL) and filename != _IMPORTS
