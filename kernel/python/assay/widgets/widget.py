"""What all widgets have in common."""

from __future__ import annotations

from assay.display.mime_bundle import plain
from assay.introspect.bounded_repr import bounded_repr
from assay.reactive.external_writes import InvalidValue
from assay.reactive.graph import Node
from assay.reactive.signals import home as signals
from assay.reactive.signals import Signal
from assay.run.type_checks import is_a
from assay.widgets.widget_registry import home as widgets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    State = dict[str, Any]


class Widget:
    """Something in a cell's output whose value can be set from outside.

    It is part of the cell that made it, until that runs again. A value that was
    chosen for its key in an earlier run stays, where the widget can have it.
    """

    kind = ""  # the type in its state
    keeps = True  # what was chosen, for the widget that takes its place

    def __init__(
        self,
        label: str,
        more: State,
        *,
        default: Any = None,
        value: Any = None,
        readonly: bool = False,
        appearance: dict[str, Any] | None = None,
        key: str | None = None,
    ) -> None:
        """Makes it part of the running cell. more is what its state has beside the rest.

        Raises ValueError and TypeError for what cannot be, and RuntimeError
        where no cell runs.
        """
        if not isinstance(label, str):
            raise TypeError(f"label: expected a string, found {type(label).__name__}")
        if key is not None and (not isinstance(key, str) or not key):
            raise TypeError(f"key: expected a string with text in it, found {key!r}")
        reactions = signals.reactions
        cell = reactions.running_cell()
        if cell is None:
            raise RuntimeError(f"w_{self.kind}: only the code of a running cell can make a widget")
        self.readonly = bool(readonly)
        self.default = self._given("default", default)
        self._fixed = {
            "type": self.kind,
            "label": label,
            "appearance": form(appearance),
            "readonly": self.readonly,
            "default": form(self.default),
            **more,
        }
        first = self._given("value", value)
        self.key = widgets.board.key(cell, self.kind, key)
        self._signal = Signal.of(self._node(self.default if first is None else first))
        widgets.board.add(cell, self)
        reactions.define(self.node)

    def _given(self, name: str, value: Any) -> Any:
        if value is None:
            return None
        try:
            return self.parse(form(value))
        except InvalidValue as error:
            raise ValueError(f"{name}: {error}") from None

    def _node(self, first: Any) -> Node:
        """Returns the node for the value, which is first unless another was chosen."""
        first = self.natural() if first is None else first
        return Node(widgets.board.chosen(self, first), self.key)

    @property
    def node(self) -> Node:
        """The node of its value."""
        return self._signal.node

    @property
    def value(self) -> Any:
        """The value. Reading it subscribes the running cell."""
        return self._signal()

    def sample(self) -> Any:
        """Returns the value, and subscribes nothing."""
        return self._signal.sample()

    def natural(self) -> Any:
        """Returns the value where none is given."""
        return None

    def parse(self, value: Any) -> Any:
        """Returns the value that value, of JSON, stands for. Raises InvalidValue; runs no user code."""
        raise InvalidValue(f"a {self.kind} takes no value")

    def accept(self, value: Any) -> Any:
        """Returns what parse does; raises InvalidValue too where nothing may be set from outside."""
        if self.readonly:
            raise InvalidValue("the widget is read-only")
        return self.parse(value)

    def chose(self) -> None:
        """Notes that a value was chosen, which the readers are about to be told of."""

    def ran(self, cell: str) -> None:
        """Notes that a run of a cell has ended."""

    def state(self) -> State:
        """Returns what is told of it, as JSON. It may run the user's code, and never raises."""
        try:
            value = form(self.node.value)
        except BaseException as error:  # of an option that became the value
            value = f"<{type(self.node.value).__name__}: {type(error).__name__}>"
        return {**self._fixed, "value": value}

    def __repr__(self) -> str:
        return f"<w_{self.kind} {self.key}>"


def short(value: Any) -> str:
    """Returns the repr of value in at most 200 characters, for the text of an error."""
    text = bounded_repr(value)
    return text if len(text) <= 200 else text[:197] + "..."


def form(value: Any) -> Any:
    """Returns the JSON that stands for value; text where there is none."""
    if isinstance(value, dict):
        return {str(key): form(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [form(item) for item in value]
    if is_a(value, "numpy", "generic"):
        value = value.item()
    if is_a(value, "datetime", "date") or is_a(value, "datetime", "time"):
        return value.isoformat()
    return plain(value)


def is_drawn_by(cell: str, value: object) -> bool:
    """Returns whether value is a widget that the cell has made, which its output shows."""
    if not issubclass(type(value), Widget):
        return False
    key = vars(value).get("key")
    return isinstance(key, str) and key.startswith(f"{cell}/")
