"""The run of an execute_code with the flag pristine: a grader's check of what the user's code has left."""

from __future__ import annotations

import builtins
from types import ModuleType

from assay.run.snippet import SnippetRun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_ORIGINAL_BUILTINS = dict(vars(builtins))


class PristineSnippetRun(SnippetRun):
    """The run of an execute_code with the flag pristine.

    The code gets the original builtins, globals of its own, and working standard streams. It can
    read the user's globals but not assign to them. This keeps a check apart from the names that a
    notebook uses, but it is no protection from code that changes the kernel.
    """

    def run(self) -> None:
        """Puts __main__ and the standard streams back, then runs the code and sends the answer."""
        self._host.namespace.install_as_main()
        self._host.streams.install()
        super().run()

    def _store_source(self) -> str:
        """Stores the code's source for tracebacks, always as "<code>", and returns that file name.

        One name is enough, because no function that the code defines outlives it.
        """
        self._host.source_cache.store("<code>", self._code)
        return "<code>"

    def _globals_for_code(self) -> dict[str, Any]:
        return {"__name__": "__main__", "__builtins__": _LayeredNames(super()._globals_for_code())}


class _LayeredNames(dict[str, "Any"]):
    """The builtins of code that may read the variables in names but not assign them.

    Builtins are the original ones even if names has variables of the same names, also by `import
    builtins`. globals(), vars() and dir() show names. Python looks up nothing after builtins, so the
    variables are found here.
    """

    def __init__(self, names: dict[str, Any]) -> None:
        super().__init__({**vars(builtins), **_ORIGINAL_BUILTINS})
        self._names = names
        module = ModuleType("builtins")
        original_import = self["__import__"]

        def import_module(name: str, *more: Any, **named: Any) -> Any:
            return module if name == "builtins" else original_import(name, *more, **named)

        self["__import__"] = import_module
        self["globals"] = lambda: names
        self["vars"] = lambda *of: vars(*of) if of else names
        self["dir"] = lambda *of: dir(*of) if of else sorted(names)
        vars(module).update(self)

    def __missing__(self, name: str) -> Any:
        return self._names[name]
