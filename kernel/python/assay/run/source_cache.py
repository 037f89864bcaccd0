"""The sources of what was run, for tracebacks and inspect.getsource."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType


_MAX_SNIPPETS = 100  # whose source is kept
_MAX_VERSIONS = 20  # of a cell, whose source is kept


class SourceCache:
    """The sources of cells and snippets by file name, for tracebacks, in the form that linecache has them.

    Each version of a cell has a different file name, because what an earlier one has defined may still
    be called. Only the last 20 versions of a cell and the last 100 snippets are kept.
    linecache gets the sources when it is first imported; it is not imported here, because that
    takes long and most runs never need it.
    """

    def __init__(self) -> None:
        self._entries: dict[str, tuple[int, None, list[str], str]] = {}
        self._snippet_count = 0
        self._versions: dict[str, tuple[int, str]] = {}  # by cell: number and source of the last version

    def store(self, filename: str, source: str) -> None:
        """Stores source as the content of a file name, replacing an earlier one."""
        entry = (len(source), None, source.splitlines(keepends=True), filename)
        self._entries[filename] = entry
        linecache = sys.modules.get("linecache")
        if linecache is not None:
            linecache.cache[filename] = entry

    def store_cell(self, cell_id: str, source: str) -> str:
        """Stores the source of a cell and returns its file name: "<cell ID>", and "<cell ID v2>" for its second version.

        A cell that runs again without a change keeps its file name.
        """
        version, last = self._versions.get(cell_id, (0, ""))
        if version == 0 or last != source:
            version += 1
            self._versions[cell_id] = version, source
            self._remove_source(_cell_filename(cell_id, version - _MAX_VERSIONS))
        filename = _cell_filename(cell_id, version)
        self.store(filename, source)
        return filename

    def store_snippet(self, source: str) -> str:
        """Stores the source of a snippet and returns its file name: "<code 3>" for the third snippet.

        Snippets that run again in the same order get the same names in tracebacks. The source of
        the snippet that ran 100 snippets before is removed.
        """
        self._snippet_count += 1
        self._remove_source(f"<code {self._snippet_count - _MAX_SNIPPETS}>")
        filename = f"<code {self._snippet_count}>"
        self.store(filename, source)
        return filename

    def _remove_source(self, filename: str) -> None:
        self._entries.pop(filename, None)
        linecache = sys.modules.get("linecache")
        if linecache is not None:
            linecache.cache.pop(filename, None)

    def fill_linecache(self, linecache: ModuleType) -> None:
        """Copies all stored sources into linecache, which was just imported."""
        linecache.cache.update(self._entries)


def _cell_filename(cell_id: str, version: int) -> str:
    """Returns the file name of a version of a cell, counted from 1."""
    return f"<cell {cell_id}>" if version == 1 else f"<cell {cell_id} v{version}>"
