"""The parent of warm kernels: a process that has imported modules and forks kernels.

Of the user's code it runs only the imports that it is told to make. It has one
thread and waits only for the server's next request:

    {"type": "fork", "folder", "environ", "fence"?}, with three or four open files
        -> {"type": "forked", "pid", "first"}
    {"type": "reap", "pid"}, of a kernel that has ended
        -> {"type": "reaped", "pid", "status"}, as waitpid gives it

or {"type": "failed", "error"}. When the server closes the socket it kills the
process groups of the kernels that are left, and ends.
"""

from __future__ import annotations

import gc
import os
import signal
import socket

# Each kernel needs these by its first cells, so they are loaded once, here.
import assay.display.mime_bundle
import assay.introspect.inspection
import assay.kernel
import assay.run.failure  # noqa: F401
from assay.pool.forked_child import ForkedChild, thread_count_setters
from assay.pool.preload import preload_modules
from assay.sandbox.steps import adopt_orphans
from assay.wire.messages import dumps, parse_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_HEADER_SIZE = 8  # bytes
_FORK_FILES = 4  # that come with a fork request: the kernel's socket, stdout, stderr and, for a PID namespace, its control socket
_SPARE_MEMORY = 8 << 20  # bytes that the allocator keeps, so that forks need not ask the system for them


class WarmParent:
    """The process that has imported modules and forks a kernel for each fork request of the server.

    The main thread makes one WarmParent in a process and calls serve on it.
    """

    def __init__(self, descriptor: int) -> None:
        """Takes over the socket with this descriptor, over which the server sends requests."""
        self._socket = socket.socket(fileno=descriptor)
        self._socket.set_inheritable(False)
        self._kernels: set[int] = set()  # pids that were not reaped yet
        self._pid = os.getpid()

    def serve(self, modules: list[str]) -> ForkedChild:
        """Imports modules, sends the ready message, and handles requests until the server closes the socket.

        In the parent it never returns. In each forked process it returns the ForkedChild that turns
        it into a kernel.
        """
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # it ends when the socket closes
        failed, refused = preload_modules(modules)
        thread_count_setters()
        bytearray(_SPARE_MEMORY)
        gc.collect()
        gc.freeze()  # else garbage collections in a fork would copy every shared page
        self._send_message({"type": "ready", "failed": failed, "refused": refused})
        while True:
            request, files = self._receive_request()
            child = self._handle_request(request, files)
            if child is not None:
                self._socket.close()
                return child

    def _handle_request(self, request: dict[str, Any], files: list[int]) -> ForkedChild | None:
        """Handles one request and answers it. Returns a ForkedChild in a forked process, None in the parent."""
        try:
            if request["type"] == "fork":
                return self._fork_kernel(ForkedChild(request, files, self._pid))
            self._reap_kernel(request["pid"])
        except OSError as error:
            self._send_message({"type": "failed", "error": str(error)})
        finally:
            if os.getpid() == self._pid:
                for file in files:
                    os.close(file)
        return None

    def _fork_kernel(self, child: ForkedChild) -> ForkedChild | None:
        """Forks a process for a kernel, and sends its pid to the server, with that of its PID namespace's first process.

        Returns child in the forked process, None in the parent.
        """
        if child.has_pid_namespace:
            adopt_orphans()  # the kernel and the first process are forked by a process that then ends
        leading, leader = os.pipe()
        try:
            pid = os.fork()
        except OSError:
            os.close(leading)
            os.close(leader)
            raise
        if pid == 0:
            os.close(leading)
            first, program = child.enter_pid_namespace()
            if program != 0:
                os.write(leader, f"{program} {first}".encode())
                os._exit(0)
            os.setsid()  # else it could move its processes into the process group of another kernel
            os.close(leader)
            return child
        os.close(leader)
        # It ends when the child has its process group, before the server hears of the child.
        with open(leading) as report:
            pids = [int(text) for text in report.read().split()]
        if child.has_pid_namespace:
            os.waitpid(pid, 0)
            if not pids:
                raise OSError("the forked process could not enter a PID namespace")
        pid, first = pids or (pid, 0)
        self._kernels.add(pid)
        self._send_message({"type": "forked", "pid": pid, "first": first})
        return None

    def _reap_kernel(self, pid: int) -> None:
        """Waits for a kernel process that has ended, and sends its wait status."""
        _, status = os.waitpid(pid, 0)
        self._kernels.discard(pid)
        self._send_message({"type": "reaped", "pid": pid, "status": status})

    def _receive_request(self) -> tuple[dict[str, Any], list[int]]:
        """Waits for the next request and returns it with the file descriptors that came with it."""
        header, files, _, _ = socket.recv_fds(self._socket, _HEADER_SIZE, _FORK_FILES)
        header += self._read_exactly(_HEADER_SIZE - len(header))
        body = self._read_exactly(int.from_bytes(header, "little"))
        request: dict[str, Any] = parse_json(body.decode())
        return request, files

    def _read_exactly(self, size: int) -> bytes:
        """Returns exactly size bytes from the socket. Ends the process if the socket closes before."""
        data = b""
        while len(data) < size:
            chunk = self._socket.recv(size - len(data))
            if not chunk:
                self._kill_kernels_and_exit()
            data += chunk
        return data

    def _kill_kernels_and_exit(self) -> None:
        """Kills the process groups of all kernels that were not reaped yet, and ends this process."""
        for pid in self._kernels:
            try:
                os.killpg(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass  # it has ended by itself
        os._exit(0)

    def _send_message(self, message: dict[str, Any]) -> None:
        body = dumps(message).encode()
        self._socket.sendall(len(body).to_bytes(_HEADER_SIZE, "little") + body)
