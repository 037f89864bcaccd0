"""Applies single steps of sandbox plans in Python, and checks their effects and errors.

The server's own tests check whole plans, both in Python and in Go.
"""

from __future__ import annotations

import base64
import json
import os
import platform
import resource
import socket
import struct
import sys
import tempfile
import threading
import unittest
import unittest.mock

from harness import IMPORT_ROOT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

sys.path.insert(0, IMPORT_ROOT)
from assay.sandbox.steps import _libc, apply_plan, fork_into_pid_namespace  # noqa: E402

EMPTY_PLAN: dict[str, Any] = {
    "namespaces": 0,
    "writable": None,
    "mounts": None,
    "loopback": False,
    "listener": None,
    "limits": None,
    "landlock": None,
    "bounding": 0,
    "filter": None,
}
EXECUTE, WRITE, READ, READ_FOLDER, MAKE = 1, 2, 4, 8, 1 << 8
GETPPID = {"x86_64": 110, "aarch64": 173}.get(platform.machine())
HAS_LANDLOCK = _libc.syscall(444, None, 0, 1, 0, 0) > 0
NEW_MOUNTS, NEW_NETWORK, NEW_USERS = 0x00020000, 0x40000000, 0x10000000


def run_sandboxed(action: Callable[[], Any], **steps: Any) -> Any:
    """Calls action in a forked process that has applied the steps of a sandbox plan, and returns its result.

    Returns the text of the error if the plan or the action fails.
    """

    def confined() -> Any:
        apply_plan({**EMPTY_PLAN, **steps})
        return action()

    return run_forked(confined)


def run_forked(action: Callable[[], Any]) -> Any:
    """Calls action in a forked process, and returns its result or the text of the error."""
    source, sink = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            result = action()
        except BaseException as error:
            result = f"{type(error).__name__}: {error}"
        os.write(sink, json.dumps(result).encode())
        os._exit(0)
    os.close(sink)
    with open(source) as answer:
        text = answer.read()
    os.waitpid(pid, 0)
    return json.loads(text)


def read_own_process_status() -> dict[str, str]:
    with open("/proc/self/status") as lines:
        return dict(line.rstrip("\n").split(":\t", 1) for line in lines if ":\t" in line)


def encode_seccomp_filter(*instructions: tuple[int, int, int, int]) -> str:
    program = b"".join(struct.pack("HBBI", *instruction) for instruction in instructions)
    return base64.b64encode(program).decode()


class TestSandboxSteps(unittest.TestCase):
    def test_all_capabilities_are_dropped(self) -> None:
        result = run_sandboxed(read_own_process_status)
        for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
            self.assertEqual(int(result[name], 16), 0, name)
        self.assertEqual(result["NoNewPrivs"], "1")

    def test_capabilities_are_dropped_from_the_bounding_set(self) -> None:
        if not int(read_own_process_status()["CapEff"], 16) & 1 << 8:
            self.assertIn("drop capabilities", run_sandboxed(read_own_process_status, bounding=1))
            return
        self.assertEqual(int(run_sandboxed(read_own_process_status, bounding=2)["CapBnd"], 16) & 3, 0)

    @unittest.skipUnless(HAS_LANDLOCK, "this kernel has no Landlock")
    def test_landlock_allows_only_the_listed_paths(self) -> None:
        with tempfile.TemporaryDirectory() as inside, tempfile.TemporaryDirectory() as outside:

            def observe() -> list[str]:
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
                "connect": 0,
                "scoped": 0,
                "flags": 0,
                "paths": [
                    {"path": inside, "access": WRITE | MAKE},
                    {"path": outside + "/missing", "access": WRITE},
                ],
            }
            self.assertEqual(run_sandboxed(observe, landlock=rules), ["made", "refused"])
            self.assertEqual(os.listdir(outside), [])

            rules["paths"] = [{"path": inside, "access": READ}]  # a right that the ruleset does not handle
            self.assertIn(f"OSError: [Errno 22] allow {inside}", run_sandboxed(observe, landlock=rules))

    @unittest.skipUnless(GETPPID, "the numbers of this machine's system calls are not known here")
    def test_a_seccomp_filter_blocks_its_system_call(self) -> None:
        load, equals, answer = 0x20, 0x15, 0x06
        refused, allowed = (answer, 0, 0, 0x00050007), (answer, 0, 0, 0x7FFF0000)
        code = encode_seccomp_filter((load, 0, 0, 0), (equals, 0, 1, GETPPID or 0), refused, allowed)

        def ask() -> list[int]:
            import ctypes

            return [_libc.syscall(GETPPID, 0, 0, 0, 0, 0), ctypes.get_errno()]

        self.assertEqual(run_sandboxed(ask, filter=code), [-1, 7])
        self.assertEqual(run_sandboxed(ask)[0], os.getpid())
        self.assertIn("OSError: [Errno 22] prctl 22", run_sandboxed(ask, filter=encode_seccomp_filter((0, 0, 0, 0))))

    def test_limits_are_lowered_and_never_raised(self) -> None:
        def limit() -> tuple[int, int]:
            return resource.getrlimit(resource.RLIMIT_NOFILE)

        lower = {"resource": resource.RLIMIT_NOFILE, "value": 100}
        self.assertEqual(run_sandboxed(limit, limits=[lower]), [100, 100])
        _, most = limit()
        higher = {"resource": resource.RLIMIT_NOFILE, "value": 1 << 40}
        self.assertEqual(run_sandboxed(limit, limits=[higher]), [most, most])

    def test_a_file_that_grows_too_large_is_an_error(self) -> None:
        def grow() -> None:
            with tempfile.TemporaryFile() as file:
                file.truncate(2 << 20)

        limits = [{"resource": resource.RLIMIT_FSIZE, "value": 1 << 20}]
        self.assertEqual(run_sandboxed(grow, limits=limits), "OSError: [Errno 27] File too large")

    def test_a_plan_enters_namespaces_mounts_and_starts_loopback(self) -> None:
        spaces = NEW_MOUNTS | NEW_NETWORK | (NEW_USERS if os.geteuid() else 0)

        def observe() -> list[Any]:
            with socket.create_server(("127.0.0.1", 0)) as server:
                socket.create_connection(server.getsockname()).close()
            return [os.getuid(), os.listdir("/dev/shm"), socket.if_nameindex()]

        mounts = [{"source": "", "type": "tmpfs", "target": "/dev/shm", "data": "mode=1777,size=4096", "read_only": False, "kept": None}]
        result = run_sandboxed(observe, namespaces=spaces, mounts=mounts, loopback=True)
        if isinstance(result, str) and "make namespaces" in result:
            self.skipTest(result)
        self.assertEqual(result, [os.getuid(), [], [[1, "lo"]]])

        nowhere = [{"source": "", "type": "tmpfs", "target": "/no/such/folder", "data": "", "read_only": True, "kept": None}]
        result = run_sandboxed(observe, namespaces=spaces, mounts=nowhere)
        self.assertIn("FileNotFoundError: [Errno 2] mount /no/such/folder", result)

    def test_a_pid_namespace_without_a_program_leaves_no_process(self) -> None:
        spaces = NEW_MOUNTS | (NEW_USERS if os.geteuid() else 0)
        forks = [os.fork]  # that succeed

        def fork() -> int:
            if not forks:
                raise OSError(11, "no more processes")
            return forks.pop()()

        def enter_and_report() -> str:
            control, server = socket.socketpair()
            with control, server, unittest.mock.patch("os.fork", fork):
                try:
                    fork_into_pid_namespace(spaces, control.fileno())
                except OSError as error:
                    refusal = str(error)
                try:
                    return f"process {os.waitpid(-1, os.WNOHANG)} is left"
                except ChildProcessError:
                    return refusal

        result = run_forked(enter_and_report)
        if "make namespaces" in result:
            self.skipTest(result)
        self.assertEqual(result, "[Errno 11] no more processes")

    def test_a_process_with_threads_is_not_sandboxed(self) -> None:
        def start() -> None:
            threading.Thread(target=threading.Event().wait, daemon=True).start()
            apply_plan(EMPTY_PLAN)

        result = run_sandboxed(start)
        self.assertEqual(result, "RuntimeError: a process with several threads cannot be sandboxed")

    def test_a_plan_with_a_listener_is_refused(self) -> None:
        result = run_sandboxed(os.getpid, listener={"port": 1, "socket": 3})
        self.assertEqual(result, "RuntimeError: a forked process cannot hand over a listener")


if __name__ == "__main__":
    unittest.main()
