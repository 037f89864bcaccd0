"""matplotlib, plotly and pandas as they are in a notebook. Nothing here imports them."""

from __future__ import annotations

import os
import sys
from weakref import ref

from assay.display.display import display
from assay.run.type_checks import is_plot
from assay.run.work import current

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any


def attach_figures(pyplot: ModuleType) -> None:
    """Makes show() of pyplot, which has just been imported, show figures here."""

    def show(*args: object, **kwargs: object) -> None:
        """Shows all open figures in the notebook, and closes them."""
        show_all()

    pyplot.show = show  # type: ignore[attr-defined]


def show_all() -> None:
    """Shows all open figures, but for those that were shown already, and closes them."""
    pyplot = _pyplot()
    if pyplot is None:
        return
    shown = current().shown
    try:
        for number in pyplot.get_fignums():
            figure = pyplot.figure(number)
            if ref(figure) not in shown:
                display(figure)
    finally:
        pyplot.close("all")


def close_all() -> None:
    """Closes all open figures."""
    pyplot = _pyplot()
    if pyplot is not None:
        pyplot.close("all")


def _pyplot() -> Any:
    """Returns pyplot where it is imported, and not just being so by another thread."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    return pyplot if hasattr(pyplot, "get_fignums") and hasattr(pyplot, "close") else None


def attach_plots(renderers: ModuleType) -> None:
    """Makes show() of plotly, just imported, show figures here, also without IPython.

    Another renderer that the user has chosen is plotly's to call.
    """
    theirs, chosen = renderers.show, renderers.renderers
    ours = chosen.default = os.environ["PLOTLY_RENDERER"]

    def show(fig: object, *args: object, **options: object) -> None:
        """Shows a figure in the notebook."""
        if is_plot(fig) and not args and not options and chosen.default == ours:
            display(fig)
        else:
            theirs(fig, *args, **options)

    renderers.show = show  # type: ignore[attr-defined]


def attach_tables(pandas: ModuleType) -> None:
    """Has pandas, just imported, print up to 20 columns, as it does in notebooks.

    It takes what has no get_ipython() for a terminal, to whose width it fits tables.
    """
    pandas.set_option("display.max_columns", 20)
