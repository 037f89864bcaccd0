"""An agent in fifty lines: python3 agent.py FD, started by `assay run --agent`.

It runs one cell and submits what the cell printed. A real agent would call a
model to decide what to do; the messages would be the same.
"""

import itertools
import json
import socket
import struct
import sys

server = socket.socket(fileno=int(sys.argv[-1]))  # the last argument is the number of our socket
action_numbers = itertools.count(1)


def send(**message):
    """Write one frame: the body's length, eight bytes little-endian, and the body."""
    body = json.dumps(message).encode()
    server.sendall(struct.pack("<q", len(body)) + body)


def receive():
    """Read one frame. Exits when the server closes the socket."""

    def read_exactly(n):
        data = b""
        while len(data) < n:
            data += server.recv(n - len(data)) or sys.exit()
        return data

    return json.loads(read_exactly(struct.unpack("<q", read_exactly(8))[0]))


def answer_query(query):
    """Create a cell, run it, and submit the last line that it printed."""
    code = "import json, os\nprint(json.dumps(sorted(os.listdir('data')) if os.path.isdir('data') else []))"
    params = {"position": 0, "cell_type": "code", "source": code, "auto_run": True}
    send(type="agent_action", action="create_cell", params=params, tx_id=f"tx_{next(action_numbers)}")
    while True:  # first comes the answer to the action, then messages of the kernel
        message = receive()
        if message["type"] == "kernel_message" and message["message"]["type"] == "cell_result":
            answer = message["message"]["logs"].strip()  # the cell prints JSON
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
        answer_query(message["query"])
