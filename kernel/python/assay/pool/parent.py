"""The parent of warm kernels: it has imported what is dear, and forks.

It runs nothing of the user's but the imports it is told to make, has one
thread, and waits for nothing but the server's next request:

    {"type": "fork", "folder", "environ", "fence"?}, with three open files
        -> {"type": "forked", "pid"}
    {"type": "reap", "pid"}, of a kernel that has ended
        -> {"type": "reaped", "pid", "status"}, as waitpid gives it

or {"type": "failed", "error"}. When the server closes the socket it kills the
groups of the kernels that are left, and ends.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import sys

# What a kernel needs at the latest with its first cells is loaded once, here.
import assay.display.mime_bundle
import assay.introspect.inspection
import assay.kernel  # noqa: F401
import assay.run.failure
from assay.pool.forked_child import Birth, thread_setters
from assay.pool.preload import preload
from assay.wire.messages import dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_HEADER = 8
_FILES = 3  # that come with a fork: its socket, stdout and stderr
_ROOM = 8 << 20  # bytes that the allocator keeps, which saves the forks from asking for them


class Pool:
    """The parent, over a socket of its own. Made and served once in a process."""

    def __init__(self, descriptor: int) -> None:
        """Takes over the descriptor."""
        self._socket = socket.socket(fileno=descriptor)
        self._socket.set_inheritable(False)
        self._kernels: set[int] = set()
        self._pid = os.getpid()

    def serve(self, modules: list[str]) -> Birth:
        """Imports modules, says so, and forks until the server closes the socket.

        Returns in each fork, and only there: what is to become of it.
        """
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the end of the socket is what ends it
        failed, refused = preload(modules)
        thread_setters()
        bytearray(_ROOM)
        gc.collect()
        gc.freeze()  # collections of a fork would copy every page of what is shared
        self._send({"type": "ready", "failed": failed, "refused": refused})
        while True:
            request, files = self._receive()
            birth = self._handle(request, files)
            if birth is not None:
                self._socket.close()
                return birth

    def _handle(self, request: dict[str, Any], files: list[int]) -> Birth | None:
        try:
            if request["type"] == "fork":
                return self._fork(Birth(request, files))
            self._reap(request["pid"])
        except OSError as error:
            self._send({"type": "failed", "error": str(error)})
        finally:
            if os.getpid() == self._pid:
                for file in files:
                    os.close(file)
        return None

    def _fork(self, birth: Birth) -> Birth | None:
        pid = os.fork()
        if pid == 0:
            os.setpgid(0, 0)
            return birth
        try:
            os.setpgid(pid, pid)  # whoever is first: it is done when the server hears of it
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
        header, files, _, _ = socket.recv_fds(self._socket, _HEADER, _FILES)
        body = self._rest(int.from_bytes(header + self._rest(_HEADER - len(header)), "little"))
        request: dict[str, Any] = loads(body.decode())
        return request, files

    def _rest(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            chunk = self._socket.recv(size - len(data))
            if not chunk:
                self._end()
            data += chunk
        return data

    def _end(self) -> None:
        for pid in self._kernels:
            try:
                os.killpg(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass  # it has ended by itself
        os._exit(0)

    def _send(self, message: dict[str, Any]) -> None:
        body = dumps(message).encode()
        self._socket.sendall(len(body).to_bytes(_HEADER, "little") + body)
