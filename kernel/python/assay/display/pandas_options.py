"""The options of pandas with which tables are shown."""

from __future__ import annotations

from contextlib import nullcontext

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from types import ModuleType
    from typing import Any

# How tables are shown in outputs, unless the user has set the option.
_TABLE_OPTIONS: dict[str, Any] = {
    "display.max_rows": 100,
    "display.min_rows": 100,
    "display.max_columns": 50,
    "display.show_dimensions": True,
    "display.notebook_repr_html": True,
    "display.large_repr": "truncate",
}
_original_pandas_options: dict[str, Any] = {}  # the values of _TABLE_OPTIONS before the user's code could set them


def adapt_pandas(pandas: ModuleType) -> None:
    """Sets pandas to print tables of up to 20 columns, as it does in notebooks.

    Without a global get_ipython() pandas assumes a terminal and fits tables to its width.
    """
    pandas.set_option("display.max_columns", 20)
    _original_pandas_options.update((name, pandas.get_option(name)) for name in _TABLE_OPTIONS)


def limit_table_size() -> AbstractContextManager[Any]:
    """Returns a context in which pandas shows at most 100 rows and 50 columns of a table, and always its shape.

    Options that the user has set are left as they are.
    """
    import pandas  # type: ignore[import]

    options: list[Any] = []
    for name, value in _TABLE_OPTIONS.items():
        if pandas.get_option(name) == _original_pandas_options.get(name):
            options += (name, value)
    context: AbstractContextManager[Any] = pandas.option_context(*options) if options else nullcontext()
    return context
