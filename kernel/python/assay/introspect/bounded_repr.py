"""A repr that costs little, whatever the value: long and deep ones are cut."""

from __future__ import annotations

from collections import deque
from itertools import chain, islice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

_MOST = 1000  # characters of a repr
_ITEMS = 200  # of one container
_DEPTH = 6
_BITS = 4000  # of an integer that is still written out

_CONTAINERS = (list, tuple, set, frozenset, dict, deque)
_BRACKETS = {"list": ("[", "]"), "tuple": ("(", ")"), "set": ("{", "}"), "dict": ("{", "}")}


def bounded_repr(value: object) -> str:
    """Returns the repr of value in at most 1,000 characters.

    Strings and containers of the language, named tuples and dataclasses are
    never gone through whole. The repr of any other object is its own: it may
    be the user's code, may take long, and may raise.
    """
    text = "".join(_Writer().pieces(value))
    return text if len(text) <= _MOST else text[: _MOST - 3] + "..."


class _Writer:
    """Writes one value in pieces, and begins no further item when there is text enough."""

    def __init__(self) -> None:
        self._room = _MOST
        self._open: set[int] = set()  # containers being written, by id

    def pieces(self, value: object) -> Iterator[str]:
        for piece in self._pieces(value, _DEPTH):
            self._room -= len(piece)
            yield piece

    def _pieces(self, value: Any, depth: int) -> Iterator[str]:
        kind = type(value)
        fields = _fields(value)
        if isinstance(value, (str, bytes, bytearray)) and _has_plain_repr(kind):
            yield repr(value[: _MOST + 1])
        elif kind is int and value.bit_length() > _BITS:
            yield f"<int of {value.bit_length():,} bits>"
        elif fields is not None:
            yield from self._contain(value, f"{kind.__name__}(", self._named(fields, depth), ")")
        elif isinstance(value, _CONTAINERS) and _has_plain_repr(kind):
            yield from self._container(value, depth)
        else:
            yield repr(value)[: _MOST + 1]

    def _container(self, value: Any, depth: int) -> Iterator[str]:
        name = type(value).__name__
        if name == "set" and not value:
            return iter(("set()",))
        if name in _BRACKETS:
            start, end = _BRACKETS[name]
        else:
            start, end = f"{name}(", ")"
        if name == "tuple" and len(value) == 1:
            end = ",)"
        items = self._pairs(value, depth) if isinstance(value, dict) else self._items(value, depth)
        return self._contain(value, start, items, end)

    def _contain(
        self, value: object, start: str, items: Iterable[Iterable[str]], end: str
    ) -> Iterator[str]:
        if id(value) in self._open:
            yield f"{start}...{end}"
            return
        self._open.add(id(value))
        yield start
        for number, item in enumerate(items):
            if number:
                yield ", "
            if number == _ITEMS or self._room <= 0:
                yield "..."
                break
            yield from item
        self._open.discard(id(value))
        yield end

    def _items(self, value: Iterable[Any], depth: int) -> Iterator[Iterable[str]]:
        for item in islice(value, _ITEMS + 1):
            yield self._nested(item, depth)

    def _pairs(self, value: dict[Any, Any], depth: int) -> Iterator[Iterable[str]]:
        for key, item in islice(value.items(), _ITEMS + 1):
            yield chain(self._nested(key, depth), (": ",), self._nested(item, depth))

    def _named(self, fields: list[tuple[str, Any]], depth: int) -> Iterator[Iterable[str]]:
        for name, item in fields:
            yield chain((f"{name}=",), self._nested(item, depth))

    def _nested(self, value: Any, depth: int) -> Iterable[str]:
        if depth == 0:
            return ("...",)
        kind = type(value)
        if kind is float or kind is bool or kind is int and value.bit_length() <= _BITS:
            return (repr(value),)  # most items are one of these
        shape = getattr(value, "shape", None)
        if isinstance(shape, tuple) and shape:  # an array or a table, whose repr is dear
            return (f"<{type(value).__name__}, shape {tuple(shape)}>",)
        return self._pieces(value, depth - 1)


def _has_plain_repr(kind: type) -> bool:
    """Tells whether the class has no repr of its own, written in Python."""
    return not hasattr(kind.__repr__, "__code__")


def _fields(value: Any) -> list[tuple[str, Any]] | None:
    """Returns the fields of a named tuple, or of a dataclass with the usual repr."""
    kind = type(value)
    if isinstance(value, tuple) and isinstance(getattr(kind, "_fields", None), tuple):
        return list(zip(kind._fields, value))
    if "__dataclass_fields__" in vars(kind) and hasattr(kind.__repr__, "__wrapped__"):
        fields = vars(kind)["__dataclass_fields__"].values()
        return [(field.name, getattr(value, field.name)) for field in fields if field.repr]
    return None
