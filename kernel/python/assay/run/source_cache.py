"""The source of what was run, for tracebacks and inspect.getsource."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType


_CODES = 100  # of how many runs of code that was no cell's the source is kept


class Sources:
    """Sources by file name; what linecache knows of cells.

    A cell that runs again replaces its source. Of code that is no cell's the last
    hundred are kept. linecache is told without being imported: it is dear, and
    most runs never need it.
    """

    def __init__(self) -> None:
        self._entries: dict[str, tuple[int, None, list[str], str]] = {}
        self._codes = 0

    def remember(self, filename: str, source: str) -> None:
        """Makes source what filename holds."""
        entry = (len(source), None, source.splitlines(keepends=True), filename)
        self._entries[filename] = entry
        linecache = sys.modules.get("linecache")
        if linecache is not None:
            linecache.cache[filename] = entry

    def remember_code(self, source: str) -> str:
        """Remembers source that is no cell's, and returns its file name: "<code 3>".

        What runs again in the same order has the same names in its tracebacks.
        """
        self._codes += 1
        self._forget(f"<code {self._codes - _CODES}>")
        filename = f"<code {self._codes}>"
        self.remember(filename, source)
        return filename

    def _forget(self, filename: str) -> None:
        self._entries.pop(filename, None)
        linecache = sys.modules.get("linecache")
        if linecache is not None:
            linecache.cache.pop(filename, None)

    def publish(self, linecache: ModuleType) -> None:
        """Tells linecache, which has just been imported."""
        linecache.cache.update(self._entries)
