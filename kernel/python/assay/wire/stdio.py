"""The user's sys.stdout, sys.stderr and sys.stdin."""

from __future__ import annotations

import io
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from codecs import IncrementalDecoder
    from collections.abc import Callable
    from typing import Any

    from assay.wire.sinks import Sink


class OutputStream(io.TextIOBase):
    """The user's sys.stdout or sys.stderr. Text goes to the sink of the work to which the writing code belongs.

    fileno() is the real descriptor, 1 or 2; the server reads what C code and child processes write
    there. Closing has no effect.
    """

    encoding = "utf-8"
    errors = "backslashreplace"
    mode = "w"
    line_buffering = True
    write_through = True

    def __init__(
        self,
        number: int,
        name: str,
        current_sink: Callable[[], Sink],
        after_write: Callable[[], None],
    ) -> None:
        """number is the stream's descriptor, 1 or 2. The two callbacks are described at StandardStreams."""
        self._number = number
        self.name = name
        self._current_sink = current_sink
        self._after_write = after_write
        self.buffer = OutputByteStream(self)

    def write(self, text: str) -> int:
        """Passes text to the sink of the calling code, and returns its length in characters.

        Raises TypeError if text is not a str, and what a deferred signal handler of the user's
        raises.
        """
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        self._current_sink().write(self._number, text)
        self._after_write()
        return len(text)

    def flush(self) -> None:
        """Makes the sink of the calling code send the text written so far."""
        self._current_sink().flush()

    def fileno(self) -> int:
        """Returns the stream's descriptor: 1 for stdout, 2 for stderr."""
        return self._number

    def writable(self) -> bool:
        """Returns True: the stream can be written to."""
        return True

    def reconfigure(self, **_: Any) -> None:
        """Accepts the settings of a text file and ignores them."""

    def close(self) -> None:
        """Does nothing: the stream stays open."""


class OutputByteStream(io.BufferedIOBase):
    """The binary buffer of sys.stdout or sys.stderr. It takes bytes of UTF-8; invalid ones become U+FFFD."""

    def __init__(self, stream: OutputStream) -> None:
        self._stream = stream
        self._decoder: IncrementalDecoder | None = None

    def write(self, data: Any) -> int:
        """Writes a bytes-like object, decoded as UTF-8, to the text stream, and returns its length in bytes.

        Raises TypeError for a str.
        """
        if isinstance(data, str):
            raise TypeError("a bytes-like object is required, not 'str'")
        if self._decoder is None:
            import codecs

            self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        view = memoryview(data)
        text = self._decoder.decode(view.tobytes())
        if text:
            self._stream.write(text)
        return view.nbytes

    def flush(self) -> None:
        """Makes the sink of the calling code send the text written so far."""
        self._stream.flush()

    def fileno(self) -> int:
        """Returns the stream's descriptor: 1 for stdout, 2 for stderr."""
        return self._stream.fileno()

    def writable(self) -> bool:
        """Returns True: the stream can be written to."""
        return True

    def close(self) -> None:
        """Does nothing: the stream stays open."""


class EmptyInput(io.TextIOBase):
    """The user's sys.stdin, which is always at its end: input() raises EOFError at once."""

    encoding = "utf-8"
    errors = "strict"
    mode = "r"
    name = "<stdin>"

    def readable(self) -> bool:
        """Returns True: the stream can be read, although it is empty."""
        return True

    def read(self, size: int | None = -1) -> str:
        """Returns "", because the input is at its end."""
        return ""

    def readline(self, size: int = -1) -> str:  # type: ignore[override]
        """Returns "", because the input is at its end."""
        return ""

    def fileno(self) -> int:
        """Returns 0, the descriptor of stdin."""
        return 0

    def close(self) -> None:
        """Does nothing: the stream stays open, although exit() closes it."""


class StandardStreams:
    """The three streams that become the user's sys.stdin, sys.stdout and sys.stderr."""

    def __init__(self, current_sink: Callable[[], Sink], after_write: Callable[[], None]) -> None:
        """current_sink returns the sink for text that the calling code prints.

        after_write is called after each write and may raise. It runs signal handlers that were put
        off, because C code that prints in a loop lets none run.
        """
        self._streams: Any = (
            EmptyInput(),
            OutputStream(1, "<stdout>", current_sink, after_write),
            OutputStream(2, "<stderr>", current_sink, after_write),
        )

    def install(self) -> None:
        """Sets sys.stdin, sys.stdout and sys.stderr, even if the user's code has replaced them."""
        sys.stdin, sys.stdout, sys.stderr = self._streams
