"""The kernel's own code, which the user's can find and change, as it was before that ran."""

from __future__ import annotations

import sys
from types import FunctionType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_OWN: dict[str, Any] = globals()["__builtins__"]  # the builtins of the kernel's modules
_MISSING = object()


class Seal:
    """What is behind the names in the kernel's modules and classes, and what its functions do.

    Out of its reach is what has no such name: what is in containers, in the
    frames of functions that run, and in objects but for those it is told of.
    """

    def __init__(self, *things: Any) -> None:
        """Seals all modules of the kernel that are loaded; and of things the kernel's own
        objects, as far as they lead to each other and have the methods of their classes."""
        objects = [thing for thing in things if _is_ours(type(thing).__module__)]
        modules = [vars(module) for name, module in sys.modules.items() if _is_ours(name)]
        classes = {kind for space in modules for kind in space.values() if _is_class(kind)}
        spaces = (*modules, *(vars(kind) for kind in classes))
        functions = {each for space in spaces for value in space.values() for each in _functions(value)}
        self._spaces = [(space, dict(space)) for space in (_OWN, *modules)]
        self._classes = [(kind, dict(vars(kind))) for kind in classes]
        self._functions = [(each, each.__code__, each.__defaults__) for each in functions]
        self._objects = [(each, type(each)) for each in objects]
        self._links = [
            (each, name, value)
            for each in objects
            for name, value in vars(each).items()
            if any(value is other for other in objects)
        ]

    def restore(self) -> None:
        """Puts everything back. Safe on any thread, while the kernel works."""
        for function, code, defaults in self._functions:
            if function.__code__ is not code:
                function.__code__ = code
            if function.__defaults__ is not defaults:
                function.__defaults__ = defaults
        for space, kept in self._spaces:
            for name in [name for name in space if name in _OWN and name not in kept]:
                del space[name]  # it hides a builtin
            for name, value in kept.items():
                if space.get(name, _MISSING) is not value:
                    space[name] = value
        for kind, kept in self._classes:
            _restore_class(kind, kept)
        for thing, kind in self._objects:
            _restore_object(thing, kind)
        for thing, name, value in self._links:
            vars(thing)[name] = value


def _restore_class(kind: type, kept: dict[str, Any]) -> None:
    now = vars(kind)
    for name in [name for name in now if name not in kept]:
        type.__delattr__(kind, name)
    for name, value in kept.items():
        if now.get(name, _MISSING) is not value:
            type.__setattr__(kind, name, value)


def _restore_object(thing: Any, kind: type) -> None:
    if type(thing) is not kind:
        object.__setattr__(thing, "__class__", kind)
    own = vars(thing)
    for name in [name for name in own if isinstance(vars(kind).get(name), FunctionType)]:
        del own[name]


def _is_ours(module: object) -> bool:
    return isinstance(module, str) and module.partition(".")[0] == "assay"


def _is_class(value: object) -> bool:
    return isinstance(value, type) and _is_ours(value.__module__)


def _functions(value: Any) -> Iterator[FunctionType]:
    """Yields the function that value is, or is made of, if it is the kernel's."""
    if isinstance(value, (staticmethod, classmethod)):
        value = value.__func__
    for function in (value.fget, value.fset) if isinstance(value, property) else (value,):
        if isinstance(function, FunctionType) and _is_ours(function.__module__):
            yield function
