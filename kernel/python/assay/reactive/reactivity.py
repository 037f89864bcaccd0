"""Connects signals and widgets with the runs of cells."""

from __future__ import annotations

import threading

from assay.reactive.dependency_report import SignalNames, dependency_report
from assay.reactive.external_writes import ExternalWrites, InvalidValue
from assay.reactive.graph import Graph
from assay.reactive.rerun_limit import ReactiveLoop, format_loop_error
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
    """Runs cells again when signals that they read have changed. Made when the user's code first imports signals.

    It keeps the graph of cells and signals and one transaction for each run, from begin_run to
    end_run; the run then publishes the transaction. Signal writes between runs, and widget values
    set from outside, are applied by a work of type ExternalWrites.
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
        """Returns the id of the cell whose run the calling code is part of. None in a thread, and after the run."""
        work = CURRENT_WORK.get()
        return None if work is None or work.is_over or work.signal_writes is None else work.cell_id

    def record_definition(self, node: Node) -> None:
        """Records that the running cell has made the signal with this node. Safe on any thread.

        Does nothing if the calling code is not part of a cell's run.
        """
        cell = self.running_cell()
        if cell is not None:
            self.graph.add_definition(node, cell)

    def record_read(self, node: Node) -> None:
        """Subscribes the running cell to a node whose value it has read. Safe on any thread.

        Does nothing if the calling code is not part of a cell's run.
        """
        cell = self.running_cell()
        if cell is not None:
            self.graph.add_reader(node, cell)

    def write_at_run_end(self, node: Node, value: Any) -> None:
        """Sets the value of a node at the end of the run that the calling code belongs to. Safe on any thread.

        A write by a thread of the user's belongs to the run that is on; between runs it is applied
        at once. A write during an inspection, by a __repr__ for example, is ignored.
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
            self._add_external_writes({node: value}, {})

    def set_widget_values(self, values: dict[str, Any]) -> None:
        """Schedules that widgets get new values, given by key. The values must have been checked."""
        self._add_external_writes({}, values)

    def check_widget_values(self, data: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
        """Checks the JSON texts of a set_widget_value, given by widget key, without setting anything.

        Returns the decoded values that can be set, and error texts for the other keys.
        """
        return self.widgets.check_values(data)

    def _add_external_writes(self, signal_writes: dict[Node, Any], widget_values: dict[str, Any]) -> None:
        """Adds writes to the ExternalWrites that waits in the schedule, or schedules a new one."""
        with self._lock:
            is_new = self._external is None
            work = self._external = self._external or ExternalWrites(
                self.host, self._apply_external_writes
            )
            work.add_writes(signal_writes, widget_values)
        if is_new:
            self.host.schedule.add(work)
            self.host.wake()

    def _apply_external_writes(self, work: ExternalWrites, values: dict[str, Any]) -> Transaction:
        """Applies the signal writes of work and the given widget values, on the main thread.

        Returns the transaction, to be published.
        """
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
        """Starts to collect what a work reads and writes, on the main thread, and clears its cell's relations.

        Raises ReactiveLoop if the same change has made the cell run again more than 20 times.
        """
        cell = work.cell_id
        if cell is not None:
            if work.rerun_cause is not None and not work.rerun_cause.count_and_check_rerun(cell):
                loop = self.graph.shortest_loop(cell)
                raise ReactiveLoop(format_loop_error(cell, loop, self.signal_names()))
            self.sources[cell] = work.source
            self.graph.clear_relations(cell)
            self.widgets.begin_run(cell)
            self._disposed.discard(cell)
        with self._lock:
            if work is self._external:
                self._external = None
        present = self._transactions.items()
        self._transactions = {other: trans for other, trans in present if not other.is_over}
        self._transactions[work] = Transaction(self, work)

    def record_source(self, cell: str, source: str) -> None:
        """Records the source of a cell that could not be compiled: it runs when a signal changes that the cell reads."""
        if cell in self.sources:
            self.sources[cell] = source

    def end_run(self, work: Work, failure: Failure | None) -> Transaction:
        """Applies the signal writes of a run, on the main thread, and returns its transaction, to be published.

        Values are compared, which may run the user's code. If the run failed or was stopped, its
        writes are dropped; exit() does not count as a failure. Signals that the run has defined
        count in any case.
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
                self.dispose_cell(cell)
        return transaction

    def resend_widgets(self, cell: str) -> None:
        """Sends a cell's widgets again, because a run of the cell was stopped before it began. Safe on any thread."""
        self.widgets.resend_cell_widgets(cell)

    def dispose_cell(self, cell: str) -> None:
        """Removes a cell's signals and widgets; if the cell is running, once more at its end. Safe on any thread."""
        self._disposed.add(cell)
        self.sources.pop(cell, None)
        self.graph.remove_cell(cell)
        self.widgets.dispose_cell(cell)

    def clear(self) -> None:
        """Removes all cells, signals and widgets, and tells the server that the widgets are gone."""
        self.graph.remove_all_cells()
        self.widgets.clear()
        self.sources.clear()

    def summary(self) -> dict[str, Any]:
        """Returns the fields of the reactivity summary. Safe on any thread."""
        return dependency_report(self.graph.relations(), self._names_by_node())

    def signal_names(self) -> SignalNames:
        """Returns the names of all signals that a cell defines or reads."""
        relations = self.graph.relations().values()
        nodes = {node for relation in relations for part in relation for node in part}
        return SignalNames(self._names_by_node(), nodes)

    def global_signals(self) -> dict[str, Node]:
        """Returns the nodes of the signals in the user's global variables, by variable name."""
        items = list(self.host.namespace.globals.items())
        return {name: value.node for name, value in items if issubclass(type(value), Signal)}

    def _names_by_node(self) -> dict[Node, str]:
        """Returns the variable name of each node in the user's globals, the first in alphabetical order of several."""
        items = sorted(self.global_signals().items(), reverse=True)
        return {node: name for name, node in items}
