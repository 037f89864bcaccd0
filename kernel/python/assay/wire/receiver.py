"""What the server sends, as it comes.

The module is loaded hidden, see assay.sealing.own: no request is misread because the
user's code has changed how requests are read.
"""

from __future__ import annotations

from os import read
from time import sleep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_HEADER = 8
_READ = 64 << 10  # bytes asked of the socket at once
_SHORTAGE = 0.010  # seconds until memory is asked for again


def bodies(
    descriptor: int, limit: int, reserve: Callable[[bool], None], broken: type[Exception]
) -> Iterator[bytes]:
    """Yields the bodies of frames until the socket closes.

    Calls reserve with true when there is no memory, and with false when there may
    be none for what was read. Raises broken where a length is not within limit.
    """
    data = bytearray()

    def fill(size: int) -> bool:
        while len(data) < size:
            try:
                chunk = read(descriptor, _READ)
            except ConnectionError:
                chunk = b""
            except MemoryError:
                reserve(True)
                sleep(_SHORTAGE)
                continue
            reserve(False)
            if not chunk:
                return False
            data.extend(chunk)
        return True

    def take(size: int) -> bytes:
        taken = bytes(data[:size])
        del data[:size]
        return taken

    while fill(_HEADER):
        size = int.from_bytes(take(_HEADER), "little", signed=True)
        if not 0 < size <= limit:
            raise broken(f"frame length {size}, not between 1 and {limit}")
        if not fill(size):
            return
        yield take(size)
