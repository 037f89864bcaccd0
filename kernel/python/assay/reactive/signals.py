"""Signals: values that cells depend on. A cell that reads a signal runs again when it changes."""

from __future__ import annotations

from assay.reactive.graph import Node
from assay.run.user_code import call_user_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    class Tracker(Protocol):
        """What signals report to. All methods are safe on any thread."""

        def running_cell(self) -> str | None:
            """Returns the cell whose run the calling code is part of, None if there is none."""
            ...

        def record_definition(self, node: Node) -> None:
            """Notes that the calling code has made node."""
            ...

        def record_read(self, node: Node) -> None:
            """Subscribes the running cell to node, if there is one."""
            ...

        def write_at_run_end(self, node: Node, value: Any) -> None:
            """Gives node a value at the end of the run that the calling code belongs to."""
            ...


tracker: Tracker  # of this process; the kernel sets it right after this module is imported

_NO_VALUE = object()


class Signal:
    """A value that cells can depend on. Safe for use by several threads.

        s = Signal(1)
        s()          reads it, and subscribes the running cell; so does s.value
        s.sample()   reads it, and subscribes nothing
        s(2)         writes it at the end of the run; so does s.value = 2

    All writes of a run take effect together at its end. The cells that read what
    has changed then run again. Only what a cell reads itself subscribes it, in
    functions and tasks too, but not in a thread.

    A Signal assigned to a global that held another Signal takes its place: cells
    that read the old one now read the new one, and run again if the value differs.
    """

    def __init__(self, value: Any = None) -> None:
        self._node = Node(value)
        tracker.record_definition(self._node)

    @classmethod
    def for_node(cls, node: Node) -> Signal:
        """Returns a new Signal that refers to an existing node."""
        signal = cls.__new__(cls)
        signal._node = node
        return signal

    @property
    def node(self) -> Node:
        """The node that holds the signal's value."""
        return self._node.resolve_merges()

    def __call__(self, value: Any = _NO_VALUE) -> Any:
        """Returns the signal's value and subscribes the running cell. With an argument, writes that value instead."""
        if value is not _NO_VALUE:
            tracker.write_at_run_end(self.node, value)
            return None
        tracker.record_read(self.node)
        return self.node.value

    @property
    def value(self) -> Any:
        """The signal's value. Reading it subscribes the running cell."""
        return self()

    @value.setter
    def value(self, value: Any) -> None:
        self(value)

    def sample(self) -> Any:
        """Returns the signal's value without subscribing the running cell."""
        return self.node.value

    def __repr__(self) -> str:
        return f"Signal({call_user_code(repr, self.sample())})"

    __class_getitem__ = classmethod(type(list[int]))  # Signal[int], in annotations
