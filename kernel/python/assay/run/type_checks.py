"""What kind of value something is, found out by the names of its classes, so that no library is imported.

The attributes of a class are read past its metaclass, which may be the user's and do anything.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_read_mro = type.__dict__["__mro__"].__get__
_read_name = type.__dict__["__name__"].__get__
_read_module = type.__dict__["__module__"].__get__
_read_dict = type.__dict__["__dict__"].__get__


def class_mro(cls: type) -> tuple[type, ...]:
    """Returns a class and its bases in method resolution order, without calling the user's code."""
    bases: tuple[type, ...] = _read_mro(cls)
    return bases


def module_and_name(cls: type) -> tuple[Any, str]:
    """Returns the module and the name of a class. The module is a str unless somebody has changed it."""
    return _read_module(cls), _read_name(cls)


def is_instance_by_name(value: object, package: str, class_name: str) -> bool:
    """Returns whether value is an instance of the class `class_name` of a package, or of a subclass.

    Only names of classes are compared, so the package need not be imported. Submodules of the
    package count.
    """
    return any(
        _read_name(base) == class_name and _top_package(base) == package
        for base in _read_mro(type(value))
    )


def _top_package(cls: type) -> str:
    module = _read_module(cls)
    return module.partition(".")[0] if isinstance(module, str) else ""


def is_dataframe(value: object) -> bool:
    """Returns whether value is a pandas DataFrame."""
    return is_instance_by_name(value, "pandas", "DataFrame")


def is_plotly_figure(value: object) -> bool:
    """Returns whether value is a plotly figure: its class is of a package whose name begins with plotly."""
    return _top_package(type(value)).startswith("plotly")


def is_matplotlib_figure(value: object) -> bool:
    """Returns whether value is a matplotlib figure."""
    return is_instance_by_name(value, "matplotlib", "Figure")


def is_awaitable(value: object) -> bool:
    """Returns whether value can be awaited: a coroutine, a task or a future, for example."""
    return any("__await__" in _read_dict(base) for base in _read_mro(type(value)))
