"""Printed text on its way to the server, coalesced into few frames."""

from __future__ import annotations

from _thread import start_new_thread
from collections import deque
from queue import SimpleQueue
from time import monotonic, sleep

from assay.wire.channel import raw_frame
from assay.wire.memory_reserve import reserve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from assay.wire.channel import Channel

_PERIOD = 0.010  # seconds between two frames of a stream that is not flushed
_SOON = 0.001  # seconds that text after a quiet time waits for more
_MOST_ID = 0xFFFF  # bytes of a cell id, as a frame can say it
_CHUNK = 64 << 10  # characters after which text does not wait, and the most in a frame


class Text:
    """The text of one run, or of none. Safe for use by several threads.

    A line after a quiet time is sent at once, so that the last words before a
    crash are heard; what follows is gathered for 10 ms or 64 Ki characters.
    """

    def __init__(self, channel: Channel, pacer: Pacer, cell_id: str = "") -> None:
        self._channel = channel
        self._pacer = pacer
        self._cell_id = cell_id.encode("utf-8", "replace")[:_MOST_ID]
        self._pieces: deque[tuple[int, str]] = deque()
        self._size = 0
        self._waiting = False  # the pacer will flush
        self.sent = 0.0  # when text was last sent, by monotonic()

    def write(self, stream: int, text: str) -> None:
        """Adds text of a stream (1 stdout, 2 stderr)."""
        self._pieces.append((stream, text))
        self._size += len(text)
        if self._size >= _CHUNK:
            self.flush()
        elif text.endswith("\n") and monotonic() - self.sent >= _PERIOD:
            self.flush()
        elif not self._waiting:
            self._waiting = True
            self._pacer.remind(self)

    def flush(self) -> None:
        """Sends what was written so far."""
        if self._pieces:
            self._channel.send_from(self)

    def close(self) -> None:
        """Sends the rest. What a thread still writes belongs to no cell."""
        self.flush()
        self._cell_id = b""

    def frames(self) -> Iterator[bytes]:
        """Takes what was written and yields it as frames. Called by the channel only."""
        self._waiting = False
        self._size = 0
        self.sent = monotonic()
        streams: dict[int, list[str]] = {}
        while self._pieces:
            stream, piece = self._pieces.popleft()
            streams.setdefault(stream, []).append(piece)
        for stream, pieces in streams.items():
            text = "".join(pieces)
            for start in range(0, len(text), _CHUNK):
                yield raw_frame(stream, self._cell_id, text[start : start + _CHUNK])


class Pacer:
    """The thread that sends text which nothing else has sent in time."""

    def __init__(self) -> None:
        self._due: SimpleQueue[Text] = SimpleQueue()

    def start(self) -> None:
        """Starts the thread, which runs until the process ends."""
        start_new_thread(self._run, ())

    def remind(self, text: Text) -> None:
        """Flushes text when its time has come."""
        self._due.put(text)

    def _run(self) -> None:
        while True:
            text = self._due.get()
            sleep(max(_SOON, text.sent + _PERIOD - monotonic()))
            reserve.ensure()
            text.flush()
