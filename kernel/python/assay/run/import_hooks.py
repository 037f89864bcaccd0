"""Hooks into imports: runs an action after a module is imported, and provides modules that are no files."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

    Action = Callable[[ModuleType], None]


def run_after_import(actions: dict[str, Action]) -> None:
    """Has each action called with a module right after that module is imported.

    actions has them by module name. The action of a module that is loaded already is called at
    once.
    """
    for name, action in actions.items():
        if name in sys.modules:
            action(sys.modules[name])
    sys.meta_path.insert(0, _ImportHookFinder(actions))


class _ImportHookFinder:
    """A meta path finder that finds a module like the other finders, and has an action called after its import."""

    def __init__(self, actions: dict[str, Action]) -> None:
        self._actions = actions
        self._searching: set[str] = set()  # modules that the other finders are asked for now

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in self._actions or name in self._searching:
            return None
        from importlib.util import find_spec

        self._searching.add(name)
        try:
            spec = find_spec(name)
        finally:
            self._searching.discard(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _ImportHookLoader(spec.loader, self._actions[name])  # type: ignore[assignment]
        return spec


class _ImportHookLoader:
    """A loader that loads a module with its real loader and then calls an action with the module."""

    def __init__(self, loader: Any, action: Action) -> None:
        self._loader = loader
        self._action = action

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        module: ModuleType | None = self._loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        self._action(module)


class VirtualPackageFinder:
    """A meta path finder for one package that has no files. It hides an installed package of the same name."""

    def __init__(self, package: str, find: Callable[[str], ModuleSpec | None]) -> None:
        """find is called with the full name of a module of the package. It returns the module's spec or None."""
        self._package = package
        self._find = find

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Returns the spec of a module of the virtual package, or None for a module of any other package."""
        return self._find(name) if name.partition(".")[0] == self._package else None
