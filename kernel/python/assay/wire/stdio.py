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


class Stream(io.TextIOBase):
    """Standard output or error: text goes to the work that the writer belongs to.

    fileno() is the true descriptor, 1 or 2; what C code and child processes
    write there is read by the server. Closing has no effect.
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
        self._number = number
        self.name = name
        self._current_sink = current_sink
        self._after_write = after_write
        self.buffer = ByteStream(self)

    def write(self, text: str) -> int:
        """Writes text and returns its length."""
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
        """Accepts the settings of a text file; none applies."""

    def close(self) -> None:
        """Has no effect."""


class ByteStream(io.BufferedIOBase):
    """The bytes below a Stream, in UTF-8; what is not becomes U+FFFD."""

    def __init__(self, text: Stream) -> None:
        self._text = text
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
            self._text.write(text)
        return view.nbytes

    def flush(self) -> None:
        """Sends what was written so far."""
        self._text.flush()

    def fileno(self) -> int:
        """Returns 1 or 2."""
        return self._text.fileno()

    def writable(self) -> bool:
        """Returns True."""
        return True

    def close(self) -> None:
        """Has no effect."""


class EmptyInput(io.TextIOBase):
    """Standard input, of which there is none: input() is an EOFError at once."""

    encoding = "utf-8"
    errors = "strict"
    mode = "r"
    name = "<stdin>"

    def readable(self) -> bool:
        """Returns True."""
        return True

    def read(self, size: int | None = -1) -> str:
        """Returns the empty string: the end."""
        return ""

    def readline(self, size: int = -1) -> str:  # type: ignore[override]
        """Returns the empty string: the end."""
        return ""

    def fileno(self) -> int:
        """Returns 0."""
        return 0

    def close(self) -> None:
        """Has no effect; exit() calls it."""


class Stdio:
    """The three streams, put in place by install, and again after a reset."""

    def __init__(self, current_sink: Callable[[], Sink], after_write: Callable[[], None]) -> None:
        """current_sink returns where the calling code's text goes.

        after_write is called after each write: the caller may be C code that
        never lets a signal in.
        """
        self._streams: Any = (
            EmptyInput(),
            Stream(1, "<stdout>", current_sink, after_write),
            Stream(2, "<stderr>", current_sink, after_write),
        )

    def install(self) -> None:
        """Makes the streams the interpreter's."""
        sys.stdin, sys.stdout, sys.stderr = self._streams
