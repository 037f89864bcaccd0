"""An exception as it is shown: the user's frames, never the kernel's."""

from __future__ import annotations

import os
import sys

from assay.run.safe_repr import clip
from assay.run.user_code import KERNEL, enter
from assay.wire.memory_reserve import reserve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from traceback import TracebackException

_MOST = 256 << 10  # characters of a traceback or of an error's text

_NO_LINE = "EOF when reading a line"  # what input() says where there is none


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
        if isinstance(error, MemoryError):
            reserve.release()  # an import may be needed, which some versions die of
        name = type(error).__name__
        try:
            _add_line(error, source)
            _add_reason(error)
            value = str(enter(str, error))
        except BaseException as failed:  # of its own __str__, or an interrupt of that
            last = f"{name}: <its text failed with {type(failed).__name__}>"
            return cls(name, "", _in_short(error, last))
        try:
            text = _traceback(error)
        except BaseException:  # no memory or no descriptor is left, for example
            reserve.release()
            text = _in_short(error, f"{name}: {value}" if value else name)
        return cls(name, value, text)

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


def _add_reason(error: BaseException) -> None:
    if type(error) is EOFError and error.args == (_NO_LINE,):
        error.args = (f"{_NO_LINE}: input() is not offered in this notebook",)


def _traceback(error: BaseException) -> str:
    """Returns the traceback of error, whose last line names its class as notebooks do."""
    import traceback

    told = enter(traceback.TracebackException, type(error), error, error.__traceback__)
    _prune(told, set(), _hidden())
    text = "".join(told.format() if told.stack else told.format_exception_only())
    kind = type(error)
    for long_name in (f"{kind.__module__}.{kind.__qualname__}", kind.__qualname__):
        before, found, after = f"\n{text}".rpartition(f"\n{long_name}")
        if found:
            return f"{before}\n{kind.__name__}{after}"[1:]
    return text


def _hidden() -> tuple[str, ...]:
    """Returns how names of files begin whose frames are not shown: the kernel's and IPython's."""
    ipython = getattr(sys.modules.get("IPython"), "__file__", None)
    return (KERNEL, os.path.dirname(ipython) + os.sep) if ipython else (KERNEL,)


def _prune(told: TracebackException | None, seen: set[int], hidden: tuple[str, ...]) -> None:
    """Takes the frames that are not shown out of told and of what it is chained to."""
    if told is None or id(told) in seen:
        return
    seen.add(id(told))
    told.stack[:] = [frame for frame in told.stack if not frame.filename.startswith(hidden)]
    for link in (told.__cause__, told.__context__, *(getattr(told, "exceptions", None) or ())):
        _prune(link, seen, hidden)


def _in_short(error: BaseException, last: str) -> str:
    """Returns where error was raised and the last line, with what is loaded already."""
    lines = []
    link = error.__traceback__
    while link is not None:
        code = link.tb_frame.f_code
        if not code.co_filename.startswith(KERNEL):
            lines.append(f'  File "{code.co_filename}", line {link.tb_lineno}, in {code.co_name}\n')
        link = link.tb_next
    if lines:
        lines.insert(0, "Traceback (most recent call last):\n")
    return f"{''.join(lines)}{last}\n"
