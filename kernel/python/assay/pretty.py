"""The text of a value as notebooks show it: long containers over several lines.

It is what IPython makes of the value, so that a notebook has the same text with
IPython and without.
"""

from __future__ import annotations

from itertools import islice

from assay.doors import enter
from assay.forms import shows
from assay.kinds import class_name, mro
from assay.layout import Full, Layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

_ITEMS = 1000  # of one container; of a longer one the rest is dots


def pretty(value: object, most: int, text_of: Callable[[object], str]) -> str:
    """Returns the text of value, in little more than most characters.

    text_of gives the repr of what has one of its own, and does not raise. Only
    a RecursionError comes out of a value that is nested too deep.
    """
    printer = Printer(most, text_of)
    try:
        printer.pretty(value)
    except Full:
        return printer.value() + "..."
    return printer.value()


class Printer(Layout):
    """Adds values to a layout."""

    def __init__(self, most: int, text_of: Callable[[object], str]) -> None:
        super().__init__(most)
        self._text_of = text_of
        self._inside: list[int] = []  # the ids of what is being added
        self._shows = shows()

    def pretty(self, value: object) -> None:
        """Adds value in a group of its own."""
        self._inside.append(id(value))
        self.begin_group()
        self._add(value)
        self.end_group()
        self._inside.pop()

    def _add(self, value: object) -> None:
        for base in mro(type(value)):
            show = self._shows.get(class_name(base))
            if show is not None:
                return show(value, self)
            if callable(vars(base).get("_repr_pretty_")):
                call: Any = getattr(type(value), "_repr_pretty_")
                enter(call, value, self, self._again(value))
                return None
            if base is not object and "__repr__" in vars(base):
                return self.own(value)
        return self._anonymous(value)

    def _again(self, value: object) -> bool:
        """Tells whether value, which is being added, contains itself."""
        return self._inside.count(id(value)) > 1

    def own(self, value: object) -> None:
        """Adds the repr of value."""
        for number, line in enumerate(self._text_of(value).splitlines()):
            if number:
                self.break_()
            self.text(line)

    def _anonymous(self, value: object) -> None:
        self.begin_group(1, "<")
        self.pretty(type(value))
        self.text(f" at {id(value):#x}")
        self.end_group(1, ">")

    def items(
        self, value: object, opening: str, items: Iterable[Any], closing: str, pairs: bool = False
    ) -> None:
        """Adds a container's items, or where it contains itself, dots."""
        if self._again(value):
            self.text(f"{opening}...{closing}")
            return
        self.begin_group(len(opening), opening)
        for number, item in enumerate(islice(items, _ITEMS + 1)):
            if number:
                self.text(",")
                self.breakable()
            if number == _ITEMS:
                self.text("...")
                break
            self._item(item, pairs)
        if type(value) is tuple and len(value) == 1:
            self.text(",")
        self.end_group(len(opening), closing)

    def _item(self, item: Any, pair: bool) -> None:
        if pair:
            key, item = item
            self.pretty(key)
            self.text(": ")
        self.pretty(item)

    def call(self, value: object, name: str, *args: object, **named: object) -> None:
        """Adds value as the call that makes it."""
        self.begin_group()
        self.begin_group(len(name) + 1, name + "(")
        if self._again(value):
            self.text("...")
        else:
            self._arguments(args, named)
        self.end_group(len(name) + 1, ")")
        self.end_group()

    def _arguments(self, args: tuple[object, ...], named: dict[str, object]) -> None:
        pairs = [("", arg) for arg in args] + [(f"{name}=", arg) for name, arg in named.items()]
        for number, (prefix, arg) in enumerate(pairs):
            if number:
                self.text(",")
                self.breakable()
            self.begin_group(len(prefix), prefix)
            self.pretty(arg)
            self.end_group(len(prefix))
