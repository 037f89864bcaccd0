"""Changes of signals and widgets that come between runs, or from outside the kernel."""

from __future__ import annotations

from assay.run.work import Work
from assay.wire.sinks import NullSink

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from assay.reactive.graph import Node
    from assay.run.host import Host, TransactionProtocol


class InvalidValue(ValueError):
    """A value that a widget cannot have; the text says why."""


class ExternalWrites(Work):
    """Applies signal writes made between runs, and widget values set from outside.

    It is not a run of a cell: the server hears only of what it changes.
    """

    def __init__(
        self, host: Host, apply: Callable[[ExternalWrites, dict[str, Any]], TransactionProtocol]
    ) -> None:
        """apply applies the collected signal writes, and the given widget values, by key."""
        super().__init__(NullSink())
        self.signal_writes = {}
        self._host = host
        self._apply = apply
        self._widget_values: dict[str, Any] = {}

    def add(self, signal_writes: dict[Node, Any], widget_values: dict[str, Any]) -> None:
        """Adds writes of signals, and JSON values of widgets by key. Call it before run."""
        assert self.signal_writes is not None
        self.signal_writes.update(signal_writes)
        self._widget_values.update(widget_values)

    def run(self) -> None:
        """Applies all of it at once."""
        transaction = self._apply(self, self._widget_values)
        self._host.schedule.finish(self)
        transaction.publish(False)

    def finish_with_error(self, error: BaseException) -> None:
        """Ends it and reports error, which run itself raised."""
        self._host.schedule.finish(self)
        self.report_error(f"widget values and signal writes could not be applied: {type(error).__name__}: {error}")

    def answer_not_run(self) -> None:
        """Does nothing: no request waits for an answer."""

    def report_error(self, text: str) -> None:
        """Sends the server a frame of type error."""
        self._host.channel.send({"type": "error", "data": {"message": text}})
