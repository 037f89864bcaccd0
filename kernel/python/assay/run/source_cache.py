"""The sources of what was run, for tracebacks and inspect.getsource."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType


_MAX_SNIPPETS = 100  # whose source is kept


class SourceCache:
    """The sources of cells and snippets by file name, for tracebacks, in the form that linecache has them.

    A cell that runs again replaces its source. Only the sources of the last 100 snippets are kept.
    linecache gets the sources when it is first imported; it is not imported here, because that
    takes long and most runs never need it.
    """

    def __init__(self) -> None:
        self._entries: dict[str, tuple[int, None, list[str], str]] = {}
        self._snippet_count = 0

    def store(self, filename: str, source: str) -> None:
        """Stores source as the content of a file name, replacing an earlier one."""
        entry = (len(source), None, source.splitlines(keepends=True), filename)
        self._entries[filename] = entry
        linecache = sys.modules.get("linecache")
        if linecache is not None:
            linecache.cache[filename] = entry

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
