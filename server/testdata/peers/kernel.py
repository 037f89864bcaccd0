"""A kernel made for the original protocol: python3 kernel.py WAYS FD, the ways joined by commas.

It says ready and nothing more of itself, wants an init of exactly the right
shape, shows no outputs but text, and has no has_exception in its results.

    gzip       its frames are gzip, and it takes no others
    noresult   it never sends cell_result: that a run has ended only its idle start_cell says
    unstarted  nor does it say that one starts
    summaries  it answers globals_summary and reactivity_summary; else it answers nothing
    stubborn   it ignores SIGTERM and the end of its socket
"""

import contextlib
import io
import signal
import sys
import traceback
from typing import Any, Dict

from wire import Message, Wire, fail

OBJECTS = ("widget_states", "cell_output_selections", "plot_data_selections", "viewer_cell_data", "plot_configs")

ways = set(sys.argv[1].split(","))
wire = Wire(packed="gzip" in ways)
names: Dict[str, Any] = {}
runs = 0


class Text(io.TextIOBase):
    """Sends what a cell prints while it prints it."""

    def __init__(self, cell: str, stream: str) -> None:
        self.cell, self.stream = cell, stream

    def write(self, data: str) -> int:
        wire.send("kernel_stdio", active_cell=self.cell, stream=self.stream, data=data)
        return len(data)


def check(message: Message) -> None:
    for key in OBJECTS:
        if not isinstance(message.get(key), dict):
            fail(3, f"init: {key} must be an object, not {message.get(key)!r}")
    if not isinstance(message.get("session_snapshot_mode"), bool):
        fail(3, "init: session_snapshot_mode must be true or false")


def run(cell: str, code: str) -> None:
    global runs
    runs += 1
    if "unstarted" not in ways:
        wire.send("start_cell", cell_id=cell, run_sequencer=runs)
    exception = None
    with contextlib.redirect_stdout(Text(cell, "stdout")), contextlib.redirect_stderr(Text(cell, "stderr")):
        try:
            exec(code, names)
        except Exception:
            exception = traceback.format_exc()
    if not ways & {"noresult", "unstarted"}:
        status = "error" if exception else "ok"
        wire.send("cell_result", cell_id=cell, run_sequencer=runs, status=status, exception=exception, outputs=[])
    idle()


def idle() -> None:
    wire.send("start_cell", cell_id=None, run_sequencer=runs)


def answer(message: Message) -> None:
    kind, asked = message["type"], message.get("agent_tx_id")
    if kind == "run_cell":
        run(message["cell_id"], message["code"])
    elif kind == "globals_summary" and "summaries" in ways:
        summary = {name: {"type": type(value).__name__} for name, value in names.items() if name != "__builtins__"}
        wire.send(kind, summary=summary, agent_tx_id=asked)
    elif kind == "reactivity_summary" and "summaries" in ways:
        wire.send(kind, summary="nothing", cell_reactivity={}, agent_tx_id=asked)


def main() -> None:
    if "stubborn" in ways:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    wire.send("ready")
    first = wire.receive()
    if first is None or first["type"] != "init":
        fail(3, f"the first message must be init, not {first!r}")
    check(first)
    idle()
    try:
        while (message := wire.receive()) is not None:
            answer(message)
    except BrokenPipeError:
        pass  # the end came while it answered
    while "stubborn" in ways:
        signal.pause()


main()
