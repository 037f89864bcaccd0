"""Running a command in a shell: !command."""

from __future__ import annotations

import codecs
import os
import selectors
import subprocess
import sys
from _thread import start_new_thread

from assay.run.process_tree import end
from assay.run.user_code import enter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Process = subprocess.Popen[bytes]

_READ = 64 << 10  # bytes asked of the pipe at once
_TICK = 0.05  # seconds of silence after which the end of the command is looked for


def run(command: str) -> int:
    """Runs command, prints what it writes as it comes, and returns the exit status.

    That is negative where a signal ended it. What it leaves in the background
    goes on, and prints on. When the caller is interrupted, all that it started is.
    """
    return _run(command, _print)


def output(command: str) -> tuple[str, int]:
    """Runs command and returns what it wrote to stdout and stderr, and the exit status."""
    pieces: list[str] = []
    status = _run(command, pieces.append)
    return "".join(pieces), status


def _print(text: str) -> None:
    stream = sys.stdout
    if stream is not None:
        enter(stream.write, text)
        enter(stream.flush)


def _run(command: str, write: Callable[[str], Any]) -> int:
    process = subprocess.Popen(
        [_interpreter(), "-c", command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        _follow(process, write)
        return int(enter(process.wait))
    except BaseException as error:
        end(process.pid)
        process.wait()
        if isinstance(error, KeyboardInterrupt):
            raise KeyboardInterrupt from None  # without the frames of the waiting
        raise


def _interpreter() -> str:
    """Returns the user's shell, else the best there is."""
    from shutil import which

    return os.environ.get("SHELL") or which("bash") or "/bin/sh"


def _follow(process: Process, write: Callable[[str], Any]) -> None:
    """Passes on what process writes until it has ended, or closed its end of the pipe."""
    assert process.stdout is not None
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    pipe = process.stdout.fileno()
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while True:
            if not enter(selector.select, _TICK):
                if process.poll() is None:
                    continue
                start_new_thread(_follow_rest, (process, decoder, write))
                return
            data = os.read(pipe, _READ)
            write(decoder.decode(data, not data))
            if not data:
                return


def _follow_rest(process: Process, decoder: Any, write: Callable[[str], Any]) -> None:
    """Passes on what is written by what the command left in the background."""
    assert process.stdout is not None
    with process.stdout as pipe:
        while data := os.read(pipe.fileno(), _READ):
            write(decoder.decode(data))


def expand(line: str, names: dict[str, Any], local: dict[str, Any]) -> str:
    """Returns line with {expression} and $name replaced by what they are in the user's code.

    $$name and {{ stand for $name and {. What has no value is left to the shell; so is the
    line as a whole, where an {expression} has none.
    """
    from string import Formatter

    pieces: list[str] = []
    try:
        for text, expression, form, conversion in Formatter().parse(line):
            pieces.append(_with_names(text, {**names, **local}))
            if expression is not None:
                value = enter(eval, expression, names, local)
                if conversion:
                    value = Formatter().convert_field(value, conversion)
                pieces.append(enter(format, value, form or ""))
    except Exception:  # awk '{print $1}', for example
        return line
    return "".join(pieces)


def _with_names(text: str, names: dict[str, Any]) -> str:
    import re

    def value(found: re.Match[str]) -> str:
        name = found[1]
        if name.startswith("$"):
            return str(name)
        return str(enter(str, names[name])) if name in names else found[0]

    return re.sub(r"\$(\$?\w+)", value, text)
