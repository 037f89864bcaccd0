"""Which cells read, write and define which signals, and what follows from that.

Nothing here knows of a kernel: cells are ids, in the order in which they first
took part.
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

    Step = tuple[str, "Node", str]  # who writes, what, who reads it
    Relations = dict[str, tuple[list["Node"], list["Node"]]]  # what a cell defines, what it reads

serial = count(1).__next__  # numbers that only grow, by which a node is older or newer


class Node:
    """The value of a signal, and the cells that have to do with it.

    Any number of Signal objects may stand for it; it goes when the last does.
    """

    __slots__ = ("__weakref__", "definer", "heir", "key", "readers", "serial", "value", "writers")

    def __init__(self, value: Any, key: str | None = None) -> None:
        self.value = value
        self.key = key  # of the widget whose value it is, "<cell id>/<key>"
        self.serial = serial()
        self.heir: Node | None = None  # what took its place
        self.definer: str | None = None
        self.readers: set[str] = set()
        self.writers: set[str] = set()

    def true(self) -> Node:
        """Returns the node to be used: this one, or the one it was merged into."""
        node = self
        while node.heir is not None:
            node = node.heir
        return node


class Graph:
    """The relations between cells and signals. Safe for use by several threads.

    Those of a cell are of its last run, or of the one that is on.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a finalizer may come back in
        self._cells: dict[str, WeakSet[Node]] = {}  # what each has to do with

    def begin(self, cell: str) -> None:
        """Forgets what a cell did, because it runs again, but not its place."""
        with self._lock:
            for node in self._cells.get(cell, ()):
                node.readers.discard(cell)
                node.writers.discard(cell)
                if node.definer == cell:
                    node.definer = None
            self._cells[cell] = WeakSet()

    def dispose(self, cell: str) -> None:
        """Forgets a cell."""
        with self._lock:
            self.begin(cell)
            del self._cells[cell]

    def clear(self) -> None:
        """Forgets all cells."""
        with self._lock:
            for cell in list(self._cells):
                self.dispose(cell)

    def _of(self, cell: str) -> WeakSet[Node]:
        return self._cells.setdefault(cell, WeakSet())

    def define(self, node: Node, cell: str) -> None:
        """Notes that a cell made node."""
        with self._lock:
            node.definer = cell
            self._of(cell).add(node)

    def read(self, node: Node, cell: str) -> None:
        """Subscribes a cell to node."""
        with self._lock:
            node.readers.add(cell)
            self._of(cell).add(node)

    def wrote(self, node: Node, cell: str) -> None:
        """Notes that a cell wrote node."""
        with self._lock:
            node.writers.add(cell)
            self._of(cell).add(node)

    def merge(self, node: Node, into: Node) -> None:
        """Makes node, which a run has just made, another name for into."""
        with self._lock:
            node.heir, into.definer = into, node.definer
            for cell in node.readers | node.writers | {node.definer}:
                if cell is not None:
                    self._of(cell).add(into)
            into.readers |= node.readers
            into.writers |= node.writers

    def reads(self, cell: str) -> list[Node]:
        """Returns what a cell subscribes to."""
        with self._lock:
            return [node for node in self._cells.get(cell, ()) if cell in node.readers]

    def relations(self) -> Relations:
        """Returns what each cell defines, and what it reads."""
        with self._lock:
            return {
                cell: ([node for node in nodes if node.definer == cell], self.reads(cell))
                for cell, nodes in self._cells.items()
            }

    def ordered(self, cells: Iterable[str]) -> list[str]:
        """Returns cells, producers before consumers, of any others between them too.

        Where that leaves a choice, as within a cycle, the order of their first
        appearance decides.
        """
        with self._lock:
            place = {cell: number for number, cell in enumerate(self._cells)}
            rest = sorted(cells, key=lambda cell: (place.get(cell, len(place)), cell))
            before = {cell: self._producers(cell) & set(rest) for cell in rest}
        result: list[str] = []
        while rest:
            first = next(c for c in rest if _none_before(c, before, rest))
            rest.remove(first)
            result.append(first)
        return result

    def _producers(self, cell: str) -> set[str]:
        """Returns the cells whose signals a cell reads, and theirs, and so on."""
        found: set[str] = set()
        todo = [cell]
        while todo:
            for node in self.reads(todo.pop()):
                new = makers(node) - found
                found |= new
                todo.extend(new)
        return found

    def loop(self, cell: str) -> list[Step]:
        """Returns a shortest way from a cell over what is written and read back to it."""
        with self._lock:
            came: dict[str, Step] = {}
            todo = deque((cell,))
            while todo and cell not in came:
                writer = todo.popleft()
                for node in sorted(self._cells.get(writer, ()), key=lambda node: node.serial):
                    for reader in sorted(node.readers if writer in makers(node) else ()):
                        if reader not in came:
                            came[reader] = (writer, node, reader)
                            todo.append(reader)
        steps: list[Step] = []
        at = cell
        while at in came and (not steps or at != cell):
            steps.append(came[at])
            at = came[at][0]
        return steps[::-1]


def makers(node: Node) -> set[str]:
    """Returns the cells that a value of node can come from."""
    return node.writers | ({node.definer} if node.definer is not None else set())


def _none_before(cell: str, before: dict[str, set[str]], rest: list[str]) -> bool:
    """Tells whether no cell of the rest comes before cell, but for those in a cycle with it."""
    return all(cell in before[other] for other in before[cell] if other in rest)
