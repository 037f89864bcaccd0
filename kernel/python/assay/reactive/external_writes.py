"""Changes of signals and widgets that come while no run is on, or from outside."""

from __future__ import annotations

from assay.run.work import Work
from assay.wire.sinks import Quiet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from assay.reactive.graph import Node
    from assay.run.host import Host, Transaction


class InvalidValue(ValueError):
    """A value that a widget cannot have; its text says why."""


class Settle(Work):
    """Puts into force what was changed while no run was on, or from outside.

    It is no run of a cell: nothing is said of it but what it changes.
    """

    def __init__(
        self, kernel: Host, apply: Callable[[Settle, dict[str, Any]], Transaction]
    ) -> None:
        """apply puts the writes and the values of widgets, by key, into force."""
        super().__init__(Quiet())
        self.writes = {}
        self._kernel = kernel
        self._apply = apply
        self._values: dict[str, Any] = {}

    def gather(self, writes: dict[Node, Any], values: dict[str, Any]) -> None:
        """Adds writes of signals, and JSON values of widgets by key; before it runs."""
        assert self.writes is not None
        self.writes.update(writes)
        self._values.update(values)

    def run(self) -> None:
        """Applies all of it at once."""
        wave = self._apply(self, self._values)
        self._kernel.schedule.finish(self)
        wave.publish(False)

    def fail(self, error: BaseException) -> None:
        """Ends it, where run itself raised."""
        self._kernel.schedule.finish(self)
        self.report(f"what was set could not be applied: {type(error).__name__}: {error}")

    def refuse(self) -> None:
        """Does nothing: no request names it."""

    def report(self, text: str) -> None:
        """Tells the server what could not be applied."""
        self._kernel.channel.send({"type": "error", "data": {"message": text}})
