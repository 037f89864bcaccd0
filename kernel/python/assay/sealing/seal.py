"""Restores the kernel's own code, which the user's code can find and change.

The module is loaded hidden, see assay.sealing.own: the user's code can find
neither its functions nor what they keep by any name.
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

_BUILTIN_NAMES = frozenset(vars(builtins))
_MISSING = object()

# Objects of the user's that were replaced. They are kept alive, because their
# finalizers are the user's code and would otherwise run during the restoration.
_replaced: list[Any] = []


def seal(*things: Any) -> Callable[[], None]:
    """Returns a function that restores everything. It is safe on any thread while the kernel works.

    It restores the names in the kernel's loaded modules and classes and the code
    of their functions. Of things, and of objects that modules have by name, it
    restores the methods. Things of the kernel's own classes refer to each other as
    before. Not restored is what has no such name: what is in containers, in the
    frames of running functions, and in other objects.
    """
    modules = _kernel_modules()
    ours = {module.__name__ for module in modules}
    spaces = [vars(module) for module in modules]
    own_builtins = {id(space["__builtins__"]): space["__builtins__"] for space in spaces}
    named = [value for space in spaces for value in space.values()]
    classes = {each for each in named if isinstance(each, type) and each.__module__ in ours}
    bodies = (*spaces, *(vars(kind) for kind in classes))
    functions = {each for body in bodies for value in body.values() for each in _functions(value, ours)}
    objects = [thing for thing in things if type(thing) in classes]
    found = [each for each in named if type(each) in classes and hasattr(each, "__dict__")]
    steps = [
        *(_restorer_of_function(each) for each in functions),
        *(_restorer_of_space(space) for space in (*own_builtins.values(), *spaces)),
        *(_restorer_of_class(kind) for kind in classes),
        *(_restorer_of_object(each) for each in (*objects, *found)),
        *(_restorer_of_links(each, objects) for each in objects),
    ]

    def restore() -> None:
        for step in steps:
            step()

    return restore


def _kernel_modules() -> list[ModuleType]:
    """Returns the kernel's modules and its private copies of library modules."""
    modules = [module for name, module in sys.modules.items() if name.partition(".")[0] == "assay"]
    for module in modules:  # the list grows
        for value in vars(module).values():
            is_copy = isinstance(value, ModuleType) and sys.modules.get(value.__name__) is not value
            if is_copy and value not in modules:
                modules.append(value)
    return modules


def _functions(value: Any, ours: set[str]) -> Iterator[FunctionType]:
    """Yields the functions of our modules that value is, or is made of: methods and properties."""
    if isinstance(value, (staticmethod, classmethod)):
        value = value.__func__
    for function in (value.fget, value.fset) if isinstance(value, property) else (value,):
        if isinstance(function, FunctionType) and function.__module__ in ours:
            yield function


def _restorer_of_function(function: FunctionType) -> Callable[[], None]:
    code, defaults, by_name = function.__code__, function.__defaults__, function.__kwdefaults__
    kept = by_name and dict(by_name)

    def restore() -> None:
        if function.__code__ is not code or function.__defaults__ is not defaults:
            _replaced.append((function.__code__, function.__defaults__))
            function.__code__, function.__defaults__ = code, defaults
        if kept or function.__kwdefaults__:
            if _differ((function.__kwdefaults__ or {}).values(), (kept or {}).values()):
                _replaced.append(function.__kwdefaults__)
            function.__kwdefaults__ = kept and dict(kept)

    return restore


def _differ(some: Iterable[Any], others: Iterable[Any]) -> bool:
    """Returns whether they are not the same objects in the same order."""
    return [id(each) for each in some] != [id(each) for each in others]


def _restorer_of_space(space: Names) -> Callable[[], None]:
    """Returns what restores the names of a module, and removes names that hide a builtin."""
    kept = dict(space)

    def restore() -> None:
        purge(space)
        for name in list(space):
            if name in _BUILTIN_NAMES and name not in kept:
                _replaced.append(space.pop(name))
        put(space, kept)

    return restore


def put(space: Names, kept: Names) -> None:
    """Puts the kept values into space, which was purged before."""
    for name, value in kept.items():
        if (old := space.get(name, _MISSING)) is not value:
            _replaced.append(old)
            space[name] = value


def purge(space: dict[Any, Any]) -> None:
    """Removes keys that are not plain strings: their hash and equality may be the user's code."""
    if any(type(name) is not str for name in list(space)):
        _replaced.append(dict(space))
        kept = [(name, value) for name, value in list(space.items()) if type(name) is str]
        space.clear()
        space.update(kept)


def _restorer_of_class(kind: type) -> Callable[[], None]:
    kept, bases = dict(vars(kind)), kind.__bases__

    def restore() -> None:
        if _differ(kind.__bases__, bases):
            _replaced.append(kind.__bases__)
            kind.__bases__ = bases
        now = dict(vars(kind))
        for name in now:
            if name not in kept:
                _replaced.append(now)
                type.__delattr__(kind, name)
        for name, value in kept.items():
            if now.get(name, _MISSING) is not value:
                _replaced.append(now)
                type.__setattr__(kind, name, value)

    return restore


def _restorer_of_object(thing: Any) -> Callable[[], None]:
    """Returns what restores the class of thing and its methods; all its attributes if it is of the library."""
    kind = type(thing)
    library = not kind.__module__.startswith("assay")
    kept = {name: value for name, value in vars(thing).items() if library or _is_method(kind, name)}

    def restore() -> None:
        if type(thing) is not kind:
            _replaced.append(type(thing))
            object.__setattr__(thing, "__class__", kind)
        own = vars(thing)
        purge(own)
        for name in list(own):
            if name not in kept and _is_method(kind, name):
                _replaced.append(own.pop(name))
        put(own, kept)

    return restore


def _is_method(kind: type, name: str) -> bool:
    return any(isinstance(vars(base).get(name), FunctionType) for base in kind.__mro__)


def _restorer_of_links(thing: Any, objects: list[Any]) -> Callable[[], None]:
    """Returns what restores the attributes of thing that are one of objects."""
    kept = {
        name: value
        for name, value in vars(thing).items()
        if any(value is other for other in objects)
    }
    return lambda: put(vars(thing), kept)
