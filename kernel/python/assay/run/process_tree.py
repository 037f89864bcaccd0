"""Ends a process and its descendants, which are found in /proc."""

from __future__ import annotations

import os
import signal
from time import monotonic, sleep

_INTERRUPT_GRACE = 0.5  # seconds that an interrupted process has to end by itself
_STOP_TIMEOUT = 2.0  # seconds that processes have to come to a stop
_POLL_INTERVAL = 0.001  # seconds

# States in which a thread cannot fork: stopped, over, or in an uninterruptible
# wait, after which it obeys the order to stop first.
_STATES_THAT_CANNOT_FORK = (b"T", b"t", b"Z", b"X", b"D")


def end_process_tree(pid: int) -> None:
    """Interrupts a child process and its descendants by SIGINT, and kills after 0.5 s those that are left.

    The caller must still wait for the child. Does nothing if pid is not a child or has ended
    already; then its descendants go on.
    """
    if not _is_running_child(pid):
        return
    tree = _suspend_process_tree([pid])
    for number in (signal.SIGINT, signal.SIGCONT):
        for member in tree:
            _send_signal(member, number)
    deadline = monotonic() + _INTERRUPT_GRACE
    while _is_running_child(pid) and monotonic() < deadline:
        sleep(_POLL_INTERVAL)
    for member in _suspend_process_tree(tree):  # looked up again: a handler may have started more processes
        _send_signal(member, signal.SIGKILL)


def _is_running_child(pid: int) -> bool:
    """Returns whether pid is a child process that has not ended. Does not reap it."""
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
    except ChildProcessError:
        return False


def _suspend_process_tree(roots: list[int]) -> list[int]:
    """Sends SIGSTOP to processes and their descendants, so that they start no more, and returns all their ids.

    A process stops some time after the signal, and may still return from a fork until then. So the
    list is complete only when no new process is found after all known ones have been seen unable to
    fork. Gives up waiting for that after 2 s.
    """
    signalled: dict[int, bool] = {}  # by process: whether the signal could be sent
    deadline = monotonic() + _STOP_TIMEOUT
    while True:
        stopped = all(_cannot_fork(pid) for pid, sent in signalled.items() if sent)
        new = [pid for pid in _list_with_descendants(roots) if pid not in signalled]
        signalled.update({pid: _send_signal(pid, signal.SIGSTOP) for pid in new})
        if stopped and not new or monotonic() > deadline:
            return list(signalled)
        sleep(_POLL_INTERVAL)


def _list_with_descendants(roots: list[int]) -> list[int]:
    """Returns the ids of processes and their descendants; only of the processes if there is no /proc."""
    children: dict[int, list[int]] = {}
    for entry in _list_names_in_folder("/proc"):
        if entry.isdigit():
            parent = int((_read_process_stat(entry) or (b"", b"0"))[1])
            children.setdefault(parent, []).append(int(entry))
    tree = list(roots)
    for member in tree:
        tree += (child for child in children.get(member, ()) if child not in tree)
    return tree


def _cannot_fork(pid: int) -> bool:
    """Returns whether all threads of a process are stopped or otherwise in a state in which they cannot fork."""
    for thread in _list_names_in_folder(f"/proc/{pid}/task"):
        stat = _read_process_stat(f"{pid}/task/{thread}")
        if stat and stat[0] not in _STATES_THAT_CANNOT_FORK:
            return False
    return True


def _read_process_stat(entry: str) -> list[bytes]:
    """Returns the fields of /proc/<entry>/stat after the process name: state, parent and so on; [] if it is gone."""
    try:
        with open(f"/proc/{entry}/stat", "rb") as stat:
            return stat.read().rpartition(b")")[2].split()
    except OSError:  # it has just ended
        return []


def _list_names_in_folder(folder: str) -> list[str]:
    """Returns the names in a folder, or [] if it cannot be read."""
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _send_signal(pid: int, number: int) -> bool:
    """Sends a signal to a process. Returns False if that fails: the process is gone, or is another user's."""
    try:
        os.kill(pid, number)
    except OSError:
        return False
    return True
