"""An agent without the SDK: python3 agent.py FD, started by `assay run --agent`.

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
queries, answers, results = [], {}, {}  # messages that were read and are not used yet: answers by tx_id, results of runs by cell_id


def send(**message):
    """Write one frame: the body's length, eight bytes little-endian, and the body."""
    body = json.dumps(message).encode()
    server.sendall(struct.pack("<q", len(body)) + body)


def receive():
    """Read one frame, and keep the message until it is used. Exits when the server closes the socket."""

    def read_exactly(n):
        data = b""
        while len(data) < n:
            data += server.recv(n - len(data)) or sys.exit()
        return data

    message = json.loads(read_exactly(struct.unpack("<q", read_exactly(8))[0]))
    if message["type"] == "init":
        send(type="agent_status", status="ready")
    elif message["type"] == "agent_query":
        queries.append(message["query"])
    elif message["type"] == "agent_action_response":
        answers[message["tx_id"]] = message
    elif message["type"] == "kernel_message" and message["message"]["type"] == "cell_result":
        results[message["message"]["cell_id"]] = message["message"]


def take(messages, key):
    """Wait for the message with this key. Others may come before it: of other queries, actions and cells."""
    while key not in messages:
        receive()
    return messages.pop(key)


def answer_query(query):
    """Create a cell, run it, and submit what it printed."""
    code = "import json, os\nprint(json.dumps(sorted(os.listdir('data')) if os.path.isdir('data') else []))"
    params = {"position": 0, "cell_type": "code", "source": code, "auto_run": True}
    tx_id = f"tx_{next(action_numbers)}"
    send(type="agent_action", action="create_cell", params=params, tx_id=tx_id)
    cell = take(answers, tx_id)
    if cell["status"] != "success":
        send(type="agent_error", error=cell["error"], fatal=True)
        return
    answer = take(results, cell["cell_id"])["logs"].strip()  # the cell prints JSON
    summary = f"<EVAL_ANSWER>{answer}</EVAL_ANSWER> [EVAL_COMPLETE]"
    submit = {"type": "tool_use", "id": "t1", "name": "submit_response", "input": {"summary": summary, "next_status": "done"}}
    send(type="agent_history_updated", entry={"type": "anthropic_message", "role": "assistant", "content": [submit]})
    send(type="agent_status", status="done")


send(type="ready")
while True:
    while not queries:
        receive()
    answer_query(queries.pop(0))
