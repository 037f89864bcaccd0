"""A process and all that it has started, as Linux tells of them."""

from __future__ import annotations

import os
import signal
from time import monotonic, sleep

_GRACE = 0.5  # seconds that an interrupted process has to end
_PATIENCE = 2.0  # seconds that processes have to stand still
_TICK = 0.001  # seconds between two looks

# States of a thread that starts no process: stopped, over, or waiting in the
# system for something on the way out of which it meets the order to stop.
_STILL = (b"T", b"t", b"Z", b"X", b"D")


def end(pid: int) -> None:
    """Interrupts a child of this process and all that it has started, and kills what is left.

    It has 0.5 s to end by itself, and is still to be waited for. What it has left
    behind is let be where it has ended before; so is what is no child.
    """
    if not _runs(pid):
        return
    family = _held_still([pid])
    for number in (signal.SIGINT, signal.SIGCONT):
        for member in family:
            _signal(member, number)
    deadline = monotonic() + _GRACE
    while _runs(pid) and monotonic() < deadline:
        sleep(_TICK)
    for member in _held_still(family):  # which may have started more, to clean up
        _signal(member, signal.SIGKILL)


def _runs(pid: int) -> bool:
    """Tells whether pid is a child that has not ended, and leaves it to be waited for."""
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
    except ChildProcessError:
        return False


def _held_still(roots: list[int]) -> list[int]:
    """Stops processes and their descendants, which can start no more then, and returns them.

    A process stops some time after it was told to, and until then it may come
    back from a fork. So these are all of them only when nobody else is found
    after all that were known have been seen to stand still.
    """
    held: dict[int, bool] = {}  # by process, whether it could be told
    deadline = monotonic() + _PATIENCE
    while True:
        still = all(_is_still(pid) for pid, told in held.items() if told)
        more = [pid for pid in _family(roots) if pid not in held]
        held.update({pid: _signal(pid, signal.SIGSTOP) for pid in more})
        if still and not more or monotonic() > deadline:
            return list(held)
        sleep(_TICK)


def _family(roots: list[int]) -> list[int]:
    """Returns processes and, where /proc tells of them, their descendants."""
    children: dict[int, list[int]] = {}
    for entry in _entries("/proc"):
        if entry.isdigit():
            parent = int((_stat(entry) or (b"", b"0"))[1])
            children.setdefault(parent, []).append(int(entry))
    family = list(roots)
    for member in family:
        family += (child for child in children.get(member, ()) if child not in family)
    return family


def _is_still(pid: int) -> bool:
    """Tells whether no thread of a process can start another process, or there is none."""
    for thread in _entries(f"/proc/{pid}/task"):
        stat = _stat(f"{pid}/task/{thread}")
        if stat and stat[0] not in _STILL:
            return False
    return True


def _stat(entry: str) -> list[bytes]:
    """Returns what is said of a process or thread, its state first and its parent second."""
    try:
        with open(f"/proc/{entry}/stat", "rb") as stat:
            return stat.read().rpartition(b")")[2].split()
    except OSError:  # it has just ended
        return []


def _entries(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _signal(pid: int, number: int) -> bool:
    """Sends a signal, and tells whether that was possible: a process may be gone, or another user's."""
    try:
        os.kill(pid, number)
    except OSError:
        return False
    return True
