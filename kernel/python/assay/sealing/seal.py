"""The kernel's own code, which the user's can find and change, as it was before that ran.

The module is loaded hidden, see assay.sealing.own: neither its functions nor what they
keep have a name that the user's code could find them by.
"""

from __future__ import annotations

import builtins
import sys
from types import FunctionType, ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    Names = dict[str, Any]

_BUILTINS = frozenset(vars(builtins))
_MISSING = object()

# What was in the place of something: its finalizers are the user's code, and would run meanwhile.
_grave: list[Any] = []


def seal(*things: Any) -> Callable[[], None]:
    """Returns a function that puts everything back. Safe on any thread, while the kernel works.

    That is what is behind the names in the kernel's modules and classes that are
    loaded, and what their functions do; and of things, and of objects that modules
    have by name, the methods of their classes. Things that are the kernel's own
    lead to each other as they did. Out of its reach is what has no such name: what
    is in containers, in the frames of functions that run, and in other objects.
    """
    modules = _modules()
    ours = {module.__name__ for module in modules}
    spaces = [vars(module) for module in modules]
    own = {id(space["__builtins__"]): space["__builtins__"] for space in spaces}
    named = [value for space in spaces for value in space.values()]
    classes = {each for each in named if isinstance(each, type) and each.__module__ in ours}
    bodies = (*spaces, *(vars(kind) for kind in classes))
    functions = {each for body in bodies for value in body.values() for each in _functions(value, ours)}
    objects = [thing for thing in things if type(thing) in classes]
    found = [each for each in named if type(each) in classes and hasattr(each, "__dict__")]
    steps = [
        *(_function(each) for each in functions),
        *(_space(space) for space in (*own.values(), *spaces)),
        *(_class(kind) for kind in classes),
        *(_object(each) for each in (*objects, *found)),
        *(_links(each, objects) for each in objects),
    ]

    def restore() -> None:
        for step in steps:
            step()

    return restore


def _modules() -> list[ModuleType]:
    """Returns the kernel's modules, and its own copies of the library's."""
    modules = [module for name, module in sys.modules.items() if name.partition(".")[0] == "assay"]
    for module in modules:  # it grows
        for value in vars(module).values():
            copy = isinstance(value, ModuleType) and sys.modules.get(value.__name__) is not value
            if copy and value not in modules:
                modules.append(value)
    return modules


def _functions(value: Any, ours: set[str]) -> Iterator[FunctionType]:
    """Yields the function that value is, or is made of, if it is of one of our modules."""
    if isinstance(value, (staticmethod, classmethod)):
        value = value.__func__
    for function in (value.fget, value.fset) if isinstance(value, property) else (value,):
        if isinstance(function, FunctionType) and function.__module__ in ours:
            yield function


def _function(function: FunctionType) -> Callable[[], None]:
    code, defaults, by_name = function.__code__, function.__defaults__, function.__kwdefaults__
    kept = by_name and dict(by_name)

    def restore() -> None:
        if function.__code__ is not code or function.__defaults__ is not defaults:
            _grave.append((function.__code__, function.__defaults__))
            function.__code__, function.__defaults__ = code, defaults
        if kept or function.__kwdefaults__:
            if _differ((function.__kwdefaults__ or {}).values(), (kept or {}).values()):
                _grave.append(function.__kwdefaults__)
            function.__kwdefaults__ = kept and dict(kept)

    return restore


def _differ(some: Iterable[Any], others: Iterable[Any]) -> bool:
    """Tells whether they are not the same objects."""
    return [id(each) for each in some] != [id(each) for each in others]


def _space(space: Names) -> Callable[[], None]:
    kept = dict(space)

    def restore() -> None:
        purge(space)
        for name in list(space):
            if name in _BUILTINS and name not in kept:
                _grave.append(space.pop(name))  # it hides a builtin
        put(space, kept)

    return restore


def put(space: Names, kept: Names) -> None:
    """Puts what is kept into space, which was purged."""
    for name, value in kept.items():
        if (old := space.get(name, _MISSING)) is not value:
            _grave.append(old)
            space[name] = value


def purge(space: dict[Any, Any]) -> None:
    """Removes keys whose hash and equality are the user's code."""
    if any(type(name) is not str for name in list(space)):
        _grave.append(dict(space))
        kept = [(name, value) for name, value in list(space.items()) if type(name) is str]
        space.clear()
        space.update(kept)


def _class(kind: type) -> Callable[[], None]:
    kept, bases = dict(vars(kind)), kind.__bases__

    def restore() -> None:
        if _differ(kind.__bases__, bases):
            _grave.append(kind.__bases__)
            kind.__bases__ = bases
        now = dict(vars(kind))
        for name in now:
            if name not in kept:
                _grave.append(now)
                type.__delattr__(kind, name)
        for name, value in kept.items():
            if now.get(name, _MISSING) is not value:
                _grave.append(now)
                type.__setattr__(kind, name, value)

    return restore


def _object(thing: Any) -> Callable[[], None]:
    """Is for the class of thing and its methods; where it is of the library, for all it has."""
    kind = type(thing)
    library = not kind.__module__.startswith("assay")
    kept = {name: value for name, value in vars(thing).items() if library or _is_method(kind, name)}

    def restore() -> None:
        if type(thing) is not kind:
            _grave.append(type(thing))
            object.__setattr__(thing, "__class__", kind)
        own = vars(thing)
        purge(own)
        for name in list(own):
            if name not in kept and _is_method(kind, name):
                _grave.append(own.pop(name))
        put(own, kept)

    return restore


def _is_method(kind: type, name: str) -> bool:
    return any(isinstance(vars(base).get(name), FunctionType) for base in kind.__mro__)


def _links(thing: Any, objects: list[Any]) -> Callable[[], None]:
    kept = {
        name: value
        for name, value in vars(thing).items()
        if any(value is other for other in objects)
    }
    return lambda: put(vars(thing), kept)
