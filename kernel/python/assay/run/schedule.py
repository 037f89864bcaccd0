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
    """The queue of works for the main thread, and those that run. Safe for use by several threads.

    Works run in the order of their requests; cells that run again because of signals come first. A
    work without a session runs alone. Works of different sessions run interleaved, switching where
    they await, until the next work is one that runs alone.
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
        """Queues a work at the end. The server receives about the queue, unless the work can run at once.

        If a re-run of the same cell is queued, the work takes its place, so that the cell runs only
        once.
        """
        with self._lock:
            at_once = not self._waiting and not self._running
            if not self._replace_rerun(work):
                self._waiting.append(work)
            if not at_once:
                self._announce_queue()

    def _replace_rerun(self, work: Work) -> bool:
        """Puts work in the place of a queued re-run of the same cell. Returns False if there is none."""
        for place, other in enumerate(self._waiting):
            if other.is_rerun and other.cell_id == work.cell_id:
                work.is_prioritized = True
                self._waiting[place] = work
                return True
        return False

    def add_reruns(self, cells: Sequence[Work], order: Callable[[list[Work]], list[Work]]) -> None:
        """Queues runs of cells whose signals have changed, except cells that are queued already.

        They come before all other works, together with earlier re-runs, in the order that the
        function order returns. The server receives about the queue.
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
        """Removes the next work from the queue, marks it as running, and returns it; None if nothing may run now.

        Queued works that were stopped are answered here.
        """
        with self._lock:
            while work := self._next_runnable():
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

    def _next_runnable(self) -> Work | None:
        """Returns the first queued work that may run beside the running ones, or None."""
        sessions = {work.session for work in self._running}
        for work in self._waiting:
            if work.session is None:
                return None if sessions else work
            if None not in sessions and work.session not in sessions:
                return work
        return None

    def finish(self, work: Work) -> bool:
        """Marks a running work as over. Returns whether it was stopped before; it cannot be stopped any more."""
        memory_reserve.release_if_low()  # for the answer
        with self._lock:
            work.is_over = True
            self._running.remove(work)
            return work.is_stopping

    def stop(self, matches: Callable[[Work], bool]) -> list[Work]:
        """Stops the works for which matches returns True. Returns the running ones, which the caller must interrupt.

        A queued work is removed and answered as interrupted at once. A queued run of a cell that is
        running is answered when that run has ended, because a cell has one run at a time.
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
        """Marks a queued work as over and has it answer that it was stopped before it ran."""
        work.is_over = True
        self._announce_start(work)
        work.answer_not_run()

    def debug_state(self) -> dict[str, object]:
        """Returns the fields of a debug_state answer about the queue and the running works."""
        with self._lock:
            return {
                "queue": self._queued_cells(),
                "running": [work.cell_id or work.tx_id for work in self._running],
                "waiting": len(self._waiting),
                "run_sequencer": self._run_number,
            }

    def _announce_start(self, work: Work) -> None:
        """Tells the server that a cell begins its next run, with the run's number. Does nothing for other work."""
        if work.cell_id is not None:
            self._run_number += 1
            self._is_idle = False
            work.announce_start(self._run_number)

    def _queued_cells(self) -> list[str]:
        return [work.cell_id for work in self._waiting if work.cell_id is not None]

    def _announce_queue(self) -> None:
        """Tells the server which cells are queued, if that has changed."""
        queue = self._queued_cells()
        if queue != self._announced:
            self._announced = queue
            self._channel.send({"type": "run_queue", "queue": queue})

    def _announce_idle(self) -> None:
        """Tells the server that no cell runs or waits, unless it has already told it or something runs."""
        if not self._is_idle and not self._waiting and not self._running:
            self._is_idle = True
            self._channel.send(make_start_cell_message(None, self._run_number))


def make_start_cell_message(cell_id: str | None, run_number: int) -> dict[str, object]:
    """Returns the message that a cell has begun the run with this number; with None, that no cell runs or waits."""
    return {"type": "start_cell", "cell_id": cell_id, "run_sequencer": run_number}
