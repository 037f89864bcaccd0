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
    """A sink that drops all printed text."""

    def write(self, stream: int, text: str) -> None:
        """Drops the text."""

    def flush(self) -> None:
        """Does nothing, since no text is kept."""


class DescriptorSink:
    """A sink that writes whole lines to descriptors 1 and 2, for a fork of the kernel, which has no socket."""

    def __init__(self) -> None:
        self._unfinished_lines = {1: "", 2: ""}

    def write(self, stream: int, text: str) -> None:
        """Adds text to a stream (1 stdout, 2 stderr). If it has a line break, all unwritten text is written."""
        self._unfinished_lines[stream] += text
        if "\n" in text:
            self._write_unfinished_line(stream)

    def flush(self) -> None:
        """Writes the unfinished lines of stdout and stderr to their descriptors."""
        for stream in self._unfinished_lines:
            self._write_unfinished_line(stream)

    def _write_unfinished_line(self, stream: int) -> None:
        rest = self._unfinished_lines[stream].encode("utf-8", "backslashreplace")
        self._unfinished_lines[stream] = ""
        while rest:
            rest = rest[os.write(stream, rest) :]


class CaptureSink:
    """A sink that keeps the text of stdout and of stderr: of each at most the first and the last 2 Mi characters."""

    def __init__(self) -> None:
        self._streams = {1: _HeadAndTail(), 2: _HeadAndTail()}

    def write(self, stream: int, text: str) -> None:
        """Adds text to a stream (1 stdout, 2 stderr), dropping its middle if there is too much."""
        self._streams[stream].add(text)

    def flush(self) -> None:
        """Does nothing, since captured text is not sent anywhere."""

    def text(self, stream: int) -> str:
        """Returns the text of a stream (1 stdout, 2 stderr). A line in it says how many characters were dropped."""
        return self._streams[stream].text()


class _HeadAndTail:
    """The beginning and the end of a long text, at most 2 Mi characters each, and how many were dropped between."""

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
        """Drops pieces from the front of the tail, as long as at least 2 Mi characters remain."""
        while self._tail_length - len(self._tail[0]) >= _MAX_END:
            gone = len(self._tail.popleft())
            self._tail_length -= gone
            self._dropped += gone

    def text(self) -> str:
        marker = f"\n... {self._dropped:,} characters dropped ...\n" if self._dropped else ""
        return "".join(self._head) + marker + "".join(self._tail)
