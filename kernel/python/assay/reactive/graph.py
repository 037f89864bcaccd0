"""The graph of cells and signals: which cells read, write and define which signals.

The graph knows nothing of a kernel: cells are ids, kept in the order in which
they were first added.
"""

from __future__ import annotations

import threading
from collections import deque
from itertools import count
from weakref import WeakSet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    Step = tuple[str, "Node", str]  # the cell that writes, the node, the cell that reads it
    Relations = dict[str, tuple[list["Node"], list["Node"]]]  # by cell: nodes defined, nodes read

next_serial = count(1).__next__  # returns growing numbers: the older of two nodes has the smaller one


class Node:
    """The value of a signal, and the cells that define, read and write the signal.

    Several Signal objects may refer to the same node. The node is garbage collected with the last
    of them.
    """

    __slots__ = (
        "__weakref__",
        "definer",
        "merged_into",
        "readers",
        "serial",
        "value",
        "widget_key",
        "writers",
    )

    def __init__(self, value: Any, widget_key: str | None = None) -> None:
        """Makes a node with a value. For the value of a widget, widget_key is the widget's "<cell id>/<key>"."""
        self.value = value
        self.widget_key = widget_key
        self.serial = next_serial()
        self.merged_into: Node | None = None  # the node that is used instead
        self.definer: str | None = None  # the cell that made it in its last run
        self.readers: set[str] = set()
        self.writers: set[str] = set()

    def resolve_merges(self) -> Node:
        """Returns the node that is in use for this one: the node that it was merged into, or else itself."""
        node = self
        while node.merged_into is not None:
            node = node.merged_into
        return node


class Graph:
    """Which cells define, read and write which signals. Safe for use by several threads.

    The relations of a cell are those of its current run, or else of its last one.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()  # re-entrant, as a finalizer may call back in
        self._cells: dict[str, WeakSet[Node]] = {}  # by cell: the nodes related to it

    def clear_relations(self, cell: str) -> None:
        """Removes all relations of a cell to signals, before it runs again. The cell keeps its place in the order."""
        with self._lock:
            for node in self._cells.get(cell, ()):
                node.readers.discard(cell)
                node.writers.discard(cell)
                if node.definer == cell:
                    node.definer = None
            self._cells[cell] = WeakSet()

    def remove_cell(self, cell: str) -> None:
        """Removes a cell and all its relations to signals."""
        with self._lock:
            self.clear_relations(cell)
            del self._cells[cell]

    def remove_all_cells(self) -> None:
        """Removes all cells and their relations to signals."""
        with self._lock:
            for cell in list(self._cells):
                self.remove_cell(cell)

    def _nodes_of_cell(self, cell: str) -> WeakSet[Node]:
        """Returns the set of nodes that a cell is related to. Adds the cell if it is new."""
        return self._cells.setdefault(cell, WeakSet())

    def add_definition(self, node: Node, cell: str) -> None:
        """Records that a cell has made the signal with this node."""
        with self._lock:
            node.definer = cell
            self._nodes_of_cell(cell).add(node)

    def add_reader(self, node: Node, cell: str) -> None:
        """Subscribes a cell to a node: the cell runs again when the node's value changes."""
        with self._lock:
            node.readers.add(cell)
            self._nodes_of_cell(cell).add(node)

    def add_writer(self, node: Node, cell: str) -> None:
        """Records that a cell has written a value to this node."""
        with self._lock:
            node.writers.add(cell)
            self._nodes_of_cell(cell).add(node)

    def merge_nodes(self, node: Node, into: Node) -> None:
        """Replaces node, which a run has just made, by the older node `into`, which gets its relations.

        From then on, signals that refer to node use `into`.
        """
        with self._lock:
            node.merged_into, into.definer = into, node.definer
            for cell in node.readers | node.writers | {node.definer}:
                if cell is not None:
                    self._nodes_of_cell(cell).add(into)
            into.readers |= node.readers
            into.writers |= node.writers

    def nodes_read_by(self, cell: str) -> list[Node]:
        """Returns the nodes that a cell has read and is subscribed to."""
        with self._lock:
            return [node for node in self._cells.get(cell, ()) if cell in node.readers]

    def relations(self) -> Relations:
        """Returns, for each cell, the nodes that it defines and the nodes that it reads."""
        with self._lock:
            return {
                cell: ([node for node in nodes if node.definer == cell], self.nodes_read_by(cell))
                for cell, nodes in self._cells.items()
            }

    def run_order(self, cells: Iterable[str]) -> list[str]:
        """Returns the given cells sorted so that each comes after the cells whose signals it reads.

        Dependencies through cells that are not given count too. If several orders are possible, for
        example in a cycle, cells that were first added to the graph earlier come first.
        """
        with self._lock:
            place = {cell: number for number, cell in enumerate(self._cells)}
            rest = sorted(cells, key=lambda cell: (place.get(cell, len(place)), cell))
            producers = {cell: self._all_producers(cell) & set(rest) for cell in rest}
        result: list[str] = []
        while rest:
            first = next(cell for cell in rest if _can_run_first(cell, producers, rest))
            rest.remove(first)
            result.append(first)
        return result

    def _all_producers(self, cell: str) -> set[str]:
        """Returns the cells that a cell depends on, directly or through other cells."""
        found: set[str] = set()
        todo = [cell]
        while todo:
            for node in self.nodes_read_by(todo.pop()):
                new = producing_cells(node) - found
                found |= new
                todo.extend(new)
        return found

    def shortest_loop(self, cell: str) -> list[Step]:
        """Returns the shortest chain of writes and reads from a cell back to itself, [] if there is none."""
        with self._lock:
            step_to: dict[str, Step] = {}  # by cell: the step that reached it first
            todo = deque((cell,))
            while todo and cell not in step_to:
                writer = todo.popleft()
                for node in sorted(self._cells.get(writer, ()), key=lambda node: node.serial):
                    for reader in sorted(node.readers if writer in producing_cells(node) else ()):
                        if reader not in step_to:
                            step_to[reader] = (writer, node, reader)
                            todo.append(reader)
        steps: list[Step] = []
        at = cell
        while at in step_to and (not steps or at != cell):
            steps.append(step_to[at])
            at = step_to[at][0]
        return steps[::-1]


def producing_cells(node: Node) -> set[str]:
    """Returns the cells that can have set the value of a node: the one that defines it and those that write it."""
    return node.writers | ({node.definer} if node.definer is not None else set())


def _can_run_first(cell: str, producers: dict[str, set[str]], rest: list[str]) -> bool:
    """Returns whether none of the cells in rest must run before cell. Cells in a cycle with cell do not count."""
    return all(cell in producers[other] for other in producers[cell] if other in rest)
