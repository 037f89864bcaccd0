"""Connects signals and widgets with the runs of cells."""

from __future__ import annotations

import threading

from assay.reactive.dependency_report import SignalNames, dependency_report
from assay.reactive.external_writes import ExternalWrites, InvalidValue
from assay.reactive.graph import Graph
from assay.reactive.rerun_limit import ReactiveLoop, loop_message
from assay.reactive.signals import Signal
from assay.reactive.transaction import Transaction
from assay.run.work import CURRENT_WORK, current_work, foreground

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from assay.reactive.graph import Node
    from assay.reactive.transaction import Widgets
    from assay.run.failure import Failure
    from assay.run.host import Host
    from assay.run.work import Work


class Reactivity:
    """The signals and widgets of a kernel. Made when the user's code first imports them.

    Each run has a transaction from begin_run to end_run, which the run then
    publishes. Writes between runs, and values set from outside, are collected by
    an ExternalWrites, which is a work of its own.
    """

    def __init__(self, host: Host, widgets: Widgets) -> None:
        self.host: Host = host
        self.graph: Graph = Graph()
        self.widgets: Widgets = widgets
        self.sources: dict[str, str] = {}  # by cell: the source of its last run
        self._transactions: dict[Work, Transaction] = {}  # of the present runs
        self._disposed: set[str] = set()  # cells that were disposed of and did not run since
        self._lock = threading.RLock()  # guards what follows, and the signal_writes of all works
        self._external: ExternalWrites | None = None  # that waits for its turn
        if current_work().signal_writes is not None:
            self.begin_run(current_work())

    def running_cell(self) -> str | None:
        """Returns the cell whose run the calling code is part of. None in a thread, and after the run."""
        work = CURRENT_WORK.get()
        return None if work is None or work.is_over or work.signal_writes is None else work.cell_id

    def define(self, node: Node) -> None:
        """Notes that the calling code has made node. Safe on any thread."""
        cell = self.running_cell()
        if cell is not None:
            self.graph.add_definition(node, cell)

    def read(self, node: Node) -> None:
        """Subscribes the running cell to node, if there is one. Safe on any thread."""
        cell = self.running_cell()
        if cell is not None:
            self.graph.add_reader(node, cell)

    def write(self, node: Node, value: Any) -> None:
        """Gives node a value at the end of the run that the calling code belongs to. Safe on any thread.

        What a thread writes belongs to the present run; between runs it is applied
        at once. What an inspection writes, in a __repr__, is ignored.
        """
        work = current_work()
        cell = self.running_cell()
        if cell is not None:
            self.graph.add_writer(node, cell)
        with self._lock:
            if work.signal_writes is not None:
                work.signal_writes[node] = value
                return
        if work is foreground.work:
            self._add_external({node: value}, {})

    def set_widget_values(self, values: dict[str, Any]) -> None:
        """Schedules the assignment of values, which were checked, to widgets by key."""
        self._add_external({}, values)

    def check_widget_values(self, data: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
        """Returns the values of a set_widget_value that can be set, and the errors of the others, by key."""
        return self.widgets.check_values(data)

    def _add_external(self, signal_writes: dict[Node, Any], widget_values: dict[str, Any]) -> None:
        with self._lock:
            is_new = self._external is None
            work = self._external = self._external or ExternalWrites(
                self.host, self._apply_external
            )
            work.add(signal_writes, widget_values)
        if is_new:
            self.host.schedule.add(work)
            self.host.wake()

    def _apply_external(self, work: ExternalWrites, values: dict[str, Any]) -> Transaction:
        """Applies what work has collected, on the main thread; values are those of widgets, by key."""
        self.begin_run(work)
        assert work.signal_writes is not None
        for key, value in values.items():
            try:
                node, new_value = self.widgets.set_value(key, value)
                work.signal_writes[node] = new_value
            except InvalidValue as error:  # the widget has changed since the value was checked
                work.report_error(f"set_widget_value: {key}: {error}")
        return self.end_run(work, None)

    def begin_run(self, work: Work) -> None:
        """Begins the transaction of a run, on the main thread.

        Raises ReactiveLoop if its cell was run again too often by the same cause.
        """
        cell = work.cell_id
        if cell is not None:
            if work.rerun_cause is not None and not work.rerun_cause.allows_rerun(cell):
                loop = self.graph.shortest_loop(cell)
                raise ReactiveLoop(loop_message(cell, loop, self.signal_names()))
            self.sources[cell] = work.source
            self.graph.begin_run(cell)
            self.widgets.begin_run(cell)
            self._disposed.discard(cell)
        with self._lock:
            if work is self._external:
                self._external = None
        present = self._transactions.items()
        self._transactions = {other: trans for other, trans in present if not other.is_over}
        self._transactions[work] = Transaction(self, work)

    def end_run(self, work: Work, failure: Failure | None) -> Transaction:
        """Applies what a run has written, on the main thread, and returns its transaction to be published.

        It runs the user's code, because it compares values. The writes of a run
        that failed or was stopped do not count; those of a run that ended by exit()
        do. The signals that a run has defined count in any case.
        """
        transaction = self._transactions.pop(work, None)
        if transaction is None:
            return Transaction(self, work)
        with self._lock:
            writes, work.signal_writes = work.signal_writes or {}, None
        transaction.apply(writes, failure is None or failure.class_name == "SystemExit")
        cell = work.cell_id
        if cell is not None:
            self.widgets.end_run(cell)
            if cell in self._disposed:
                self.dispose(cell)
        return transaction

    def skip_run(self, cell: str) -> None:
        """Notes that a run of a cell was stopped before it began. Safe on any thread."""
        self.widgets.publish_unchanged(cell)

    def dispose(self, cell: str) -> None:
        """Forgets a cell and its widgets. If the cell runs, forgets them again at its end. Safe on any thread."""
        self._disposed.add(cell)
        self.sources.pop(cell, None)
        self.graph.dispose(cell)
        self.widgets.dispose(cell)

    def clear(self) -> None:
        """Forgets all cells, signals and widgets, and tells the server that the widgets are gone."""
        self.graph.clear()
        self.widgets.clear()
        self.sources.clear()

    def summary(self) -> dict[str, Any]:
        """Returns the fields of the reactivity summary. Safe on any thread."""
        return dependency_report(self.graph.relations(), self._names_by_node())

    def signal_names(self) -> SignalNames:
        """Returns the names of all signals that cells define or read."""
        relations = self.graph.relations().values()
        nodes = {node for relation in relations for part in relation for node in part}
        return SignalNames(self._names_by_node(), nodes)

    def global_signals(self) -> dict[str, Node]:
        """Returns the nodes of the signals in globals, by name."""
        items = list(self.host.namespace.globals.items())
        return {name: value.node for name, value in items if issubclass(type(value), Signal)}

    def _names_by_node(self) -> dict[Node, str]:
        """Returns the first name, in alphabetical order, of each node in globals."""
        items = sorted(self.global_signals().items(), reverse=True)
        return {node: name for name, node in items}
