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
    """Raised for a value that a widget cannot have. Its text says why."""


class ExternalWrites(Work):
    """A work that applies signal writes made between runs, and widget values set from outside.

    The server gets no start and no result of it, only what it changes.
    """

    def __init__(
        self, host: Host, apply: Callable[[ExternalWrites, dict[str, Any]], TransactionProtocol]
    ) -> None:
        """apply is called by run with this work and the widget values by key, and returns the transaction."""
        super().__init__(NullSink())
        self.signal_writes = {}
        self._host = host
        self._apply = apply
        self._widget_values: dict[str, Any] = {}

    def add_writes(self, signal_writes: dict[Node, Any], widget_values: dict[str, Any]) -> None:
        """Adds new values of signals by node, and new JSON values of widgets by key. Must be called before run."""
        assert self.signal_writes is not None
        self.signal_writes.update(signal_writes)
        self._widget_values.update(widget_values)

    def run(self) -> None:
        """Applies all added writes at once, and schedules the cells that read what has changed."""
        transaction = self._apply(self, self._widget_values)
        self._host.schedule.finish(self)
        transaction.publish(False)

    def finish_with_error(self, error: BaseException) -> None:
        """Ends the work, because applying the writes has raised error, and sends the server an error message."""
        self._host.schedule.finish(self)
        self.report_error(f"widget values and signal writes could not be applied: {type(error).__name__}: {error}")

    def answer_not_run(self) -> None:
        """Does nothing when the work is stopped before it ran, because no request waits for an answer."""

    def report_error(self, text: str) -> None:
        """Sends the server a message of type error with this text."""
        self._host.channel.send({"type": "error", "data": {"message": text}})
