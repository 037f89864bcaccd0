"""The widgets of all cells."""

from __future__ import annotations

import threading
from itertools import count

from assay.reactive.external_writes import InvalidValue
from assay.wire.channel import FrameTooLarge
from assay.wire.messages import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import Any, Protocol

    from assay.reactive.graph import Node
    State = dict[str, Any]

    class Widget(Protocol):
        """What the registry needs of a widget."""

        kind: str
        key: str
        keeps: bool

        @property
        def node(self) -> Node:
            """The node of its value."""
            ...

        def parse(self, value: Any) -> Any:
            """Returns the value that value, of JSON, stands for. Raises InvalidValue."""
            ...

        def accept(self, value: Any) -> Any:
            """Returns what parse does; raises InvalidValue too where nothing may be set from outside."""
            ...

        def chose(self) -> None:
            """Notes that a value was chosen, which the readers are about to be told of."""
            ...

        def ran(self, cell: str) -> None:
            """Notes that a run of a cell has ended."""
            ...

        def state(self) -> State:
            """Returns what is told of it, as JSON."""
            ...

    Widgets = dict[str, Widget]


class _Home:
    """Where the widgets of this process are kept; set when assay.reactive.signals is imported."""

    board: Board


home = _Home()


class Board:
    """Which widgets there are, and what was chosen. Safe for use by several threads.

    States are made on the main thread only: a value may be the user's.
    """

    def __init__(self, send: Callable[[dict[str, Any]], None], chosen: dict[str, Any]) -> None:
        """chosen has values by key, as JSON, for widgets to begin with."""
        self._send = send
        self._lock = threading.RLock()  # guards the rest
        self._chosen = chosen
        self._cells: dict[str, Widgets] = {}  # by key, in the order in which they were made
        self._former: dict[str, Widgets] = {}  # those before the run that is on
        self._lost: dict[str, Widgets] = {}  # those not made again, which cells still wait for
        self._sent: dict[str, dict[str, State]] = {}  # the states as the server knows them

    def begin(self, cell: str) -> None:
        """Takes the widgets of a cell away, because it runs again."""
        with self._lock:
            self._former[cell] = {**self._lost.pop(cell, {}), **self._cells.pop(cell, {})}

    def end(self, cell: str) -> None:
        """Loses those that the run which ends has not made again, and presses it was told of."""
        with self._lock:
            made = self._cells.get(cell, {})
            self._lost[cell] = {
                key: widget
                for key, widget in self._former.pop(cell, {}).items()
                if key not in made and widget.node.readers
            }
        self._ran(cell)

    def _ran(self, cell: str) -> None:
        with self._lock:
            everything = [widget for widgets in self._cells.values() for widget in widgets.values()]
        for widget in everything:
            widget.ran(cell)

    def dispose(self, cell: str) -> None:
        """Forgets all of a cell."""
        with self._lock:
            parts = (self._lost, self._former, self._cells)
            gone = [key for part in parts for key in part.pop(cell, {})]
            self._sent.pop(cell, None)
            for key in gone:
                self._chosen.pop(key, None)

    def clear(self) -> None:
        """Forgets all, and says so."""
        with self._lock:
            cells = list(self._sent)
            for part in (self._lost, self._former, self._cells, self._chosen):
                part.clear()
        for cell in cells:
            self._show(cell)

    def key(self, cell: str, kind: str, name: str | None) -> str:
        """Returns the key for a new widget: of its name in the cell, or else counted."""
        with self._lock:
            taken = self._cells.get(cell, {})
            if name is None:
                keys = (f"{cell}/{kind}_{number}" for number in count(1))
                return next(key for key in keys if key not in taken)
        if f"{cell}/{name}" in taken:
            raise ValueError(f"this cell has a widget with the key {name!r} already")
        return f"{cell}/{name}"

    def former(self, key: str) -> Widget | None:
        """Returns the widget that a new one with its key takes the place of."""
        with self._lock:
            return next((old[key] for old in self._former.values() if key in old), None)

    def add(self, cell: str, widget: Widget) -> None:
        """Adds a widget."""
        with self._lock:
            self._cells.setdefault(cell, {})[widget.key] = widget

    def successors(self, cell: str | None) -> dict[Node, Node]:
        """Returns the nodes that a run of a cell made for widgets, by those before them."""
        with self._lock:
            pairs = [
                (widget.node, former.node)
                for key, former in self._former.get(cell or "", {}).items()
                if (widget := self._cells.get(cell or "", {}).get(key)) is not None
                and widget.kind == former.kind
            ]
        return {new: old for new, old in pairs if new is not old}

    def chosen(self, widget: Widget, otherwise: Any) -> Any:
        """Returns the value that was chosen for a new widget, otherwise if it cannot have that."""
        with self._lock:
            try:
                return widget.parse(self._chosen[widget.key])
            except (KeyError, InvalidValue):
                self._chosen.pop(widget.key, None)
                return otherwise

    def check(self, data: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
        """Returns the values of a request, decoded, and what is wrong with the others."""
        values: dict[str, Any] = {}
        errors: dict[str, str] = {}
        for key, text in data.items():
            try:
                value = _decoded(text)
                self._find(key).accept(value)
                values[key] = value
            except InvalidValue as error:
                errors[key] = str(error)
        return values, errors

    def choose(self, key: str, value: Any) -> tuple[Node, Any]:
        """Keeps what was chosen, and returns the node to be written, and its value."""
        with self._lock:
            widget = self._find(key)
            chosen = widget.accept(value)
            if widget.keeps:
                self._chosen[key] = value
        widget.chose()
        return widget.node, chosen

    def _find(self, key: str) -> Widget:
        with self._lock:
            for widgets in (*self._cells.values(), *self._former.values()):
                if key in widgets:
                    return widgets[key]
        raise InvalidValue("there is no such widget")

    def send(self, changed: Collection[Node], cell: str | None) -> None:
        """Tells of a cell's widgets, and of those whose value has changed. Main thread only."""
        with self._lock:
            cells = {
                owner
                for owner, widgets in self._cells.items()
                if any(widget.node in changed for widget in widgets.values())
            }
        for owner in sorted(cells | ({cell} if cell is not None else set())):
            self._show(owner)

    def _show(self, cell: str) -> None:
        """Tells of a cell's widgets, where there are or were any."""
        with self._lock:
            widgets = list(self._cells.get(cell, {}).values())
        states = {widget.key: widget.state() for widget in widgets}
        with self._lock:
            before = self._sent.pop(cell, None)
            if states:
                self._sent[cell] = states
        if states or before:
            updated = [key for key, state in states.items() if state != (before or {}).get(key)]
            self._tell(cell, states, updated)

    def skip(self, cell: str) -> None:
        """Tells again of a cell's widgets, which a run that did nothing has left as they were."""
        self._ran(cell)
        with self._lock:
            states = self._sent.get(cell)
        if states:
            self._tell(cell, states, [])

    def _tell(self, cell: str, states: dict[str, State], updated: list[str]) -> None:
        frame = {"type": "cell_widgets", "cell_id": cell, "updated_widgets": updated}
        try:
            self._send({**frame, "widget_state": states})
        except FrameTooLarge as error:
            kept = ("type", "label")
            short = {
                key: {**{field: state[field] for field in kept}, "error": str(error)}
                for key, state in states.items()
            }
            self._send({**frame, "widget_state": short})


def _decoded(text: object) -> Any:
    if not isinstance(text, str):
        raise InvalidValue("the value is not a string of JSON")
    try:
        return loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise InvalidValue(f"the value is not JSON: {error}") from None


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON value")
