"""Work, a piece of user code on its way through the kernel, and whose code is running now."""

from __future__ import annotations

from contextvars import ContextVar
from time import monotonic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import Task
    from typing import Any, Protocol
    from weakref import ref

    from assay.wire.sinks import Sink

    class Cause(Protocol):
        """What makes cells run again."""

        def allows(self, cell: str) -> bool:
            """Counts a further run of a cell, and returns whether it may be made."""
            ...


_STRIKE_INTERVAL = 1.0  # seconds in which a work is interrupted at most once


class Work:
    """A piece of user code: waiting, then running, then over.

    The reader's thread makes it, the main thread runs it. `stopping` and `over`
    change from False to True under the schedule's lock.
    """

    cell_id: str | None = None
    tx_id: str | None = None  # the agent_tx_id of the request
    session: str | None = None  # works of different sessions interleave; None: runs alone
    stopping = False  # a stop was asked for
    over = False
    task: Task[Any] | None = None  # what runs it, where it awaits
    again = False  # runs a cell because a signal changed
    ahead = False  # waits among such runs, before what was asked for
    cause: Cause | None = None  # why it runs again
    source = ""  # of a cell
    writes: dict[Any, Any] | None = None  # of signals, for its end; None where it takes none
    _next_strike = 0.0

    def __init__(self, sink: Sink) -> None:
        self.sink = sink
        self.shown: set[ref[Any]] = set()  # matplotlib figures that need not be shown again

    def begin(self, sequencer: int) -> None:
        """Says that a cell begins, as its run number sequencer."""

    def run(self) -> None:
        """Runs it, on the main thread, and answers; it may still be awaiting at return."""
        raise NotImplementedError

    def fail(self, error: BaseException) -> None:
        """Ends it and answers, where run itself raised."""
        raise NotImplementedError

    def refuse(self) -> None:
        """Answers, on any thread, that it was stopped before it ran."""
        raise NotImplementedError

    def emit(self, output: dict[str, Any]) -> None:
        """Shows an nbformat output; as text where there is no cell to show it in."""
        text = output.get("data", {}).get("text/plain")
        if text is not None:
            self.sink.write(1, text + "\n")

    def strike(self) -> bool:
        """Tells whether to interrupt it now; so often that a finally block has its time."""
        now = monotonic()
        if self.over or not self.stopping or now < self._next_strike:
            return False
        self._next_strike = now + _STRIKE_INTERVAL
        return True


class _Foreground:
    """The work that code belongs to which carries none itself, such as a thread's."""

    work: Work


WORK: ContextVar[Work | None] = ContextVar("assay_work", default=None)
foreground = _Foreground()


def current() -> Work:
    """Returns the work that the calling code belongs to. Safe on any thread."""
    work = WORK.get()
    return foreground.work if work is None or work.over else work


def current_sink() -> Sink:
    """Returns where the text of the calling code goes. Safe on any thread."""
    return current().sink
