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

_PACKAGES = frozenset(("assay", "json", "linecache", "traceback"))


def install() -> None:
    """Loads the modules that are imported from now on with the builtins as they are now."""
    sys.meta_path.insert(0, _Finder(dict(builtins.__dict__)))


class _Finder:
    """A meta path finder. It uses no builtin itself."""

    def __init__(self, own: dict[str, Any]) -> None:
        self._own = own

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name.partition(".")[0] not in _PACKAGES:
            return None
        spec: ModuleSpec | None = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader.__class__ is SourceFileLoader:
            spec.loader = _Loader(spec.loader.name, spec.loader.path)  # type: ignore[union-attr]
            spec.loader.own = self._own
        return spec


class _Loader(SourceFileLoader):  # type: ignore[misc]
    own: dict[str, Any]

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["__builtins__"] = self.own
        SourceFileLoader.exec_module(self, module)
