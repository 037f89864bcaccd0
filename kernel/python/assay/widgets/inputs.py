"""The widgets for a text, for yes or no, and to press."""

from __future__ import annotations

from assay.reactive.external_writes import InvalidValue
from assay.reactive.graph import Node
from assay.reactive.signals import home as signals
from assay.widgets.widget import Widget, short
from assay.widgets.widget_registry import home as widgets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Plain(Widget):
    """A widget that needs no more than a label."""

    def __init__(self, label: str = "", **common: Any) -> None:
        super().__init__(label, {}, **common)


class TextInput(Plain):
    """A text."""

    kind = "text_input"

    def natural(self) -> Any:
        return ""

    def parse(self, value: Any) -> Any:
        if not isinstance(value, str):
            raise InvalidValue(f"{short(value)} is not a string")
        return value


class Checkbox(Plain):
    """True or False."""

    kind = "checkbox"

    def natural(self) -> Any:
        return False

    def parse(self, value: Any) -> Any:
        if not isinstance(value, bool):
            raise InvalidValue(f"{short(value)} is neither true nor false")
        return value


class Presses(Node):
    """How often a button was pressed, and which cells are being run because of it."""

    __slots__ = ("due",)

    def __init__(self, key: str) -> None:
        super().__init__(0, key)
        self.due: set[str] = set()


class Button(Plain):
    """True in the runs that a press causes, False in all others."""

    kind = "button"
    keeps = False

    def __init__(
        self,
        label: str = "",
        *,
        readonly: bool = False,
        appearance: dict[str, Any] | None = None,
        key: str | None = None,
    ) -> None:
        super().__init__(label, readonly=readonly, appearance=appearance, key=key)

    def _node(self, first: Any) -> Node:
        former = widgets.board.former(self.key)
        return former.node if isinstance(former, Button) else Presses(self.key)

    @property
    def value(self) -> Any:
        signals.reactions.read(self.node)
        return self.sample()

    def sample(self) -> Any:
        node = self.node
        return isinstance(node, Presses) and signals.reactions.running_cell() in node.due

    def parse(self, value: Any) -> Any:
        if value is not True:
            raise InvalidValue(f"{short(value)} is not true, which presses the button")
        return self.node.value + 1

    def chose(self) -> None:
        node = self.node
        if isinstance(node, Presses):
            node.due |= node.readers

    def ran(self, cell: str) -> None:
        node = self.node
        if isinstance(node, Presses):
            node.due.discard(cell)
