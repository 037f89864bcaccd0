"""The widgets of all cells, and the values that were set for them from outside."""

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

    State = dict[str, Any]  # of a widget, as JSON

    class RegisteredWidget(Protocol):
        """What the registry needs of a widget; see assay.widgets.widget.Widget."""

        widget_type: str
        keeps_value: bool
        key: str

        @property
        def node(self) -> Node:
            """The node that holds its value."""
            ...

        def parse(self, value: Any) -> Any:
            """Returns the widget's value for a JSON value. Raises InvalidValue."""
            ...

        def parse_from_outside(self, value: Any) -> Any:
            """Does what parse does. Raises InvalidValue too if the widget is read-only."""
            ...

        def on_value_set(self) -> None:
            """Called when a value was set from outside, before cells run again."""
            ...

        def on_run_end(self, cell: str) -> None:
            """Called when a run of any cell has ended."""
            ...

        def state(self) -> State:
            """Returns the state that is sent to the server."""
            ...

    WidgetsByKey = dict[str, RegisteredWidget]


registry: WidgetRegistry  # of this process; the kernel sets it when signals are imported


class WidgetRegistry:
    """The widgets by cell and key. Safe for use by several threads.

    States are made on the main thread only, because a widget's value may be an
    object of the user's.
    """

    def __init__(
        self, send: Callable[[dict[str, Any]], None], initial_values: dict[str, Any]
    ) -> None:
        """send sends a message to the server; initial_values are JSON values by widget key."""
        self._send = send
        self._lock = threading.RLock()  # guards what follows
        self._set_values = initial_values  # JSON values set from outside, by key
        self._cells: dict[str, WidgetsByKey] = {}  # by cell; widgets in the order of their creation
        self._previous: dict[str, WidgetsByKey] = {}  # by running cell: its widgets before the run
        self._missing: dict[str, WidgetsByKey] = {}  # by cell: not made again, but still read by cells
        self._sent: dict[str, dict[str, State]] = {}  # by cell: the states that the server has

    def begin_run(self, cell: str) -> None:
        """Removes the widgets of a cell, because it runs again."""
        with self._lock:
            self._previous[cell] = {**self._missing.pop(cell, {}), **self._cells.pop(cell, {})}

    def end_run(self, cell: str) -> None:
        """Drops the previous widgets that the run has not made again, except those that cells read.

        Also tells all widgets that a run of cell has ended.
        """
        with self._lock:
            made = self._cells.get(cell, {})
            self._missing[cell] = {
                key: widget
                for key, widget in self._previous.pop(cell, {}).items()
                if key not in made and widget.node.readers
            }
        self._notify_run_end(cell)

    def _notify_run_end(self, cell: str) -> None:
        with self._lock:
            everything = [widget for widgets in self._cells.values() for widget in widgets.values()]
        for widget in everything:
            widget.on_run_end(cell)

    def dispose(self, cell: str) -> None:
        """Forgets the widgets of a cell and the values set for them."""
        with self._lock:
            parts = (self._missing, self._previous, self._cells)
            keys = [key for part in parts for key in part.pop(cell, {})]
            self._sent.pop(cell, None)
            for key in keys:
                self._set_values.pop(key, None)

    def clear(self) -> None:
        """Forgets all widgets and values, and tells the server."""
        with self._lock:
            cells = list(self._sent)
            for part in (self._missing, self._previous, self._cells, self._set_values):
                part.clear()
        for cell in cells:
            self._publish_cell(cell)

    def make_key(self, cell: str, widget_type: str, name: str | None) -> str:
        """Returns the key for a new widget: "<cell>/<name>", or "<cell>/<type>_<n>" if name is None.

        Raises ValueError if the cell has a widget of that name already.
        """
        with self._lock:
            taken = self._cells.get(cell, {})
            if name is None:
                keys = (f"{cell}/{widget_type}_{number}" for number in count(1))
                return next(key for key in keys if key not in taken)
        if f"{cell}/{name}" in taken:
            raise ValueError(f"this cell has a widget with the key {name!r} already")
        return f"{cell}/{name}"

    def previous_widget(self, key: str) -> RegisteredWidget | None:
        """Returns the widget of that key from the cell's previous run, None if there was none."""
        with self._lock:
            return next((old[key] for old in self._previous.values() if key in old), None)

    def add(self, cell: str, widget: RegisteredWidget) -> None:
        """Adds a widget that a cell has made."""
        with self._lock:
            self._cells.setdefault(cell, {})[widget.key] = widget

    def replaced_nodes(self, cell: str | None) -> dict[Node, Node]:
        """Returns the nodes that a run of a cell has made for widgets, with those that they replace."""
        with self._lock:
            pairs = [
                (widget.node, previous.node)
                for key, previous in self._previous.get(cell or "", {}).items()
                if (widget := self._cells.get(cell or "", {}).get(key)) is not None
                and widget.widget_type == previous.widget_type
            ]
        return {new: old for new, old in pairs if new is not old}

    def restored_value(self, widget: RegisteredWidget, default: Any) -> Any:
        """Returns the value that was set for a new widget; default if there is none or it is not valid now.

        A value that is not valid is forgotten.
        """
        with self._lock:
            try:
                return widget.parse(self._set_values[widget.key])
            except (KeyError, InvalidValue):
                self._set_values.pop(widget.key, None)
                return default

    def check_values(self, data: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
        """Returns the decoded values of a set_widget_value that can be set, and the errors of the others, by key."""
        values: dict[str, Any] = {}
        errors: dict[str, str] = {}
        for key, text in data.items():
            try:
                value = _decode(text)
                self._find(key).parse_from_outside(value)
                values[key] = value
            except InvalidValue as error:
                errors[key] = str(error)
        return values, errors

    def set_value(self, key: str, value: Any) -> tuple[Node, Any]:
        """Keeps the JSON value of a widget. Returns the node to be written, and its new value.

        Raises InvalidValue.
        """
        with self._lock:
            widget = self._find(key)
            parsed = widget.parse_from_outside(value)
            if widget.keeps_value:
                self._set_values[key] = value
        widget.on_value_set()
        return widget.node, parsed

    def _find(self, key: str) -> RegisteredWidget:
        with self._lock:
            for widgets in (*self._cells.values(), *self._previous.values()):
                if key in widgets:
                    return widgets[key]
        raise InvalidValue("there is no such widget")

    def publish(self, changed: Collection[Node], cell: str | None) -> None:
        """Sends the widgets of a cell, and of the cells with a widget whose node is in changed.

        To be called by the main thread.
        """
        with self._lock:
            cells = {
                owner
                for owner, widgets in self._cells.items()
                if any(widget.node in changed for widget in widgets.values())
            }
        for owner in sorted(cells | ({cell} if cell is not None else set())):
            self._publish_cell(owner)

    def _publish_cell(self, cell: str) -> None:
        """Sends the widgets of a cell if it has any, or had any when they were last sent."""
        with self._lock:
            widgets = list(self._cells.get(cell, {}).values())
        states = {widget.key: widget.state() for widget in widgets}
        with self._lock:
            before = self._sent.pop(cell, None)
            if states:
                self._sent[cell] = states
        if states or before:
            updated = [key for key, state in states.items() if state != (before or {}).get(key)]
            self._send_states(cell, states, updated)

    def publish_unchanged(self, cell: str) -> None:
        """Sends a cell's widgets again, as they are, after a run that was stopped before it began."""
        self._notify_run_end(cell)
        with self._lock:
            states = self._sent.get(cell)
        if states:
            self._send_states(cell, states, [])

    def _send_states(self, cell: str, states: dict[str, State], updated: list[str]) -> None:
        """Sends cell_widgets. States that are too large are replaced by type, label and the error."""
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


def _decode(text: object) -> Any:
    """Returns the value of a JSON text. Raises InvalidValue."""
    if not isinstance(text, str):
        raise InvalidValue("the value is not a string of JSON")
    try:
        return loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise InvalidValue(f"the value is not JSON: {error}") from None


def _refuse_constant(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON value")
