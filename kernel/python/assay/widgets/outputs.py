"""The widgets that show something, and those that arrange other widgets."""

from __future__ import annotations

from assay.introspect.summary import summarize
from assay.run.safe_repr import truncate_middle
from assay.run.type_checks import is_dataframe, is_instance_by_name, is_matplotlib_figure, is_plotly_figure
from assay.run.user_code import call_user_code
from assay.widgets.widget import Widget, short_repr, to_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from assay.widgets.widget import State

_PREVIEW_ROWS, _PREVIEW_COLUMNS = 20, 50  # of a table, in its state
_MAX_CELL_LENGTH = 200  # characters of a table's cell in its state
_MAX_TEXT_LENGTH = 64 << 10  # characters of a TextOutput


class TextOutput(Widget):
    """A widget that shows a text as Markdown."""

    widget_type = "text_output"

    def __init__(self, content: Any = "", **common: Any) -> None:
        text = content if isinstance(content, str) else call_user_code(str, content)
        self._content = truncate_middle(text, _MAX_TEXT_LENGTH)
        super().__init__("", {"content": self._content}, readonly=True, **common)

    def empty_value(self) -> Any:
        return self._content


class Table(Widget):
    """A widget that shows a pandas DataFrame. The server gets its first 20 rows and 50 columns."""

    widget_type = "table"

    def __init__(self, label: str = "", source: Any = None, **common: Any) -> None:
        if source is not None and not is_dataframe(source):
            raise TypeError(f"source: expected a DataFrame, found {type(source).__name__}")
        self._source = source
        self._preview: State = {} if source is None else _make_table_preview(source)
        super().__init__(label, self._preview, readonly=True, **common)

    def empty_value(self) -> Any:
        return self._source

    def state(self) -> State:
        about = {field: self._preview[field] for field in ("columns", "shape") if self._preview}
        return {**self._constant_state, "value": about or None}


class Plot(Widget):
    """A widget that shows a figure, as an output of the cell whose display_id is the widget's key."""

    widget_type = "plot"

    def __init__(self, label: str = "", source: Any = None, **common: Any) -> None:
        self._source = source
        super().__init__(label, {}, readonly=True, **common)
        if source is not None:
            from assay.display.display import display

            display(_find_figure(source), display_id=self.key)

    def empty_value(self) -> Any:
        return self._source

    def state(self) -> State:
        display_id = None if self._source is None else self.key
        return {**self._constant_state, "display_id": display_id, "value": display_id}


class Row(Widget):
    """A widget that shows other widgets side by side."""

    widget_type = "row"

    def __init__(
        self, items: Iterable[Widget] = (), *, extra_state: State | None = None, **common: Any
    ) -> None:
        self._items: list[State] = [{"key": _check_widget(item).key} for item in items]
        super().__init__("", extra_state or {}, readonly=True, **common)

    def state(self) -> State:
        return {**self._constant_state, "items": list(self._items), "value": None}


class Column(Row):
    """A widget that shows other widgets one below the other."""

    widget_type = "column"


class Grid(Row):
    """A widget that shows other widgets in columns. Call add for each of them; a with statement is optional."""

    widget_type = "grid"

    def __init__(self, columns: int, rows: int | None = None, **common: Any) -> None:
        for name, number in (("columns", columns), ("rows", rows)):
            if number is not None and (not isinstance(number, int) or number < 1):
                raise ValueError(f"{name}: expected a number from 1 on, found {number!r}")
        super().__init__(extra_state={"columns": columns, "rows": rows}, **common)

    def add(self, item: Widget, col_span: int = 1, row_span: int = 1) -> None:
        """Puts a widget into the next free place of the grid, col_span columns wide and row_span rows high."""
        spans = {"col_span": int(col_span), "row_span": int(row_span)}
        self._items.append({"key": _check_widget(item).key, **spans})

    def __enter__(self) -> Grid:
        return self

    def __exit__(self, *_: object) -> None:
        """Does nothing at the end of a with statement."""


def _check_widget(item: Any) -> Widget:
    """Returns item if it is a widget. Raises TypeError otherwise."""
    if not isinstance(item, Widget):
        raise TypeError(f"items: expected widgets, found {type(item).__name__}")
    return item


def _find_figure(source: Any) -> Any:
    """Returns source if it is a figure, else its attribute figure, which matplotlib's axes have, else source."""
    if is_matplotlib_figure(source) or is_plotly_figure(source):
        return source
    figure = call_user_code(getattr, source, "figure", None)
    return source if figure is None else figure


def _make_table_preview(table: Any) -> State:
    """Returns the first 20 rows and 50 columns of a pandas DataFrame, with its column names, dtypes and shape."""
    summary = summarize(table)
    rows = table.iloc[:_PREVIEW_ROWS, :_PREVIEW_COLUMNS].itertuples(index=False, name=None)
    return {
        "columns": summary["columns"],
        "dtypes": summary["dtypes"],
        "shape": summary["shape"],
        "rows": [[_preview_value(value) for value in row] for row in rows],
    }


def _preview_value(value: Any) -> Any:
    is_scalar = (
        value is None
        or isinstance(value, (bool, int, float, str))
        or is_instance_by_name(value, "numpy", "generic")
        or is_instance_by_name(value, "datetime", "date")
    )
    preview = to_json(value) if is_scalar else short_repr(value)
    return truncate_middle(preview, _MAX_CELL_LENGTH) if isinstance(preview, str) else preview
