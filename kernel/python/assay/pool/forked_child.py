"""A fork of the warm parent that becomes a kernel like any other."""

from __future__ import annotations

import ctypes
import os
import sys

from assay.sandbox.steps import apply_plan, fork_into_pid_namespace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# Functions that set the number of threads of a linear algebra library. The parent
# loads the libraries with one thread, since a fork has no other threads.
_THREAD_SETTERS = (
    "scipy_openblas_set_num_threads64_",
    "scipy_openblas_set_num_threads",
    "openblas_set_num_threads64_",
    "openblas_set_num_threads",
    "MKL_Set_Num_Threads",
    "bli_thread_set_num_threads",
)
_THREAD_VARIABLES = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "OMP_NUM_THREADS")


class ForkedChild:
    """A process that the warm parent has forked and that turns itself into a kernel."""

    def __init__(self, request: dict[str, Any], files: list[int], parent_pid: int) -> None:
        """Stores a fork request of the server, the descriptors that came with it, and the id of the warm parent.

        The kernel cannot ask for that id: in a PID namespace its parent has none.
        """
        self._folder: str = request["folder"]
        self._environ: dict[str, str] = request["environ"]
        self._sandbox_plan: dict[str, Any] | None = request.get("fence")
        self._socket, self._out, self._err, *self._control = files
        self._parent_pid = parent_pid

    @property
    def has_pid_namespace(self) -> bool:
        """Whether the kernel gets a PID namespace, for which the request had a control socket."""
        return bool(self._control)

    def enter_pid_namespace(self) -> tuple[int, int]:
        """Forks the kernel into a PID namespace, if it gets one.

        Returns the ids of the namespace's first process and of the kernel, and zeros in the kernel. Ends the process
        if that fails.
        """
        if self._sandbox_plan is None or not self._control:
            return 0, 0
        try:
            pids = fork_into_pid_namespace(self._sandbox_plan["namespaces"], self._control[0])
        except OSError as error:
            os.write(self._err, f"enter a PID namespace: {error}\n".encode())
            os._exit(1)
        os.close(self._control[0])
        return pids

    def become_kernel(self) -> None:
        """Sets up this forked process as a kernel and serves the kernel's socket. Never returns."""
        from assay.kernel import Kernel

        self._set_up_process()
        kernel = Kernel(self._socket)
        origin = {
            "parent": self._parent_pid,
            "seed": _reseed_numpy(),
            "globals": [name for name, _ in kernel.namespace.variables()],
            **_describe_inherited_state(self._socket, self._environ),
        }
        if self._sandbox_plan is not None:
            apply_plan(self._sandbox_plan, self.has_pid_namespace)  # before there are other threads, which it would not confine
        _restore_thread_counts(self._environ)
        kernel.serve({"pool": origin})

    def _set_up_process(self) -> None:
        """Gives the process the requested stdout, stderr, folder and environment.

        Also corrects what loaded modules remember of these. Ends the process if matplotlib is
        loaded and the folder has a matplotlibrc, which it would not read.
        """
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
            self._environ["MPLCONFIGDIR"] = os.environ["MPLCONFIGDIR"]  # where its list of fonts is
        for name in set(os.environ) - set(self._environ):
            del os.environ[name]
        for name, value in self._environ.items():
            if os.environ.get(name) != value:
                os.environ[name] = value


def _reseed_numpy() -> int | None:
    """Sets a random seed for numpy's global generator and returns it, or returns None if numpy is not loaded.

    The generator of the standard library reseeds itself in every fork.
    """
    numpy_random: Any = sys.modules.get("numpy.random")
    if numpy_random is None:
        return None
    seed = int.from_bytes(os.urandom(4), "little")
    numpy_random.seed(seed)
    return seed


def _restore_thread_counts(environ: dict[str, str]) -> None:
    """Sets the number of threads of loaded linear algebra libraries: as environ says, else one per processor."""
    wanted = [environ[name] for name in _THREAD_VARIABLES if environ.get(name, "").isdigit()]
    threads = int(wanted[0]) if wanted else len(os.sched_getaffinity(0))
    for set_thread_count in thread_count_setters():
        set_thread_count(threads)


def thread_count_setters() -> list[Callable[[int], None]]:
    """Returns the functions that set the number of threads of the loaded linear algebra libraries.

    Returns none if numpy is not loaded. The libraries are looked up only once.
    """
    if "numpy" not in sys.modules:
        return []
    if not _found_setters:
        _found_setters.append(list(_find_thread_count_setters()))
    return _found_setters[0]


_found_setters: list[list[Callable[[int], None]]] = []  # filled once, by the parent


def _find_thread_count_setters() -> Any:
    """Yields the functions that set the number of threads of linear algebra libraries in this process's memory."""
    with open("/proc/self/maps") as maps:
        paths = {line.split(maxsplit=5)[5].strip() for line in maps if "/" in line}
    for path in sorted(paths):
        if any(name in os.path.basename(path) for name in ("blas", "mkl_rt", "blis")):
            library = ctypes.CDLL(path)
            yield from (getattr(library, name) for name in _THREAD_SETTERS if hasattr(library, name))


def _describe_inherited_state(socket: int, expected_environ: dict[str, str]) -> dict[str, Any]:
    """Returns what this forked process has inherited: folder, descriptors, threads, children and environment.

    The server refuses the kernel if it has inherited something that a freshly started one would not
    have.
    """
    own = {0, 1, 2, socket}
    environ = dict(os.environ)
    return {
        "folder": os.getcwd(),
        "descriptors": sorted(_list_open_descriptors() - own),
        "threads": len(os.listdir("/proc/self/task")),
        "children": _count_child_processes(),
        "environ": sorted(
            name
            for name in {*environ, *expected_environ}
            if environ.get(name) != expected_environ.get(name)
        ),
    }


def _list_open_descriptors() -> set[int]:
    """Returns the numbers of all file descriptors that this process has open."""
    found = set()
    for name in os.listdir("/proc/self/fd"):
        try:
            os.fstat(int(name))
        except OSError:
            continue  # the descriptor of the listing itself
        found.add(int(name))
    return found


def _count_child_processes() -> int:
    """Returns the number of child processes of this process, or 0 if the system does not list them."""
    try:
        with open("/proc/thread-self/children") as children:
            return len(children.read().split())
    except FileNotFoundError:
        return 0
