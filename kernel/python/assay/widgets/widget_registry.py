"""The widgets of all cells, and the values that were set for them from outside."""

from __future__ import annotations

import threading
from itertools import count

from assay.reactive.external_writes import InvalidValue
from assay.wire.channel import FrameTooLarge
from assay.wire.messages import parse_json

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
    """The widgets of all cells, by cell and key, and the values set from outside. Safe for use by several threads.

    States of widgets are made on the main thread only, because a widget's value may be an object of
    the user's.
    """

    def __init__(
        self, send: Callable[[dict[str, Any]], None], initial_values: dict[str, Any]
    ) -> None:
        """Makes an empty registry. send sends the server a message; initial_values has JSON values by widget key."""
        self._send = send
        self._lock = threading.RLock()  # guards what follows
        self._set_values = initial_values  # JSON values set from outside, by key
        self._cells: dict[str, WidgetsByKey] = {}  # by cell; widgets in the order of their creation
        self._previous: dict[str, WidgetsByKey] = {}  # by running cell: its widgets before the run
        self._missing: dict[str, WidgetsByKey] = {}  # by cell: not made again, but still read by cells
        self._sent: dict[str, dict[str, State]] = {}  # by cell: the states that the server has

    def begin_run(self, cell: str) -> None:
        """Sets the widgets of a cell aside as its previous ones, because the cell runs again."""
        with self._lock:
            self._previous[cell] = {**self._missing.pop(cell, {}), **self._cells.pop(cell, {})}

    def end_run(self, cell: str) -> None:
        """Drops the previous widgets that a run of the cell has not made again, except those that cells read.

        Also tells all widgets that a run of the cell has ended.
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
        """Calls on_run_end of all widgets after a run of this cell."""
        with self._lock:
            everything = [widget for widgets in self._cells.values() for widget in widgets.values()]
        for widget in everything:
            widget.on_run_end(cell)

    def dispose_cell(self, cell: str) -> None:
        """Removes the widgets of a cell and the values set for them."""
        with self._lock:
            parts = (self._missing, self._previous, self._cells)
            keys = [key for part in parts for key in part.pop(cell, {})]
            self._sent.pop(cell, None)
            for key in keys:
                self._set_values.pop(key, None)

    def clear(self) -> None:
        """Removes all widgets and the values set for them, and tells the server."""
        with self._lock:
            cells = list(self._sent)
            for part in (self._missing, self._previous, self._cells, self._set_values):
                part.clear()
        for cell in cells:
            self._publish_cell(cell)

    def make_key(self, cell: str, widget_type: str, name: str | None) -> str:
        """Returns the key of a new widget: "<cell>/<name>" or, if name is None, "<cell>/<type>_<n>".

        Raises ValueError if the cell has a widget with this key already.
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
        """Returns the widget with this key from the previous run of a running cell, or None."""
        with self._lock:
            return next((old[key] for old in self._previous.values() if key in old), None)

    def add_widget(self, cell: str, widget: RegisteredWidget) -> None:
        """Adds a widget that a running cell has made."""
        with self._lock:
            self._cells.setdefault(cell, {})[widget.key] = widget

    def replaced_nodes(self, cell: str | None) -> dict[Node, Node]:
        """Returns the nodes of widgets that the cell's current run has made again, with the nodes they replace."""
        with self._lock:
            pairs = [
                (widget.node, previous.node)
                for key, previous in self._previous.get(cell or "", {}).items()
                if (widget := self._cells.get(cell or "", {}).get(key)) is not None
                and widget.widget_type == previous.widget_type
            ]
        return {new: old for new, old in pairs if new is not old}

    def restored_value(self, widget: RegisteredWidget, default: Any) -> Any:
        """Returns the value that was set from outside for the key of a new widget, or default if there is none.

        A value that the new widget cannot have is forgotten, and default returned.
        """
        with self._lock:
            try:
                return widget.parse(self._set_values[widget.key])
            except (KeyError, InvalidValue):
                self._set_values.pop(widget.key, None)
                return default

    def check_values(self, data: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
        """Checks the JSON texts of a set_widget_value, given by widget key, without setting anything.

        Returns the decoded values that can be set, and error texts for the other keys.
        """
        values: dict[str, Any] = {}
        errors: dict[str, str] = {}
        for key, text in data.items():
            try:
                value = _decode_value(text)
                self._find_widget(key).parse_from_outside(value)
                values[key] = value
            except InvalidValue as error:
                errors[key] = str(error)
        return values, errors

    def set_value(self, key: str, value: Any) -> tuple[Node, Any]:
        """Stores a decoded JSON value that is set for a widget from outside.

        Returns the node to be written and the value to write. Raises InvalidValue if there is no
        such widget or it cannot have the value.
        """
        with self._lock:
            widget = self._find_widget(key)
            parsed = widget.parse_from_outside(value)
            if widget.keeps_value:
                self._set_values[key] = value
        widget.on_value_set()
        return widget.node, parsed

    def _find_widget(self, key: str) -> RegisteredWidget:
        """Returns the widget with this key. Raises InvalidValue if there is none."""
        with self._lock:
            for widgets in (*self._cells.values(), *self._previous.values()):
                if key in widgets:
                    return widgets[key]
        raise InvalidValue("there is no such widget")

    def publish(self, changed: Collection[Node], cell: str | None) -> None:
        """Sends the server the widgets of a cell, and of other cells with a widget whose node is in changed.

        Only the main thread may call it. cell may be None.
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
        """Sends the server the widgets of a cell, if the cell has any or had any when they were last sent."""
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

    def resend_cell_widgets(self, cell: str) -> None:
        """Sends the server the states of a cell's widgets again, after a run that was stopped before it began."""
        self._notify_run_end(cell)
        with self._lock:
            states = self._sent.get(cell)
        if states:
            self._send_states(cell, states, [])

    def _send_states(self, cell: str, states: dict[str, State], updated: list[str]) -> None:
        """Sends a cell_widgets message. If it is too large, each state is cut to its type, label and an error."""
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


def _decode_value(text: object) -> Any:
    """Returns the value of a JSON text. Raises InvalidValue if it is not a str or not JSON."""
    if not isinstance(text, str):
        raise InvalidValue("the value is not a string of JSON")
    try:
        return parse_json(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise InvalidValue(f"the value is not JSON: {error}") from None


def _refuse_constant(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON value")
