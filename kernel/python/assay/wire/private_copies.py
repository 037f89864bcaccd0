"""Private copies of builtins and of library modules, for the kernel's own code.

The user's code may replace what is in the module builtins. That must not affect
the kernel, so its modules, and those of the library that it depends on most, are
loaded with a copy of the builtins.
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

_PACKAGES_WITH_PRIVATE_BUILTINS = frozenset(("assay", "linecache", "traceback"))


def install_private_builtins() -> None:
    """Makes the kernel's modules, linecache and traceback use a copy of the present builtins when imported.

    What the user's code changes in the module builtins then does not affect them.
    """
    sys.meta_path.insert(0, _PrivateBuiltinsFinder(dict(builtins.__dict__)))


def import_private_copy(package: str) -> ModuleType:
    """Imports and returns a second copy of a library package that the user's code cannot find in sys.modules.

    The copy has its own builtins.
    """
    shared = _remove_from_modules(package)
    finder = _PrivateBuiltinsFinder(dict(builtins.__dict__), package)
    sys.meta_path.insert(0, finder)
    try:
        return __import__(package)
    finally:
        sys.meta_path.remove(finder)
        _remove_from_modules(package)
        sys.modules.update(shared)


def _remove_from_modules(package: str) -> dict[str, ModuleType]:
    """Removes a package and its submodules from sys.modules, and returns them by name."""
    names = [name for name in sys.modules if name.partition(".")[0] == package]
    return {name: sys.modules.pop(name) for name in names}


class _PrivateBuiltinsFinder:
    """A meta path finder whose modules are loaded with a private copy of the builtins.

    It uses no builtin itself, because the user's code may have replaced it.
    """

    def __init__(self, private_builtins: dict[str, Any], *packages: str) -> None:
        self._private_builtins = private_builtins
        self._packages = frozenset(packages) or _PACKAGES_WITH_PRIVATE_BUILTINS

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package = name.partition(".")[0]
        if package not in self._packages:
            return None
        spec: ModuleSpec | None = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader.__class__ is SourceFileLoader:
            spec.loader = _PrivateBuiltinsLoader(spec.loader.name, spec.loader.path)  # type: ignore[union-attr]
            # A library module that the user's code uses gets a further copy, so that
            # it does not lead to the builtins of the kernel's modules.
            is_kernel = package == "assay"
            spec.loader.private_builtins = (
                self._private_builtins if is_kernel else {**self._private_builtins}
            )
        return spec


class _PrivateBuiltinsLoader(SourceFileLoader):  # type: ignore[misc]
    private_builtins: dict[str, Any]

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["__builtins__"] = self.private_builtins
        SourceFileLoader.exec_module(self, module)
