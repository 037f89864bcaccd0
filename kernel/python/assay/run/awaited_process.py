"""The process that the user's code waits for in a function of a library.

A process of the user's own, in a Popen, is the user's to end. That of
subprocess.run is known to nobody else, and left alone it would go on when the
cell is stopped, or what it has started would.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

# Functions that start a process, by name: their module, and what they call the
# process once it is there. check_output and the like call them.
_STARTERS = {
    "run": ("subprocess", "process"),
    "call": ("subprocess", "p"),
    "__init__": ("subprocess", ""),  # of a Popen, which nobody has yet
    "shebang": ("IPython.core.magics.script", "p"),  # %%bash, %%script
}


def is_starting(frame: FrameType | None) -> bool:
    """Tells whether frame, the top of a stack, is part of starting a process."""
    starter = _starter(frame)
    return starter is not None and _process(starter) is None


def end_awaited(frame: FrameType | None) -> None:
    """Ends the process that frame, the top of a stack, waits for, and all that it has started."""
    starter = _starter(frame)
    process = None if starter is None else _process(starter)
    if process is not None and process.returncode is None:
        from assay.run.process_tree import end

        end(process.pid)


def _starter(frame: FrameType | None) -> FrameType | None:
    """Returns the nearest starter's frame."""
    while frame is not None:
        module, _ = _STARTERS.get(frame.f_code.co_name, (None, None))
        if module is not None and frame.f_globals.get("__name__") == module:
            return frame
        frame = frame.f_back
    return None


def _process(starter: FrameType) -> Any:
    return starter.f_locals.get(_STARTERS[starter.f_code.co_name][1])
