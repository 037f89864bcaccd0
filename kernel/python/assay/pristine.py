"""What was there before any of the user's code ran, for code that must not be misled by it."""

from __future__ import annotations

import builtins
import gc
import sys
from types import ModuleType

from assay.seal import Seal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from assay.kernel import Kernel

# The user's code may put others in their place.
_settrace, _setprofile = sys.settrace, sys.setprofile
_monitoring: Any = getattr(sys, "monitoring", None)
_callbacks = gc.callbacks
_TOOLS = 6  # that can watch the interpreter by sys.monitoring


class Pristine:
    """The builtins, the modules that were loaded and the kernel's code."""

    def __init__(self) -> None:
        """Keeps builtins and modules as they are."""
        self._builtins = dict(vars(builtins))
        self._modules = sys.modules
        self._loaded = dict(sys.modules)

    def seal(self, kernel: Kernel) -> None:
        """Keeps the kernel's code, and what its objects are to each other."""
        self._seal = Seal(kernel, *vars(kernel).values())

    def restore(self) -> None:
        """Puts back what the user's code has replaced. Safe on any thread."""
        self._seal.restore()
        sys.modules = self._modules
        sys.modules.update(self._loaded)
        vars(builtins).update(self._builtins)

    def unwatch(self) -> None:
        """Ends what the user's code has called beside the code that runs on this thread."""
        _settrace(None)
        _setprofile(None)
        _callbacks.clear()
        for tool in range(_TOOLS) if _monitoring is not None else ():
            if _monitoring.get_tool(tool) is not None:
                _monitoring.set_events(tool, 0)

    def scope(self, names: dict[str, Any]) -> dict[str, Any]:
        """Returns globals for code that reads names, and writes none.

        A builtin is the builtin, whatever names say; globals(), vars() and dir()
        tell of names.
        """
        module = ModuleType("builtins")
        vars(module).update(self._builtins)
        layers = Layers(self._builtins)
        layers.names = names
        layers.update(
            __import__=_import_with(self._builtins["__import__"], module),
            globals=lambda: names,
            vars=lambda *of: vars(*of) if of else names,
            dir=lambda *of: dir(*of) if of else sorted(names),
        )
        vars(module).update(layers)
        return {"__name__": "__main__", "__builtins__": layers}


class Layers(dict[str, "Any"]):
    """Builtins behind which the user's globals are found: Python looks at nothing behind builtins."""

    names: dict[str, Any]

    def __missing__(self, name: str) -> Any:
        return self.names[name]


def _import_with(true_import: Any, module: ModuleType) -> Any:
    def __import__(name: str, *more: Any, **named: Any) -> Any:
        return module if name == "builtins" else true_import(name, *more, **named)

    return __import__
