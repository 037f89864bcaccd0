"""Finds the process that the user's code waits for inside a library function.

A Popen of the user's own is for the user to end. The process of subprocess.run is
known to that function only: when the cell is stopped it would go on, or the
processes that it has started would.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

# Functions that start a process and wait for it, by name: their module, and the
# local variable that holds the process once it is started. check_output and the
# like call them.
_STARTERS = {
    "run": ("subprocess", "process"),
    "call": ("subprocess", "p"),
    "__init__": ("subprocess", ""),  # of a Popen, which no variable holds yet
    "shebang": ("IPython.core.magics.script", "p"),  # %%bash, %%script
}


def is_starting_process(frame: FrameType | None) -> bool:
    """Returns whether frame, the top of a stack, is part of starting a process."""
    starter = _find_starter(frame)
    return starter is not None and _started_process(starter) is None


def end_awaited_process(frame: FrameType | None) -> None:
    """Ends the process that frame, the top of a stack, waits for, and all that it has started.

    Does nothing if frame does not wait for one, or if it has ended.
    """
    starter = _find_starter(frame)
    process = None if starter is None else _started_process(starter)
    if process is not None and process.returncode is None:
        from assay.run.process_tree import end_process_tree

        end_process_tree(process.pid)


def _find_starter(frame: FrameType | None) -> FrameType | None:
    """Returns the frame of _STARTERS' functions nearest to the top, or None."""
    while frame is not None:
        module, _ = _STARTERS.get(frame.f_code.co_name, (None, None))
        if module is not None and frame.f_globals.get("__name__") == module:
            return frame
        frame = frame.f_back
    return None


def _started_process(starter: FrameType) -> Any:
    return starter.f_locals.get(_STARTERS[starter.f_code.co_name][1])
