"""What was there before any of the user's code ran, for code that must not be misled by it.

The module is loaded hidden, see assay.sealing.own.
"""

from __future__ import annotations

import builtins
import gc
import sys
from types import ModuleType

from assay.sealing.own import hidden

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Names = dict[str, Any]

_seal = hidden("assay.sealing.seal")

# The user's code may put others in their place.
_settrace, _setprofile = sys.settrace, sys.setprofile
_ENDS = ("_settraceallthreads", "_setprofileallthreads")  # from 3.12
_ends = [getattr(sys, name, None) for name in _ENDS]
_monitoring: Any = getattr(sys, "monitoring", None)
_events = [
    event
    for event in (vars(_monitoring.events).values() if _monitoring is not None else ())
    if isinstance(event, int) and event.bit_count() == 1
]
_callbacks = gc.callbacks
_TOOLS = 6  # that can watch the interpreter by sys.monitoring


def keep(kernel: Any) -> Callable[[], Callable[[Names], Names]]:
    """Keeps builtins, the modules that are loaded and the kernel's code as they are.

    Returns a function that puts back what the user's code has replaced, and ends
    what that has called beside the code that runs. It is safe on any thread, and
    returns one that makes globals, see _scope.
    """
    true, modules = dict(vars(builtins)), sys.modules
    loaded, restore = dict(modules), _seal["seal"](kernel, *vars(kernel).values())

    def renew() -> Callable[[Names], Names]:
        _unwatch()
        restore()
        sys.modules = modules
        for space, kept in ((modules, loaded), (vars(builtins), true)):
            _seal["purge"](space)
            _seal["put"](space, kept)
        return lambda names: _scope(true, names)

    return renew


def _unwatch() -> None:
    _settrace(None)
    _setprofile(None)
    for end in _ends:
        if end is not None:
            end(None)
    _callbacks.clear()
    for tool in range(_TOOLS) if _monitoring is not None else ():
        if _monitoring.get_tool(tool) is not None:
            _monitoring.set_events(tool, 0)
            for event in _events:  # those of single functions
                _monitoring.register_callback(tool, event, None)


def _scope(true: Names, names: Names) -> Names:
    """Returns globals for code that reads names, and writes none.

    A builtin is the builtin, as true has it, whatever names say; globals(), vars()
    and dir() tell of names. Python looks at nothing behind builtins, so that is
    where the names are found.
    """

    class Layers(dict[str, "Any"]):  # anew each time: object.__subclasses__() leads to the last
        def __missing__(self, name: str) -> Any:
            return names[name]

    module = ModuleType("builtins")
    vars(module).update(true)
    layers = Layers(true)
    layers.update(
        __import__=_import_with(true["__import__"], module),
        globals=lambda: names,
        vars=lambda *of: vars(*of) if of else names,
        dir=lambda *of: dir(*of) if of else sorted(names),
    )
    vars(module).update(layers)
    return {"__name__": "__main__", "__builtins__": layers}


def _import_with(true_import: Any, module: ModuleType) -> Any:
    def __import__(name: str, *more: Any, **named: Any) -> Any:
        return module if name == "builtins" else true_import(name, *more, **named)

    return __import__
