"""The socket to the server: frames in, frames out.

A frame is the length of its body, eight bytes little-endian, and the body: one
JSON object, or raw text of a stream (see raw_frame).
"""

from __future__ import annotations

import os
import threading
from _thread import get_ident
from collections import deque

from assay.sealing.own import hidden
from assay.wire.memory_reserve import reserve
from assay.wire.messages import Encoder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Protocol

    class Source(Protocol):
        """What is asked for its frames when its turn to be written comes."""

        def frames(self) -> Iterator[bytes]: ...


LIMIT = 64 << 20  # bytes of a body
_HEADER = 8

# The user's code may put others in their place.
_write, _exit = os.write, os._exit

_ENCODER = Encoder(
    ensure_ascii=False,
    allow_nan=False,
    separators=(",", ":"),
    default=lambda value: f"<{type(value).__name__}>",
)


class BrokenChannel(Exception):
    """The server did not keep to the framing; nothing more can be read."""


class FrameTooLarge(ValueError):
    """A body over LIMIT. It was not sent, and the channel stays good."""

    def __init__(self, size: int) -> None:
        super().__init__(f"{size:,} bytes, over the limit of {LIMIT:,} bytes of a message")


def raw_frame(stream: int, cell_id: bytes, text: str) -> bytes:
    """Returns a whole frame with text of a stream (1 stdout, 2 stderr)."""
    data = text.encode("utf-8", "backslashreplace")  # lone surrogates
    size = 4 + len(cell_id) + len(data)
    mark = b"\0" + bytes((stream,)) + len(cell_id).to_bytes(2, "little")
    return size.to_bytes(_HEADER, "little") + mark + cell_id + data


class Channel:
    """Reads and writes frames. One thread reads; any number may write."""

    def __init__(self, descriptor: int) -> None:
        """Takes over the descriptor, which children of this process do not inherit."""
        os.set_inheritable(descriptor, False)
        os.set_blocking(descriptor, True)
        self._descriptor = descriptor
        self._outbox: deque[bytes | Source] = deque()
        self._writer = 0  # the thread that is writing
        self._lock = threading.Lock()  # held to write

    def bodies(self) -> Iterator[bytes]:
        """Returns what yields the bodies of frames until the socket closes. It raises BrokenChannel."""

        def save(short: bool) -> None:
            reserve.release() if short else reserve.ensure()

        received = hidden("assay.wire.receiver")["bodies"]
        bodies: Iterator[bytes] = received(self._descriptor, LIMIT, save, BrokenChannel)
        return bodies

    def send(self, message: dict[str, Any]) -> None:
        """Sends one JSON object. Raises FrameTooLarge."""
        body = _ENCODER.encode(message).encode("utf-8", "replace")
        if len(body) > LIMIT:
            raise FrameTooLarge(len(body))
        self._outbox.append(len(body).to_bytes(_HEADER, "little") + body)
        self._drain()

    def send_from(self, source: Source) -> None:
        """Sends the frames that source has when everything before them is written."""
        self._outbox.append(source)
        self._drain()

    def _drain(self) -> None:
        me = get_ident()
        if self._writer == me:
            return  # a finalizer ran while this thread wrote, which goes on to its frame
        while self._outbox:
            with self._lock:
                self._writer = me
                try:
                    self._write_all()
                finally:
                    self._writer = 0

    def _write_all(self) -> None:
        while self._outbox:
            item = self._outbox.popleft()
            for frame in (item,) if isinstance(item, bytes) else item.frames():
                self._write(frame)

    def _write(self, frame: bytes) -> None:
        if self.forked:
            return
        rest = memoryview(frame)
        while rest:
            try:
                rest = rest[_write(self._descriptor, rest) :]
            except OSError as error:
                if error.errno is None:
                    raise  # not the system's: TimeoutError of a signal handler, for example
                _exit(1)  # the server is gone, or the user's code closed the socket

    @property
    def forked(self) -> bool:
        """Whether this process is a fork of the kernel's, made by the user's code."""
        return self._descriptor < 0

    def leave(self) -> None:
        """Leaves the socket to the parent: in a fork, and in its forks, nothing more is sent."""
        if not self.forked:
            os.close(self._descriptor)
            self._descriptor = -1
        self._writer = 0
        self._lock = threading.Lock()
        self._outbox.clear()
