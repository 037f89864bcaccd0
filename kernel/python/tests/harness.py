"""Runs a kernel for tests: the real program, over a real socketpair, started as the server starts it."""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Callable
from typing import Any

# The file that starts the kernel. The Go test sets KERNEL_START to the unpacked one.
MAIN_FILE = os.environ.get(
    "KERNEL_START", str(pathlib.Path(__file__).resolve().parent.parent / "assay" / "__main__.py")
)
IMPORT_ROOT = str(pathlib.Path(MAIN_FILE).parent.parent)  # the folder that the package assay is in
TIMEOUT = 30.0  # seconds; only a failing test waits so long

Message = dict[str, Any]

# Shared by all tests, because making matplotlib's list of fonts takes seconds.
_MATPLOTLIB_FOLDER = tempfile.TemporaryDirectory(prefix="kernel-test-cache-")
MATPLOTLIB_CACHE = _MATPLOTLIB_FOLDER.name


def skip_unless_installed(*modules: str) -> Any:
    """Returns a decorator that skips a test if one of the Python modules is missing. The reason names them."""
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    reason = f"{sys.executable} lacks {', '.join(missing)}"
    return unittest.skipIf(bool(missing), reason)


def without_versions(traceback: str) -> str:
    """Returns a traceback with the file names that the first versions of cells have."""
    return re.sub(r"<cell (\w+) v\d+>", r"<cell \1>", traceback)


def printed_text(frames: list[Message]) -> str:
    """Returns the text that was printed to stdout and stderr. How many frames it comes in depends on the time."""
    return "".join(frame["data"] for frame in frames if frame["type"] == "kernel_stdio")


class RunRecord:
    """The frames of one run of a cell, with its result and its outputs."""

    def __init__(self, frames: list[Message]) -> None:
        self.frames = frames
        self.result = next(frame for frame in frames if frame["type"] == "cell_result")
        self.outputs = [frame["output"] for frame in frames if frame["type"] == "cell_output"]

    def text(self, stream: str = "stdout") -> str:
        """Returns the text that the run printed to a stream, stdout or stderr."""
        return "".join(
            frame["data"]
            for frame in self.frames
            if frame["type"] == "kernel_stdio" and frame["stream"] == stream
        )

    @property
    def shown_text(self) -> Any:
        """The text/plain of the run's output, of which there must be exactly one."""
        (output,) = self.outputs
        return output["data"]["text/plain"]

    @property
    def error_output(self) -> Message:
        """The run's output of type error, of which there must be exactly one."""
        (error,) = [output for output in self.outputs if output["output_type"] == "error"]
        return error


class KernelProcess:
    """A running kernel process in a temporary folder, and the server's end of its socket."""

    def __init__(self, **environment: str) -> None:
        """Starts a kernel and waits for its ready message. environment has additional environment variables."""
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="kernel-test-"))
        (self.folder / "cwd").mkdir()
        ours, theirs = socket.socketpair()
        environment = {
            **os.environ,
            "HOME": str(self.folder),
            "MPLCONFIGDIR": MATPLOTLIB_CACHE,
            **environment,
        }
        with open(self.folder / "out", "wb") as out, open(self.folder / "err", "wb") as err:
            self.process = subprocess.Popen(
                [sys.executable, "-u", MAIN_FILE, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                pass_fds=[theirs.fileno()],
                cwd=self.folder / "cwd",
                env=environment,
                start_new_session=True,
            )
        theirs.close()
        self.socket = ours
        self.socket.settimeout(TIMEOUT)
        self.ready = self.receive()

    def close(self) -> int:
        """Closes the socket, waits until the kernel has ended, and returns its exit status. May be called again."""
        self.socket.close()
        try:
            return self.process.wait(TIMEOUT)
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def descriptor_text(self, stream: str = "out") -> str:
        """Returns what the kernel process wrote to its descriptor 1 (stream "out") or 2 ("err")."""
        return (self.folder / stream).read_text()

    def send(self, message_type: str, **fields: Any) -> None:
        """Sends the kernel a message of this type with these fields."""
        self.send_body(json.dumps({"type": message_type, **fields}).encode())

    def send_body(self, body: bytes) -> None:
        """Sends the kernel a frame with this body, which need not be a valid message."""
        self.socket.sendall(len(body).to_bytes(8, "little") + body)

    def receive(self) -> Message:
        """Returns the kernel's next message. Printed text becomes a message of type kernel_stdio, as in the server.

        Raises EOFError if the kernel closes its socket.
        """
        body = self._receive_bytes(int.from_bytes(self._receive_bytes(8), "little", signed=True))
        if body[0]:
            message: Message = json.loads(body, parse_constant=_refuse_constant)
            return message
        end = 4 + int.from_bytes(body[2:4], "little")
        return {
            "type": "kernel_stdio",
            "active_cell": body[4:end].decode() or None,
            "stream": {1: "stdout", 2: "stderr"}[body[1]],
            "data": body[end:].decode(),
        }

    def _receive_bytes(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            chunk = self.socket.recv(min(size - len(data), 1 << 20))
            if not chunk:
                raise EOFError("the kernel closed the socket")
            data += chunk
        return bytes(data)

    def receive_until(self, message_type: str, **fields: Any) -> list[Message]:
        """Returns the kernel's messages up to and including the first one of this type with these fields."""
        return self._receive_until(lambda frames: _is_frame(frames[-1], message_type, fields))

    def receive_until_printed(self, text: str) -> list[Message]:
        """Returns the kernel's messages up to the one with which text has been printed completely.

        Raises AssertionError if the kernel becomes idle before.
        """

        def is_printed(frames: list[Message]) -> bool:
            if _is_frame(frames[-1], "start_cell", {"cell_id": None}):
                raise AssertionError(f"{text!r} was not printed: {frames}")
            return text in printed_text(frames)

        return self._receive_until(is_printed)

    def _receive_until(self, is_enough: Callable[[list[Message]], bool]) -> list[Message]:
        """Returns the kernel's messages as soon as is_enough returns True for them.

        Raises AssertionError, with the stacks of the kernel's threads, after 30 s without a
        message.
        """
        frames: list[Message] = []
        try:
            while not frames or not is_enough(frames):
                frames.append(self.receive())
        except socket.timeout:
            self.process.send_signal(signal.SIGABRT)  # makes faulthandler print the stacks
            self.process.wait(TIMEOUT)
            stacks = self.descriptor_text("err")
            raise AssertionError(f"only these came: {frames}\n{stacks}") from None
        return frames

    def request(self, request_type: str, answer_type: str, **fields: Any) -> Message:
        """Sends a message and returns the next one of type answer_type. Messages before that are dropped."""
        self.send(request_type, **fields)
        return self.receive_until(answer_type)[-1]

    def run_cell(self, code: str, cell_id: str = "c") -> RunRecord:
        """Runs a cell on an idle kernel, and returns the run when the kernel is idle again."""
        self.send("run_cell", cell_id=cell_id, code=code)
        return RunRecord(self.receive_until("start_cell", cell_id=None))

    def run_until_begun(self, code: str, cell_id: str = "c") -> list[Message]:
        """Starts a cell and returns the messages up to the line "begun", which the cell must print."""
        self.send("run_cell", cell_id=cell_id, code=code)
        return self.receive_until_printed("begun\n")

    def stop_cell(self, cell_id: str = "c") -> RunRecord:
        """Stops a running cell, and returns the run when the kernel is idle."""
        self.send("stop_cell", cell_id=cell_id)
        return RunRecord(self.receive_until("start_cell", cell_id=None))

    def execute_code(self, code: str, **fields: Any) -> Message:
        """Sends an execute_code request and returns the answer."""
        return self.request("execute_code", "execute_code_response", code=code, **fields)

    def globals_summary(self) -> Message:
        """Requests the summary of the user's variables, and returns the description of each by name."""
        summary: Message = self.request("globals_summary", "globals_summary")["summary"]
        return summary


def _refuse_constant(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _is_frame(frame: Message, message_type: str, fields: Message) -> bool:
    return frame["type"] == message_type and all(
        frame.get(key) == value for key, value in fields.items()
    )


class KernelTest(unittest.TestCase):
    """A test case in which each test has its own kernel."""

    environment: dict[str, str] = {}

    def setUp(self) -> None:
        self.kernel = KernelProcess(**self.environment)
        self.addCleanup(self.kernel.close)

    def run_ok(self, code: str, cell_id: str = "c") -> RunRecord:
        """Runs a cell and returns the run. Fails the test if the cell fails."""
        run = self.kernel.run_cell(code, cell_id)
        self.assertEqual(run.result["status"], "ok", run.result["exception"])
        return run

    def run_failing(self, code: str) -> RunRecord:
        """Runs a cell and returns the run. Fails the test unless the cell fails and another cell then runs."""
        run = self.kernel.run_cell(code)
        self.assertEqual(run.result["status"], "error")
        self.assertIs(run.result["has_exception"], True)
        self.assertEqual(run.result["exception"].splitlines(), run.error_output["traceback"])
        self.assertEqual(self.run_ok("40 + 2").shown_text, "42")
        return run


class SharedKernelTest(KernelTest):
    """A test case whose tests share one kernel, because importing the libraries they need takes long."""

    _shared_kernel: KernelProcess

    @classmethod
    def setUpClass(cls) -> None:
        cls._shared_kernel = KernelProcess(**cls.environment)
        cls.addClassCleanup(cls._shared_kernel.close)

    def setUp(self) -> None:
        self.kernel = self._shared_kernel
