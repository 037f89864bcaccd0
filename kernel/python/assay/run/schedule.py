"""Which work waits for the main thread, which runs on it, and which was stopped."""

from __future__ import annotations

import threading

from assay.wire.memory_reserve import memory_reserve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from assay.run.work import Work
    from assay.wire.channel import Channel


class Schedule:
    """The queue of works, in the order of their requests. Safe for use by several threads.

    A work without a session runs alone. Works of different sessions run
    interleaved, switching where they await, until one that runs alone is next.
    """

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        # Guards all below; frames about the queue are sent while it is held. It is
        # re-entrant because a finalizer may call back in.
        self._lock = threading.RLock()
        self._waiting: list[Work] = []
        self._running: list[Work] = []
        self._run_number = 0  # of the run of a cell that began last: run_sequencer in frames
        self._announced: list[str] = []  # the queue that the server was told last
        self._is_idle = True  # as the server was told last

    def add(self, work: Work) -> None:
        """Queues a work. The queue is not announced if the work can run at once.

        If a re-run of the same cell waits, work takes its place: the cell runs once.
        """
        with self._lock:
            at_once = not self._waiting and not self._running
            if not self._replace_rerun(work):
                self._waiting.append(work)
            if not at_once:
                self._announce_queue()

    def _replace_rerun(self, work: Work) -> bool:
        for place, other in enumerate(self._waiting):
            if other.is_rerun and other.cell_id == work.cell_id:
                work.is_prioritized = True
                self._waiting[place] = work
                return True
        return False

    def add_reruns(self, cells: Sequence[Work], order: Callable[[list[Work]], list[Work]]) -> None:
        """Queues cells to run again, except those that wait already, and announces the queue.

        They wait before all other works, together with earlier re-runs, as sorted by order.
        """
        with self._lock:
            waiting = {work.cell_id for work in self._waiting}
            prioritized = [work for work in self._waiting if work.is_prioritized]
            others = [work for work in self._waiting if not work.is_prioritized]
            for cell in cells:
                if cell.cell_id not in waiting:
                    cell.is_rerun = cell.is_prioritized = True
                    prioritized.append(cell)
            self._waiting = order(prioritized) + others
            self._announce_queue()

    def start_next(self) -> Work | None:
        """Moves the next work to the running ones and returns it; None if all have to wait.

        Works that were stopped while they waited are answered here.
        """
        with self._lock:
            while work := self._next():
                self._waiting.remove(work)
                if not work.is_stopping:
                    self._running.append(work)
                    self._announce_queue()
                    self._announce_start(work)
                    return work
                self._announce_queue()
                self._answer_not_run(work)
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
        """Ends a running work and returns whether it was stopped. It cannot be stopped any more."""
        memory_reserve.release_if_low()  # for the answer
        with self._lock:
            work.is_over = True
            self._running.remove(work)
            return work.is_stopping

    def stop(self, matches: Callable[[Work], bool]) -> list[Work]:
        """Stops the works that match, and returns the running ones, for the caller to interrupt.

        A waiting work is answered as interrupted at once. One that waits to run a
        cell which is running is answered when that run has ended, because a cell
        has one run at a time.
        """
        with self._lock:
            running_cells = {work.cell_id for work in self._running} - {None}
            stopped = [work for work in self._waiting if matches(work)]
            answered = [work for work in stopped if work.cell_id not in running_cells]
            self._waiting = [work for work in self._waiting if work not in answered]
            self._announce_queue()
            for work in answered:
                self._answer_not_run(work)
            running = [work for work in self._running if matches(work) and not work.is_stopping]
            for work in (*running, *stopped):
                work.is_stopping = True
            return running

    def _answer_not_run(self, work: Work) -> None:
        work.is_over = True
        self._announce_start(work)
        work.answer_not_run()

    def debug_state(self) -> dict[str, object]:
        """Returns the fields of debug_state about the queue."""
        with self._lock:
            return {
                "queue": self._queued_cells(),
                "running": [work.cell_id or work.tx_id for work in self._running],
                "waiting": len(self._waiting),
                "run_sequencer": self._run_number,
            }

    def _announce_start(self, work: Work) -> None:
        if work.cell_id is not None:
            self._run_number += 1
            self._is_idle = False
            work.announce_start(self._run_number)

    def _queued_cells(self) -> list[str]:
        return [work.cell_id for work in self._waiting if work.cell_id is not None]

    def _announce_queue(self) -> None:
        queue = self._queued_cells()
        if queue != self._announced:
            self._announced = queue
            self._channel.send({"type": "run_queue", "queue": queue})

    def _announce_idle(self) -> None:
        if not self._is_idle and not self._waiting and not self._running:
            self._is_idle = True
            self._channel.send(start_cell_frame(None, self._run_number))


def start_cell_frame(cell_id: str | None, run_number: int) -> dict[str, object]:
    """Returns the frame that says that a run of a cell began; with None, that no cell runs or waits."""
    return {"type": "start_cell", "cell_id": cell_id, "run_sequencer": run_number}
