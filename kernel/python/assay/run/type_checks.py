"""What a value is, told by names, so that no library is imported to know it.

A class is looked at past its metaclass, which may be the user's and do anything.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_mro = type.__dict__["__mro__"].__get__
_name = type.__dict__["__name__"].__get__
_module = type.__dict__["__module__"].__get__
_own = type.__dict__["__dict__"].__get__


def mro(kind: type) -> tuple[type, ...]:
    """Returns the class and its bases, in the order in which they are looked at."""
    bases: tuple[type, ...] = _mro(kind)
    return bases


def class_name(kind: type) -> tuple[Any, str]:
    """Returns the module of a class, a str if all is well, and its name."""
    return _module(kind), _name(kind)


def is_a(value: object, package: str, name: str) -> bool:
    """Tells whether value is an instance of a class `name` of `package`, or of a subclass."""
    return any(_name(base) == name and _package(base) == package for base in _mro(type(value)))


def _package(kind: type) -> str:
    module = _module(kind)
    return module.partition(".")[0] if isinstance(module, str) else ""


def is_table(value: object) -> bool:
    """Tells whether value is a pandas DataFrame."""
    return is_a(value, "pandas", "DataFrame")


def is_plot(value: object) -> bool:
    """Tells whether value is a figure in the manner of plotly."""
    return _package(type(value)).startswith("plotly")


def is_figure(value: object) -> bool:
    """Tells whether value is a matplotlib figure."""
    return is_a(value, "matplotlib", "Figure")


def is_awaitable(value: object) -> bool:
    """Tells whether value can be awaited: a coroutine, a task, a future."""
    return any("__await__" in _own(base) for base in _mro(type(value)))
