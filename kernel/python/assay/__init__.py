"""The Python kernel: runs notebook cells for the server at the other end of a socket.

Begin with kernel.Kernel. The main thread runs the user's code, one piece at a
time. A second thread, dispatcher.Dispatcher, receives requests and answers those
that do not need the main thread. Everything here is standard library; what is
not needed in each run is imported when it is needed.

The kernel's threads are started with the module _thread, below the module
threading, so that threading.enumerate() lists only the user's threads.

The user's code imports Signal and the widgets (w_select and so on) from here;
they are defined in reactive.signals and widgets.catalog.
"""

from assay.wire.private_copies import install_private_builtins

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

install_private_builtins()

# What `from assay import *` imports. Names are looked up when they are used.
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
        from assay.reactive.signals import Signal

        return Signal
    if name.startswith("w_") or name == "submit_widget_state":
        import assay.widgets

        return getattr(assay.widgets, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
