"""Restores what was there before the user's code ran, for a grader's code that must not be misled by it.

The module is loaded by run_hidden_module, see assay.sealing.own.
"""

from __future__ import annotations

import builtins
import gc
import sys
from types import ModuleType

from assay.sealing.own import run_hidden_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Names = dict[str, Any]

_seal = run_hidden_module("assay.sealing.seal")

# Kept here because the user's code may replace them in the module sys.
_settrace, _setprofile = sys.settrace, sys.setprofile
_ALL_THREADS_SETTERS = ("_settraceallthreads", "_setprofileallthreads")  # from Python 3.12
_all_threads_setters = [getattr(sys, name, None) for name in _ALL_THREADS_SETTERS]
_monitoring: Any = getattr(sys, "monitoring", None)
_monitoring_events = [
    event
    for event in (vars(_monitoring.events).values() if _monitoring is not None else ())
    if isinstance(event, int) and event.bit_count() == 1
]
_gc_callbacks = gc.callbacks
_MAX_MONITORING_TOOLS = 6  # of sys.monitoring


def record_original_state(kernel: Any) -> Callable[[], Callable[[Names], Names]]:
    """Records the builtins, the loaded modules and the kernel's code, and returns a function that restores them.

    That function also ends tracing, profiling and the like. It is safe on any thread. It returns a
    function that makes globals for a grader's code, see _make_grader_globals.
    """
    true_builtins, modules = dict(vars(builtins)), sys.modules
    loaded, restore = dict(modules), _seal["make_restorer"](kernel, *vars(kernel).values())

    def renew() -> Callable[[Names], Names]:
        _end_tracing()
        restore()
        sys.modules = modules
        for space, kept in ((modules, loaded), (vars(builtins), true_builtins)):
            _seal["remove_unusual_keys"](space)
            _seal["put_back_values"](space, kept)
        return lambda names: _make_grader_globals(true_builtins, names)

    return renew


def _end_tracing() -> None:
    """Ends tracing, profiling, monitoring and callbacks of the garbage collector."""
    _settrace(None)
    _setprofile(None)
    for set_all_threads in _all_threads_setters:
        if set_all_threads is not None:
            set_all_threads(None)
    _gc_callbacks.clear()
    for tool in range(_MAX_MONITORING_TOOLS) if _monitoring is not None else ():
        if _monitoring.get_tool(tool) is not None:
            _monitoring.set_events(tool, 0)
            for event in _monitoring_events:  # those set for single functions
                _monitoring.register_callback(tool, event, None)


def _make_grader_globals(true_builtins: Names, names: Names) -> Names:
    """Returns globals for code that may read the variables in names but not assign them.

    Builtins are the original ones even if names has variables of the same names. globals(), vars()
    and dir() show names. Python looks up nothing after builtins, so the variables are found by
    __missing__ of the builtins.
    """

    class Layers(dict[str, "Any"]):  # a new class each time: object.__subclasses__() leads to the last
        def __missing__(self, name: str) -> Any:
            return names[name]

    module = ModuleType("builtins")
    vars(module).update(true_builtins)
    layers = Layers(true_builtins)
    layers.update(
        __import__=_make_import(true_builtins["__import__"], module),
        globals=lambda: names,
        vars=lambda *of: vars(*of) if of else names,
        dir=lambda *of: dir(*of) if of else sorted(names),
    )
    vars(module).update(layers)
    return {"__name__": "__main__", "__builtins__": layers}


def _make_import(true_import: Any, builtins_module: ModuleType) -> Any:
    """Returns an __import__ function that returns builtins_module for the module "builtins"."""

    def __import__(name: str, *more: Any, **named: Any) -> Any:
        return builtins_module if name == "builtins" else true_import(name, *more, **named)

    return __import__
