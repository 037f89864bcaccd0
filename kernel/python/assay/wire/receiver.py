"""Reads what the server sends."""

from __future__ import annotations

from os import read
from time import sleep

from assay.wire.memory_reserve import memory_reserve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_HEADER_SIZE = 8  # bytes
_READ_SIZE = 64 << 10  # bytes asked of the socket at once
_MEMORY_RETRY_INTERVAL = 0.010  # seconds


class FramingError(Exception):
    """Raised when the server sent a frame of an impossible length. Nothing more can be read then."""


def receive_bodies(descriptor: int, limit: int) -> Iterator[bytes]:
    """Yields the bodies of the frames that are read from a socket's descriptor, until the socket closes.

    Raises FramingError if the length of a body is not between 1 and limit bytes.
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
                memory_reserve.release()
                sleep(_MEMORY_RETRY_INTERVAL)
                continue
            memory_reserve.release_if_low()
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
            raise FramingError(f"frame length {size}, not between 1 and {limit}")
        if not fill(size):
            return
        yield take(size)
