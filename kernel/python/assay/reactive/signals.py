"""Signals: values that cells depend on. A cell that reads one runs again when it changes."""

from __future__ import annotations

from assay.reactive.graph import Node
from assay.run.user_code import enter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    class Tracker(Protocol):
        """What the signals of a process report to."""

        def running_cell(self) -> str | None:
            """Returns the cell whose run the calling code is part of, if any."""
            ...

        def define(self, node: Node) -> None:
            """Notes that the calling code made node."""
            ...

        def read(self, node: Node) -> None:
            """Subscribes the cell whose code is calling, if any."""
            ...

        def write(self, node: Node, value: Any) -> None:
            """Gives node a value when the run is over."""
            ...


class _Home:
    """Where the signals of this process report to; set when this module is imported."""

    reactions: Tracker


home = _Home()
_nothing = object()


class Signal:
    """A value. Safe for use by several threads.

        s = Signal(1)
        s()          reads it, and subscribes the running cell; so does s.value
        s.sample()   reads it
        s(2)         writes it when the run is over; so does s.value = 2

    What was written counts from the end of the run on, all of a run at once: the
    cells that read what has changed then run again. Only what a cell reads
    itself subscribes it, in functions and tasks too, but not in a thread.

    A Signal assigned to a global that held one before takes its place: the cells
    that read that one now read this one, and run again where the value differs.
    """

    def __init__(self, value: Any = None) -> None:
        self._own = Node(value)
        home.reactions.define(self._own)

    @classmethod
    def of(cls, node: Node) -> Signal:
        """Returns a signal that stands for node."""
        signal = cls.__new__(cls)
        signal._own = node
        return signal

    @property
    def node(self) -> Node:
        """The node that it stands for."""
        return self._own.true()

    def __call__(self, value: Any = _nothing) -> Any:
        """Reads the value and subscribes the running cell; with a value, writes that."""
        if value is not _nothing:
            home.reactions.write(self.node, value)
            return None
        home.reactions.read(self.node)
        return self.node.value

    @property
    def value(self) -> Any:
        """The value. Reading it subscribes the running cell."""
        return self()

    @value.setter
    def value(self, value: Any) -> None:
        self(value)

    def sample(self) -> Any:
        """Returns the value, and subscribes nothing."""
        return self.node.value

    def __repr__(self) -> str:
        return f"Signal({enter(repr, self.sample())})"

    __class_getitem__ = classmethod(type(list[int]))  # Signal[int], in annotations
