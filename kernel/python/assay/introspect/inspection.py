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
    """All inspections of a kernel. Safe for use by several threads."""

    def __init__(self) -> None:
        self._abandoned: list[_Worker] = []

    @property
    def abandoned_count(self) -> int:
        """How many workers were abandoned and have not ended since."""
        return len(self._hanging_workers())

    def inspect_async(
        self, items: Iterable[Item], answer: Callable[[dict[str, Info]], None]
    ) -> None:
        """Inspects items on another thread, and there calls answer with their summaries by name."""
        start_new_thread(lambda: answer(self._inspect(items)), ())

    def _inspect(self, items: Iterable[Item]) -> dict[str, Info]:
        deadline = monotonic() + _TOTAL_TIMEOUT
        infos: dict[str, Info] = {}
        has_ended = False
        while not has_ended:
            worker = _Worker(items, deadline, self._hanging_workers())
            start_new_thread(worker.run, ())
            has_ended = worker.wait()
            items = worker.abandon()
            infos.update(worker.infos)
            if not has_ended:
                name, value = worker.item
                reason = f"its inspection takes over {_VALUE_TIMEOUT:g} s"
                infos.setdefault(name, summarize_failure(value, reason))
                self._abandoned.append(worker)
        for name, value in items:
            reason = f"not inspected: the others took {_TOTAL_TIMEOUT:g} s"
            infos[name] = summarize_failure(value, reason)
        return infos

    def _hanging_workers(self) -> list[_Worker]:
        self._abandoned = [worker for worker in self._abandoned if not worker.has_ended]
        return self._abandoned


class _Worker:
    """A thread that inspects items until it has done all, is out of time, or is abandoned."""

    def __init__(self, items: Iterable[Item], deadline: float, hanging: list[_Worker]) -> None:
        """No item is begun after deadline, by monotonic(). Values that hanging workers inspect are left out."""
        self.infos: dict[str, Info] = {}
        self.item: Item = ("", None)  # that is being inspected
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
        """Inspects the items. What the user's code prints meanwhile is dropped."""
        CURRENT_WORK.set(Work(NullSink()))
        try:
            while self._take_next():
                self._add_info(self._summarize(self.item[1]))
        finally:
            self.has_ended = True
            self._done.release()

    def _take_next(self) -> bool:
        with self._lock:
            if self._is_abandoned or not self._items or monotonic() >= self._deadline:
                return False
            self.item = self._items.popleft()
            self._item_started = monotonic()
            return True

    def _add_info(self, info: Info) -> None:
        with self._lock:
            if not self._is_abandoned:
                self.infos[self.item[0]] = info

    def _summarize(self, value: Any) -> Info:
        if any(value is worker.item[1] for worker in self._hanging):
            return summarize_failure(value, "an earlier inspection of it has not ended")
        try:
            return summarize(value)
        except BaseException as error:  # also a SystemExit that a __repr__ raises
            return summarize_failure(value, _short_error(error))

    def wait(self) -> bool:
        """Returns True when the worker has ended, False when a value takes over 100 ms."""
        while True:
            item = self.item
            remaining = self._item_started + _VALUE_TIMEOUT - monotonic()
            if self._done.acquire(timeout=max(remaining, _SCHEDULING_GRACE)):
                return True
            if remaining <= 0 and self.item is item:
                return False

    def abandon(self) -> list[Item]:
        """Makes the worker end after its current item, and returns the items that it has not begun."""
        with self._lock:
            self._is_abandoned = True
            rest = list(self._items)
            self._items.clear()
            return rest


def _short_error(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"[:200]
    except Exception:
        return type(error).__name__
