"""A fork of the pool's on its way to being a kernel like any other."""

from __future__ import annotations

import ctypes
import os
import sys

from assay.sandbox.steps import apply

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Hygiene = dict[str, Any]

# Functions that give a linear algebra library its threads back. The parent loads
# it with one, since a fork has no other threads.
_THREAD_SETTERS = (
    "scipy_openblas_set_num_threads64_",
    "scipy_openblas_set_num_threads",
    "openblas_set_num_threads64_",
    "openblas_set_num_threads",
    "MKL_Set_Num_Threads",
    "bli_thread_set_num_threads",
)
_THREAD_VARIABLES = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "OMP_NUM_THREADS")


class Birth:
    """What a kernel is to be: its files, folder, environment and fence."""

    def __init__(self, request: dict[str, Any], files: list[int]) -> None:
        self._folder: str = request["folder"]
        self._environ: dict[str, str] = request["environ"]
        self._fence: dict[str, Any] | None = request.get("fence")
        self._socket, self._out, self._err = files

    def live(self) -> None:
        """Makes this process that kernel, and serves. It never returns."""
        from assay.kernel import Kernel

        self._adopt()
        kernel = Kernel(self._socket)
        origin = {
            "parent": os.getppid(),
            "seed": _reseed(),
            "globals": [name for name, _ in kernel.names.items()],
            **_hygiene(self._socket, self._environ),
        }
        if self._fence is not None:
            apply(self._fence)  # before there are other threads, which it would not hold
        _raise_threads(self._environ)
        kernel.serve({"pool": origin})

    def _adopt(self) -> None:
        os.dup2(self._out, 1)
        os.dup2(self._err, 2)
        os.close(self._out)
        os.close(self._err)
        os.chdir(self._folder)
        if "matplotlib" in sys.modules and os.path.exists("matplotlibrc"):
            sys.exit("matplotlib is preloaded, and would not read the matplotlibrc of this folder")
        if "multiprocessing.process" in sys.modules:
            sys.modules["multiprocessing.process"].ORIGINAL_DIR = self._folder  # type: ignore[attr-defined]
        if "matplotlib.font_manager" in sys.modules:
            self._environ["MPLCONFIGDIR"] = os.environ["MPLCONFIGDIR"]  # with its list of fonts
        for name in set(os.environ) - set(self._environ):
            del os.environ[name]
        for name, value in self._environ.items():
            if os.environ.get(name) != value:
                os.environ[name] = value


def _reseed() -> int | None:
    """Makes numpy's global generator this process's own, and returns its seed.

    The standard library's reseeds itself in every fork.
    """
    numpy_random: Any = sys.modules.get("numpy.random")
    if numpy_random is None:
        return None
    seed = int.from_bytes(os.urandom(4), "little")
    numpy_random.seed(seed)
    return seed


def _raise_threads(environ: dict[str, str]) -> None:
    wanted = [environ[name] for name in _THREAD_VARIABLES if environ.get(name, "").isdigit()]
    threads = int(wanted[0]) if wanted else len(os.sched_getaffinity(0))
    for setter in thread_setters():
        setter(threads)


def thread_setters() -> list[Callable[[int], None]]:
    """Returns what sets the number of threads of each library that is loaded."""
    if "numpy" not in sys.modules:
        return []
    if not _setters:
        _setters.append(list(_find_setters()))
    return _setters[0]


_setters: list[list[Callable[[int], None]]] = []  # found once, by the parent


def _find_setters() -> Any:
    with open("/proc/self/maps") as maps:
        paths = {line.split(maxsplit=5)[5].strip() for line in maps if "/" in line}
    for path in sorted(paths):
        if any(name in os.path.basename(path) for name in ("blas", "mkl_rt", "blis")):
            library = ctypes.CDLL(path)
            yield from (getattr(library, name) for name in _THREAD_SETTERS if hasattr(library, name))


def _hygiene(socket: int, expected: dict[str, str]) -> Hygiene:
    """Returns what this process has that a fresh one would not."""
    own = {0, 1, 2, socket}
    actual = dict(os.environ)
    return {
        "folder": os.getcwd(),
        "descriptors": sorted(_descriptors() - own),
        "threads": len(os.listdir("/proc/self/task")),
        "children": _children(),
        "environ": sorted(
            name for name in {*actual, *expected} if actual.get(name) != expected.get(name)
        ),
    }


def _descriptors() -> set[int]:
    found = set()
    for name in os.listdir("/proc/self/fd"):
        try:
            os.fstat(int(name))
        except OSError:
            continue  # the listing's own
        found.add(int(name))
    return found


def _children() -> int:
    try:
        with open(f"/proc/self/task/{os.getpid()}/children") as children:
            return len(children.read().split())
    except FileNotFoundError:
        return 0  # the system does not tell
