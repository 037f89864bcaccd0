"""What a run changes of the signals, and what follows from that."""

from __future__ import annotations

from assay.reactive.equality import same
from assay.reactive.graph import serial
from assay.reactive.rerun_limit import Cause
from assay.run.cell import Cell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any, Protocol

    from assay.reactive.dependency_report import Names
    from assay.reactive.graph import Graph, Node
    from assay.run.host import Host
    from assay.run.work import Work

    class Widgets(Protocol):
        """The widgets of all cells."""

        def begin(self, cell: str) -> None:
            """Takes the widgets of a cell away, because it runs again."""
            ...

        def end(self, cell: str) -> None:
            """Loses those that the run which ends has not made again."""
            ...

        def skip(self, cell: str) -> None:
            """Tells again of a cell's widgets, which a run that did nothing has left as they were."""
            ...

        def dispose(self, cell: str) -> None:
            """Forgets all of a cell."""
            ...

        def clear(self) -> None:
            """Forgets all, and says so."""
            ...

        def successors(self, cell: str | None) -> dict[Node, Node]:
            """Returns the nodes that a run of a cell made for widgets, by those before them."""
            ...

        def send(self, changed: Collection[Node], cell: str | None) -> None:
            """Tells of a cell's widgets, and of those whose value has changed."""
            ...

        def check(self, data: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
            """Returns the values of a request, decoded, and what is wrong with the others."""
            ...

        def choose(self, key: str, value: Any) -> tuple[Node, Any]:
            """Keeps what was chosen, and returns the node to be written, and its value."""
            ...

    class Reactions(Protocol):
        """The signals and widgets of a kernel."""

        kernel: Host
        graph: Graph
        sources: dict[str, str]

        @property
        def board(self) -> Widgets:
            """The widgets."""
            ...

        def names(self) -> Names:
            """Returns what the signals are called."""
            ...

        def variables(self) -> dict[str, Node]:
            """Returns the signals in globals, by name."""
            ...


class Wave:
    """The part of one run: made at its begin, settled, then published. Main thread only."""

    def __init__(self, reactions: Reactions, work: Work) -> None:
        self._reactions = reactions
        self._work = work
        self._before = reactions.variables()
        self._since = serial()  # nodes above it were made by the run, or during it
        self._changed: set[Node] = set()
        self._cells: set[str] = set()  # that are to run again
        self._dropped: set[Node] = set()  # what it wrote for nothing

    def settle(self, writes: dict[Node, Any], done: bool) -> None:
        """Gives signals their new values: what the run defined and, if it is done, its writes."""
        merges = self._merges()
        replaced = set(merges.values())  # what was written to these before, does not count
        written = {merges.get(node, node): v for node, v in writes.items() if node not in replaced}
        values = {old: new.value for new, old in merges.items() if old.readers}
        if done:
            values.update(written)
        changed = {node for node, v in values.items() if not same(node.value, v, self._work)}
        if self._work.stopping and done:
            self.settle(writes, False)
            return
        self._changed = changed
        self._dropped = set() if done else set(written)
        for node in changed:
            self._cells |= node.readers
            node.value = values[node]
        for new, old in merges.items():
            if old not in values:
                old.value = new.value
            elif old in changed and old in written:
                self._cells |= new.readers  # the run itself, which has read another value
            self._reactions.graph.merge(new, old)

    def _merges(self) -> dict[Node, Node]:
        """Returns what the run made, by what it takes the place of: in globals, as widgets."""
        after = self._reactions.variables()
        kept = set(after.values())
        merges = self._reactions.board.successors(self._work.cell_id)
        for name, old in self._before.items():
            new = after.get(name)
            if new is not None and new.serial > self._since and old not in kept:
                merges.setdefault(new, old)
        return merges

    def publish(self, stopped: bool) -> None:
        """Tells of it, and has the readers run again unless the run was stopped."""
        work, reactions = self._work, self._reactions
        if self._dropped:
            names = ", ".join(reactions.names().of(self._dropped)) or "signals"
            work.sink.write(2, f"The run did not end well: what it wrote to {names} is dropped.\n")
        reactions.board.send(self._changed, work.cell_id)
        again = sorted(self._cells & set(reactions.sources))
        if again and stopped:
            work.sink.write(2, f"Stopped: {', '.join(again)} will not run again.\n")
        elif again:
            self._run(again)

    def _run(self, cells: list[str]) -> None:
        reactions, cause = self._reactions, self._work.cause or Cause()
        runs = [Cell(reactions.kernel, c, reactions.sources.get(c, ""), cause) for c in cells]
        reactions.kernel.schedule.rerun(runs, self._sorted)

    def _sorted(self, works: list[Work]) -> list[Work]:
        by_cell = {work.cell_id: work for work in works if work.cell_id is not None}
        return [by_cell[cell] for cell in self._reactions.graph.ordered(by_cell)]
