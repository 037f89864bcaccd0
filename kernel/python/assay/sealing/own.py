"""Builtins of the kernel's own.

The user's code may replace what is in the module builtins; that is not to reach
the kernel. So its modules, and those of the library that it cannot do without,
are loaded with a copy.
"""

from __future__ import annotations

import builtins
import sys
from _frozen_importlib_external import PathFinder, SourceFileLoader  # type: ignore[import]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

_PACKAGES = frozenset(("assay", "linecache", "traceback"))


def install() -> None:
    """Loads the modules that are imported from now on with the builtins as they are now."""
    sys.meta_path.insert(0, _Finder(dict(builtins.__dict__)))


def private(package: str) -> ModuleType:
    """Imports a package of the library, with those builtins, as a copy that nobody else finds."""
    shared = _taken(package)
    finder = _Finder(dict(builtins.__dict__), package)
    sys.meta_path.insert(0, finder)
    try:
        return __import__(package)
    finally:
        sys.meta_path.remove(finder)
        _taken(package)
        sys.modules.update(shared)


def hidden(name: str) -> dict[str, Any]:
    """Loads a module of the kernel's that no name leads to, and returns its names.

    It has builtins of its own. Whoever calls keeps what it takes of them in the frame of a function that
    runs. The module may make no class: object.__subclasses__() would lead to it.
    """
    package = sys.modules[name.rpartition(".")[0]]
    spec: Any = PathFinder.find_spec(name, package.__path__)
    names = {"__name__": name, "__builtins__": dict(builtins.__dict__)}
    exec(spec.loader.get_code(name), names)
    return names


def _taken(package: str) -> dict[str, ModuleType]:
    """Takes a package and what is in it out of sys.modules, and returns it."""
    names = [name for name in sys.modules if name.partition(".")[0] == package]
    return {name: sys.modules.pop(name) for name in names}


class _Finder:
    """A meta path finder. It uses no builtin itself."""

    def __init__(self, own: dict[str, Any], *packages: str) -> None:
        self._own = own
        self._packages = frozenset(packages) or _PACKAGES

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package = name.partition(".")[0]
        if package not in self._packages:
            return None
        spec: ModuleSpec | None = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader.__class__ is SourceFileLoader:
            spec.loader = _Loader(spec.loader.name, spec.loader.path)  # type: ignore[union-attr]
            # From a module that the user's code uses, none of the kernel's are reached.
            spec.loader.own = self._own if package == "assay" else {**self._own}
        return spec


class _Loader(SourceFileLoader):  # type: ignore[misc]
    own: dict[str, Any]

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["__builtins__"] = self.own
        SourceFileLoader.exec_module(self, module)
