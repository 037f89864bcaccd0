"""Inspecting globals while a cell runs, on helper threads that may hang.

An inspection can run the user's code, a __repr__ or a property. So each request
has a thread that waits and a helper that inspects one value after the other.
One that needs more than 100 ms for a value is abandoned with it, and a new
helper goes on with the next value.
"""

from __future__ import annotations

import threading
from _thread import start_new_thread
from collections import deque
from time import monotonic

from assay.introspect.summary import describe, failed
from assay.run.work import WORK, Work
from assay.wire.sinks import Quiet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from assay.introspect.summary import Info

    Item = tuple[str, Any]

_PATIENCE = 0.100  # seconds for a value
_GRACE = 0.005  # seconds more, for a helper that C code kept from running
_BUDGET = 1.0  # seconds for all values; those that come later are not inspected


class Inspections:
    """All inspections of a kernel. Safe for use by several threads."""

    def __init__(self) -> None:
        self._stuck: list[_Helper] = []

    @property
    def abandoned(self) -> int:
        """How many helpers were abandoned and have not ended since."""
        return len(self._hanging())

    def start(self, items: Iterable[Item], answer: Callable[[dict[str, Info]], None]) -> None:
        """Calls answer, on another thread, with what is told of each item, by name."""
        start_new_thread(lambda: answer(self._inspect(items)), ())

    def _inspect(self, items: Iterable[Item]) -> dict[str, Info]:
        deadline = monotonic() + _BUDGET
        infos: dict[str, Info] = {}
        in_time = False
        while not in_time:
            helper = _Helper(items, deadline, self._hanging())
            start_new_thread(helper.run, ())
            in_time = helper.wait()
            items = helper.drop()
            infos.update(helper.infos)
            if not in_time:
                name, value = helper.item
                infos.setdefault(name, failed(value, f"its inspection takes over {_PATIENCE:g} s"))
                self._stuck.append(helper)
        for name, value in items:
            infos[name] = failed(value, f"not inspected: the others took {_BUDGET:g} s")
        return infos

    def _hanging(self) -> list[_Helper]:
        self._stuck = [helper for helper in self._stuck if not helper.ended]
        return self._stuck


class _Helper:
    """A thread that inspects items until it is done, out of time, or dropped."""

    def __init__(self, items: Iterable[Item], deadline: float, hanging: list[_Helper]) -> None:
        self.infos: dict[str, Info] = {}
        self.item: Item = ("", None)  # being inspected
        self.ended = False
        self._deadline = deadline
        self._hanging = hanging
        self._done = threading.Lock()
        self._done.acquire()
        self._lock = threading.Lock()  # guards what follows, and recording
        self._items = deque(items)
        self._since = monotonic()  # when the inspection of item began
        self._dropped = False

    def run(self) -> None:
        """Inspects. Whatever the user's code prints meanwhile is dropped."""
        WORK.set(Work(Quiet()))
        try:
            while self._next():
                self._record(self._describe(self.item[1]))
        finally:
            self.ended = True
            self._done.release()

    def _next(self) -> bool:
        with self._lock:
            if self._dropped or not self._items or monotonic() >= self._deadline:
                return False
            self.item = self._items.popleft()
            self._since = monotonic()
            return True

    def _record(self, info: Info) -> None:
        with self._lock:
            if not self._dropped:
                self.infos[self.item[0]] = info

    def _describe(self, value: Any) -> Info:
        if any(value is helper.item[1] for helper in self._hanging):
            return failed(value, "an earlier inspection of it has not ended")
        try:
            return describe(value)
        except BaseException as error:  # also a SystemExit of a __repr__
            return failed(value, _told(error))

    def wait(self) -> bool:
        """Returns True when the helper has ended, False when a value takes too long."""
        while True:
            item = self.item
            left = self._since + _PATIENCE - monotonic()
            if self._done.acquire(timeout=max(left, _GRACE)):
                return True
            if left <= 0 and self.item is item:
                return False

    def drop(self) -> list[Item]:
        """Lets go of the helper and returns the items that it has not begun."""
        with self._lock:
            self._dropped = True
            rest = list(self._items)
            self._items.clear()
            return rest


def _told(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"[:200]
    except Exception:
        return type(error).__name__
