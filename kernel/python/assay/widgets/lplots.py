"""The modules of lplots, for notebooks that were written for it.

They hold what assay.signals and assay.widgets do, each module of widgets all of
them. What only the product behind lplots can do is there by name, and says so
when it is called.
"""

from __future__ import annotations

from importlib.machinery import ModuleSpec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any, NoReturn

_CORE = frozenset((
    "button", "checkbox", "column", "grid", "multi_select", "multiselect", "number_slider", "plot",
    "radio", "radio_group", "range_slider", "range_sliders", "row", "select", "slider", "table",
    "text", "text_input", "text_output",
))  # fmt: skip
_PRODUCT = frozenset((
    "ann_data", "dataframe", "datasource", "h5", "igv", "ldata", "logs", "molstar", "registry",
    "workflow",
))  # fmt: skip
_ALSO = {
    "w_number_slider_input": "w_slider",
    "w_radio_group": "w_radio",
    "w_range_slider_input": "w_range_slider",
}


def find(name: str) -> ModuleSpec | None:
    """Returns the spec of a module of lplots by its whole name, None where there is none."""
    fill = _fill_of(name)
    if fill is None:
        return None
    package = name in ("lplots", "lplots.widgets")
    return ModuleSpec(name, _Loader(fill), is_package=package)  # type: ignore[arg-type]


def _fill_of(name: str) -> Callable[[ModuleType], None] | None:
    parent, _, last = name.rpartition(".")
    if name == "lplots":
        return _fill_package
    if name == "lplots.reactive":
        return _fill_reactive
    if name == "lplots.widgets" or (parent == "lplots.widgets" and last in _CORE):
        return _fill_widgets
    return _fill_product if parent == "lplots.widgets" and last in _PRODUCT else None


class _Loader:
    """Makes a module by filling an empty one."""

    def __init__(self, fill: Callable[[ModuleType], None]) -> None:
        self._fill = fill

    def create_module(self, spec: ModuleSpec) -> None:
        """Leaves it to Python."""

    def exec_module(self, module: ModuleType) -> None:
        self._fill(module)


def _fill_package(module: ModuleType) -> None:
    def submit_widget_state() -> None:
        """Shows the widgets that the running cell has made so far, before it ends."""
        from assay.widgets.catalog import submit_widget_state as submit

        submit()

    vars(module).update(submit_widget_state=submit_widget_state)
    _fill_product(module)


def _fill_reactive(module: ModuleType) -> None:
    from assay.reactive.signals import Signal

    vars(module).update(Signal=Signal)


def _fill_widgets(module: ModuleType) -> None:
    from assay import widgets

    names = vars(module)
    names.update((name, getattr(widgets, name)) for name in widgets.__all__)
    names.update((name, names[same]) for name, same in _ALSO.items())


def _fill_product(module: ModuleType) -> None:
    def missing(name: str) -> Callable[..., NoReturn]:
        if name.startswith("__"):
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

        def refuse(*_: Any, **__: Any) -> NoReturn:
            raise NotImplementedError(f"{module.__name__}.{name} works in the lplots product only")

        return refuse

    vars(module)["__getattr__"] = missing
