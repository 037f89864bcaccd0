"""A kernel under test: the real program, over a real socketpair, as the server starts it."""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Callable
from typing import Any

START = os.environ.get(
    "KERNEL_START", str(pathlib.Path(__file__).resolve().parent.parent / "assay" / "__main__.py")
)
PROGRAM = str(pathlib.Path(START).parent.parent)  # where the package assay is imported from
PATIENCE = 30.0  # seconds; only a failing test waits so long

Message = dict[str, Any]

# Where matplotlib keeps its list of fonts, which takes seconds to make.
_FOLDER = tempfile.TemporaryDirectory(prefix="kernel-test-cache-")
CACHE = _FOLDER.name


def needs(*modules: str) -> Any:
    """Skips a test, with a reason that says what is missing."""
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    reason = f"{sys.executable} lacks {', '.join(missing)}"
    return unittest.skipIf(bool(missing), reason)


class Run:
    """One run of a cell, as its frames told it."""

    def __init__(self, frames: list[Message]) -> None:
        self.frames = frames
        self.result = next(frame for frame in frames if frame["type"] == "cell_result")
        self.outputs = [frame["output"] for frame in frames if frame["type"] == "cell_output"]

    def text(self, stream: str = "stdout") -> str:
        return "".join(
            frame["data"]
            for frame in self.frames
            if frame["type"] == "kernel_stdio" and frame["stream"] == stream
        )

    @property
    def shown(self) -> Any:
        """The text/plain of the only output."""
        (output,) = self.outputs
        return output["data"]["text/plain"]

    @property
    def error(self) -> Message:
        (error,) = [output for output in self.outputs if output["output_type"] == "error"]
        return error


class Kernel:
    """A running kernel. Close it, once or more often."""

    def __init__(self, **environment: str) -> None:
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="kernel-test-"))
        (self.folder / "cwd").mkdir()
        ours, theirs = socket.socketpair()
        environment = {
            **os.environ,
            "HOME": str(self.folder),
            "MPLCONFIGDIR": CACHE,
            **environment,
        }
        with open(self.folder / "out", "wb") as out, open(self.folder / "err", "wb") as err:
            self.process = subprocess.Popen(
                [sys.executable, "-u", START, str(theirs.fileno())],
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
        self.socket.settimeout(PATIENCE)
        self.ready = self.receive()

    def close(self) -> int:
        self.socket.close()
        try:
            return self.process.wait(PATIENCE)
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def written(self, stream: str = "out") -> str:
        """What arrived on the descriptors: out 1, err 2."""
        return (self.folder / stream).read_text()

    def send(self, kind: str, **fields: Any) -> None:
        self.send_body(json.dumps({"type": kind, **fields}).encode())

    def send_body(self, body: bytes) -> None:
        self.socket.sendall(len(body).to_bytes(8, "little") + body)

    def receive(self) -> Message:
        body = self._read(int.from_bytes(self._read(8), "little", signed=True))
        if body[0]:
            message: Message = json.loads(body, parse_constant=_refuse)
            return message
        end = 4 + int.from_bytes(body[2:4], "little")
        return {
            "type": "kernel_stdio",
            "active_cell": body[4:end].decode() or None,
            "stream": {1: "stdout", 2: "stderr"}[body[1]],
            "data": body[end:].decode(),
        }

    def _read(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            chunk = self.socket.recv(min(size - len(data), 1 << 20))
            if not chunk:
                raise EOFError("the kernel closed the socket")
            data += chunk
        return bytes(data)

    def until(self, kind: str, **fields: Any) -> list[Message]:
        """Receives up to a frame of a type with these fields."""
        return self._receive_until(lambda frames: _matches(frames[-1], kind, fields))

    def until_printed(self, text: str) -> list[Message]:
        """Receives up to where text was printed: a line may come in two frames, its end in the second.

        Raises AssertionError where all runs end before.
        """

        def is_printed(frames: list[Message]) -> bool:
            if _matches(frames[-1], "start_cell", {"cell_id": None}):
                raise AssertionError(f"{text!r} was not printed: {frames}")
            return text in "".join(f["data"] for f in frames if f["type"] == "kernel_stdio")

        return self._receive_until(is_printed)

    def _receive_until(self, enough: Callable[[list[Message]], bool]) -> list[Message]:
        """Receives frames. Where it waits in vain, what came and the kernel's threads are the error."""
        frames: list[Message] = []
        try:
            while not frames or not enough(frames):
                frames.append(self.receive())
        except socket.timeout:
            self.process.send_signal(signal.SIGABRT)  # on which faulthandler tells where they are
            self.process.wait(PATIENCE)
            raise AssertionError(f"only these came: {frames}\n{self.written('err')}") from None
        return frames

    def ask(self, kind: str, answer: str, **fields: Any) -> Message:
        """Sends a request and returns its answer; other frames are dropped."""
        self.send(kind, **fields)
        return self.until(answer)[-1]

    def run(self, code: str, cell_id: str = "c") -> Run:
        """Runs a cell on an idle kernel until it is idle again."""
        self.send("run_cell", cell_id=cell_id, code=code)
        return Run(self.until("start_cell", cell_id=None))

    def begin(self, code: str, cell_id: str = "c") -> list[Message]:
        """Runs a cell up to where it prints "begun"."""
        self.send("run_cell", cell_id=cell_id, code=code)
        return self.until_printed("begun\n")

    def stop(self, cell_id: str = "c") -> Run:
        """Stops a running cell and waits until the kernel is idle."""
        self.send("stop_cell", cell_id=cell_id)
        return Run(self.until("start_cell", cell_id=None))

    def execute(self, code: str, **fields: Any) -> Message:
        return self.ask("execute_code", "execute_code_response", code=code, **fields)

    def summary(self) -> Message:
        summary: Message = self.ask("globals_summary", "globals_summary")["summary"]
        return summary


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _matches(frame: Message, kind: str, fields: Message) -> bool:
    return frame["type"] == kind and all(frame.get(key) == value for key, value in fields.items())


class KernelTest(unittest.TestCase):
    """A test with a kernel of its own."""

    environment: dict[str, str] = {}

    def setUp(self) -> None:
        self.kernel = Kernel(**self.environment)
        self.addCleanup(self.kernel.close)

    def run_ok(self, code: str, cell_id: str = "c") -> Run:
        run = self.kernel.run(code, cell_id)
        self.assertEqual(run.result["status"], "ok", run.result["exception"])
        return run

    def run_failing(self, code: str) -> Run:
        """Runs a cell that fails, and checks that the kernel lives on."""
        run = self.kernel.run(code)
        self.assertEqual(run.result["status"], "error")
        self.assertIs(run.result["has_exception"], True)
        self.assertEqual(run.result["exception"].splitlines(), run.error["traceback"])
        self.assertEqual(self.run_ok("40 + 2").shown, "42")
        return run
