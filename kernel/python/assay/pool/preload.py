"""Importing modules once for many kernels, as far as that changes nothing.

A kernel has a folder and some variables of its own. A module that looks at them
while it is imported would carry the parent's into every kernel, so it is
refused, and so is one that starts a thread, which a fork does not have, or that
sets a handler of a signal, which kernels that do not import it would have.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

# What differs from kernel to kernel.
_OWN = frozenset(("HOME", "TMPDIR", "MPLCONFIGDIR", "LATCH_SANDBOX_ROOT", "ASSAY_SESSION"))
_FOLDER = "the current folder"

# Modules that look and keep nothing which matters: where user fonts would lie,
# caches of code completion. matplotlib's folder is given to the kernels
# (see birth), and multiprocessing's is put right there.
_HARMLESS = frozenset(
    ("matplotlib", "matplotlib.font_manager", "parso.cache", "jedi.settings", "sysconfig", "multiprocessing.process")
)
_PASSED_ON = ("os", "collections.abc", "posixpath", "genericpath", "pathlib", "_collections_abc", "ntpath", __name__)


def preload(modules: list[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Imports modules.

    Returns those that cannot be imported, and those that must not be held, each
    with the reason. The latter are imported nevertheless: only a parent that was
    never told of them is free of them.
    """
    failed: dict[str, str] = {}
    refused: dict[str, str] = {}
    os.environ.setdefault("MPLBACKEND", "Agg")
    watch = _Watch()
    with watch:
        for module in modules:
            watch.seen.clear()
            handlers = _handlers()
            try:
                _import(module)
            except BaseException as error:  # sys.exit() would end the parent without a word
                failed[module] = f"{type(error).__name__}: {error}"
                continue
            threads = len(os.listdir("/proc/self/task")) - 1
            if threads:
                refused[module] = "while it is imported it starts threads"
                break
            if _handlers() != handlers:
                refused[module] = "while it is imported it sets a handler of a signal"
            elif watch.seen:
                refused[module] = "while it is imported it looks at " + ", ".join(sorted(watch.seen))
    return failed, refused


def _import(module: str) -> None:
    """Imports a module. A process that this forks must not go on as a second parent."""
    parent = os.getpid()
    try:
        importlib.import_module(module)
        if module == "matplotlib":  # its fonts are what is dear
            importlib.import_module("matplotlib.pyplot")
    finally:
        if os.getpid() != parent:
            os._exit(0)


def _handlers() -> list[object]:
    """Returns what is done about each signal."""
    return [signal.getsignal(number) for number in sorted(signal.valid_signals())]


class _Watch:
    """Notes who looks at what differs from kernel to kernel."""

    def __init__(self) -> None:
        self.seen: set[str] = set()
        self._kind = type(os.environ)
        self._getitem, self._getcwd = self._kind.__getitem__, os.getcwd

    def __enter__(self) -> None:
        def getitem(environ: os._Environ[str], key: str) -> str:
            if key in _OWN:
                self._note(key)
            return self._getitem(environ, key)

        def getcwd() -> str:
            self._note(_FOLDER)
            return self._getcwd()

        self._kind.__getitem__ = getitem  # type: ignore[method-assign]
        os.getcwd = getcwd

    def __exit__(self, *_: object) -> None:
        self._kind.__getitem__ = self._getitem  # type: ignore[method-assign]
        os.getcwd = self._getcwd

    def _note(self, what: str) -> None:
        reader = _reader(sys._getframe(2))
        if reader not in _HARMLESS:
            self.seen.add(f"{what} (in {reader})")


def _reader(frame: FrameType | None) -> str:
    """Returns the module that looks, past those that look for others."""
    name = ""
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name not in _PASSED_ON and not name.startswith("importlib"):
            break
        frame = frame.f_back
    return name
