"""The user's globals: the module __main__."""

from __future__ import annotations

import builtins
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_Module = type(sys)


class Namespace:
    """A module of the user's own, named __main__, so that pickle and the like find it."""

    def __init__(self) -> None:
        self._module = _Module("__main__")
        self.names: dict[str, Any] = vars(self._module)
        self.names["__builtins__"] = builtins

    def install(self) -> None:
        """Makes the module the interpreter's __main__."""
        sys.modules["__main__"] = self._module

    def items(self) -> list[tuple[str, Any]]:
        """Returns the user's names and values: none with an underscore, and no modules.

        Safe on any thread while the user's code runs.
        """
        return [
            (name, value)
            for name, value in list(self.names.items())
            if isinstance(name, str)
            and not name.startswith("_")
            and not issubclass(type(value), _Module)
        ]

    def bindings(self) -> dict[str, int]:
        """Returns what the names are bound to, by id, which keeps no value alive."""
        return {name: id(value) for name, value in list(self.names.items())}

    def changed(self, before: dict[str, int], assigned: set[str]) -> list[tuple[str, Any]]:
        """Returns, sorted by name, the items that a run has bound.

        Those are the ones bound to something else than before, and those that
        it assigned by its source: a value may be the same, or have its id.
        """
        return sorted(
            (
                (name, value)
                for name, value in self.items()
                if name in assigned or before.get(name) != id(value)
            ),
            key=lambda item: item[0],
        )

    def clear(self) -> None:
        """Removes everything of the user's."""
        fresh = Namespace()
        self.names.clear()
        self.names.update(fresh.names)
        self.install()
