"""matplotlib's figures. Nothing here imports matplotlib."""

from __future__ import annotations

import io
import sys
from weakref import ref

from assay.doors import enter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any


def attach(pyplot: ModuleType) -> None:
    """Makes show() of pyplot, which has just been imported, show figures here."""

    def show(*args: object, **kwargs: object) -> None:
        """Shows all open figures in the notebook, and closes them."""
        show_all()

    pyplot.show = show  # type: ignore[attr-defined]


def show_all() -> None:
    """Shows all open figures, but for those that were shown already, and closes them."""
    from assay.display import display
    from assay.work import current

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


def png(figure: Any) -> bytes:
    """Returns figure as a PNG file."""
    buffer = io.BytesIO()
    enter(figure.savefig, buffer, format="png", bbox_inches="tight")
    return buffer.getvalue()
