"""Restores the kernel's own code, which the user's code can find and change.

The module is loaded by run_hidden_module, see assay.sealing.own: the user's code can find
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


def make_restorer(*things: Any) -> Callable[[], None]:
    """Returns a function that restores the kernel's own code. It is safe on any thread while the kernel works.

    It restores the names in the kernel's loaded modules and classes, and the code of their
    functions. Of things, and of objects that modules have by name, it restores the methods.
    References between things of the kernel's own classes are restored too. Not restored is anything
    without such a name: what is in containers, in frames of running functions, and in other
    objects.
    """
    modules = _kernel_modules()
    ours = {module.__name__ for module in modules}
    spaces = [vars(module) for module in modules]
    own_builtins = {id(space["__builtins__"]): space["__builtins__"] for space in spaces}
    named = [value for space in spaces for value in space.values()]
    classes = {each for each in named if isinstance(each, type) and each.__module__ in ours}
    bodies = (*spaces, *(vars(kind) for kind in classes))
    functions = {each for body in bodies for value in body.values() for each in _functions_in(value, ours)}
    objects = [thing for thing in things if type(thing) in classes]
    found = [each for each in named if type(each) in classes and hasattr(each, "__dict__")]
    steps = [
        *(_restorer_of_function(each) for each in functions),
        *(_restorer_of_names(space) for space in (*own_builtins.values(), *spaces)),
        *(_restorer_of_class(kind) for kind in classes),
        *(_restorer_of_object(each) for each in (*objects, *found)),
        *(_restorer_of_references(each, objects) for each in objects),
    ]

    def restore() -> None:
        for step in steps:
            step()

    return restore


def _kernel_modules() -> list[ModuleType]:
    """Returns the kernel's loaded modules and its private copies of library modules."""
    modules = [module for name, module in sys.modules.items() if name.partition(".")[0] == "assay"]
    for module in modules:  # the list grows
        for value in vars(module).values():
            is_copy = isinstance(value, ModuleType) and sys.modules.get(value.__name__) is not value
            if is_copy and value not in modules:
                modules.append(value)
    return modules


def _functions_in(value: Any, ours: set[str]) -> Iterator[FunctionType]:
    """Yields the functions of the modules in ours that value is or contains, as a method or property does."""
    if isinstance(value, (staticmethod, classmethod)):
        value = value.__func__
    for function in (value.fget, value.fset) if isinstance(value, property) else (value,):
        if isinstance(function, FunctionType) and function.__module__ in ours:
            yield function


def _restorer_of_function(function: FunctionType) -> Callable[[], None]:
    """Returns a function that restores the code and default arguments of a function."""
    code, defaults, by_name = function.__code__, function.__defaults__, function.__kwdefaults__
    kept = by_name and dict(by_name)

    def restore() -> None:
        if function.__code__ is not code or function.__defaults__ is not defaults:
            _replaced.append((function.__code__, function.__defaults__))
            function.__code__, function.__defaults__ = code, defaults
        if kept or function.__kwdefaults__:
            if _are_different_objects((function.__kwdefaults__ or {}).values(), (kept or {}).values()):
                _replaced.append(function.__kwdefaults__)
            function.__kwdefaults__ = kept and dict(kept)

    return restore


def _are_different_objects(some: Iterable[Any], others: Iterable[Any]) -> bool:
    """Returns whether two series do not have the same objects in the same order. Does not call their ==."""
    return [id(each) for each in some] != [id(each) for each in others]


def _restorer_of_names(space: Names) -> Callable[[], None]:
    """Returns a function that restores the names of a module, and removes names that hide a builtin."""
    kept = dict(space)

    def restore() -> None:
        remove_unusual_keys(space)
        for name in list(space):
            if name in _BUILTIN_NAMES and name not in kept:
                _replaced.append(space.pop(name))
        put_back_values(space, kept)

    return restore


def put_back_values(space: Names, kept: Names) -> None:
    """Assigns the kept values to their names in space. All keys of space must be plain strings."""
    for name, value in kept.items():
        if (old := space.get(name, _MISSING)) is not value:
            _replaced.append(old)
            space[name] = value


def remove_unusual_keys(space: dict[Any, Any]) -> None:
    """Removes the keys of a dictionary that are not plain strings, whose hash and equality may be user code."""
    if any(type(name) is not str for name in list(space)):
        _replaced.append(dict(space))
        kept = [(name, value) for name, value in list(space.items()) if type(name) is str]
        space.clear()
        space.update(kept)


def _restorer_of_class(kind: type) -> Callable[[], None]:
    """Returns a function that restores the attributes and bases of a class."""
    kept, bases = dict(vars(kind)), kind.__bases__

    def restore() -> None:
        if _are_different_objects(kind.__bases__, bases):
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
    """Returns a function that restores the class and the methods of thing.

    Of an object of a library class it restores all attributes.
    """
    kind = type(thing)
    library = not kind.__module__.startswith("assay")
    kept = {name: value for name, value in vars(thing).items() if library or _is_method(kind, name)}

    def restore() -> None:
        if type(thing) is not kind:
            _replaced.append(type(thing))
            object.__setattr__(thing, "__class__", kind)
        own = vars(thing)
        remove_unusual_keys(own)
        for name in list(own):
            if name not in kept and _is_method(kind, name):
                _replaced.append(own.pop(name))
        put_back_values(own, kept)

    return restore


def _is_method(kind: type, name: str) -> bool:
    """Returns whether name is a method of the class kind or of one of its bases."""
    return any(isinstance(vars(base).get(name), FunctionType) for base in kind.__mro__)


def _restorer_of_references(thing: Any, objects: list[Any]) -> Callable[[], None]:
    """Returns a function that restores those attributes of thing whose value is one of objects."""
    kept = {
        name: value
        for name, value in vars(thing).items()
        if any(value is other for other in objects)
    }
    return lambda: put_back_values(vars(thing), kept)
