"""The user's globals: the module __main__."""

from __future__ import annotations

import builtins
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_Module = type(sys)


class Namespace:
    """A module for the user's globals, installed as __main__ so that pickle and the like find it."""

    def __init__(self) -> None:
        self._module = _Module("__main__")
        self.globals: dict[str, Any] = vars(self._module)
        self.globals["__builtins__"] = builtins

    def install(self) -> None:
        """Makes the module the interpreter's __main__."""
        sys.modules["__main__"] = self._module

    def variables(self) -> list[tuple[str, Any]]:
        """Returns the user's names and values, without modules and names that begin with an underscore.

        Safe on any thread while the user's code runs.
        """
        return [
            (name, value)
            for name, value in list(self.globals.items())
            if isinstance(name, str)
            and not name.startswith("_")
            and not issubclass(type(value), _Module)
        ]

    def snapshot(self) -> dict[str, int]:
        """Returns the id of each name's value. An id does not keep its value alive."""
        return {name: id(value) for name, value in list(self.globals.items())}

    def changed_since(self, snapshot: dict[str, int], assigned: set[str]) -> list[tuple[str, Any]]:
        """Returns the variables that a run has bound, sorted by name.

        They are those whose value's id differs from the snapshot, and those that
        the run's source assigns: their value may be the same, or have got the same id.
        """
        return sorted(
            (
                (name, value)
                for name, value in self.variables()
                if name in assigned or snapshot.get(name) != id(value)
            ),
            key=lambda item: item[0],
        )

    def clear(self) -> None:
        """Removes all the user's globals and installs the module again."""
        fresh = Namespace()
        self.globals.clear()
        self.globals.update(fresh.globals)
        self.install()
