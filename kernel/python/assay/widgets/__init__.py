"""The widgets that a cell can make: w_select, w_slider and so on.

Common arguments: label is shown beside the widget. key names it within its cell;
without a key it is counted: "select_1". value is its first value, else default.
A readonly widget cannot be set from outside. appearance is passed to the console
as it is.

`.value` reads the value and subscribes the running cell, `.sample()` only reads
it. A value set from outside stays when the cell that made the widget runs again,
if it is still valid.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# What `from assay.widgets import *` imports. Names are looked up when they are used.
__all__ = [
    "submit_widget_state",
    "w_button",
    "w_checkbox",
    "w_column",
    "w_grid",
    "w_multi_select",
    "w_plot",
    "w_radio",
    "w_range_slider",
    "w_row",
    "w_select",
    "w_slider",
    "w_table",
    "w_text_input",
    "w_text_output",
]


def __getattr__(name: str) -> "Any":
    if name in __all__:
        from assay.widgets import catalog

        return getattr(catalog, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
