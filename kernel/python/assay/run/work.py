"""Work: a piece of user code on its way through the kernel. Also tells which work the calling code belongs to."""

from __future__ import annotations

from _contextvars import ContextVar  # contextvars itself is slower to import
from time import monotonic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import Task
    from typing import Any, Protocol
    from weakref import ref

    from assay.wire.sinks import Sink

    class RerunCause(Protocol):
        """Why cells run again; counts how often."""

        def count_and_check_rerun(self, cell: str) -> bool:
            """Counts a further run of a cell and returns whether it may be made."""
            ...


_INTERRUPT_INTERVAL = 1.0  # seconds between two interrupts of the same work


class Work:
    """A piece of user code on its way through the kernel: first it waits, then it runs, then it is over.

    Any thread may make a work; the main thread runs it. is_stopping and is_over change from False
    to True while the schedule's lock is held.
    """

    cell_id: str | None = None
    tx_id: str | None = None  # the agent_tx_id of the request
    session: str | None = None  # works of different sessions interleave; None: runs alone
    is_stopping = False  # a stop was requested
    is_over = False
    task: Task[Any] | None = None  # the asyncio task that runs it, if it awaits
    is_rerun = False  # runs a cell because a signal changed
    is_prioritized = False  # waits among the re-runs, before what was requested
    rerun_cause: RerunCause | None = None
    source = ""  # of a cell
    signal_writes: dict[Any, Any] | None = None  # value by node, applied at its end; None: it collects none
    _next_interrupt = 0.0  # by monotonic()

    def __init__(self, sink: Sink) -> None:
        """sink takes the text that the work prints."""
        self.sink = sink
        self.shown_figures: set[ref[Any]] = set()  # matplotlib figures not to be shown again

    def announce_start(self, run_number: int) -> None:
        """Tells the server that a cell begins the run with this number. Does nothing for work that is not a cell."""

    def run(self) -> None:
        """Runs the work on the main thread and sends its answer, possibly later, when its asyncio task has ended."""
        raise NotImplementedError

    def finish_with_error(self, error: BaseException) -> None:
        """Ends the work and sends its answer with this error, which the kernel itself has raised."""
        raise NotImplementedError

    def answer_not_run(self) -> None:
        """Sends the answer that the work was stopped before it ran. Safe on any thread."""
        raise NotImplementedError

    def emit_output(self, output: dict[str, Any]) -> None:
        """Shows an nbformat output of the work. If it is not a cell, the output's text/plain is printed instead."""
        text = output.get("data", {}).get("text/plain")
        if text is not None:
            self.sink.write(1, text + "\n")

    def claim_interrupt(self) -> bool:
        """Returns whether to interrupt the work now: if it is being stopped, and at most once a second.

        A finally block thus has a second before it is interrupted again.
        """
        now = monotonic()
        if self.is_over or not self.is_stopping or now < self._next_interrupt:
            return False
        self._next_interrupt = now + _INTERRUPT_INTERVAL
        return True


class _ForegroundWork:
    """Holds the work to which code without its own work belongs, for example a thread of the user's."""

    work: Work


CURRENT_WORK: ContextVar[Work | None] = ContextVar("assay_work", default=None)
foreground = _ForegroundWork()


def current_work() -> Work:
    """Returns the work to which the calling code belongs. Safe on any thread."""
    work = CURRENT_WORK.get()
    return foreground.work if work is None or work.is_over else work


def current_sink() -> Sink:
    """Returns the sink for text that the calling code prints. Safe on any thread."""
    return current_work().sink
