"""The user's globals: the module __main__."""

from __future__ import annotations

import builtins
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_Module = type(sys)


_MAX_RESULTS = 20  # that are kept, since they may be large


class ResultHistory:
    """What notebooks call In and Out: the sources of runs, and the values of the last runs that had one."""

    def __init__(self) -> None:
        self.sources: list[str] = []  # by number of the run; "" for 0, and for runs without a source
        self.values: dict[int, Any] = {}  # by number of the run

    def add_source(self, number: int, source: str) -> None:
        """Adds the source of the run with this number."""
        self.sources.extend([""] * (number + 1 - len(self.sources)))
        self.sources[number] = source

    def add_value(self, number: int, value: Any, variables: dict[str, Any]) -> None:
        """Adds the value of the run with this number, and sets the variables _, __ and ___ to the last three values."""
        self.values[number] = value
        while len(self.values) > _MAX_RESULTS:
            del self.values[next(iter(self.values))]
        for name, older in zip(("_", "__", "___"), reversed(list(self.values.values()))):
            variables[name] = older


class Namespace:
    """The user's global variables, in a module that is installed as __main__, so that pickle finds it."""

    def __init__(self) -> None:
        self._module = _Module("__main__")
        self.globals: dict[str, Any] = vars(self._module)
        self.globals["__builtins__"] = builtins
        self.future_flags = 0  # features of __future__ that the user's code has imported, for compile()
        self.results = ResultHistory()
        self.globals["In"], self.globals["Out"] = self.results.sources, self.results.values

    def install_as_main(self) -> None:
        """Makes the module of the user's globals the interpreter's __main__."""
        sys.modules["__main__"] = self._module

    def variables(self) -> list[tuple[str, Any]]:
        """Returns names and values of the user's globals, without modules and names that begin with an underscore.

        In and Out are left out, too. Safe on any thread while the user's code runs.
        """
        history = (self.results.sources, self.results.values)
        return [
            (name, value)
            for name, value in list(self.globals.items())
            if isinstance(name, str)
            and not name.startswith("_")
            and not issubclass(type(value), _Module)
            and not (name in ("In", "Out") and any(value is each for each in history))
        ]

    def snapshot(self) -> dict[str, int]:
        """Returns the id of the value of each global. Ids do not keep the values alive."""
        return {name: id(value) for name, value in list(self.globals.items())}

    def changed_since(self, snapshot: dict[str, int], assigned: set[str]) -> list[tuple[str, Any]]:
        """Returns names and values of the globals that a run has assigned, sorted by name.

        These are the globals whose value has another id than in the snapshot, and those in
        assigned, which the source of the run assigns; their new value may have the same id as the
        old one.
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
        """Removes all the user's globals and installs their module as __main__ again."""
        fresh = Namespace()
        self.globals.clear()
        self.globals.update(fresh.globals)
        self.future_flags, self.results = 0, fresh.results
        self.install_as_main()
