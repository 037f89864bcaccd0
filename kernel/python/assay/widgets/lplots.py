"""The modules of lplots, for notebooks that were written for it.

They hold the names of assay.reactive.signals and assay.widgets; each module of
widgets has all widgets. What only the product behind lplots can do exists too, and
raises NotImplementedError when it is called.
"""

from __future__ import annotations

from importlib.machinery import ModuleSpec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any, NoReturn

_WIDGET_MODULES = frozenset((
    "button", "checkbox", "column", "grid", "multi_select", "multiselect", "number_slider", "plot",
    "radio", "radio_group", "range_slider", "range_sliders", "row", "select", "slider", "table",
    "text", "text_input", "text_output",
))  # fmt: skip
_PRODUCT_MODULES = frozenset((
    "ann_data", "dataframe", "datasource", "h5", "igv", "ldata", "logs", "molstar", "registry",
    "workflow",
))  # fmt: skip
_OTHER_NAMES = {  # of lplots, for widgets here
    "w_number_slider_input": "w_slider",
    "w_radio_group": "w_radio",
    "w_range_slider_input": "w_range_slider",
}


def find_lplots_module(name: str) -> ModuleSpec | None:
    """Returns the spec of the module of lplots with this full name, or None if lplots has no such module."""
    fill = _find_fill_function(name)
    if fill is None:
        return None
    package = name in ("lplots", "lplots.widgets")
    return ModuleSpec(name, _FillingLoader(fill), is_package=package)  # type: ignore[arg-type]


def _find_fill_function(name: str) -> Callable[[ModuleType], None] | None:
    """Returns the function that puts names into the module of lplots with this full name, or None."""
    parent, _, last = name.rpartition(".")
    if name == "lplots":
        return _fill_lplots_package
    if name == "lplots.reactive":
        return _fill_reactive_module
    if name == "lplots.widgets" or (parent == "lplots.widgets" and last in _WIDGET_MODULES):
        return _fill_widget_module
    return _fill_with_refusals if parent == "lplots.widgets" and last in _PRODUCT_MODULES else None


class _FillingLoader:
    """A loader that makes an empty module and calls a function that puts names into it."""

    def __init__(self, fill: Callable[[ModuleType], None]) -> None:
        self._fill = fill

    def create_module(self, spec: ModuleSpec) -> None:
        """Returns None, which makes Python create an empty module."""

    def exec_module(self, module: ModuleType) -> None:
        self._fill(module)


def _fill_lplots_package(module: ModuleType) -> None:
    def submit_widget_state() -> None:
        """Shows the widgets that the running cell has made so far, before it ends."""
        from assay.widgets.catalog import submit_widget_state as submit

        submit()

    vars(module).update(submit_widget_state=submit_widget_state)
    _fill_with_refusals(module)


def _fill_reactive_module(module: ModuleType) -> None:
    from assay.reactive.signals import Signal

    vars(module).update(Signal=Signal)


def _fill_widget_module(module: ModuleType) -> None:
    from assay import widgets

    names = vars(module)
    names.update((name, getattr(widgets, name)) for name in widgets.__all__)
    names.update((name, names[widget]) for name, widget in _OTHER_NAMES.items())


def _fill_with_refusals(module: ModuleType) -> None:
    """Makes every name that is asked of a module a function that raises NotImplementedError."""

    def missing(name: str) -> Callable[..., NoReturn]:
        if name.startswith("__"):
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

        def refuse(*_: Any, **__: Any) -> NoReturn:
            raise NotImplementedError(f"{module.__name__}.{name} works in the lplots product only")

        return refuse

    vars(module)["__getattr__"] = missing
