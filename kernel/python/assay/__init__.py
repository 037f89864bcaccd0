"""The Python kernel: runs notebook cells for the server at the other end of a socket.

kernel.Kernel is where to begin. The main thread runs the user's code, one piece
at a time; reader.Reader, on a thread of its own, receives requests and answers
those that need not wait. Everything here is standard library, and what is not
always needed is imported when it is.

The kernel's threads are started below the module threading, so that its
enumerate() lists the user's threads only.

What the user's code imports from here is Signal and the widgets, w_select and
so on, which lead to signals.Signal and the module widgets.
"""

from assay.own import install

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

install()

# What `from assay import *` brings. Names are looked up when they are asked for.
__all__ = [
    "Signal",
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
    if name == "Signal":
        from assay.signals import Signal

        return Signal
    if name.startswith("w_") or name == "submit_widget_state":
        import assay.widgets

        return getattr(assay.widgets, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
