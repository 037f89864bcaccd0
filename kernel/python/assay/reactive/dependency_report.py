"""The reactivity summary: which cells read which signals, and which cell depends on which."""

from __future__ import annotations

from assay.reactive.graph import producing_cells

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from assay.reactive.graph import Node, Relations

_TEMPLATE = "## Reactive Dependencies\n\n### Signals\n{}\n### Code Cell Dependencies\n{}"


class SignalNames:
    """The names of nodes in the summary, and the kind of each name.

    A widget's node is named by its key, "<cell id>/<key>". A signal in a global is
    named like that global, the first in alphabetical order of several. Any other
    is "<cell id>/local-<n>", numbered by age within the cell that made it.
    """

    def __init__(self, global_names: Mapping[Node, str], others: Iterable[Node]) -> None:
        """global_names has the nodes of signals in globals; others are nodes to be named too."""
        self._names: dict[Node, tuple[str, str]] = {
            node: (name, "global variable") for node, name in global_names.items()
        }
        local_counts: dict[str, int] = {}
        for node in sorted(others, key=lambda node: node.serial):
            if node.widget_key is not None:
                self._names[node] = (node.widget_key, "widget")
            elif node not in self._names:
                prefix = f"{node.definer}/" if node.definer is not None else ""
                local_counts[prefix] = local_counts.get(prefix, 0) + 1
                self._names[node] = (f"{prefix}local-{local_counts[prefix]}", "local")

    def sorted_names(self, nodes: Iterable[Node]) -> list[str]:
        """Returns the names of nodes, sorted. Nodes without a name are left out."""
        return sorted(self._names[node][0] for node in nodes if node in self._names)

    def markdown_lines(self) -> list[str]:
        """Returns a line of Markdown for each signal: its name, its kind and its readers, sorted."""
        return sorted(
            f"- **{_one_line(name)}** ({kind}) - used by cells: {_join(sorted(node.readers))}\n"
            for node, (name, kind) in self._names.items()
        )


def dependency_report(relations: Relations, global_names: Mapping[Node, str]) -> dict[str, Any]:
    """Returns the fields of the reactivity summary.

    Local signals that no cell reads are left out.
    """
    nodes = {node for pair in relations.values() for part in pair for node in part}
    named = (node for node in nodes if node.readers or node.widget_key is not None)
    names = SignalNames(global_names, named)
    cells = {}
    for cell in sorted(relations):
        defined, read = relations[cell]
        fields = {
            "signals_defined": names.sorted_names(defined),
            "depends_on_signals": names.sorted_names(read),
            "depends_on_cells": sorted(set().union(*map(producing_cells, read)) - {cell}),
        }
        if any(fields.values()):
            cells[cell] = fields
    lines = [_cell_line(cell, fields) for cell, fields in cells.items()]
    summary = _TEMPLATE.format(_section(names.markdown_lines()), _section(lines))
    return {"summary": summary, "cell_reactivity": cells}


def _section(lines: list[str]) -> str:
    return "".join(("\n", *lines)) if lines else ""


def _cell_line(cell: str, fields: dict[str, list[str]]) -> str:
    parts = [f"- **{_one_line(cell)}**"]
    for field, label in (
        ("signals_defined", "defines"),
        ("depends_on_signals", "depends on signals"),
        ("depends_on_cells", "depends on cells"),
    ):
        if fields[field]:
            parts.append(f"{label}: {_join(fields[field])}")
    return " - ".join(parts) + "\n"


def _join(names: list[str]) -> str:
    return ", ".join(map(_one_line, names)) or "none"


def _one_line(name: str) -> str:
    return " ".join(name.split())
