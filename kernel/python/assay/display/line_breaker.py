"""Breaks a text into lines of limited width, at marked places."""

from __future__ import annotations

from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from typing import Union

    Item = Union[str, "_BreakPoint"]

_LINE_WIDTH = 79  # characters


class TextLimitReached(Exception):
    """Raised when a text has more characters than its limit allows."""


class LineBreaker:
    """Breaks a text into lines of at most 79 characters at the break points in its nested groups.

    The break points of a group become either all blanks or all line breaks. From the first break
    point of a line on, text is held back until the line is complete or too long. Then the outermost
    group that can be broken is broken, and so on inwards until the line fits. This is how Oppen's
    printer and its many descendants break lines. A value's `_repr_pretty_` calls these methods, so
    most of their names are IPython's.
    """

    def __init__(self, max_length: int) -> None:
        """Makes an empty text. Adding more than max_length characters raises TextLimitReached."""
        self._room = max_length  # characters
        self._written: list[str] = []
        self._column = 0  # where the written text ends
        self._held: deque[Item] = deque()  # begins with a break point
        self._held_width = 0
        self._open_groups = [_Group(0)]
        self._unbroken: list[list[_Group]] = [[self._open_groups[0]]]  # groups by depth
        self.indentation = 0

    def finish(self) -> str:
        """Returns the whole text. Nothing may be added to the LineBreaker after this."""
        self._write_held()
        return "".join(self._written)

    def text(self, text: str) -> None:
        """Adds characters without a line break to the text. Raises TextLimitReached."""
        self._room -= len(text)
        if self._room < 0:
            raise TextLimitReached
        if self._held:
            self._held.append(text)
            self._held_width += len(text)
            self._break_until_fits()
        else:
            self._write(text)

    def breakable(self, blank: str = " ") -> None:
        """Adds a break point to the text: it becomes the string blank, or a line break if its group is broken."""
        group = self._open_groups[-1]
        if group.is_broken:
            self._write_held()
            self._start_line(self.indentation)
        else:
            point = _BreakPoint(blank, self.indentation, group)
            group.held_points += 1
            self._held.append(point)
            self._held_width += len(blank)
            self._break_until_fits()

    def break_(self) -> None:
        """Adds a line break to the text, and breaks the group around it."""
        group = self._break_outermost()
        if group is not None:
            self._write_past_break_points(group)
        self._write_held()
        self._start_line(self.indentation)

    def begin_group(self, indent: int = 0, opening: str = "") -> None:
        """Opens a group of text with the characters opening. Its lines are indented by indent more characters."""
        if opening:
            self.text(opening)
        group = _Group(len(self._open_groups))
        self._open_groups.append(group)
        while len(self._unbroken) <= group.depth:
            self._unbroken.append([])
        self._unbroken[group.depth].append(group)
        self.indentation += indent

    def end_group(self, dedent: int = 0, closing: str = "") -> None:
        """Closes the group of text that was opened last, with the characters closing."""
        self.indentation -= dedent
        group = self._open_groups.pop()
        if not group.held_points:
            self._remove_from_unbroken(group)
        if closing:
            self.text(closing)

    def group(
        self, indent: int = 0, opening: str = "", closing: str = ""
    ) -> AbstractContextManager[None]:
        """Returns a context manager that opens a group of text and closes it at the end."""
        from contextlib import contextmanager

        @contextmanager
        def opened() -> Iterator[None]:
            self.begin_group(indent, opening)
            try:
                yield
            finally:
                self.end_group(indent, closing)

        return opened()

    def _break_until_fits(self) -> None:
        """Breaks groups, outermost first, until the line with the held text has at most 79 characters."""
        while self._column + self._held_width > _LINE_WIDTH:
            group = self._break_outermost()
            if group is None:
                return
            self._write_past_break_points(group)

    def _break_outermost(self) -> _Group | None:
        """Marks groups as broken from the outermost inwards, up to the first with a held break point.

        Returns that group, or None if no group has a held break point.
        """
        for level in self._unbroken:
            for group in reversed(level):
                if group.held_points:
                    level.remove(group)
                    group.is_broken = True
                    return group
            for group in level:
                group.is_broken = True
            level.clear()
        return None

    def _write_past_break_points(self, group: _Group) -> None:
        """Writes the held text up to the end of the piece that follows the group's last held break point."""
        while group.held_points:
            self._write_next_held()
        while self._held and isinstance(self._held[0], str):
            self._write_next_held()

    def _write_held(self) -> None:
        while self._held:
            self._write_next_held()

    def _write_next_held(self) -> None:
        item = self._held.popleft()
        if isinstance(item, str):
            self._held_width -= len(item)
            self._write(item)
            return
        self._held_width -= len(item.blank)
        item.group.held_points -= 1
        if item.group.is_broken:
            self._start_line(item.indentation)
        else:
            if not item.group.held_points:
                self._remove_from_unbroken(item.group)
            self._write(item.blank)

    def _remove_from_unbroken(self, group: _Group) -> None:
        """Removes a group from the list of groups that may still be broken."""
        if group in self._unbroken[group.depth]:
            self._unbroken[group.depth].remove(group)

    def _write(self, text: str) -> None:
        self._written.append(text)
        self._column += len(text)

    def _start_line(self, indentation: int) -> None:
        self._written.append("\n" + " " * indentation)
        self._column = indentation


class _Group:
    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.held_points = 0  # its break points that are held
        self.is_broken = False


class _BreakPoint:
    def __init__(self, blank: str, indentation: int, group: _Group) -> None:
        self.blank = blank
        self.indentation = indentation
        self.group = group
