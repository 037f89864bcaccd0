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
    """Returns whether the code at the top of a stack is just starting a process. frame is the top of the stack."""
    starter = _find_starter_frame(frame)
    return starter is not None and _process_of_starter(starter) is None


def end_awaited_process(frame: FrameType | None) -> None:
    """Ends the process that the code at the top of a stack waits for, and all that the process has started.

    frame is the top of the stack. Does nothing if that code waits for no process, or the process
    has ended.
    """
    starter = _find_starter_frame(frame)
    process = None if starter is None else _process_of_starter(starter)
    if process is not None and process.returncode is None:
        from assay.run.process_tree import end_process_tree

        end_process_tree(process.pid)


def _find_starter_frame(frame: FrameType | None) -> FrameType | None:
    """Returns the frame nearest to the top of a stack that starts a process and waits for it, or None."""
    while frame is not None:
        module, _ = _STARTERS.get(frame.f_code.co_name, (None, None))
        if module is not None and frame.f_globals.get("__name__") == module:
            return frame
        frame = frame.f_back
    return None


def _process_of_starter(starter: FrameType) -> Any:
    """Returns the process that such a frame has started, or None if it has not started it yet."""
    return starter.f_locals.get(_STARTERS[starter.f_code.co_name][1])
