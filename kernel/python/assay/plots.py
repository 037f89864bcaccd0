"""plotly's figures. Nothing here imports plotly."""

from __future__ import annotations

import os

from assay.display import display
from assay.kinds import is_plot

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType


def attach(renderers: ModuleType) -> None:
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
