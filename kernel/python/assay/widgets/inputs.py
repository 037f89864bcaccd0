"""The widgets for text, for yes or no, and the button."""

from __future__ import annotations

from assay.reactive import signals
from assay.reactive.external_writes import InvalidValue
from assay.reactive.graph import Node
from assay.widgets import widget_registry
from assay.widgets.widget import Widget, short_repr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _LabelledWidget(Widget):
    """A widget whose constructor takes a label and the arguments that all widgets have."""

    def __init__(self, label: str = "", **common: Any) -> None:
        super().__init__(label, {}, **common)


class TextInput(_LabelledWidget):
    """A widget to type text into. Its value is a str."""

    widget_type = "text_input"

    def empty_value(self) -> Any:
        return ""

    def parse(self, value: Any) -> Any:
        if not isinstance(value, str):
            raise InvalidValue(f"{short_repr(value)} is not a string")
        return value


class Checkbox(_LabelledWidget):
    """A widget to tick. Its value is True or False."""

    widget_type = "checkbox"

    def empty_value(self) -> Any:
        return False

    def parse(self, value: Any) -> Any:
        if not isinstance(value, bool):
            raise InvalidValue(f"{short_repr(value)} is neither true nor false")
        return value


class PressCountNode(Node):
    """The node of a button: the number of presses, and the cells that are going to run because of one."""

    __slots__ = ("cells_to_run",)

    def __init__(self, widget_key: str) -> None:
        super().__init__(0, widget_key)
        self.cells_to_run: set[str] = set()


class Button(_LabelledWidget):
    """A widget to press. Its value is True in the runs of cells that a press causes, False in all others."""

    widget_type = "button"
    keeps_value = False

    def __init__(
        self,
        label: str = "",
        *,
        readonly: bool = False,
        appearance: dict[str, Any] | None = None,
        key: str | None = None,
    ) -> None:
        super().__init__(label, readonly=readonly, appearance=appearance, key=key)

    def _make_node(self, first: Any) -> Node:
        previous = widget_registry.registry.previous_widget(self.key)
        return previous.node if isinstance(previous, Button) else PressCountNode(self.key)

    @property
    def value(self) -> Any:
        """True if the running cell runs because of a press. Reading it subscribes the running cell."""
        signals.tracker.record_read(self.node)
        return self.sample()

    def sample(self) -> Any:
        node = self.node
        return isinstance(node, PressCountNode) and signals.tracker.running_cell() in node.cells_to_run

    def parse(self, value: Any) -> Any:
        if value is not True:
            raise InvalidValue(f"{short_repr(value)} is not true, which presses the button")
        return self.node.value + 1

    def on_value_set(self) -> None:
        node = self.node
        if isinstance(node, PressCountNode):
            node.cells_to_run |= node.readers

    def on_run_end(self, cell: str) -> None:
        node = self.node
        if isinstance(node, PressCountNode):
            node.cells_to_run.discard(cell)
