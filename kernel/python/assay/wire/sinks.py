"""Sinks: where the text that the user's code prints goes, other than to the server as it comes."""

from __future__ import annotations

import os
from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Sink(Protocol):
        """Takes the text that a piece of user code prints. Safe for use by several threads."""

        def write(self, stream: int, text: str) -> None:
            """Takes text of a stream (1 stdout, 2 stderr)."""
            ...

        def flush(self) -> None:
            """Passes on what was written so far."""
            ...


_MAX_END = 2 << 20  # characters kept of a stream's beginning, and as many of its end


class NullSink:
    """Drops all text."""

    def write(self, stream: int, text: str) -> None:
        """Drops text."""

    def flush(self) -> None:
        """Does nothing."""


class DescriptorSink:
    """Writes whole lines to the descriptors 1 and 2: for a process that user code has forked, which has no socket."""

    def __init__(self) -> None:
        self._unfinished_lines = {1: "", 2: ""}

    def write(self, stream: int, text: str) -> None:
        """Adds text, and writes what was added so far once text has a line break."""
        self._unfinished_lines[stream] += text
        if "\n" in text:
            self._write_out(stream)

    def flush(self) -> None:
        """Writes the unfinished lines of both streams."""
        for stream in self._unfinished_lines:
            self._write_out(stream)

    def _write_out(self, stream: int) -> None:
        rest = self._unfinished_lines[stream].encode("utf-8", "backslashreplace")
        self._unfinished_lines[stream] = ""
        while rest:
            rest = rest[os.write(stream, rest) :]


class CaptureSink:
    """Keeps the text of both streams; of more than 4 Mi characters the first and the last 2 Mi."""

    def __init__(self) -> None:
        self._streams = {1: _HeadAndTail(), 2: _HeadAndTail()}

    def write(self, stream: int, text: str) -> None:
        """Adds text."""
        self._streams[stream].add(text)

    def flush(self) -> None:
        """Does nothing."""

    def text(self, stream: int) -> str:
        """Returns what was written to a stream (1 stdout, 2 stderr); a line says how much was dropped."""
        return self._streams[stream].text()


class _HeadAndTail:
    """The beginning and the end of a text that may be too long to keep."""

    def __init__(self) -> None:
        self._head: list[str] = []
        self._head_room = _MAX_END  # characters that the head still takes
        self._tail: deque[str] = deque()
        self._tail_length = 0
        self._dropped = 0

    def add(self, text: str) -> None:
        head, rest = text[: self._head_room], text[self._head_room :]
        if head:
            self._head.append(head)
            self._head_room -= len(head)
        if rest:
            self._dropped += max(0, len(rest) - _MAX_END)
            self._tail.append(rest[-_MAX_END:])
            self._tail_length += len(self._tail[-1])
            self._shorten_tail()

    def _shorten_tail(self) -> None:
        """Drops pieces from the front of the tail while the rest is still long enough."""
        while self._tail_length - len(self._tail[0]) >= _MAX_END:
            gone = len(self._tail.popleft())
            self._tail_length -= gone
            self._dropped += gone

    def text(self) -> str:
        marker = f"\n... {self._dropped:,} characters dropped ...\n" if self._dropped else ""
        return "".join(self._head) + marker + "".join(self._tail)
