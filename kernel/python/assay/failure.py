"""An exception as it is shown: the user's frames, never the kernel's."""

from __future__ import annotations

import traceback

from assay.clip import clip
from assay.doors import KERNEL, enter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from traceback import TracebackException

_MOST = 256 << 10  # characters of a traceback or of an error's text


class Failure:
    """What is told of an exception."""

    def __init__(self, name: str, value: str, text: str) -> None:
        self.name = name  # of the exception's class
        self.value = clip(value, _MOST)
        self.text = clip(text, _MOST)  # the traceback, as Python prints it

    @classmethod
    def of(cls, error: BaseException, source: str, stopped: bool) -> Failure:
        """Describes error, which the user's code raised, and never raises itself.

        source is what was compiled: Python leaves its line out of some syntax
        errors. Where the work was stopped, its cancellation is an interrupt.
        """
        if stopped and type(error).__name__ == "CancelledError":
            error = KeyboardInterrupt().with_traceback(error.__traceback__)
        _add_line(error, source)
        name = type(error).__name__
        try:
            told = enter(traceback.TracebackException, type(error), error, error.__traceback__)
            _prune(told, set())
            text = "".join(told.format() if told.stack else told.format_exception_only())
            return cls(name, str(enter(str, error)), text)
        except BaseException as failed:  # of its own __str__, or an interrupt of that
            return cls(name, "", f"{name}: <its text failed with {type(failed).__name__}>\n")

    def output(self) -> dict[str, object]:
        """Returns it as an nbformat output."""
        return {
            "output_type": "error",
            "ename": self.name,
            "evalue": self.value,
            "traceback": self.text.splitlines(),
        }


def _add_line(error: BaseException, source: str) -> None:
    if isinstance(error, SyntaxError) and error.text is None and error.lineno:
        lines = source.splitlines()
        if error.lineno <= len(lines):
            error.text = lines[error.lineno - 1]


def _prune(told: TracebackException | None, seen: set[int]) -> None:
    """Takes the kernel's frames out of told and of what it is chained to."""
    if told is None or id(told) in seen:
        return
    seen.add(id(told))
    told.stack[:] = [frame for frame in told.stack if not frame.filename.startswith(KERNEL)]
    for link in (told.__cause__, told.__context__, *(getattr(told, "exceptions", None) or ())):
        _prune(link, seen)
