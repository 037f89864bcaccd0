"""What a run needs of the kernel that it runs in. Imported by type checkers only, never at run time."""

from __future__ import annotations

from typing import Any, Protocol

from assay.run.event_loop import EventLoop
from assay.run.failure import Failure
from assay.run.interrupter import Interrupter
from assay.run.namespace import Namespace
from assay.run.schedule import Schedule
from assay.run.source_cache import SourceCache
from assay.run.work import Work
from assay.wire.channel import Channel
from assay.wire.stdio import StandardStreams
from assay.wire.text_batcher import FlushTimer


class Host(Protocol):
    """What a run can use of the kernel. assay.kernel.Kernel is the only implementation."""

    channel: Channel
    flush_timer: FlushTimer
    namespace: Namespace
    source_cache: SourceCache
    streams: StandardStreams
    event_loop: EventLoop
    schedule: Schedule
    interrupter: Interrupter
    start_folder: str
    initial_widget_values: dict[str, Any]

    @property
    def renderer(self) -> RendererProtocol:
        """The object that shows values in the output of the running cell."""
        ...

    @property
    def reactivity(self) -> ReactivityProtocol | None:
        """The signals and widgets of the kernel, or None before the user's code imports them."""
        ...

    def wake(self) -> None:
        """Makes the main thread look for work in the schedule again. Safe on any thread."""
        ...

    def is_widget_of_cell(self, cell_id: str, value: object) -> bool:
        """Returns whether value is a widget that this cell has made. The console shows it without an output."""
        ...


class RendererProtocol(Protocol):
    """Shows values to the user. assay.display.renderer.Renderer is the only implementation."""

    def show(self, value: object) -> None:
        """Shows value in the output of the running cell."""
        ...

    def show_result(self, value: object, execution_count: int) -> None:
        """Shows the value of the running cell's last expression, with the number of the run."""
        ...

    def publish(self, data: Any, metadata: Any = None, **options: Any) -> None:
        """Shows a MIME bundle, data by MIME type, in the output of the running cell."""
        ...

    def clear_output(self, wait: bool = False) -> None:
        """Clears the output of the running cell: at once or, with wait, when its next output comes."""
        ...

    def show_figures(self) -> None:
        """Shows the open matplotlib figures that the running cell has not shown yet, and closes all figures."""
        ...

    def close_figures(self) -> None:
        """Closes all matplotlib figures without showing them."""
        ...


class TransactionProtocol(Protocol):
    """The signal writes of one run, which were applied and are still to be announced."""

    def publish(self, stopped: bool) -> None:
        """Sends changed widgets to the server and, unless stopped, schedules the cells that read what has changed."""
        ...


class ReactivityProtocol(Protocol):
    """The signals and widgets of a kernel. assay.reactive.reactivity.Reactivity is the only implementation."""

    def begin_run(self, work: Work) -> None:
        """Starts to collect what a work reads and writes. Raises ReactiveLoop if its cell runs again too often."""
        ...

    def record_source(self, cell: str, source: str) -> None:
        """Records the source of a cell that could not be compiled: it runs when a signal changes that the cell reads."""
        ...

    def end_run(self, work: Work, failure: Failure | None) -> TransactionProtocol:
        """Applies the signal writes of a run that has ended, and returns its transaction, to be published."""
        ...

    def resend_widgets(self, cell: str) -> None:
        """Sends a cell's widgets again, because a run of the cell was stopped before it began."""
        ...

    def dispose_cell(self, cell: str) -> None:
        """Removes a cell's signals and widgets."""
        ...

    def clear(self) -> None:
        """Removes all cells, signals and widgets."""
        ...

    def summary(self) -> dict[str, Any]:
        """Returns the fields of the reactivity summary."""
        ...

    def check_widget_values(self, data: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
        """Checks the JSON texts of a set_widget_value, given by widget key, without setting anything.

        Returns the decoded values that can be set, and error texts for the other keys.
        """
        ...

    def set_widget_values(self, values: dict[str, Any]) -> None:
        """Schedules that widgets get new values, given by key. The values must have been checked."""
        ...
