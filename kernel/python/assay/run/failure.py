"""An exception as the user sees it: with the frames of the user's code only."""

from __future__ import annotations

import errno
import os
import sys

from assay.run.safe_repr import truncate_middle
from assay.run.user_code import KERNEL_PATH, call_user_code
from assay.wire.memory_reserve import memory_reserve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from traceback import TracebackException

_MAX_LENGTH = 256 << 10  # characters of a traceback or of an error's message

_NO_INPUT = "EOF when reading a line"  # the message of input() at end of file


class Failure:
    """The description of an exception in texts: its class name, its message and its traceback."""

    def __init__(self, class_name: str, message: str, traceback: str) -> None:
        self.class_name = class_name
        self.message = truncate_middle(message, _MAX_LENGTH)
        self.traceback = truncate_middle(traceback, _MAX_LENGTH)  # as Python prints it

    @classmethod
    def from_error(cls, error: BaseException, source: str, stopped: bool) -> Failure:
        """Returns the description of an exception that the user's code has raised. Never raises itself.

        source is the code that was compiled, since Python leaves its line out of some syntax
        errors. With stopped, a CancelledError is described as KeyboardInterrupt.
        """
        if stopped and type(error).__name__ == "CancelledError":
            error = KeyboardInterrupt().with_traceback(error.__traceback__)
        if isinstance(error, MemoryError):
            memory_reserve.release()  # describing may import, and some versions crash if that fails
        class_name = type(error).__name__
        try:
            _add_source_line(error, source)
            _explain_missing_input(error)
            message = str(call_user_code(str, error))
        except BaseException as str_error:  # its own __str__ raised, or was interrupted
            last_line = f"{class_name}: <its __str__ raised {type(str_error).__name__}>"
            return cls(class_name, "", _brief_traceback(error, last_line))
        try:
            traceback = _full_traceback(error) + _missing_network_text(error)
        except BaseException:  # for example because no memory or no descriptor is left
            memory_reserve.release()
            last_line = f"{class_name}: {message}" if message else class_name
            traceback = _brief_traceback(error, last_line)
        return cls(class_name, message, traceback)

    def as_notebook_output(self) -> dict[str, object]:
        """Returns the description as an nbformat output of type error."""
        return {
            "output_type": "error",
            "ename": self.class_name,
            "evalue": self.message,
            "traceback": self.traceback.splitlines(),
        }


def _add_source_line(error: BaseException, source: str) -> None:
    """Adds the line of source to a SyntaxError that lacks it."""
    if isinstance(error, SyntaxError) and error.text is None and error.lineno:
        lines = source.splitlines()
        if error.lineno <= len(lines):
            error.text = lines[error.lineno - 1]


def _explain_missing_input(error: BaseException) -> None:
    """Adds to the EOFError of input(), and to the error of a debugger, that there is no input in this notebook."""
    if type(error) is EOFError and error.args == (_NO_INPUT,):
        error.args = (f"{_NO_INPUT}: input() is not offered in this notebook",)
    bdb = sys.modules.get("bdb")
    if bdb is not None and type(error) is bdb.BdbQuit and not error.args:
        error.args = ("a debugger needs input, which is not offered in this notebook",)


def _missing_network_text(error: BaseException) -> str:
    """Returns a line which says that the sandbox has no network, if that can be why an exception was raised."""
    network = os.environ.get("ASSAY_KERNEL_NETWORK", "on")
    if network == "on" or not any(map(_is_of_network, _chain(error))):
        return ""
    return f"no network: the run was started with --network {network}\n"


def _chain(error: BaseException | None) -> list[BaseException]:
    """Returns an exception and those from which it was raised, each once."""
    chain: list[BaseException] = []
    while error is not None and not any(error is other for other in chain):
        chain.append(error)
        error = error.__cause__ or error.__context__
    return chain


def _is_of_network(error: BaseException) -> bool:
    """Whether an exception can be of a socket that is refused or finds no way, or of a name without address."""
    socket = sys.modules.get("socket")
    if socket is None or not isinstance(error, OSError):
        return False
    if isinstance(error, PermissionError):
        if error.filename is not None:
            return False  # it is of a file
        return error.errno == errno.EACCES or _last_file(error) == socket.__file__  # else such as of os.kill
    return isinstance(error, socket.gaierror) or error.errno in (errno.ENETUNREACH, errno.EHOSTUNREACH)


def _last_file(error: BaseException) -> str:
    """Returns the name of the file whose code has raised an exception."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace.tb_frame.f_code.co_filename if trace is not None else ""


def _full_traceback(error: BaseException) -> str:
    """Returns the traceback of an exception with the frames of the user's code only.

    Its last line has the class name without the module, as in notebooks.
    """
    import traceback

    report = call_user_code(traceback.TracebackException, type(error), error, error.__traceback__)
    _remove_hidden_frames(report, set(), _hidden_paths())
    text = "".join(report.format() if report.stack else report.format_exception_only())
    error_class = type(error)
    for long_name in (
        f"{error_class.__module__}.{error_class.__qualname__}",
        error_class.__qualname__,
    ):
        before, found, after = f"\n{text}".rpartition(f"\n{long_name}")
        if found:
            return f"{before}\n{error_class.__name__}{after}"[1:]
    return text


def _hidden_paths() -> tuple[str, ...]:
    """Returns the path prefixes of files whose frames are left out of tracebacks: the kernel's and IPython's."""
    ipython = getattr(sys.modules.get("IPython"), "__file__", None)
    return (KERNEL_PATH, os.path.dirname(ipython) + os.sep) if ipython else (KERNEL_PATH,)


def _remove_hidden_frames(
    report: TracebackException | None, seen: set[int], hidden_paths: tuple[str, ...]
) -> None:
    """Removes frames of files below hidden_paths from a traceback and from the exceptions it is chained to."""
    if report is None or id(report) in seen:
        return
    seen.add(id(report))
    report.stack[:] = [
        frame for frame in report.stack if not frame.filename.startswith(hidden_paths)
    ]
    for linked in (
        report.__cause__,
        report.__context__,
        *(getattr(report, "exceptions", None) or ()),
    ):
        _remove_hidden_frames(linked, seen, hidden_paths)


def _brief_traceback(error: BaseException, last_line: str) -> str:
    """Returns a traceback without source lines that ends with last_line. Needs no import and little memory."""
    lines = []
    link = error.__traceback__
    while link is not None:
        code = link.tb_frame.f_code
        if not code.co_filename.startswith(KERNEL_PATH):
            lines.append(f'  File "{code.co_filename}", line {link.tb_lineno}, in {code.co_name}\n')
        link = link.tb_next
    if lines:
        lines.insert(0, "Traceback (most recent call last):\n")
    return f"{''.join(lines)}{last_line}\n"
