"""What a run needs of the kernel that it runs in. For type checkers only: never imported."""

from __future__ import annotations

from typing import Any, Protocol

from assay.run.event_loop import Loop
from assay.run.failure import Failure
from assay.run.interrupter import Interrupter
from assay.run.namespace import Namespace
from assay.run.schedule import Schedule
from assay.run.source_cache import Sources
from assay.run.work import Work
from assay.sealing.pristine import Pristine
from assay.wire.channel import Channel
from assay.wire.stdio import Stdio
from assay.wire.text_batcher import Pacer


class Host(Protocol):
    """The kernel as its runs see it; assay.kernel.Kernel is the only one."""

    channel: Channel
    pacer: Pacer
    names: Namespace
    sources: Sources
    stdio: Stdio
    loop: Loop
    schedule: Schedule
    interrupter: Interrupter
    pristine: Pristine
    folder: str
    widget_values: dict[str, Any]

    @property
    def renderer(self) -> Renderer:
        """Shows values in the output of the running cell."""
        ...

    @property
    def reactions(self) -> Reactivity | None:
        """The signals and widgets, None before the user's code imports them."""
        ...

    def wake(self) -> None:
        """Makes the main thread look at the schedule. Safe on any thread."""
        ...

    def is_drawn_by(self, cell_id: str, value: object) -> bool:
        """Returns whether value is a widget that the cell shows already."""
        ...


class Renderer(Protocol):
    """How values are shown; assay.display has the only one."""

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
        """Shows the open matplotlib figures that were not shown yet, and closes them all."""
        ...

    def close_figures(self) -> None:
        """Closes all matplotlib figures without showing them."""
        ...


class Transaction(Protocol):
    """The signal writes of one run, applied but not yet announced."""

    def publish(self, stopped: bool) -> None:
        """Announces changed widgets and schedules the cells that read what changed."""
        ...


class Reactivity(Protocol):
    """What signals and widgets need to hear of runs; assay.reactive has the only one."""

    def begin(self, work: Work) -> None:
        """Starts collecting the writes of a run. Raises ReactiveLoop."""
        ...

    def settle(self, work: Work, failure: Failure | None) -> Transaction:
        """Applies the writes of a run that has ended."""
        ...

    def skip(self, cell: str) -> None:
        """Notes that a run was stopped before it began."""
        ...

    def dispose(self, cell: str) -> None:
        """Forgets a cell."""
        ...

    def clear(self) -> None:
        """Forgets all cells, signals and widgets."""
        ...

    def report(self) -> dict[str, Any]:
        """Returns the reactivity summary."""
        ...

    def check_values(self, data: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
        """Returns the decoded values of a set_widget_value, and the errors, both by key."""
        ...

    def choose(self, values: dict[str, Any]) -> None:
        """Schedules the assignment of checked values to widgets."""
        ...
