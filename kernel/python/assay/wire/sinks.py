"""Sinks whose text goes nowhere, or into an answer, or straight to a descriptor."""

from __future__ import annotations

import os
from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Sink(Protocol):
        """Where the text of a work goes. Safe for use by several threads."""

        def write(self, stream: int, text: str) -> None: ...

        def flush(self) -> None: ...


_HALF = 2 << 20  # characters kept of a stream's beginning, and of its end


class Quiet:
    """Drops all text."""

    def write(self, stream: int, text: str) -> None:
        """Drops text."""

    def flush(self) -> None:
        """Does nothing."""


class Descriptors:
    """Writes whole lines to the descriptors 1 and 2, for a fork, which has no socket."""

    def __init__(self) -> None:
        self._lines = {1: "", 2: ""}

    def write(self, stream: int, text: str) -> None:
        """Adds text."""
        self._lines[stream] += text
        if "\n" in text:
            self._write(stream)

    def flush(self) -> None:
        """Writes the unfinished lines."""
        for stream in self._lines:
            self._write(stream)

    def _write(self, stream: int) -> None:
        rest = self._lines[stream].encode("utf-8", "backslashreplace")
        self._lines[stream] = ""
        while rest:
            rest = rest[os.write(stream, rest) :]


class Capture:
    """Keeps the text of both streams for an answer: of a long one the two ends."""

    def __init__(self) -> None:
        self._streams = {1: _Ends(), 2: _Ends()}

    def write(self, stream: int, text: str) -> None:
        """Adds text."""
        self._streams[stream].add(text)

    def flush(self) -> None:
        """Does nothing."""

    def text(self, stream: int) -> str:
        """Returns what was written to stream (1 stdout, 2 stderr)."""
        return self._streams[stream].text()


class _Ends:
    def __init__(self) -> None:
        self._head: list[str] = []
        self._room = _HALF
        self._tail: deque[str] = deque()
        self._length = 0  # of the tail
        self._dropped = 0

    def add(self, text: str) -> None:
        head, rest = text[: self._room], text[self._room :]
        if head:
            self._head.append(head)
            self._room -= len(head)
        if rest:
            self._dropped += max(0, len(rest) - _HALF)
            self._tail.append(rest[-_HALF:])
            self._length += len(self._tail[-1])
            self._shorten()

    def _shorten(self) -> None:
        while self._length - len(self._tail[0]) >= _HALF:
            gone = len(self._tail.popleft())
            self._length -= gone
            self._dropped += gone

    def text(self) -> str:
        marker = f"\n... {self._dropped:,} characters dropped ...\n" if self._dropped else ""
        return "".join(self._head) + marker + "".join(self._tail)
