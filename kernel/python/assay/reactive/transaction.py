"""The signal writes of one run: applied together at its end, then published."""

from __future__ import annotations

from assay.reactive.equality import is_unchanged
from assay.reactive.graph import next_serial
from assay.reactive.rerun_limit import RerunCause
from assay.run.cell import CellRun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any, Protocol

    from assay.reactive.dependency_report import SignalNames
    from assay.reactive.graph import Graph, Node
    from assay.run.host import Host
    from assay.run.work import Work

    class Widgets(Protocol):
        """The widgets of all cells, as signals need them."""

        def begin_run(self, cell: str) -> None:
            """Removes the widgets of a cell, because it runs again."""
            ...

        def end_run(self, cell: str) -> None:
            """Drops the widgets that the run which ends has not made again."""
            ...

        def resend_cell_widgets(self, cell: str) -> None:
            """Sends a cell's widgets again after a run that was stopped before it began."""
            ...

        def dispose_cell(self, cell: str) -> None:
            """Forgets the widgets of a cell."""
            ...

        def clear(self) -> None:
            """Forgets all widgets, and tells the server."""
            ...

        def replaced_nodes(self, cell: str | None) -> dict[Node, Node]:
            """Returns the nodes that a run of a cell has made for widgets, with those that they replace."""
            ...

        def publish(self, changed: Collection[Node], cell: str | None) -> None:
            """Sends the widgets of a cell, and of the cells whose widgets have changed."""
            ...

        def check_values(self, data: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
            """Returns the decoded values that can be set, and the errors of the others, by key."""
            ...

        def set_value(self, key: str, value: Any) -> tuple[Node, Any]:
            """Keeps the value of a widget. Returns the node to be written, and its value."""
            ...

    class ReactiveState(Protocol):
        """The signals and widgets of a kernel, as a transaction needs them."""

        host: Host
        graph: Graph
        sources: dict[str, str]

        @property
        def widgets(self) -> Widgets:
            """The widgets of all cells."""
            ...

        def signal_names(self) -> SignalNames:
            """Returns the names of all signals."""
            ...

        def global_signals(self) -> dict[str, Node]:
            """Returns the nodes of the signals in globals, by name."""
            ...


class Transaction:
    """The changes of signals that one run makes: begun with the run, applied at its end, then published.

    Used by the main thread only.
    """

    def __init__(self, state: ReactiveState, work: Work) -> None:
        self._state = state
        self._work = work
        self._signals_before = state.global_signals()
        self._first_serial = next_serial()  # nodes with a larger one were made since the run began
        self._changed: set[Node] = set()
        self._cells_to_rerun: set[str] = set()
        self._dropped: set[Node] = set()  # nodes whose writes did not count

    def apply(self, writes: dict[Node, Any], is_successful: bool) -> None:
        """Sets the new values of signals: those that the run has defined and, if it is successful, its writes.

        writes has the values by node. Values are compared, which may run the user's code.
        """
        merges = self._find_merges()
        replaced = set(merges.values())  # writes to these came before their redefinition and do not count
        written = {merges.get(node, node): v for node, v in writes.items() if node not in replaced}
        values = {old: new.value for new, old in merges.items() if old.readers}
        if is_successful:
            values.update(written)
        changed = {node for node, v in values.items() if not is_unchanged(node.value, v, self._work)}
        if self._work.is_stopping and is_successful:  # stopped while values were compared
            self.apply(writes, False)
            return
        self._changed = changed
        self._dropped = set() if is_successful else set(written)
        for node in changed:
            self._cells_to_rerun |= node.readers
            node.value = values[node]
        for new, old in merges.items():
            if old not in values:
                old.value = new.value
            elif old in changed and old in written:
                self._cells_to_rerun |= new.readers  # the run itself, which has read the value before the write
            self._state.graph.merge_nodes(new, old)

    def _find_merges(self) -> dict[Node, Node]:
        """Returns the nodes that the run has made in the place of others, each with the node that it replaces.

        A node replaces another if it is in the same global variable, or belongs to a widget with
        the same key.
        """
        after = self._state.global_signals()
        still_used = set(after.values())
        merges = self._state.widgets.replaced_nodes(self._work.cell_id)
        for name, old in self._signals_before.items():
            new = after.get(name)
            if new is not None and new.serial > self._first_serial and old not in still_used:
                merges.setdefault(new, old)
        return merges

    def publish(self, stopped: bool) -> None:
        """Sends changed widgets to the server, and schedules the cells that read what has changed.

        With stopped, no cell is scheduled. Writes that were dropped, and cells that do not run
        again, are named on the run's stderr.
        """
        work, state = self._work, self._state
        if self._dropped:
            names = ", ".join(state.signal_names().sorted_names(self._dropped)) or "signals"
            work.sink.write(2, f"The run failed or was stopped: its writes to {names} are dropped.\n")
        state.widgets.publish(self._changed, work.cell_id)
        cells = sorted(self._cells_to_rerun & set(state.sources))
        if cells and stopped:
            work.sink.write(2, f"Stopped: {', '.join(cells)} will not run again.\n")
        elif cells:
            self._schedule_reruns(cells)

    def _schedule_reruns(self, cells: list[str]) -> None:
        """Puts runs of these cells at the front of the schedule, in the order of their dependencies."""
        state, cause = self._state, self._work.rerun_cause or RerunCause()
        runs = [CellRun(state.host, cell, state.sources.get(cell, ""), cause) for cell in cells]
        state.host.schedule.add_reruns(runs, self._in_run_order)

    def _in_run_order(self, works: list[Work]) -> list[Work]:
        by_cell = {work.cell_id: work for work in works if work.cell_id is not None}
        return [by_cell[cell] for cell in self._state.graph.run_order(by_cell)]
