"""Breaking a text into lines of a width, at the places where it may be broken."""

from __future__ import annotations

from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from typing import Union

    Item = Union[str, "_Break"]

_WIDTH = 79  # characters of a line


class Full(Exception):
    """The text has come to the most characters that it may have."""


class Layout:
    """Text in nested groups, whose breaks are either all blanks or all new lines.

    The text of a line that has breaks is held back until the line is complete
    or too long. Then the outermost group that can be broken is broken, and so
    on inwards until the rest fits. That is how Oppen's printer and its many
    descendants break lines. Its methods are also what a `_repr_pretty_` calls.
    """

    def __init__(self, most: int) -> None:
        """most is the number of characters after which Full is raised."""
        self._room = most
        self._written: list[str] = []
        self._column = 0  # where the written text ends
        self._held: deque[Item] = deque()  # begins with a break
        self._width = 0  # of what is held
        self._open = [_Group(0)]
        self._levels: list[list[_Group]] = [[self._open[0]]]  # groups not broken, by depth
        self.indentation = 0

    def value(self) -> str:
        """Returns the text. Nothing can be added after it."""
        self._flush()
        return "".join(self._written)

    def text(self, text: str) -> None:
        """Adds text without a line break in it."""
        self._room -= len(text)
        if self._room < 0:
            raise Full
        if self._held:
            self._held.append(text)
            self._width += len(text)
            self._fit()
        else:
            self._write(text)

    def breakable(self, blank: str = " ") -> None:
        """Adds a place that is blank, or a new line where its group is broken."""
        group = self._open[-1]
        if group.broken:
            self._flush()
            self._new_line(self.indentation)
        else:
            place = _Break(blank, self.indentation, group)
            group.pending += 1
            self._held.append(place)
            self._width += len(blank)
            self._fit()

    def break_(self) -> None:
        """Adds a new line, which also breaks a group around it."""
        group = self._outermost()
        if group is not None:
            self._release(group)
        self._flush()
        self._new_line(self.indentation)

    def begin_group(self, indent: int = 0, opening: str = "") -> None:
        """Opens a group, whose lines are indented by indent more."""
        if opening:
            self.text(opening)
        group = _Group(len(self._open))
        self._open.append(group)
        while len(self._levels) <= group.depth:
            self._levels.append([])
        self._levels[group.depth].append(group)
        self.indentation += indent

    def end_group(self, dedent: int = 0, closing: str = "") -> None:
        """Closes the group that was opened last."""
        self.indentation -= dedent
        group = self._open.pop()
        if not group.pending:
            self._settle(group)
        if closing:
            self.text(closing)

    def group(
        self, indent: int = 0, opening: str = "", closing: str = ""
    ) -> AbstractContextManager[None]:
        """Returns the context that is a group."""
        from contextlib import contextmanager

        @contextmanager
        def opened() -> Iterator[None]:
            self.begin_group(indent, opening)
            try:
                yield
            finally:
                self.end_group(indent, closing)

        return opened()

    def _fit(self) -> None:
        while self._column + self._width > _WIDTH:
            group = self._outermost()
            if group is None:
                return
            self._release(group)

    def _outermost(self) -> _Group | None:
        """Breaks the outermost groups up to one that has a break held, and returns that."""
        for level in self._levels:
            for group in reversed(level):
                if group.pending:
                    level.remove(group)
                    group.broken = True
                    return group
            for group in level:
                group.broken = True
            level.clear()
        return None

    def _release(self, group: _Group) -> None:
        """Writes what is held, up to the text behind the group's last break."""
        while group.pending:
            self._write_next()
        while self._held and isinstance(self._held[0], str):
            self._write_next()

    def _flush(self) -> None:
        while self._held:
            self._write_next()

    def _write_next(self) -> None:
        item = self._held.popleft()
        if isinstance(item, str):
            self._width -= len(item)
            self._write(item)
            return
        self._width -= len(item.blank)
        item.group.pending -= 1
        if item.group.broken:
            self._new_line(item.indentation)
        else:
            if not item.group.pending:
                self._settle(item.group)
            self._write(item.blank)

    def _settle(self, group: _Group) -> None:
        """Takes group off those that may still be broken."""
        if group in self._levels[group.depth]:
            self._levels[group.depth].remove(group)

    def _write(self, text: str) -> None:
        self._written.append(text)
        self._column += len(text)

    def _new_line(self, indentation: int) -> None:
        self._written.append("\n" + " " * indentation)
        self._column = indentation


class _Group:
    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.pending = 0  # breaks of it that are held
        self.broken = False


class _Break:
    def __init__(self, blank: str, indentation: int, group: _Group) -> None:
        self.blank = blank
        self.indentation = indentation
        self.group = group
