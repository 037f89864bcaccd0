"""Adapts matplotlib and plotly to the notebook after the user's code has imported them."""

from __future__ import annotations

import os
import sys
from weakref import ref

from assay.display.display import display
from assay.run.type_checks import is_plotly_figure
from assay.run.work import current_work

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any


def adapt_pyplot(pyplot: ModuleType) -> None:
    """Replaces pyplot.show() by a function that shows all open figures in the notebook."""

    def show(*args: object, **kwargs: object) -> None:
        """Shows all open figures in the notebook, and closes them."""
        show_open_figures()

    pyplot.show = show  # type: ignore[attr-defined]


def show_open_figures() -> None:
    """Shows the open matplotlib figures that the running cell has not shown yet, and closes all figures."""
    pyplot = _get_loaded_pyplot()
    if pyplot is None:
        return
    shown = current_work().shown_figures
    try:
        for number in pyplot.get_fignums():
            figure = pyplot.figure(number)
            if ref(figure) not in shown:
                display(figure)
    finally:
        pyplot.close("all")


def close_figures() -> None:
    """Closes all matplotlib figures without showing them."""
    pyplot = _get_loaded_pyplot()
    if pyplot is not None:
        pyplot.close("all")


def _get_loaded_pyplot() -> Any:
    """Returns matplotlib.pyplot, or None if it is not imported or still being imported by another thread."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    return pyplot if hasattr(pyplot, "get_fignums") and hasattr(pyplot, "close") else None


def adapt_plotly(renderers: ModuleType) -> None:
    """Makes plotly's show() show figures in the notebook, also without IPython.

    renderers is the module plotly.io._renderers. If the user has chosen another renderer, plotly's
    own show is called.
    """
    plotly_show, settings = renderers.show, renderers.renderers
    notebook_renderer = settings.default = os.environ["PLOTLY_RENDERER"]

    def show(fig: object, *args: object, **options: object) -> None:
        """Shows a figure in the notebook."""
        if is_plotly_figure(fig) and not args and not options and settings.default == notebook_renderer:
            display(fig)
        else:
            plotly_show(fig, *args, **options)

    renderers.show = show  # type: ignore[attr-defined]
