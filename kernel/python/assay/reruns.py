"""Running cells again: how often, and after what was changed from outside."""

from __future__ import annotations

from assay.board import Invalid
from assay.capture import Quiet
from assay.work import Work

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from assay.graph import Node, Step
    from assay.kernel import Kernel
    from assay.reactivity import Names

_MOST = 20  # times that one cause runs a cell again


class ReactiveLoop(RuntimeError):
    """A cell was run again too often by one cause; its text names the loop."""

    __module__ = "assay"


class Cause:
    """A run, or a change from outside, and how often each cell ran again because of it."""

    def __init__(self) -> None:
        self._runs: dict[str, int] = {}

    def allows(self, cell: str) -> bool:
        """Counts a further run of a cell, and tells whether it may be."""
        self._runs[cell] = self._runs.get(cell, 0) + 1
        return self._runs[cell] <= _MOST


def told_loop(cell: str, steps: list[Step], names: Names) -> str:
    """Returns the text of the ReactiveLoop of a cell; steps lead from it back to it."""
    loop = "; ".join(
        f"{writer} writes {', '.join(names.of([node]))}, which {reader} reads"
        for writer, node, reader in steps
    )
    return (
        f"cell {cell} was run again {_MOST} times by one cause, and not once more. "
        + (f"The loop: {loop}. " if loop else "")
        + "Write a signal only where it has to change, or read it with sample()"
    )


class Settle(Work):
    """Puts into force what was changed while no run was on, or from outside.

    It is no run of a cell: nothing is said of it but what it changes.
    """

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(Quiet())
        self.writes: dict[Node, Any] | None = {}
        self._kernel = kernel
        self._values: dict[str, Any] = {}

    def gather(self, writes: dict[Node, Any], values: dict[str, Any]) -> None:
        """Adds writes of signals, and JSON values of widgets by key; before it runs."""
        assert self.writes is not None
        self.writes.update(writes)
        self._values.update(values)

    def run(self) -> None:
        """Applies all of it at once."""
        reactions = self._kernel.reactions
        assert reactions is not None and self.writes is not None
        reactions.begin(self)
        for key, value in self._values.items():
            try:
                node, chosen = reactions.board.choose(key, value)
                self.writes[node] = chosen
            except Invalid as error:  # the widget has changed since it was checked
                self._refuse(f"set_widget_value: {key}: {error}")
        wave = reactions.settle(self, None)
        self._kernel.schedule.finish(self)
        wave.publish(False)

    def fail(self, error: BaseException) -> None:
        """Ends it, where run itself raised."""
        self._kernel.schedule.finish(self)
        self._refuse(f"what was set could not be applied: {type(error).__name__}: {error}")

    def refuse(self) -> None:
        """Does nothing: no request names it."""

    def _refuse(self, text: str) -> None:
        self._kernel.channel.send({"type": "error", "data": {"message": text}})
