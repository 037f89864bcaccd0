"""Keeps what the user's code prints in order with what its child processes write.

What is printed goes to the server over the socket. What child processes and C
code write goes into the pipes at descriptors 1 and 2, which the server reads.
The server handles what has come over the socket before it reads the pipes. So
the order is kept if printed text is sent before a child process starts, and
after the server has read what is in the pipes.
"""

from __future__ import annotations

import sys
from fcntl import ioctl
from time import monotonic, sleep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_FIONREAD = 0x541B  # asks Linux how many bytes of a pipe are not read; termios is slow to import
_NO_BYTES = bytes(4)  # the number that _FIONREAD overwrites in a copy
_READ_TIMEOUT = 1.0  # seconds
_POLL_INTERVAL = 0.0001  # seconds

# What Python reports to audit hooks before it starts a process.
_START_EVENTS = frozenset(
    ("subprocess.Popen", "os.system", "os.posix_spawn", "os.fork", "os.forkpty", "os.exec")
)


def call_before_process_start(action: Callable[[], object]) -> None:
    """Makes Python call action before it starts a child process or is replaced by another program."""

    def on_audit_event(event: str, _args: tuple[object, ...]) -> None:
        if event in _START_EVENTS:
            action()

    sys.addaudithook(on_audit_event)


def await_pipes_read() -> None:
    """Waits until the server has read what is in the pipes at descriptors 1 and 2, but at most 1 s.

    A process in the background may fill them without end. So two reads of the server are enough: the
    second one takes all that was there at the call.
    """
    unread = _count_unread_bytes()
    if not unread:
        return
    reads = 0
    deadline = monotonic() + _READ_TIMEOUT
    while unread and reads < 2 and monotonic() < deadline:
        sleep(_POLL_INTERVAL)
        before, unread = unread, _count_unread_bytes()
        reads += unread < before


def _count_unread_bytes() -> int:
    """Returns how many bytes in both pipes the server has not read; 0 if the user's code has closed one."""
    try:
        counts = [ioctl(descriptor, _FIONREAD, _NO_BYTES) for descriptor in (1, 2)]
    except OSError:
        return 0
    return sum(int.from_bytes(count, sys.byteorder) for count in counts)
