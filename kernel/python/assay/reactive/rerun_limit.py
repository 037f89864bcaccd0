"""How often cells may run again."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from assay.reactive.dependency_report import Names
    from assay.reactive.graph import Step

_MOST = 20  # times that one cause runs a cell again


class ReactiveLoop(RuntimeError):
    """A cell was run again too often by one cause; its text names the loop."""

    __module__ = "assay"


class Cause:
    """A run, or a change from outside, and how often each cell ran again because of it."""

    def __init__(self) -> None:
        self._runs: dict[str, int] = {}

    def allows(self, cell: str) -> bool:
        """Counts a further run of a cell, and tells whether it may be."""
        self._runs[cell] = self._runs.get(cell, 0) + 1
        return self._runs[cell] <= _MOST


def told_loop(cell: str, steps: list[Step], names: Names) -> str:
    """Returns the text of the ReactiveLoop of a cell; steps lead from it back to it."""
    loop = "; ".join(
        f"{writer} writes {', '.join(names.of([node]))}, which {reader} reads"
        for writer, node, reader in steps
    )
    return (
        f"cell {cell} was run again {_MOST} times by one cause, and not once more. "
        + (f"The loop: {loop}. " if loop else "")
        + "Write a signal only where it has to change, or read it with sample()"
    )
