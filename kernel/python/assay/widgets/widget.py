"""The base class of all widgets."""

from __future__ import annotations

from assay.display.mime_bundle import make_json_safe
from assay.introspect.bounded_repr import bounded_repr
from assay.reactive import signals
from assay.reactive.external_writes import InvalidValue
from assay.reactive.graph import Node
from assay.run.type_checks import is_instance_by_name
from assay.widgets import widget_registry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    State = dict[str, Any]


class Widget:
    """The base class of widgets, which a cell shows beside its output; their values can be set from outside.

    A widget belongs to the cell that made it until that cell runs again. A value that was set from
    outside stays for the widget with the same key in the next run, if it is still valid.
    """

    widget_type = ""  # "type" in its state
    keeps_value = True  # a value set from outside is kept for the widget that replaces this one

    def __init__(
        self,
        label: str,
        extra_state: State,
        *,
        default: Any = None,
        value: Any = None,
        readonly: bool = False,
        appearance: dict[str, Any] | None = None,
        key: str | None = None,
    ) -> None:
        """Adds the widget to the running cell. extra_state has the fields of its state that only this type has.

        Raises ValueError and TypeError for wrong arguments, and RuntimeError if no cell is running.
        """
        if not isinstance(label, str):
            raise TypeError(f"label: expected a string, found {type(label).__name__}")
        if key is not None and (not isinstance(key, str) or not key):
            raise TypeError(f"key: expected a string with text in it, found {key!r}")
        cell = signals.tracker.running_cell()
        if cell is None:
            raise RuntimeError(
                f"w_{self.widget_type}: only the code of a running cell can make a widget"
            )
        self.readonly = bool(readonly)
        self.default = self._parse_argument("default", default)
        self._constant_state = {
            "type": self.widget_type,
            "label": label,
            "appearance": to_json(appearance),
            "readonly": self.readonly,
            "default": to_json(self.default),
            **extra_state,
        }
        first = self._parse_argument("value", value)
        registry = widget_registry.registry
        self.key = registry.make_key(cell, self.widget_type, key)
        self._signal = signals.Signal.for_node(
            self._make_node(self.default if first is None else first)
        )
        registry.add_widget(cell, self)
        signals.tracker.record_definition(self.node)

    def _parse_argument(self, name: str, value: Any) -> Any:
        """Returns the widget's value for the argument with this name, or None. Raises ValueError if it is invalid."""
        if value is None:
            return None
        try:
            return self.parse(to_json(value))
        except InvalidValue as error:
            raise ValueError(f"{name}: {error}") from None

    def _make_node(self, first: Any) -> Node:
        """Returns a node with the value that was set from outside in an earlier run, else first, else empty_value."""
        first = self.empty_value() if first is None else first
        return Node(widget_registry.registry.restored_value(self, first), self.key)

    @property
    def node(self) -> Node:
        """The node that holds the widget's value."""
        return self._signal.node

    @property
    def value(self) -> Any:
        """The widget's value. Reading it subscribes the running cell."""
        return self._signal()

    def sample(self) -> Any:
        """Returns the widget's value without subscribing the running cell."""
        return self._signal.sample()

    def empty_value(self) -> Any:
        """Returns the value of a widget that is made without the arguments value and default."""
        return None

    def parse(self, value: Any) -> Any:
        """Returns the widget's value for a decoded JSON value. Runs none of the user's code.

        Raises InvalidValue if the widget cannot have this value.
        """
        raise InvalidValue(f"a {self.widget_type} takes no value")

    def parse_from_outside(self, value: Any) -> Any:
        """Returns the widget's value for a decoded JSON value that is set from outside.

        Raises InvalidValue if the widget cannot have this value or is read-only.
        """
        if self.readonly:
            raise InvalidValue("the widget is read-only")
        return self.parse(value)

    def on_value_set(self) -> None:
        """Is called when the widget's value was set from outside, before the cells that read it run again."""

    def on_run_end(self, cell: str) -> None:
        """Is called when a run of any cell has ended."""

    def state(self) -> State:
        """Returns the widget's state for the server, as values that JSON can hold.

        May run the user's code, but never raises an exception.
        """
        try:
            value = to_json(self.node.value)
        except BaseException as error:  # raised by an object that is an option and became the value
            value = f"<{type(self.node.value).__name__}: {type(error).__name__}>"
        return {**self._constant_state, "value": value}

    def __repr__(self) -> str:
        return f"<w_{self.widget_type} {self.key}>"


def short_repr(value: Any) -> str:
    """Returns the repr of value, cut to at most 200 characters, for error messages."""
    text = bounded_repr(value)
    return text if len(text) <= 200 else text[:197] + "..."


def to_json(value: Any) -> Any:
    """Returns value converted to what JSON can hold: numbers of numpy, dates as ISO texts, else the repr."""
    if isinstance(value, dict):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(item) for item in value]
    if is_instance_by_name(value, "numpy", "generic"):
        value = value.item()
    if is_instance_by_name(value, "datetime", "date") or is_instance_by_name(
        value, "datetime", "time"
    ):
        return value.isoformat()
    return make_json_safe(value)


def is_widget_of_cell(cell: str, value: object) -> bool:
    """Returns whether value is a widget that this cell has made. The console shows it without an output."""
    if not issubclass(type(value), Widget):
        return False
    key = vars(value).get("key")
    return isinstance(key, str) and key.startswith(f"{cell}/")
