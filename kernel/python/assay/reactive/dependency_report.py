"""What is told of signals: who reads them, and which cell depends on which."""

from __future__ import annotations

from assay.reactive.graph import makers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from assay.reactive.graph import Node, Relations

_SECTIONS = "## Reactive Dependencies\n\n### Signals\n{}\n### Code Cell Dependencies\n{}"


class Names:
    """What nodes are called, and why.

    A widget's is called by its key, "<cell id>/<key>". A signal in a global is
    called as that, the first by name of several. Any other is
    "<cell id>/local-<n>", numbered by age among those of the cell that made it.
    """

    def __init__(self, variables: Mapping[Node, str], others: Iterable[Node]) -> None:
        self._names: dict[Node, tuple[str, str]] = {
            node: (name, "global variable") for node, name in variables.items()
        }
        ages: dict[str, int] = {}
        for node in sorted(others, key=lambda node: node.serial):
            if node.key is not None:
                self._names[node] = (node.key, "widget")
            elif node not in self._names:
                of = f"{node.definer}/" if node.definer is not None else ""
                ages[of] = ages.get(of, 0) + 1
                self._names[node] = (f"{of}local-{ages[of]}", "local")

    def of(self, nodes: Iterable[Node]) -> list[str]:
        """Returns, sorted, the names of those nodes that have one."""
        return sorted(self._names[node][0] for node in nodes if node in self._names)

    def lines(self) -> list[str]:
        """Returns a line of Markdown for each signal, sorted."""
        return sorted(
            f"- **{_flat(name)}** ({kind}) - used by cells: {_listed(sorted(node.readers))}\n"
            for node, (name, kind) in self._names.items()
        )


def report(relations: Relations, variables: Mapping[Node, str]) -> dict[str, Any]:
    """Returns the reactivity summary, without the envelope.

    Signals that are local and that no cell reads are left out.
    """
    nodes = {node for pair in relations.values() for part in pair for node in part}
    names = Names(variables, (node for node in nodes if node.readers or node.key is not None))
    cells = {}
    for cell in sorted(relations):
        defined, read = relations[cell]
        told = {
            "signals_defined": names.of(defined),
            "depends_on_signals": names.of(read),
            "depends_on_cells": sorted(set().union(*map(makers, read)) - {cell}),
        }
        if any(told.values()):
            cells[cell] = told
    lines = [_line(cell, told) for cell, told in cells.items()]
    summary = _SECTIONS.format(_section(names.lines()), _section(lines))
    return {"summary": summary, "cell_reactivity": cells}


def _section(lines: list[str]) -> str:
    return "".join(("\n", *lines)) if lines else ""


def _line(cell: str, told: dict[str, list[str]]) -> str:
    parts = [f"- **{_flat(cell)}**"]
    for field, what in (
        ("signals_defined", "defines"),
        ("depends_on_signals", "depends on signals"),
        ("depends_on_cells", "depends on cells"),
    ):
        if told[field]:
            parts.append(f"{what}: {_listed(told[field])}")
    return " - ".join(parts) + "\n"


def _listed(names: list[str]) -> str:
    return ", ".join(map(_flat, names)) or "none"


def _flat(name: str) -> str:
    return " ".join(name.split())
