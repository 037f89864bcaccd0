"""What waits for the main thread, what runs on it, and what was stopped."""

from __future__ import annotations

import threading

from assay.wire.memory_reserve import reserve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from assay.run.work import Work
    from assay.wire.channel import Channel


class Schedule:
    """Works in the order in which they came. Safe for use by several threads.

    A work without a session runs alone. Those of different sessions run
    interleaved, at awaits, as long as nothing that runs alone waits before them.
    """

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        # It guards the rest, and frames about that are sent under it. A finalizer may come back in.
        self._lock = threading.RLock()
        self._waiting: list[Work] = []
        self._running: list[Work] = []
        self._sequencer = 0  # of the run of a cell that began last
        self._announced: list[str] = []  # the queue as the server knows it
        self._idle = True  # as the server knows it

    def add(self, work: Work) -> None:
        """Lets work wait for its turn. What runs at once is never announced as waiting.

        A cell that waits to run again runs once, as it is asked for now.
        """
        with self._lock:
            at_once = not self._waiting and not self._running
            if not self._replace(work):
                self._waiting.append(work)
            if not at_once:
                self._announce()

    def _replace(self, work: Work) -> bool:
        for place, other in enumerate(self._waiting):
            if other.again and other.cell_id == work.cell_id:
                work.ahead = True
                self._waiting[place] = work
                return True
        return False

    def rerun(self, cells: Sequence[Work], order: Callable[[list[Work]], list[Work]]) -> None:
        """Lets cells run again, each unless it waits already, and announces them.

        They wait in order, with those that do already, before all else.
        """
        with self._lock:
            waiting = {work.cell_id for work in self._waiting}
            ahead = [work for work in self._waiting if work.ahead]
            rest = [work for work in self._waiting if not work.ahead]
            for cell in cells:
                if cell.cell_id not in waiting:
                    cell.again = cell.ahead = True
                    ahead.append(cell)
            self._waiting = order(ahead) + rest
            self._announce()

    def take(self) -> Work | None:
        """Begins the next work, to be run by the caller; None when all have to wait."""
        with self._lock:
            while work := self._next():
                self._waiting.remove(work)
                if not work.stopping:
                    self._running.append(work)
                    self._announce()
                    self._begin(work)
                    return work
                self._announce()
                self._refuse(work)
            self._announce_idle()
            return None

    def _next(self) -> Work | None:
        sessions = {work.session for work in self._running}
        for work in self._waiting:
            if work.session is None:
                return None if sessions else work
            if None not in sessions and work.session not in sessions:
                return work
        return None

    def finish(self, work: Work) -> bool:
        """Ends work, and tells whether it was stopped. From then on it cannot be."""
        reserve.ensure()  # for the answer
        with self._lock:
            work.over = True
            self._running.remove(work)
            return work.stopping

    def stop(self, matches: Callable[[Work], bool]) -> list[Work]:
        """Stops what matches.

        What waits is answered as interrupted, here and now; only the next run of a
        cell that runs is when this one has ended, as a cell has one run at a time.
        What runs is returned, for the caller to interrupt.
        """
        with self._lock:
            cells = {work.cell_id for work in self._running} - {None}
            stopped = [work for work in self._waiting if matches(work)]
            refused = [work for work in stopped if work.cell_id not in cells]
            self._waiting = [work for work in self._waiting if work not in refused]
            self._announce()
            for work in refused:
                self._refuse(work)
            running = [work for work in self._running if matches(work) and not work.stopping]
            for work in (*running, *stopped):
                work.stopping = True
            return running

    def _refuse(self, work: Work) -> None:
        work.over = True
        self._begin(work)
        work.refuse()

    def state(self) -> dict[str, object]:
        """Returns what debug_state tells of it."""
        with self._lock:
            return {
                "queue": self._queue(),
                "running": [work.cell_id or work.tx_id for work in self._running],
                "waiting": len(self._waiting),
                "run_sequencer": self._sequencer,
            }

    def _begin(self, work: Work) -> None:
        if work.cell_id is not None:
            self._sequencer += 1
            self._idle = False
            work.begin(self._sequencer)

    def _queue(self) -> list[str]:
        return [work.cell_id for work in self._waiting if work.cell_id is not None]

    def _announce(self) -> None:
        queue = self._queue()
        if queue != self._announced:
            self._announced = queue
            self._channel.send({"type": "run_queue", "queue": queue})

    def _announce_idle(self) -> None:
        if not self._idle and not self._waiting and not self._running:
            self._idle = True
            self._channel.send(start_cell(None, self._sequencer))


def start_cell(cell_id: str | None, sequencer: int) -> dict[str, object]:
    """Returns the frame that says a run began; without a cell, that all is idle."""
    return {"type": "start_cell", "cell_id": cell_id, "run_sequencer": sequencer}
