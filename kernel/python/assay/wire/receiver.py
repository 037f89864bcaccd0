"""Reads what the server sends.

The module is loaded by run_hidden_module, see assay.sealing.own: user code that changes the
kernel's modules does not change how requests are read.
"""

from __future__ import annotations

from os import read
from time import sleep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_HEADER_SIZE = 8  # bytes
_READ_SIZE = 64 << 10  # bytes asked of the socket at once
_MEMORY_RETRY_INTERVAL = 0.010  # seconds


def receive_bodies(
    descriptor: int, limit: int, on_memory: Callable[[bool], None], framing_error: type[Exception]
) -> Iterator[bytes]:
    """Yields the bodies of the frames that are read from a socket's descriptor, until the socket closes.

    Calls on_memory(True) when memory ran out, and on_memory(False) after each read, when there may
    be too little left to handle what was read. Raises framing_error if the length of a body is not
    between 1 and limit bytes.
    """
    data = bytearray()

    def fill(size: int) -> bool:
        """Reads until data has size bytes; returns False if the socket closed before."""
        while len(data) < size:
            try:
                chunk = read(descriptor, _READ_SIZE)
            except ConnectionError:
                chunk = b""
            except MemoryError:
                on_memory(True)
                sleep(_MEMORY_RETRY_INTERVAL)
                continue
            on_memory(False)
            if not chunk:
                return False
            data.extend(chunk)
        return True

    def take(size: int) -> bytes:
        taken = bytes(data[:size])
        del data[:size]
        return taken

    while fill(_HEADER_SIZE):
        size = int.from_bytes(take(_HEADER_SIZE), "little", signed=True)
        if not 0 < size <= limit:
            raise framing_error(f"frame length {size}, not between 1 and {limit}")
        if not fill(size):
            return
        yield take(size)
