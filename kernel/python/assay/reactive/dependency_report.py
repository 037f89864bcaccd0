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
    """The names of signals in the reactivity summary, and the kind of each name, by node.

    A widget's value is named by the widget's key, "<cell id>/<key>". A signal in a global variable
    is named like that variable, the first in alphabetical order of several. Any other signal is
    "<cell id>/local-<n>", numbered by age within the cell that made it.
    """

    def __init__(self, global_names: Mapping[Node, str], others: Iterable[Node]) -> None:
        """Names the nodes in global_names, which has the variables' names, and those in others."""
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
        """Returns the names of the given nodes in alphabetical order. Nodes without a name are left out."""
        return sorted(self._names[node][0] for node in nodes if node in self._names)

    def markdown_lines(self) -> list[str]:
        """Returns a line of Markdown for each signal: its name, its kind and its readers, in alphabetical order."""
        return sorted(
            f"- **{_collapse_whitespace(name)}** ({kind}) - used by cells: {_join_names(sorted(node.readers))}\n"
            for node, (name, kind) in self._names.items()
        )


def dependency_report(relations: Relations, global_names: Mapping[Node, str]) -> dict[str, Any]:
    """Returns the fields of the reactivity summary: a Markdown text, and the signals and dependencies of each cell.

    relations has the nodes that each cell defines and reads. Local signals that no cell reads are
    left out.
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
    lines = [_markdown_cell_line(cell, fields) for cell, fields in cells.items()]
    summary = _TEMPLATE.format(_markdown_section(names.markdown_lines()), _markdown_section(lines))
    return {"summary": summary, "cell_reactivity": cells}


def _markdown_section(lines: list[str]) -> str:
    """Joins lines of Markdown into a section, after an empty line. Returns "" if there are no lines."""
    return "".join(("\n", *lines)) if lines else ""


def _markdown_cell_line(cell: str, fields: dict[str, list[str]]) -> str:
    """Returns the line of Markdown about a cell: what it defines, and what it depends on."""
    parts = [f"- **{_collapse_whitespace(cell)}**"]
    for field, label in (
        ("signals_defined", "defines"),
        ("depends_on_signals", "depends on signals"),
        ("depends_on_cells", "depends on cells"),
    ):
        if fields[field]:
            parts.append(f"{label}: {_join_names(fields[field])}")
    return " - ".join(parts) + "\n"


def _join_names(names: list[str]) -> str:
    return ", ".join(map(_collapse_whitespace, names)) or "none"


def _collapse_whitespace(name: str) -> str:
    """Returns name with each run of blanks and line breaks replaced by one blank."""
    return " ".join(name.split())
