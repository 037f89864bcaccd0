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
from assay.sealing.pristine import Pristine
from assay.wire.channel import Channel
from assay.wire.stdio import StandardStreams
from assay.wire.text_batcher import FlushTimer


class Host(Protocol):
    """The kernel as its runs see it. assay.kernel.Kernel is the only implementation."""

    channel: Channel
    flush_timer: FlushTimer
    namespace: Namespace
    source_cache: SourceCache
    streams: StandardStreams
    event_loop: EventLoop
    schedule: Schedule
    interrupter: Interrupter
    pristine: Pristine
    start_folder: str
    initial_widget_values: dict[str, Any]

    @property
    def renderer(self) -> RendererProtocol:
        """Shows values in the output of the running cell."""
        ...

    @property
    def reactivity(self) -> ReactivityProtocol | None:
        """The signals and widgets; None until the user's code imports them."""
        ...

    def wake(self) -> None:
        """Makes the main thread look at the schedule. Safe on any thread."""
        ...

    def is_drawn_by(self, cell_id: str, value: object) -> bool:
        """Returns whether value is a widget that the cell's output shows anyway."""
        ...


class RendererProtocol(Protocol):
    """Shows values. assay.display.renderer.Renderer is the only implementation."""

    def show(self, value: object) -> None:
        """Shows a value in the output of the running cell."""
        ...

    def show_result(self, value: object, execution_count: int) -> None:
        """Shows the value of the cell's last expression."""
        ...

    def publish(self, data: Any, metadata: Any = None, **options: Any) -> None:
        """Shows a MIME bundle."""
        ...

    def clear_output(self, wait: bool = False) -> None:
        """Clears the output of the running cell; with wait, when the next output comes."""
        ...

    def show_figures(self) -> None:
        """Shows the open matplotlib figures that were not shown yet, and closes all of them."""
        ...

    def close_figures(self) -> None:
        """Closes all matplotlib figures without showing them."""
        ...


class TransactionProtocol(Protocol):
    """The signal writes of one run: applied, and not yet announced."""

    def publish(self, stopped: bool) -> None:
        """Announces changed widgets and, unless stopped, schedules the cells that read what changed."""
        ...


class ReactivityProtocol(Protocol):
    """The signals and widgets. assay.reactive.reactivity.Reactivity is the only implementation."""

    def begin_run(self, work: Work) -> None:
        """Starts to collect what a run reads and writes. Raises ReactiveLoop."""
        ...

    def end_run(self, work: Work, failure: Failure | None) -> TransactionProtocol:
        """Applies the signal writes of a run that has ended."""
        ...

    def skip_run(self, cell: str) -> None:
        """Notes that a run of a cell was stopped before it began."""
        ...

    def dispose(self, cell: str) -> None:
        """Forgets a cell."""
        ...

    def clear(self) -> None:
        """Forgets all cells, signals and widgets."""
        ...

    def summary(self) -> dict[str, Any]:
        """Returns the fields of the reactivity summary."""
        ...

    def check_widget_values(self, data: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
        """Returns the values of a set_widget_value that can be set, and the errors of the others, by key."""
        ...

    def set_widget_values(self, values: dict[str, Any]) -> None:
        """Schedules the assignment of checked values to widgets."""
        ...
