"""The parent of warm kernels: a process that has imported modules and forks kernels.

Of the user's code it runs only the imports that it is told to make. It has one
thread and waits only for the server's next request:

    {"type": "fork", "folder", "environ", "fence"?}, with three open files
        -> {"type": "forked", "pid"}
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
from assay.pool.forked_child import ForkedChild, thread_setters
from assay.pool.preload import preload
from assay.wire.messages import dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_HEADER_SIZE = 8  # bytes
_FORK_FILES = 3  # that come with a fork request: the kernel's socket, stdout and stderr
_SPARE_MEMORY = 8 << 20  # bytes that the allocator keeps, so that forks need not ask the system for them


class WarmParent:
    """The parent, serving one socket. Made and served once in a process."""

    def __init__(self, descriptor: int) -> None:
        """Takes over the descriptor of the socket."""
        self._socket = socket.socket(fileno=descriptor)
        self._socket.set_inheritable(False)
        self._kernels: set[int] = set()  # pids that were not reaped yet
        self._pid = os.getpid()

    def serve(self, modules: list[str]) -> ForkedChild:
        """Imports modules, sends ready, and forks on request until the server closes the socket.

        Returns only in the forks: what the fork has to become.
        """
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # it ends when the socket closes
        failed, refused = preload(modules)
        thread_setters()
        bytearray(_SPARE_MEMORY)
        gc.collect()
        gc.freeze()  # else garbage collections in a fork would copy every shared page
        self._send({"type": "ready", "failed": failed, "refused": refused})
        while True:
            request, files = self._receive()
            child = self._handle(request, files)
            if child is not None:
                self._socket.close()
                return child

    def _handle(self, request: dict[str, Any], files: list[int]) -> ForkedChild | None:
        """Handles a request and answers it. Returns a child in a fork, None in the parent."""
        try:
            if request["type"] == "fork":
                return self._fork(ForkedChild(request, files))
            self._reap(request["pid"])
        except OSError as error:
            self._send({"type": "failed", "error": str(error)})
        finally:
            if os.getpid() == self._pid:
                for file in files:
                    os.close(file)
        return None

    def _fork(self, child: ForkedChild) -> ForkedChild | None:
        pid = os.fork()
        if pid == 0:
            os.setpgid(0, 0)
            return child
        try:
            os.setpgid(pid, pid)  # in both processes, so that it is done before the server is told
        except OSError:
            pass
        self._kernels.add(pid)
        self._send({"type": "forked", "pid": pid})
        return None

    def _reap(self, pid: int) -> None:
        _, status = os.waitpid(pid, 0)
        self._kernels.discard(pid)
        self._send({"type": "reaped", "pid": pid, "status": status})

    def _receive(self) -> tuple[dict[str, Any], list[int]]:
        """Returns the next request and the descriptors that came with it."""
        header, files, _, _ = socket.recv_fds(self._socket, _HEADER_SIZE, _FORK_FILES)
        header += self._read(_HEADER_SIZE - len(header))
        body = self._read(int.from_bytes(header, "little"))
        request: dict[str, Any] = loads(body.decode())
        return request, files

    def _read(self, size: int) -> bytes:
        """Returns size bytes from the socket. Ends the process if the socket closes before."""
        data = b""
        while len(data) < size:
            chunk = self._socket.recv(size - len(data))
            if not chunk:
                self._kill_kernels_and_exit()
            data += chunk
        return data

    def _kill_kernels_and_exit(self) -> None:
        for pid in self._kernels:
            try:
                os.killpg(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass  # it has ended by itself
        os._exit(0)

    def _send(self, message: dict[str, Any]) -> None:
        body = dumps(message).encode()
        self._socket.sendall(len(body).to_bytes(_HEADER_SIZE, "little") + body)
