"""The socket to the server: reads and writes frames.

A frame is the length of its body, eight bytes little-endian, and the body: one
JSON object, or raw text of a stream (see make_stream_frame).
"""

from __future__ import annotations

import os
import threading
from _thread import get_ident
from collections import deque

from assay.wire.messages import Encoder
from assay.wire.receiver import receive_bodies

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Protocol

    class FrameSource(Protocol):
        """Makes its frames at the moment when they are written."""

        def take_frames(self) -> Iterator[bytes]:
            """Yields whole frames: header and body."""
            ...


MAX_BODY_SIZE = 64 << 20  # bytes
_HEADER_SIZE = 8  # bytes

# Kept here because the user's code may replace them in the module os.
_write, _exit = os.write, os._exit

_ENCODER = Encoder(
    ensure_ascii=False,
    allow_nan=False,
    separators=(",", ":"),
    default=lambda value: f"<{type(value).__name__}>",
)


class FrameTooLarge(ValueError):
    """Raised for a message over 64 MiB. It was not sent, and the channel can still be used."""

    def __init__(self, size: int) -> None:
        super().__init__(f"{size:,} bytes, over the limit of {MAX_BODY_SIZE:,} bytes of a message")


def make_stream_frame(stream: int, cell_id: bytes, text: str) -> bytes:
    """Returns a frame, header included, with text that was printed to a stream (1 stdout, 2 stderr).

    cell_id is the cell that printed it, or empty for no cell. Lone surrogates are written as
    backslash escapes.
    """
    data = text.encode("utf-8", "backslashreplace")
    size = 4 + len(cell_id) + len(data)
    prefix = b"\0" + bytes((stream,)) + len(cell_id).to_bytes(2, "little")
    return size.to_bytes(_HEADER_SIZE, "little") + prefix + cell_id + data


class Channel:
    """The socket to the server, which reads and writes frames. One thread reads; any number may write."""

    def __init__(self, descriptor: int) -> None:
        """Takes over the socket with this descriptor, and keeps child processes from inheriting it."""
        os.set_inheritable(descriptor, False)
        os.set_blocking(descriptor, True)
        self._descriptor = descriptor
        self._outbox: deque[bytes | FrameSource] = deque()
        self._writing_thread = 0  # the thread that holds _write_lock, by its ident
        self._write_lock = threading.Lock()

    def receive_bodies(self) -> Iterator[bytes]:
        """Yields the body of each frame that comes from the server, until the socket closes. Raises FramingError."""
        return receive_bodies(self._descriptor, MAX_BODY_SIZE)

    def send(self, message: dict[str, Any]) -> None:
        """Sends the server a message as JSON. Raises FrameTooLarge. Ends the process if the socket is broken."""
        body = _ENCODER.encode(message).encode("utf-8", "replace")
        if len(body) > MAX_BODY_SIZE:
            raise FrameTooLarge(len(body))
        self._outbox.append(len(body).to_bytes(_HEADER_SIZE, "little") + body)
        self._drain_outbox()

    def send_frames_from(self, source: FrameSource) -> None:
        """Sends the frames that source yields. They are made when everything sent before is written."""
        self._outbox.append(source)
        self._drain_outbox()

    def await_written(self) -> None:
        """Waits until what other threads have sent is written to the socket."""
        if self._writing_thread != get_ident():
            with self._write_lock:
                pass

    def _drain_outbox(self) -> None:
        """Writes the frames in the outbox, unless the calling thread is writing them already."""
        this_thread = get_ident()
        if self._writing_thread == this_thread:
            return  # a finalizer ran inside _write_outbox, which goes on to this frame
        while self._outbox:
            with self._write_lock:
                self._writing_thread = this_thread
                try:
                    self._write_outbox()
                finally:
                    self._writing_thread = 0

    def _write_outbox(self) -> None:
        while self._outbox:
            item = self._outbox.popleft()
            for frame in (item,) if isinstance(item, bytes) else item.take_frames():
                self._write_frame(frame)

    def _write_frame(self, frame: bytes) -> None:
        """Writes a frame to the socket. Ends the process if the socket is closed; writes nothing in a user's fork."""
        if self.is_user_fork:
            return
        rest = memoryview(frame)
        while rest:
            try:
                rest = rest[_write(self._descriptor, rest) :]
            except OSError as error:
                if error.errno is None:
                    raise  # a signal handler raised it, for example TimeoutError
                is_gone = isinstance(error, (BrokenPipeError, ConnectionResetError))
                _exit(0 if is_gone else 1)  # 0: the server has closed its end; 1: the user's code ours

    @property
    def is_user_fork(self) -> bool:
        """Whether this process is a fork of the kernel, made by the user's code."""
        return self._descriptor < 0

    def detach_fork(self) -> None:
        """Closes the socket in this process, a fork of the kernel, so that it and its own forks send nothing."""
        if not self.is_user_fork:
            os.close(self._descriptor)
            self._descriptor = -1
        self._writing_thread = 0
        self._write_lock = threading.Lock()
        self._outbox.clear()
