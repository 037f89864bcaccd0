"""The widgets that a cell can make.

label is shown beside them. key names one within its cell; without it they are
counted, "select_1". value is what it has at first, else default. readonly ones
cannot be set from outside. appearance goes to whoever shows it, as it is.

`.value` reads the value and subscribes the running cell, `.sample()` only reads
it. A value set from outside stays when the cell that made the widget runs
again, as long as the widget can have it.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# What `from assay.widgets import *` brings. Names are looked up when they are asked for.
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
