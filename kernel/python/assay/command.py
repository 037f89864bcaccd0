"""Running a command in a shell: !command."""

from __future__ import annotations

import codecs
import os
import selectors
import signal
import subprocess
import sys
from _thread import start_new_thread
from time import monotonic, sleep

from assay.doors import enter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Process = subprocess.Popen[bytes]

_READ = 64 << 10  # bytes asked of the pipe at once
_TICK = 0.05  # seconds of silence after which the end of the command is looked for
_GRACE = 0.5  # seconds that an interrupted command has to end


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
        _end(process)
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


def _end(process: Process) -> None:
    """Interrupts process and all that it started, and kills what is left of it."""
    if process.poll() is not None:
        return
    family = _held_still(process.pid)
    _signal(family, signal.SIGINT)
    _signal(family, signal.SIGCONT)
    deadline = monotonic() + _GRACE
    while process.poll() is None and monotonic() < deadline:
        sleep(0.01)
    _signal(family + _family(process.pid), signal.SIGKILL)
    process.wait()


def _held_still(pid: int) -> list[int]:
    """Stops pid and its descendants, which can start no more then, and returns them.

    A process is stopped some time after it was told to be, and until then it may
    come back from a fork: only when all of them stand still are these all.
    """
    held: dict[int, None] = {}
    deadline = monotonic() + _GRACE
    while True:
        family = _family(pid)
        more = [member for member in family if member not in held]
        _signal(more, signal.SIGSTOP)
        held.update(dict.fromkeys(more))
        if monotonic() > deadline or not more and all(map(_is_still, family)):
            return list(held)
        if not more:
            sleep(0.001)


def _family(pid: int) -> list[int]:
    """Returns pid and, where /proc tells of them, its descendants."""
    children: dict[int, list[int]] = {}
    try:
        entries = os.listdir("/proc")
    except OSError:
        return [pid]
    for entry in entries:
        if entry.isdigit():
            children.setdefault(_parent(entry), []).append(int(entry))
    family = [pid]
    for member in family:
        family += children.get(member, ())
    return family


def _parent(entry: str) -> int:
    return int((_stat(entry) or (b"", b"0"))[1])


def _is_still(pid: int) -> bool:
    """Returns whether a process is stopped, or no more."""
    return (_stat(str(pid)) or (b"X",))[0] in (b"T", b"t", b"Z", b"X")


def _stat(entry: str) -> list[bytes]:
    """Returns what Linux says of a process, its state first and its parent second."""
    try:
        with open(f"/proc/{entry}/stat", "rb") as stat:
            return stat.read().rpartition(b")")[2].split()
    except OSError:  # it has just ended
        return []


def _signal(pids: list[int], number: int) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


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
