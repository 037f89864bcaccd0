"""A kernel for the original protocol: python3 kernel.py MODES FD, the modes joined by commas.

It sends a ready without fields, requires an init of exactly the right shape (else it exits with status 3),
sends no outputs but text, and no has_exception in its results.

    gzip            all frames are compressed
    noresult        it never sends cell_result: only an idle start_cell shows that a run has ended
    unstarted       as noresult, and it does not send that a run starts
    summaries       it answers globals_summary and reactivity_summary; otherwise it answers no request
    terse           its frames have no run_sequencer and no status, but has_exception; after each cell it sends
                    a globals_summary for which nobody has asked; a SIGINT interrupts a cell
    ignore_sigterm  it ignores SIGTERM and the end of its socket
"""

import contextlib
import io
import signal
import sys
import traceback
from typing import Any, Dict

from wire import Message, Wire, fail

# The fields of init that must be objects.
OBJECT_FIELDS = ("widget_states", "cell_output_selections", "plot_data_selections", "viewer_cell_data", "plot_configs")

modes = set(sys.argv[1].split(","))
wire = Wire(use_gzip="gzip" in modes)
user_globals: Dict[str, Any] = {}
run_count = 0


class OutputStream(io.TextIOBase):
    """Sends what a cell prints while it prints it."""

    def __init__(self, cell: str, stream: str) -> None:
        self.cell, self.stream = cell, stream

    def write(self, data: str) -> int:
        wire.send("kernel_stdio", active_cell=self.cell, stream=self.stream, data=data)
        return len(data)


def check_init(message: Message) -> None:
    """Exits with status 3 if a field of init is missing or has the wrong type."""
    for key in OBJECT_FIELDS:
        if not isinstance(message.get(key), dict):
            fail(3, f"init: {key} must be an object, not {message.get(key)!r}")
    if not isinstance(message.get("session_snapshot_mode"), bool):
        fail(3, "init: session_snapshot_mode must be true or false")


def run_cell(cell: str, code: str) -> None:
    """Runs a cell and sends its frames."""
    global run_count
    run_count += 1
    if "unstarted" not in modes:
        wire.send("start_cell", cell_id=cell, **sequencer())
    exception = None
    with contextlib.redirect_stdout(OutputStream(cell, "stdout")), contextlib.redirect_stderr(OutputStream(cell, "stderr")):
        try:
            exec(code, user_globals)
        except (Exception, KeyboardInterrupt):
            exception = traceback.format_exc()
    if "terse" in modes:
        wire.send("cell_result", cell_id=cell, has_exception=exception is not None, exception=exception)
        wire.send("globals_summary", summary=summarize_globals())
    elif not modes & {"noresult", "unstarted"}:
        status = "error" if exception else "ok"
        wire.send("cell_result", cell_id=cell, run_sequencer=run_count, status=status, exception=exception, outputs=[])
    send_idle()


def sequencer() -> Dict[str, int]:
    """Returns the field of a frame that says which run it belongs to."""
    return {} if "terse" in modes else {"run_sequencer": run_count}


def summarize_globals() -> Dict[str, Any]:
    """Returns the type of each global variable, by name."""
    return {name: {"type": type(value).__name__} for name, value in user_globals.items() if name != "__builtins__"}


def send_idle() -> None:
    """Sends that no cell runs."""
    wire.send("start_cell", cell_id=None, **sequencer())


def handle(message: Message) -> None:
    """Handles a message of the server; ignores those that it does not know."""
    message_type, tx = message["type"], message.get("agent_tx_id")
    if message_type == "run_cell":
        run_cell(message["cell_id"], message["code"])
    elif message_type == "globals_summary" and "summaries" in modes:
        wire.send(message_type, summary=summarize_globals(), agent_tx_id=tx)
    elif message_type == "reactivity_summary" and "summaries" in modes:
        wire.send(message_type, summary="nothing", cell_reactivity={}, agent_tx_id=tx)


def main() -> None:
    if "ignore_sigterm" in modes:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    wire.send("ready")
    first = wire.receive()
    if first is None or first["type"] != "init":
        fail(3, f"the first message must be init, not {first!r}")
    check_init(first)
    send_idle()
    try:
        while (message := wire.receive()) is not None:
            handle(message)
    except BrokenPipeError:
        pass  # the server closed the socket while a message was handled
    while "ignore_sigterm" in modes:
        signal.pause()


main()
