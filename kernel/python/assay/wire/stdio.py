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
    """Standard output or error: text goes to the sink of the run that the writing code belongs to.

    fileno() is the real descriptor, 1 or 2; the server reads what C code and
    child processes write there. Closing has no effect.
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
        """number is the descriptor, 1 or 2; for the callbacks see StandardStreams."""
        self._number = number
        self.name = name
        self._current_sink = current_sink
        self._after_write = after_write
        self.buffer = OutputByteStream(self)

    def write(self, text: str) -> int:
        """Writes text and returns its length in characters."""
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        self._current_sink().write(self._number, text)
        self._after_write()
        return len(text)

    def flush(self) -> None:
        """Sends what was written so far."""
        self._current_sink().flush()

    def fileno(self) -> int:
        """Returns 1 or 2."""
        return self._number

    def writable(self) -> bool:
        """Returns True."""
        return True

    def reconfigure(self, **_: Any) -> None:
        """Accepts the settings of a text file and ignores them."""

    def close(self) -> None:
        """Has no effect."""


class OutputByteStream(io.BufferedIOBase):
    """The buffer of an OutputStream: takes bytes of UTF-8; invalid ones become U+FFFD."""

    def __init__(self, stream: OutputStream) -> None:
        self._stream = stream
        self._decoder: IncrementalDecoder | None = None

    def write(self, data: Any) -> int:
        """Writes a bytes-like object and returns its length in bytes."""
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
        """Sends what was written so far."""
        self._stream.flush()

    def fileno(self) -> int:
        """Returns 1 or 2."""
        return self._stream.fileno()

    def writable(self) -> bool:
        """Returns True."""
        return True

    def close(self) -> None:
        """Has no effect."""


class EmptyInput(io.TextIOBase):
    """Standard input without any data: input() raises EOFError at once."""

    encoding = "utf-8"
    errors = "strict"
    mode = "r"
    name = "<stdin>"

    def readable(self) -> bool:
        """Returns True."""
        return True

    def read(self, size: int | None = -1) -> str:
        """Returns the empty string: end of file."""
        return ""

    def readline(self, size: int = -1) -> str:  # type: ignore[override]
        """Returns the empty string: end of file."""
        return ""

    def fileno(self) -> int:
        """Returns 0."""
        return 0

    def close(self) -> None:
        """Has no effect. exit() calls it."""


class StandardStreams:
    """The user's sys.stdin, sys.stdout and sys.stderr."""

    def __init__(self, current_sink: Callable[[], Sink], after_write: Callable[[], None]) -> None:
        """current_sink returns where the text of the calling code goes.

        after_write is called after each write and may raise. It runs signal
        handlers that were put off: C code that prints in a loop lets none in.
        """
        self._streams: Any = (
            EmptyInput(),
            OutputStream(1, "<stdout>", current_sink, after_write),
            OutputStream(2, "<stderr>", current_sink, after_write),
        )

    def install(self) -> None:
        """Puts the streams in place, also after the user's code has replaced them."""
        sys.stdin, sys.stdout, sys.stderr = self._streams
