"""Imports modules once for many kernels, if that changes nothing for the kernels.

Each kernel has its own folder and some variables of its own. A module that reads
them while it is imported would carry the parent's values into every kernel, so it
is refused. So is a module that starts a thread, which a fork does not have, or
that sets a signal handler, which kernels that do not import it would have too.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

# Environment variables whose values differ from kernel to kernel.
_KERNEL_VARIABLES = frozenset(
    ("HOME", "TMPDIR", "MPLCONFIGDIR", "LATCH_SANDBOX_ROOT", "ASSAY_SESSION")
)
_CURRENT_FOLDER = "the current folder"

# Modules that read them but keep nothing that matters: where the user's fonts would
# be, caches of code completion. forked_child gives the kernels matplotlib's folder,
# and corrects the folder in multiprocessing.process.
_HARMLESS_READERS = frozenset((
    "matplotlib", "matplotlib.font_manager", "parso.cache", "jedi.settings", "sysconfig",
    "multiprocessing.process",
))  # fmt: skip
# Modules that read them on behalf of their callers.
_PASS_THROUGH = (
    "os", "collections.abc", "posixpath", "genericpath", "pathlib", "_collections_abc", "ntpath",
    __name__,
)  # fmt: skip


def preload(modules: list[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Imports modules. Returns those that cannot be imported and those that must not be preloaded, with reasons.

    The latter are loaded nevertheless: the server starts another parent without
    them. Stops after a module that starts threads.
    """
    failed: dict[str, str] = {}
    refused: dict[str, str] = {}
    os.environ.setdefault("MPLBACKEND", "Agg")
    watch = _ReadWatch()
    with watch:
        for module in modules:
            watch.reads.clear()
            handlers = _signal_handlers()
            try:
                _import(module)
            except BaseException as error:  # also SystemExit, which would end the parent silently
                failed[module] = f"{type(error).__name__}: {error}"
                continue
            threads = len(os.listdir("/proc/self/task")) - 1
            if threads:
                refused[module] = "its import starts threads"
                break
            if _signal_handlers() != handlers:
                refused[module] = "its import sets a signal handler"
            elif watch.reads:
                reads = ", ".join(sorted(watch.reads))
                refused[module] = f"its import reads {reads}"
    return failed, refused


def _import(module: str) -> None:
    """Imports a module. If the module forks, the fork is ended: it must not go on as a second parent."""
    parent = os.getpid()
    try:
        importlib.import_module(module)
        if module == "matplotlib":  # loading its fonts is what takes long
            importlib.import_module("matplotlib.pyplot")
    finally:
        if os.getpid() != parent:
            os._exit(0)


def _signal_handlers() -> list[object]:
    """Returns the handler of each signal."""
    return [signal.getsignal(number) for number in sorted(signal.valid_signals())]


class _ReadWatch:
    """A context in which reads of what differs from kernel to kernel are recorded."""

    def __init__(self) -> None:
        self.reads: set[str] = set()  # "HOME (in some.module)"
        self._environ_class = type(os.environ)
        self._getitem, self._getcwd = self._environ_class.__getitem__, os.getcwd

    def __enter__(self) -> None:
        def getitem(environ: os._Environ[str], key: str) -> str:
            if key in _KERNEL_VARIABLES:
                self._record(key)
            return self._getitem(environ, key)

        def getcwd() -> str:
            self._record(_CURRENT_FOLDER)
            return self._getcwd()

        self._environ_class.__getitem__ = getitem  # type: ignore[method-assign]
        os.getcwd = getcwd

    def __exit__(self, *_: object) -> None:
        self._environ_class.__getitem__ = self._getitem  # type: ignore[method-assign]
        os.getcwd = self._getcwd

    def _record(self, what: str) -> None:
        reader = _reading_module(sys._getframe(2))
        if reader not in _HARMLESS_READERS:
            self.reads.add(f"{what} (in {reader})")


def _reading_module(frame: FrameType | None) -> str:
    """Returns the name of the module that reads, past modules that read for their callers."""
    name = ""
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name not in _PASS_THROUGH and not name.startswith("importlib"):
            break
        frame = frame.f_back
    return name
