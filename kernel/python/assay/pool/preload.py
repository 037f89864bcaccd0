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


def preload_modules(modules: list[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Imports modules, and returns those that failed and those that must not be preloaded, with reasons.

    Both are dictionaries of reasons by module name. A module must not be preloaded if its import
    starts threads, sets signal handlers, or reads the environment or folder of a kernel. Such a
    module stays loaded here, so the server starts another parent without it. Stops after a module
    that starts threads.
    """
    failed: dict[str, str] = {}
    refused: dict[str, str] = {}
    os.environ.setdefault("MPLBACKEND", "Agg")
    watch = _KernelSpecificReadRecorder()
    with watch:
        for module in modules:
            watch.reads.clear()
            handlers = _current_signal_handlers()
            try:
                _import_module(module)
            except BaseException as error:  # also SystemExit, which would end the parent silently
                failed[module] = f"{type(error).__name__}: {error}"
                continue
            threads = len(os.listdir("/proc/self/task")) - 1
            if threads:
                refused[module] = "its import starts threads"
                break
            if _current_signal_handlers() != handlers:
                refused[module] = "its import sets a signal handler"
            elif watch.reads:
                reads = ", ".join(sorted(watch.reads))
                refused[module] = f"its import reads {reads}"
    return failed, refused


def _import_module(module: str) -> None:
    """Imports a module. If its import forks, the forked process is ended, so that it is no second parent."""
    parent = os.getpid()
    try:
        importlib.import_module(module)
        if module == "matplotlib":  # loading its fonts is what takes long
            importlib.import_module("matplotlib.pyplot")
    finally:
        if os.getpid() != parent:
            os._exit(0)


def _current_signal_handlers() -> list[object]:
    """Returns the current handler of each signal, in the order of signal numbers."""
    return [signal.getsignal(number) for number in sorted(signal.valid_signals())]


class _KernelSpecificReadRecorder:
    """A context that records reads of environment variables and the current folder, which differ by kernel."""

    def __init__(self) -> None:
        self.reads: set[str] = set()  # "HOME (in some.module)"
        self._environ_class = type(os.environ)
        self._getitem, self._getcwd = self._environ_class.__getitem__, os.getcwd

    def __enter__(self) -> None:
        def getitem(environ: os._Environ[str], key: str) -> str:
            if key in _KERNEL_VARIABLES:
                self._record_read(key)
            return self._getitem(environ, key)

        def getcwd() -> str:
            self._record_read(_CURRENT_FOLDER)
            return self._getcwd()

        self._environ_class.__getitem__ = getitem  # type: ignore[method-assign]
        os.getcwd = getcwd

    def __exit__(self, *_: object) -> None:
        self._environ_class.__getitem__ = self._getitem  # type: ignore[method-assign]
        os.getcwd = self._getcwd

    def _record_read(self, what: str) -> None:
        """Adds what was read, with the module that read it, to reads, unless the module is known as harmless."""
        reader = _find_reading_module(sys._getframe(2))
        if reader not in _HARMLESS_READERS:
            self.reads.add(f"{what} (in {reader})")


def _find_reading_module(frame: FrameType | None) -> str:
    """Returns the name of the module that reads, found from a stack frame.

    Skips modules such as os and pathlib, which read for their callers.
    """
    name = ""
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name not in _PASS_THROUGH and not name.startswith("importlib"):
            break
        frame = frame.f_back
    return name
