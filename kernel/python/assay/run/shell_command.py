"""Runs commands in a shell: !command."""

from __future__ import annotations

import codecs
import os
import selectors
import subprocess
import sys
from _thread import start_new_thread

from assay.run.process_tree import end_process_tree
from assay.run.user_code import call_user_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Process = subprocess.Popen[bytes]

_READ_SIZE = 64 << 10  # bytes asked of the pipe at once
_POLL_INTERVAL = 0.05  # seconds without output after which the end of the command is checked


def run_command(command: str) -> int:
    """Runs a command in a shell, prints its output as it comes, and returns its exit status.

    The status is negative if a signal ended the command: -9 for SIGKILL. Processes that it leaves
    in the background go on, and their output is still printed. When the caller is interrupted, the
    command and all processes that it has started are ended.
    """
    return _run_in_shell(command, _print_text)


def capture_command(command: str) -> tuple[str, int]:
    """Runs a command in a shell, and returns its output, stdout and stderr in one text, and its exit status.

    When the caller is interrupted, the command and all processes that it has started are ended.
    """
    pieces: list[str] = []
    status = _run_in_shell(command, pieces.append)
    return "".join(pieces), status


def _print_text(text: str) -> None:
    stream = sys.stdout
    if stream is not None:
        call_user_code(stream.write, text)
        call_user_code(stream.flush)


def _run_in_shell(command: str, write: Callable[[str], Any]) -> int:
    """Runs a command in a shell, calls write with its output as it comes, and returns its exit status."""
    process = subprocess.Popen(
        [_find_shell(), "-c", command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        _forward_output(process, write)
        return int(call_user_code(process.wait))
    except BaseException as error:
        end_process_tree(process.pid)
        process.wait()
        if isinstance(error, KeyboardInterrupt):
            raise KeyboardInterrupt from None  # without the frames that wait for the process
        raise


def _find_shell() -> str:
    """Returns the path of the user's shell: $SHELL, else bash, else /bin/sh."""
    from shutil import which

    return os.environ.get("SHELL") or which("bash") or "/bin/sh"


def _forward_output(process: Process, write: Callable[[str], Any]) -> None:
    """Calls write with the output of a process until the process has ended or closed its output.

    If other processes still hold the output open then, a thread forwards what they write.
    """
    assert process.stdout is not None
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    pipe = process.stdout.fileno()
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while True:
            if not call_user_code(selector.select, _POLL_INTERVAL):
                if process.poll() is None:
                    continue
                start_new_thread(_forward_late_output, (process, decoder, write))
                return
            data = os.read(pipe, _READ_SIZE)
            write(decoder.decode(data, not data))
            if not data:
                return


def _forward_late_output(process: Process, decoder: Any, write: Callable[[str], Any]) -> None:
    """Calls write with the output of processes that a command has left in the background, until they close it."""
    assert process.stdout is not None
    with process.stdout as pipe:
        while data := os.read(pipe.fileno(), _READ_SIZE):
            write(decoder.decode(data))


def expand_variables(line: str, global_ns: dict[str, Any], local_ns: dict[str, Any]) -> str:
    """Returns a command line with {expression} and $name replaced by their values in the user's code.

    $$name and {{ stand for $name and {. A $name that is no variable is left to the shell. If an
    {expression} fails, the whole line is left as it is.
    """
    from string import Formatter

    pieces: list[str] = []
    try:
        for text, expression, format_spec, conversion in Formatter().parse(line):
            pieces.append(_expand_names(text, {**global_ns, **local_ns}))
            if expression is not None:
                value = call_user_code(eval, expression, global_ns, local_ns)
                if conversion:
                    value = Formatter().convert_field(value, conversion)
                pieces.append(call_user_code(format, value, format_spec or ""))
    except Exception:  # awk '{print $1}', for example
        return line
    return "".join(pieces)


def _expand_names(text: str, names: dict[str, Any]) -> str:
    """Returns text with each $name replaced by the value of that variable in names, if there is one."""
    import re

    def value(found: re.Match[str]) -> str:
        name = found[1]
        if name.startswith("$"):
            return str(name)
        return str(call_user_code(str, names[name])) if name in names else found[0]

    return re.sub(r"\$(\$?\w+)", value, text)
