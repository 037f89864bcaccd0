"""Inspects variables while a cell runs, on threads that may hang.

An inspection can run the user's code, for example a __repr__ or a property. So
each request has a thread that waits, and a worker thread that inspects one value
after the other. A worker that needs more than 100 ms for a value is abandoned with
that value, and a new worker continues with the next one.
"""

from __future__ import annotations

import threading
from _thread import start_new_thread
from collections import deque
from time import monotonic

from assay.introspect.summary import summarize, summarize_failure
from assay.run.work import CURRENT_WORK, Work
from assay.wire.sinks import NullSink

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from assay.introspect.summary import Info

    Item = tuple[str, Any]  # a variable's name and value

_VALUE_TIMEOUT = 0.100  # seconds for one value
_SCHEDULING_GRACE = 0.005  # seconds more, for a worker that C code kept from running
_TOTAL_TIMEOUT = 1.0  # seconds for all values of a request; later ones are not inspected


class Inspector:
    """Summarizes values of the user's variables on other threads, with time limits.

    Safe for use by several threads.
    """

    def __init__(self) -> None:
        self._abandoned: list[_InspectionWorker] = []

    @property
    def abandoned_count(self) -> int:
        """The number of worker threads that were abandoned because a value took too long, and still run."""
        return len(self._list_hanging_workers())

    def inspect_async(
        self, items: Iterable[Item], answer: Callable[[dict[str, Info]], None]
    ) -> None:
        """Starts a thread that summarizes items, pairs of name and value, and then calls answer.

        answer gets the summaries by name. A value that takes over 100 ms, or comes after 1 s in
        all, gets a summary with an error.
        """
        start_new_thread(lambda: answer(self._inspect_until_deadline(items)), ())

    def _inspect_until_deadline(self, items: Iterable[Item]) -> dict[str, Info]:
        """Returns the summaries of items by name, made by one worker thread after another, within about 1 s."""
        deadline = monotonic() + _TOTAL_TIMEOUT
        infos: dict[str, Info] = {}
        has_ended = False
        while not has_ended:
            worker = _InspectionWorker(items, deadline, self._list_hanging_workers())
            start_new_thread(worker.run, ())
            has_ended = worker.ends_in_time()
            items = worker.abandon()
            infos.update(worker.infos)
            if not has_ended and worker.item is not None:  # None: the thread has not even begun
                name, value = worker.item
                reason = f"its inspection takes over {_VALUE_TIMEOUT:g} s"
                infos.setdefault(name, summarize_failure(value, reason))
                self._abandoned.append(worker)
        for name, value in items:
            reason = f"not inspected: the others took {_TOTAL_TIMEOUT:g} s"
            infos[name] = summarize_failure(value, reason)
        return infos

    def _list_hanging_workers(self) -> list[_InspectionWorker]:
        self._abandoned = [worker for worker in self._abandoned if not worker.has_ended]
        return self._abandoned


class _InspectionWorker:
    """A thread that summarizes values until it has done all, the deadline has passed, or it is abandoned."""

    def __init__(self, items: Iterable[Item], deadline: float, hanging: list[_InspectionWorker]) -> None:
        """Starts nothing yet. deadline, by monotonic(), is when no further item is begun.

        hanging are abandoned workers: the values that they still inspect are not inspected again.
        """
        self.infos: dict[str, Info] = {}
        self.item: Item | None = None  # that is being inspected; None: none was begun
        self.has_ended = False
        self._deadline = deadline
        self._hanging = hanging
        self._done = threading.Lock()  # released at the end
        self._done.acquire()
        self._lock = threading.Lock()  # guards what follows, and adding to infos
        self._items = deque(items)
        self._item_started = monotonic()
        self._is_abandoned = False

    def run(self) -> None:
        """Summarizes the items on the calling thread. Text that the user's code prints meanwhile is dropped."""
        CURRENT_WORK.set(Work(NullSink()))
        try:
            while (item := self._take_next_item()) is not None:
                self._add_summary(item[0], self._summarize_or_report_error(item[1]))
        finally:
            self.has_ended = True
            self._done.release()

    def _take_next_item(self) -> Item | None:
        """Begins the next item and returns it, or None if there is none, or no time for it."""
        with self._lock:
            if self._is_abandoned or not self._items or monotonic() >= self._deadline:
                return None
            self.item = self._items.popleft()
            self._item_started = monotonic()
            return self.item

    def _add_summary(self, name: str, info: Info) -> None:
        with self._lock:
            if not self._is_abandoned:
                self.infos[name] = info

    def _summarize_or_report_error(self, value: Any) -> Info:
        if any(worker.item is not None and value is worker.item[1] for worker in self._hanging):
            return summarize_failure(value, "an earlier inspection of it has not ended")
        try:
            return summarize(value)
        except BaseException as error:  # also a SystemExit that a __repr__ raises
            return summarize_failure(value, _describe_error_briefly(error))

    def ends_in_time(self) -> bool:
        """Waits for the worker. Returns True when it has ended, False when one value takes over 100 ms."""
        while True:
            item = self.item
            remaining = self._item_started + _VALUE_TIMEOUT - monotonic()
            if self._done.acquire(timeout=max(remaining, _SCHEDULING_GRACE)):
                return True
            if remaining <= 0 and self.item is item:
                return False

    def abandon(self) -> list[Item]:
        """Makes the worker end after its current item. Returns the items that it has not begun."""
        with self._lock:
            self._is_abandoned = True
            rest = list(self._items)
            self._items.clear()
            return rest


def _describe_error_briefly(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"[:200]
    except Exception:
        return type(error).__name__
