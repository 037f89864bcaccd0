"""A repr that is cheap for any value: long and deep ones are cut."""

from __future__ import annotations

from collections import deque
from itertools import chain, islice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

_MAX_LENGTH = 1000  # characters of a repr
_MAX_ITEMS = 200  # of one container
_MAX_DEPTH = 6  # nested containers
_MAX_INT_BITS = 4000  # of an integer whose digits are written

_CONTAINERS = (list, tuple, set, frozenset, dict, deque)
_BRACKETS = {"list": ("[", "]"), "tuple": ("(", ")"), "set": ("{", "}"), "dict": ("{", "}")}


def bounded_repr(value: object) -> str:
    """Returns the repr of value in at most 1,000 characters.

    Only the beginning of a long string or container is read; containers include named tuples and
    dataclasses. For any other object its own __repr__ is called, which may be the user's code, take
    long, and raise any exception.
    """
    text = "".join(_ReprWriter().iter_pieces(value))
    return text if len(text) <= _MAX_LENGTH else text[: _MAX_LENGTH - 3] + "..."


class _ReprWriter:
    """Writes the repr of one value in pieces, and stops once there are about 1,000 characters."""

    def __init__(self) -> None:
        self._room = _MAX_LENGTH  # characters
        self._open: set[int] = set()  # ids of the containers that are being written

    def iter_pieces(self, value: object) -> Iterator[str]:
        """Yields the pieces of the repr of value. Together they may have more than 1,000 characters."""
        for piece in self._repr_pieces(value, _MAX_DEPTH):
            self._room -= len(piece)
            yield piece

    def _repr_pieces(self, value: Any, depth: int) -> Iterator[str]:
        cls = type(value)
        fields = _named_fields(value)
        if isinstance(value, (str, bytes, bytearray)) and _has_c_repr(cls):
            yield repr(value[: _MAX_LENGTH + 1])
        elif cls is int and value.bit_length() > _MAX_INT_BITS:
            yield f"<int of {value.bit_length():,} bits>"
        elif fields is not None:
            items = self._field_pieces(fields, depth)
            yield from self._container_pieces(value, f"{cls.__name__}(", items, ")")
        elif isinstance(value, _CONTAINERS) and _has_c_repr(cls):
            yield from self._builtin_container_pieces(value, depth)
        else:
            yield repr(value)[: _MAX_LENGTH + 1]

    def _builtin_container_pieces(self, value: Any, depth: int) -> Iterator[str]:
        name = type(value).__name__
        if name == "set" and not value:
            return iter(("set()",))
        if name in _BRACKETS:
            start, end = _BRACKETS[name]
        else:
            start, end = f"{name}(", ")"
        if name == "tuple" and len(value) == 1:
            end = ",)"
        pieces_of = self._pair_pieces if isinstance(value, dict) else self._item_pieces
        items = pieces_of(value, depth)
        return self._container_pieces(value, start, items, end)

    def _container_pieces(
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
            if number == _MAX_ITEMS or self._room <= 0:
                yield "..."
                break
            yield from item
        self._open.discard(id(value))
        yield end

    def _item_pieces(self, value: Iterable[Any], depth: int) -> Iterator[Iterable[str]]:
        for item in islice(value, _MAX_ITEMS + 1):
            yield self._nested_pieces(item, depth)

    def _pair_pieces(self, value: dict[Any, Any], depth: int) -> Iterator[Iterable[str]]:
        for key, item in islice(value.items(), _MAX_ITEMS + 1):
            yield chain(self._nested_pieces(key, depth), (": ",), self._nested_pieces(item, depth))

    def _field_pieces(self, fields: list[tuple[str, Any]], depth: int) -> Iterator[Iterable[str]]:
        for name, item in fields:
            yield chain((f"{name}=",), self._nested_pieces(item, depth))

    def _nested_pieces(self, value: Any, depth: int) -> Iterable[str]:
        if depth == 0:
            return ("...",)
        cls = type(value)
        if cls is float or cls is bool or cls is int and value.bit_length() <= _MAX_INT_BITS:
            return (repr(value),)  # most items are one of these
        shape = getattr(value, "shape", None)
        if isinstance(shape, tuple) and shape:  # an array or a table, whose repr takes long
            return (f"<{type(value).__name__}, shape {tuple(shape)}>",)
        return self._repr_pieces(value, depth - 1)


def _has_c_repr(cls: type) -> bool:
    """Returns whether the __repr__ of a class is written in C, and so not the user's code."""
    return not hasattr(cls.__repr__, "__code__")


def _named_fields(value: Any) -> list[tuple[str, Any]] | None:
    """Returns names and values of the fields of a named tuple or dataclass, or None for any other value.

    A dataclass with a __repr__ of its own counts as any other value.
    """
    cls = type(value)
    if isinstance(value, tuple) and isinstance(getattr(cls, "_fields", None), tuple):
        return list(zip(cls._fields, value))
    if "__dataclass_fields__" in vars(cls) and hasattr(cls.__repr__, "__wrapped__"):
        fields = vars(cls)["__dataclass_fields__"].values()
        return [(field.name, getattr(value, field.name)) for field in fields if field.repr]
    return None
