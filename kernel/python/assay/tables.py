"""pandas as it is in a notebook. Nothing here imports pandas."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from types import ModuleType
    from typing import Any


def attach(pandas: ModuleType) -> None:
    """Has pandas, just imported, print up to 20 columns, as it does in notebooks.

    It takes what has no get_ipython() for a terminal, to whose width it fits tables.
    """
    pandas.set_option("display.max_columns", 20)


def limits() -> AbstractContextManager[Any]:
    """Returns the context in which a frame is shown at most 100 x 50, and its shape."""
    import pandas  # type: ignore[import]

    context: AbstractContextManager[Any] = pandas.option_context(
        "display.max_rows", 100,
        "display.min_rows", 100,
        "display.max_columns", 50,
        "display.show_dimensions", True,
        "display.notebook_repr_html", True,
        "display.large_repr", "truncate",
    )  # fmt: skip
    return context
