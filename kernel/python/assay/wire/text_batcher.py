"""Batches the text that the user's code prints, so that it reaches the server in few frames."""

from __future__ import annotations

from _queue import SimpleQueue  # queue itself is slower to import
from _thread import start_new_thread
from collections import deque
from time import monotonic, sleep

from assay.wire.channel import make_stream_frame
from assay.wire.memory_reserve import memory_reserve
from assay.wire.process_output import await_pipes_read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from assay.wire.channel import Channel

_FRAME_INTERVAL = 0.010  # seconds between two frames of a batcher that is not flushed
_MIN_FLUSH_DELAY = 0.001  # seconds that the first text after a pause waits for more
_MAX_CELL_ID_SIZE = 0xFFFF  # bytes, as a frame can hold
_BATCH_SIZE = 64 << 10  # characters after which text is sent at once, and the most in a frame


class TextBatcher:
    """A sink that sends the text which a run prints to the server in few frames. Safe for use by several threads.

    A line that comes 10 ms or more after the last frame is sent at once, so that the last words
    before a crash arrive. Text that follows it is collected for 10 ms or up to 64 Ki characters.
    """

    def __init__(self, channel: Channel, flush_timer: FlushTimer, cell_id: str = "") -> None:
        """cell_id is the cell whose run prints the text, or "" for text of no cell."""
        self._channel = channel
        self._flush_timer = flush_timer
        self._cell_id = cell_id.encode("utf-8", "replace")[:_MAX_CELL_ID_SIZE]
        self._pieces: deque[tuple[int, str]] = deque()
        self._size = 0  # characters in _pieces
        self._is_flush_pending = False  # the timer will flush
        self.last_sent = 0.0  # when text was last sent, by monotonic()

    def write(self, stream: int, text: str) -> None:
        """Adds text of a stream (1 stdout, 2 stderr), and sends it now or within about 10 ms."""
        self._pieces.append((stream, text))
        self._size += len(text)
        if self._size >= _BATCH_SIZE:
            self.flush()
        elif text.endswith("\n") and monotonic() - self.last_sent >= _FRAME_INTERVAL:
            self.flush()
        elif not self._is_flush_pending:
            self._is_flush_pending = True
            self._flush_timer.flush_later(self)

    def flush(self) -> None:
        """Sends the text that was written so far to the server, after what child processes have written.

        Returns when the text is on its way, also if another thread sends it.
        """
        await_pipes_read()
        self._send()
        self._channel.await_written()

    def close(self) -> None:
        """Sends the remaining text at the end of a run. Text that is written later belongs to no cell."""
        self._send()
        self._cell_id = b""

    def _send(self) -> None:
        if self._pieces:
            self._channel.send_frames_from(self)

    def take_frames(self) -> Iterator[bytes]:
        """Removes the text that was written so far and yields it as frames. Only the channel calls it."""
        self._is_flush_pending = False
        self._size = 0
        self.last_sent = monotonic()
        streams: dict[int, list[str]] = {}
        while self._pieces:
            stream, piece = self._pieces.popleft()
            streams.setdefault(stream, []).append(piece)
        for stream, pieces in streams.items():
            text = "".join(pieces)
            for start in range(0, len(text), _BATCH_SIZE):
                yield make_stream_frame(stream, self._cell_id, text[start : start + _BATCH_SIZE])


class FlushTimer:
    """A thread that flushes TextBatchers which have unsent text, 10 ms after their last frame."""

    def __init__(self) -> None:
        self._pending: SimpleQueue[TextBatcher] = SimpleQueue()

    def start(self) -> None:
        """Starts the timer's thread, which runs until the process ends."""
        start_new_thread(self._flush_pending, ())

    def flush_later(self, batcher: TextBatcher) -> None:
        """Has a TextBatcher flushed 10 ms after its last frame, or 1 ms from now if that is later."""
        self._pending.put(batcher)

    def _flush_pending(self) -> None:
        while True:
            batcher = self._pending.get()
            sleep(max(_MIN_FLUSH_DELAY, batcher.last_sent + _FRAME_INTERVAL - monotonic()))
            memory_reserve.release_if_low()
            batcher.flush()
