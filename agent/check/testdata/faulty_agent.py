"""An agent with one fault: python3 faulty_agent.py FAULT FD. Some faults are only other ways to do it right.

It asks for the context, creates and runs a cell, and submits what the cell printed. It gives up on
an action after ACTION_TIMEOUT_S.
"""

import gzip
import json
import os
import signal
import socket
import struct
import sys
import time

FAULT = sys.argv[1]
ACTION_TIMEOUT_S = {"impatient": 0.5, "patient": 1000.0, "takes-no-answer": 1000.0, "executes-code": 1000.0}.get(FAULT, 6.0)

server = socket.socket(fileno=int(sys.argv[-1]))
received = b""
queries = []  # (request_id, text) of those that wait
step = None  # of the work on the current query: {"request_id", "waits_for", "tx_id" or "cell_id", "deadline"}
early_results = {}  # by cell_id
action_count = 0
is_initialized = False


def send(**message):
    body = json.dumps(message, ensure_ascii=False).encode()
    length = len(body)
    if FAULT in ("gzip", "gzip-deaf"):
        body = gzip.compress(body)
        length = len(body)
    if FAULT == "json-lines":
        return server.sendall(body + b"\n")
    if FAULT == "big-endian":
        return server.sendall(struct.pack(">q", length) + body)
    if FAULT == "counts-header":
        length += 8
    if FAULT == "counts-characters":
        length = len(body.decode())
    server.sendall(struct.pack("<q", length) + body + (b"\n" if FAULT == "newline" else b""))


def read_frames():
    """Read what has come, within the deadline of the current step, and return the messages; None at the end of the stream."""
    global received
    server.settimeout(max(0.001, step["deadline"] - time.monotonic()) if step else None)
    try:
        if FAULT == "reads-once":  # takes what one read returns for all that was asked for
            (length,) = struct.unpack("<q", server.recv(8) or sys.exit())
            return [json.loads(server.recv(min(length, 1 << 16)))]
        chunk = server.recv(1 << 20)
    except socket.timeout:
        return []
    if not chunk:
        return None
    received += chunk
    messages = []
    while len(received) >= 8:
        (length,) = struct.unpack("<q", received[:8])
        if len(received) < 8 + length:
            break
        body, received = received[8 : 8 + length], received[8 + length :]
        if FAULT == "gzip" and body[:2] == b"\x1f\x8b":
            body = gzip.decompress(body)
        messages.append(json.loads(body.decode("ascii" if FAULT == "ascii" else "utf-8")))
    return messages


def start_action(action, **params):
    global action_count, step
    action_count += 1
    tx_id = {"numeric-tx-id": action_count, "same-tx-id": "tx"}.get(FAULT, f"tx_{action_count}")
    step = {**step, "waits_for": action, "tx_id": tx_id, "deadline": time.monotonic() + ACTION_TIMEOUT_S}
    send(type="agent_action", action=action, params=params, tx_id=tx_id)


def begin_query():
    global step
    request_id, text = queries.pop(0)
    if FAULT == "silent-at-query":
        return
    if FAULT == "crashes-at-query":
        raise RuntimeError("no such model")
    step = {"request_id": request_id}
    send(type="agent_status", status="thinking")
    if FAULT.startswith("executes-"):
        start_action("execute_code", code="print(6 * 7)", timeout_s=300)
        step["deadline"] = time.monotonic() + 302
        return
    start_action("get_context")


def end_query(status):
    global step
    step = None
    send(type="agent_status", status=status)
    if FAULT == "one-query":
        sys.exit()


def fail(error):
    send(type="agent_error", error=error, fatal=True)
    end_query("ready")


def end_silently(submission):
    """End the turn in another way than with an entry and a status."""
    global step
    step = None
    if FAULT == "ends-by-result":
        send(type="agent_result", structured_output=submission)
    elif FAULT == "ends-by-action":
        send(type="agent_action", action="submit_response", params=submission, tx_id=f"tx_submit_{action_count}")
    elif FAULT == "ends-by-stream":
        send(type="agent_stream_block_start", block_index=0, block_type="tool_use", block_id="t1", block_name="submit_response")
        send(type="agent_stream_delta", block_index=0, block_type="tool_use", delta=json.dumps(submission))
        send(type="agent_stream_complete")
    else:
        send(type="agent_history_updated", entry={"type": "anthropic_message", "role": "assistant", "content": "It is done."})


def submit(logs):
    text = "é" if FAULT == "counts-characters" else "done"
    summary = f'{text} <EVAL_ANSWER>{{"result": {json.dumps(int(logs) if logs.strip().isdigit() else logs)}}}</EVAL_ANSWER> [EVAL_COMPLETE]'
    submission = {"summary": summary, "next_status": "done"}
    if FAULT.startswith("ends-by-"):
        return end_silently(submission)
    call = {"type": "tool_use", "id": "t1", "name": "submit_response", "input": submission}
    send(type="agent_history_updated", entry={"type": "anthropic_message", "role": "assistant", "content": [call]})
    if FAULT == "unknown-type":
        send(type="agent_thought", text="hm")
    if FAULT == "malformed":
        server.sendall(struct.pack("<q", 7) + b"{'a':1}")
    end_query("done")


def handle_answer(message):
    is_ours = step and message["tx_id"] == step.get("tx_id") and FAULT != "takes-no-answer"
    if not is_ours and FAULT == "crashes-at-unknown-answer":
        raise KeyError(message["tx_id"])
    if not is_ours and not (step and "tx_id" in step and FAULT == "takes-any-answer"):
        return
    if message["status"] != "success" and FAULT != "ignores-status":
        return fail(message["error"])
    if step["waits_for"] == "execute_code" and FAULT == "executes-code":
        return submit(message["stdout"])
    if step["waits_for"] == "execute_code":
        return start_action("get_context")
    if step["waits_for"] == "get_context":
        return start_action("create_cell", position=0, cell_type="code", source="print(6 * 7)", auto_run=True)
    step.pop("tx_id")
    step.update(cell_id=message.get("cell_id"), deadline=time.monotonic() + 1000)
    if step["cell_id"] in early_results:
        submit(early_results.pop(step["cell_id"])["logs"])


def handle_result(result):
    if FAULT == "ignores-lost-runs" and result["run_sequencer"] == 0:
        return
    if step and "cell_id" in step and step["cell_id"] == result["cell_id"] or FAULT == "takes-any-cell" and step:
        return submit(result["logs"])
    early_results[result["cell_id"]] = result


def handle_cancel(request_id):
    if FAULT == "crashes-at-cancel":
        raise NotImplementedError("agent_cancel")
    if FAULT == "ignores-cancel":
        return
    if step and (step["request_id"] == request_id or FAULT == "cancels-any-query"):
        end_query("ready")


def handle(message):
    global is_initialized
    kind = message["type"]
    if FAULT == "refuses-fields" and set(message) - {
        "type", "session_id", "eval_mode", "language", "limits", "query", "request_id", "contextual_node_data", "tx_id", "status", "error",
        "context", "cell_id", "tf_id", "message",
    }:  # fmt: skip
        raise TypeError(f"unexpected fields in {kind}")
    if kind == "init":
        if FAULT == "crashes-at-init":
            raise ValueError("bad limits")
        if FAULT in ("needs-small-numbers", "status-at-start"):
            struct.pack("<i", message["session_id"])
        is_initialized = True
        if FAULT not in ("never-ready", "status-at-start"):
            send(type="agent_status", status="ready")
    elif kind == "agent_query":
        if FAULT == "crashes-at-early-query" and not is_initialized:
            raise RuntimeError("there is no session")
        if not (step and FAULT == "drops-queries"):
            queries.append((message["request_id"], message["query"]))
    elif kind == "agent_action_response":
        handle_answer(message)
    elif kind == "kernel_message":
        if message["message"]["type"] == "cell_result":
            handle_result(message["message"])
    elif kind == "agent_cancel":
        handle_cancel(message.get("request_id"))
    elif kind == "agent_clear_history":
        if FAULT == "crashes-at-clear":
            raise NotImplementedError(kind)
    elif FAULT == "refuses-types":
        raise ValueError(f"unknown type {kind}")


def main():
    if FAULT == "silent":
        signal.pause()
    if FAULT == "status-first":
        send(type="agent_status", status="ready")
    if FAULT == "prints":
        print("starting\n" * 1000, "x" * (1 << 20), file=sys.stderr)
        os.write(1, b'{"type": "agent_status", "status": "done"}\n')
    if FAULT == "ignores-sigterm":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    send(type="ready")
    if FAULT in ("ready-twice", "status-at-start"):
        send(type="agent_status", status="ready")
    while (messages := read_frames()) is not None:
        for message in messages:
            handle(message)
        if step and time.monotonic() > step["deadline"]:
            fail(f"{step['waits_for']}: no answer within {ACTION_TIMEOUT_S:g} s")
        while queries and not step:
            begin_query()
    if FAULT == "stays":
        time.sleep(1000)


main()
