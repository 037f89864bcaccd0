"""The widgets that show something, and those that arrange others."""

from __future__ import annotations

from assay.introspect.summary import describe
from assay.run.safe_repr import clip
from assay.run.type_checks import is_a, is_figure, is_plot, is_table
from assay.run.user_code import enter
from assay.widgets.widget import Widget, form, short

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from assay.widgets.widget import State

_ROWS, _COLUMNS = 20, 50  # of a table, in its state
_CELL = 200  # characters of a text in it
_TEXT = 64 << 10  # characters of a text output


class TextOutput(Widget):
    """A text, as Markdown."""

    kind = "text_output"

    def __init__(self, content: Any = "", **common: Any) -> None:
        self._content = clip(content if isinstance(content, str) else enter(str, content), _TEXT)
        super().__init__("", {"content": self._content}, readonly=True, **common)

    def natural(self) -> Any:
        return self._content


class Table(Widget):
    """A pandas DataFrame; its state has the first 20 rows and 50 columns."""

    kind = "table"

    def __init__(self, label: str = "", source: Any = None, **common: Any) -> None:
        if source is not None and not is_table(source):
            raise TypeError(f"source: expected a DataFrame, found {type(source).__name__}")
        self._source = source
        self._told: State = {} if source is None else _preview(source)
        super().__init__(label, self._told, readonly=True, **common)

    def natural(self) -> Any:
        return self._source

    def state(self) -> State:
        about = {field: self._told[field] for field in ("columns", "shape") if self._told}
        return {**self._fixed, "value": about or None}


class Plot(Widget):
    """A figure, shown as an output of the cell whose display_id is the widget's key."""

    kind = "plot"

    def __init__(self, label: str = "", source: Any = None, **common: Any) -> None:
        self._source = source
        super().__init__(label, {}, readonly=True, **common)
        if source is not None:
            from assay.display.display import display

            display(_figure(source), display_id=self.key)

    def natural(self) -> Any:
        return self._source

    def state(self) -> State:
        shown = None if self._source is None else self.key
        return {**self._fixed, "display_id": shown, "value": shown}


class Row(Widget):
    """Widgets side by side."""

    kind = "row"

    def __init__(
        self, items: Iterable[Widget] = (), *, more: State | None = None, **common: Any
    ) -> None:
        self._items: list[State] = [{"key": _widget(item).key} for item in items]
        super().__init__("", more or {}, readonly=True, **common)

    def state(self) -> State:
        return {**self._fixed, "items": list(self._items), "value": None}


class Column(Row):
    """Widgets one below the other."""

    kind = "column"


class Grid(Row):
    """Widgets in columns; add them, in a with statement if you like."""

    kind = "grid"

    def __init__(self, columns: int, rows: int | None = None, **common: Any) -> None:
        for name, number in (("columns", columns), ("rows", rows)):
            if number is not None and (not isinstance(number, int) or number < 1):
                raise ValueError(f"{name}: expected a number from 1 on, found {number!r}")
        super().__init__(more={"columns": columns, "rows": rows}, **common)

    def add(self, item: Widget, col_span: int = 1, row_span: int = 1) -> None:
        """Puts a widget into the next place that is free."""
        where = {"col_span": int(col_span), "row_span": int(row_span)}
        self._items.append({"key": _widget(item).key, **where})

    def __enter__(self) -> Grid:
        return self

    def __exit__(self, *_: object) -> None:
        """Does nothing."""


def _widget(item: Any) -> Widget:
    if not isinstance(item, Widget):
        raise TypeError(f"items: expected widgets, found {type(item).__name__}")
    return item


def _figure(source: Any) -> Any:
    """Returns the figure that source is, or is part of, or holds, as axes and grids do."""
    if is_figure(source) or is_plot(source):
        return source
    figure = enter(getattr, source, "figure", None)
    return source if figure is None else figure


def _preview(frame: Any) -> State:
    about = describe(frame)
    rows = frame.iloc[:_ROWS, :_COLUMNS].itertuples(index=False, name=None)
    return {
        "columns": about["columns"],
        "dtypes": about["dtypes"],
        "shape": about["shape"],
        "rows": [[_cell(value) for value in row] for row in rows],
    }


def _cell(value: Any) -> Any:
    plain = value is None or isinstance(value, (bool, int, float, str))
    plain = plain or is_a(value, "numpy", "generic") or is_a(value, "datetime", "date")
    told = form(value) if plain else short(value)
    return clip(told, _CELL) if isinstance(told, str) else told
