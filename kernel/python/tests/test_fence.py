"""The Python door of the server's fence: plans are carried out, or are an error.

What the plans that the server makes hold is tried through both doors by the
server's own tests.
"""

from __future__ import annotations

import base64
import json
import os
import platform
import resource
import struct
import sys
import tempfile
import threading
import unittest

from harness import PROGRAM

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

sys.path.insert(0, PROGRAM)
from assay.sandbox.steps import _libc, apply_plan  # noqa: E402

NOTHING: dict[str, Any] = {
    "namespaces": 0,
    "mounts": None,
    "loopback": False,
    "limits": None,
    "landlock": None,
    "bounding": 0,
    "filter": None,
}
EXECUTE, WRITE, READ, READ_FOLDER, MAKE = 1, 2, 4, 8, 1 << 8
GETPPID = {"x86_64": 110, "aarch64": 173}.get(platform.machine())
HAS_LANDLOCK = _libc.syscall(444, None, 0, 1, 0) > 0
NEW_MOUNTS, NEW_NETWORK, NEW_USERS = 0x00020000, 0x40000000, 0x10000000


def fenced(action: Callable[[], Any], **steps: Any) -> Any:
    """What an action returns in a fork that is behind a plan, or its error's text."""
    source, sink = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            apply_plan({**NOTHING, **steps})
            said = action()
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(sink, json.dumps(said).encode())
        os._exit(0)
    os.close(sink)
    with open(source) as answer:
        text = answer.read()
    os.waitpid(pid, 0)
    return json.loads(text)


def status() -> dict[str, str]:
    with open("/proc/self/status") as lines:
        return dict(line.rstrip("\n").split(":\t", 1) for line in lines if ":\t" in line)


def filter_of(*instructions: tuple[int, int, int, int]) -> str:
    program = b"".join(struct.pack("HBBI", *instruction) for instruction in instructions)
    return base64.b64encode(program).decode()


class FenceTest(unittest.TestCase):
    def test_nothing_is_left_of_privileges(self) -> None:
        said = fenced(status)
        for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
            self.assertEqual(int(said[name], 16), 0, name)
        self.assertEqual(said["NoNewPrivs"], "1")

    def test_the_bounding_set(self) -> None:
        if not int(status()["CapEff"], 16) & 1 << 8:
            self.assertIn("drop capabilities", fenced(status, bounding=1))
            return
        self.assertEqual(int(fenced(status, bounding=2)["CapBnd"], 16) & 3, 0)

    @unittest.skipUnless(HAS_LANDLOCK, "this kernel has no Landlock")
    def test_landlock(self) -> None:
        with tempfile.TemporaryDirectory() as inside, tempfile.TemporaryDirectory() as outside:

            def look() -> list[str]:
                seen = []
                for folder in (inside, outside):
                    try:
                        open(os.path.join(folder, "new"), "w").close()
                        seen.append("made")
                    except PermissionError:
                        seen.append("refused")
                return seen

            rules = {
                "files": WRITE | MAKE,
                "ports": 0,
                "scoped": 0,
                "flags": 0,
                "paths": [
                    {"path": inside, "access": WRITE | MAKE},
                    {"path": outside + "/missing", "access": WRITE},
                ],
            }
            self.assertEqual(fenced(look, landlock=rules), ["made", "refused"])
            self.assertEqual(os.listdir(outside), [])

            rules["paths"] = [{"path": inside, "access": READ}]  # which is not among files
            self.assertIn(f"OSError: [Errno 22] allow {inside}", fenced(look, landlock=rules))

    @unittest.skipUnless(GETPPID, "the numbers of this machine's system calls are not known here")
    def test_the_filter(self) -> None:
        load, equals, answer = 0x20, 0x15, 0x06
        refused, allowed = (answer, 0, 0, 0x00050007), (answer, 0, 0, 0x7FFF0000)
        code = filter_of((load, 0, 0, 0), (equals, 0, 1, GETPPID or 0), refused, allowed)

        def ask() -> list[int]:
            import ctypes

            return [_libc.syscall(GETPPID, 0, 0, 0, 0), ctypes.get_errno()]

        self.assertEqual(fenced(ask, filter=code), [-1, 7])
        self.assertEqual(fenced(ask)[0], os.getpid())
        self.assertIn("OSError: [Errno 22] prctl 22", fenced(ask, filter=filter_of((0, 0, 0, 0))))

    def test_limits_are_lowered_and_never_raised(self) -> None:
        def limit() -> tuple[int, int]:
            return resource.getrlimit(resource.RLIMIT_NOFILE)

        lower = {"resource": resource.RLIMIT_NOFILE, "value": 100}
        self.assertEqual(fenced(limit, limits=[lower]), [100, 100])
        _, most = limit()
        higher = {"resource": resource.RLIMIT_NOFILE, "value": 1 << 40}
        self.assertEqual(fenced(limit, limits=[higher]), [most, most])

    def test_a_file_that_grows_too_large_is_an_error(self) -> None:
        def grow() -> None:
            with tempfile.TemporaryFile() as file:
                file.truncate(2 << 20)

        limits = [{"resource": resource.RLIMIT_FSIZE, "value": 1 << 20}]
        self.assertEqual(fenced(grow, limits=limits), "OSError: [Errno 27] File too large")

    def test_namespaces(self) -> None:
        spaces = NEW_MOUNTS | NEW_NETWORK | (NEW_USERS if os.geteuid() else 0)

        def look() -> list[Any]:
            import socket

            with socket.create_server(("127.0.0.1", 0)) as server:
                socket.create_connection(server.getsockname()).close()
            return [os.getuid(), os.listdir("/dev/shm"), socket.if_nameindex()]

        mounts = [{"type": "tmpfs", "target": "/dev/shm", "data": "mode=1777,size=4096"}]
        said = fenced(look, namespaces=spaces, mounts=mounts, loopback=True)
        if isinstance(said, str) and "make namespaces" in said:
            self.skipTest(said)
        self.assertEqual(said, [os.getuid(), [], [[1, "lo"]]])

        nowhere = [{"type": "tmpfs", "target": "/no/such/folder", "data": ""}]
        said = fenced(look, namespaces=spaces, mounts=nowhere)
        self.assertIn("FileNotFoundError: [Errno 2] mount /no/such/folder", said)

    def test_a_process_with_threads_is_not_fenced(self) -> None:
        def start() -> None:
            threading.Thread(target=threading.Event().wait, daemon=True).start()
            apply_plan(NOTHING)

        said = fenced(start)
        self.assertEqual(said, "RuntimeError: a process with several threads cannot be sandboxed")


if __name__ == "__main__":
    unittest.main()
