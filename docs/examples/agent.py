"""An agent in fifty lines: python3 agent.py FD, started by `assay run --agent`.

It runs one cell and submits what the cell printed. A real agent would ask a
model what to do; the messages would be the same.
"""

import itertools
import json
import socket
import struct
import sys

wire = socket.socket(fileno=int(sys.argv[-1]))  # the last argument is our socket
ids = itertools.count(1)


def send(**message):
    """Write one frame: the body's length, eight bytes little-endian, and the body."""
    body = json.dumps(message).encode()
    wire.sendall(struct.pack("<q", len(body)) + body)


def receive():
    """Read one frame; the end of the socket is the end of the agent."""

    def exactly(n):
        data = b""
        while len(data) < n:
            data += wire.recv(n - len(data)) or sys.exit()
        return data

    return json.loads(exactly(struct.unpack("<q", exactly(8))[0]))


def work(query):
    """Create a cell, run it, and submit the last line that it printed."""
    code = "import json, os\nprint(json.dumps(sorted(os.listdir('data')) if os.path.isdir('data') else []))"
    params = {"position": 0, "cell_type": "code", "source": code, "auto_run": True}
    send(type="agent_action", action="create_cell", params=params, tx_id=f"tx_{next(ids)}")
    while True:  # the answer comes first, then the kernel's messages
        message = receive()
        if message["type"] == "kernel_message" and message["message"]["type"] == "cell_result":
            answer = message["message"]["logs"].strip()  # JSON already
            break
    summary = f"<EVAL_ANSWER>{answer}</EVAL_ANSWER> [EVAL_COMPLETE]"
    submit = {"type": "tool_use", "id": "t1", "name": "submit_response", "input": {"summary": summary, "next_status": "done"}}
    send(type="agent_history_updated", entry={"type": "anthropic_message", "role": "assistant", "content": [submit]})
    send(type="agent_status", status="done")


send(type="ready")
while True:
    message = receive()
    if message["type"] == "init":
        send(type="agent_status", status="ready")
    elif message["type"] == "agent_query":
        work(message["query"])
