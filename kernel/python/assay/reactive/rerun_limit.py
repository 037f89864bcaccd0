"""Limits how often one cause may run a cell again."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from assay.reactive.dependency_report import SignalNames
    from assay.reactive.graph import Step

_MAX_RERUNS = 20  # of one cell by one cause


class ReactiveLoop(RuntimeError):
    """Raised when one change has made a cell run again too often. Its text names the loop of cells and signals."""

    __module__ = "assay"


class RerunCause:
    """A run or a change from outside, with the number of times that it has made each cell run again."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}  # by cell

    def count_and_check_rerun(self, cell: str) -> bool:
        """Counts one more run of a cell because of this change, and returns whether these are at most 20."""
        self._counts[cell] = self._counts.get(cell, 0) + 1
        return self._counts[cell] <= _MAX_RERUNS


def format_loop_error(cell: str, steps: list[Step], names: SignalNames) -> str:
    """Returns the text of the ReactiveLoop raised for a cell.

    steps are the writes and reads that lead from the cell back to itself; names are those of the
    signals.
    """
    loop = "; ".join(
        f"{writer} writes {', '.join(names.sorted_names([node]))}, which {reader} reads"
        for writer, node, reader in steps
    )
    return (
        f"cell {cell} was run again {_MAX_RERUNS} times because of one change, and does not run again. "
        + (f"The loop: {loop}. " if loop else "")
        + "Write a signal only when its value has to change, or read it with sample()"
    )
