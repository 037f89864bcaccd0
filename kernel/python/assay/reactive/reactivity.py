"""What joins signals and widgets with the runs of cells."""

from __future__ import annotations

import threading

from assay.reactive.dependency_report import Names, report
from assay.reactive.external_writes import InvalidValue, Settle
from assay.reactive.graph import Graph
from assay.reactive.rerun_limit import ReactiveLoop, told_loop
from assay.reactive.signals import Signal
from assay.reactive.transaction import Wave
from assay.run.work import WORK, current, foreground

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from assay.reactive.graph import Node
    from assay.reactive.transaction import Widgets
    from assay.run.failure import Failure
    from assay.run.host import Host
    from assay.run.work import Work


class Reactions:
    """The signals and widgets of a kernel, from when the user's code first imports them.

    A run takes part from begin on, until it is settled and its wave published.
    What changes signals while nothing runs, or from outside, is gathered by a
    Settle, a work of its own.
    """

    def __init__(self, kernel: Host, board: Widgets) -> None:
        self.kernel: Host = kernel
        self.graph: Graph = Graph()
        self.board: Widgets = board
        self.sources: dict[str, str] = {}  # by cell, as it ran last
        self._waves: dict[Work, Wave] = {}  # of the runs that are on
        self._disposed: set[str] = set()  # cells, until they run again
        self._lock = threading.RLock()  # guards what follows, and every work's writes
        self._late: Settle | None = None  # waiting for its turn
        if current().writes is not None:
            self.begin(current())

    def running_cell(self) -> str | None:
        """Returns the cell whose run the calling code is part of: no thread, nothing it left."""
        work = WORK.get()
        return None if work is None or work.over or work.writes is None else work.cell_id

    def define(self, node: Node) -> None:
        """Notes that the calling code made node. Safe on any thread, as are read and write."""
        cell = self.running_cell()
        if cell is not None:
            self.graph.define(node, cell)

    def read(self, node: Node) -> None:
        """Subscribes the cell whose code is calling, if any."""
        cell = self.running_cell()
        if cell is not None:
            self.graph.read(node, cell)

    def write(self, node: Node, value: Any) -> None:
        """Makes value that of node when the run is over that the calling code belongs to.

        A thread's belongs to the run that is on; between runs it counts at
        once. A write by an inspection, in a __repr__, counts never.
        """
        work = current()
        cell = self.running_cell()
        if cell is not None:
            self.graph.wrote(node, cell)
        with self._lock:
            if work.writes is not None:
                work.writes[node] = value
                return
        if work is foreground.work:
            self._later({node: value}, {})

    def choose(self, values: dict[str, Any]) -> None:
        """Gives widgets, by key, the values that were set from outside and checked."""
        self._later({}, values)

    def check_values(self, data: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
        """Returns the values of a set_widget_value, decoded, and what is wrong with the others."""
        return self.board.check(data)

    def _later(self, writes: dict[Node, Any], values: dict[str, Any]) -> None:
        with self._lock:
            fresh = self._late is None
            settle = self._late = self._late or Settle(self.kernel, self._apply)
            settle.gather(writes, values)
        if fresh:
            self.kernel.schedule.add(settle)
            self.kernel.wake()

    def _apply(self, work: Settle, values: dict[str, Any]) -> Wave:
        """Puts into force what was gathered, on the main thread, and returns what follows from it."""
        self.begin(work)
        assert work.writes is not None
        for key, value in values.items():
            try:
                node, chosen = self.board.choose(key, value)
                work.writes[node] = chosen
            except InvalidValue as error:  # the widget has changed since it was checked
                work.report(f"set_widget_value: {key}: {error}")
        return self.settle(work, None)

    def begin(self, work: Work) -> None:
        """Begins a run, on the main thread. Raises ReactiveLoop where it is not to be."""
        cell = work.cell_id
        if cell is not None:
            if work.cause is not None and not work.cause.allows(cell):
                raise ReactiveLoop(told_loop(cell, self.graph.loop(cell), self.names()))
            self.sources[cell] = work.source
            self.graph.begin(cell)
            self.board.begin(cell)
            self._disposed.discard(cell)
        with self._lock:
            if work is self._late:
                self._late = None
        self._waves = {other: wave for other, wave in self._waves.items() if not other.over}
        self._waves[work] = Wave(self, work)

    def settle(self, work: Work, failure: Failure | None) -> Wave:
        """Puts into force what a run changed, and returns what follows from it.

        On the main thread, as part of the user's code: it compares values. A run
        that failed, or was stopped, has written nothing; one that left by
        exit() has. What it defined stands in any case.
        """
        wave = self._waves.pop(work, None)
        if wave is None:
            return Wave(self, work)
        with self._lock:
            writes, work.writes = work.writes or {}, None
        wave.settle(writes, failure is None or failure.name == "SystemExit")
        cell = work.cell_id
        if cell is not None:
            self.board.end(cell)
            if cell in self._disposed:
                self.dispose(cell)
        return wave

    def skip(self, cell: str) -> None:
        """Notes a run that was stopped before it did anything. Safe on any thread."""
        self.board.skip(cell)

    def dispose(self, cell: str) -> None:
        """Forgets a cell and its widgets; one that runs, again at its end. Safe on any thread."""
        self._disposed.add(cell)
        self.sources.pop(cell, None)
        self.graph.dispose(cell)
        self.board.dispose(cell)

    def clear(self) -> None:
        """Forgets all cells, signals and widgets, and says so of the widgets."""
        self.graph.clear()
        self.board.clear()
        self.sources.clear()

    def report(self) -> dict[str, Any]:
        """Returns the reactivity summary, without the envelope. Safe on any thread."""
        return report(self.graph.relations(), self._names_by_node())

    def names(self) -> Names:
        """Returns what the signals are called."""
        relations = self.graph.relations().values()
        nodes = {node for relation in relations for part in relation for node in part}
        return Names(self._names_by_node(), nodes)

    def variables(self) -> dict[str, Node]:
        """Returns the signals in globals, by name."""
        items = list(self.kernel.names.names.items())
        return {name: value.node for name, value in items if issubclass(type(value), Signal)}

    def _names_by_node(self) -> dict[Node, str]:
        return {node: name for name, node in sorted(self.variables().items(), reverse=True)}
