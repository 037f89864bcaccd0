"""An agent for the original protocol: python3 agent.py MODES FD, the modes joined by commas.

It runs one cell and submits what the cell has printed.

    entry          submit by an agent_history_updated with an entry
    streams        stream the submission; an agent_history_updated without an entry ends it
    unclosed       stream the submission; the next agent_stream_start ends it
    truncated      stream a submission that breaks off, and then stream it whole
    result         submit by agent_result
    both           stream the submission, and send it as an entry too

    gzip           all frames are compressed
    early_history  send history before being ready for a query
    parallel       send three actions at once, three times
    no_tx_id       run the cell with an action without tx_id, and submit at once
"""

import itertools
import json
import sys
from typing import Any, Callable, Dict, List

from wire import Message, Wire, fail

CODE = "import time\ntime.sleep(0.3)\nprint(6 * 7)"

modes = set(sys.argv[1].split(","))
wire = Wire(use_gzip="gzip" in modes)
tx_numbers = itertools.count(1)
unread: List[Message] = []  # received, and not returned by await_message yet


def await_message(matches: Callable[[Message], bool]) -> Message:
    """Returns the first message that matches, and keeps the others; exits if the server closes the socket."""
    for message in unread:
        if matches(message):
            unread.remove(message)
            return message
    while True:
        message = wire.receive()
        if message is None:
            sys.exit()
        if matches(message):
            return message
        unread.append(message)


def send_action(action: str, **params: Any) -> str:
    """Sends an action and returns its tx_id."""
    tx = f"tx_{next(tx_numbers)}"
    wire.send("agent_action", action=action, params=params, tx_id=tx)
    return tx


def await_answers(*txs: str) -> Dict[str, Message]:
    """Waits for the answers to these actions, in any order; exits with status 5 on any other answer, or an error."""
    answers: Dict[str, Message] = {}
    while len(answers) < len(txs):
        message = await_message(lambda m: m["type"] == "agent_action_response")
        if message["tx_id"] not in txs or message["tx_id"] in answers or message["status"] != "success":
            fail(5, f"unexpected answer: {message}")
        answers[message["tx_id"]] = message
    return answers


def submission(answer: str) -> Message:
    """The input of submit_response."""
    return {"summary": f"<EVAL_ANSWER>{answer}</EVAL_ANSWER> [EVAL_COMPLETE]", "next_status": "done"}


def stream(*blocks: Message) -> None:
    """Streams a message whose blocks grow in turns, in pieces of seven characters."""
    wire.send("agent_stream_start", timestamp="2026-01-01T00:00:00Z")
    deltas: List[List[Message]] = []
    for index, block in enumerate(blocks):
        block_type, text = block["type"], block["text"]
        wire.send("agent_stream_block_start", block_index=index, block_type=block_type, block_id=f"toolu_{index}", block_name=block.get("name"))
        deltas.append([{"block_index": index, "block_type": block_type, "delta": text[at : at + 7]} for at in range(0, len(text), 7)])
    for round_of_deltas in itertools.zip_longest(*deltas):
        for delta in filter(None, round_of_deltas):
            wire.send("agent_stream_delta", **delta)
    for index in range(len(blocks)):
        wire.send("agent_stream_block_stop", block_index=index)


def submit_block(text: str) -> Message:
    """A streamed call of submit_response with this JSON text as its input."""
    return {"type": "tool_use", "name": "submit_response", "text": text}


def send_entry(answer: str) -> None:
    """Submits by a history entry."""
    block = {"type": "tool_use", "id": "toolu_1", "name": "submit_response", "input": submission(answer)}
    wire.send("agent_history_updated", entry={"type": "anthropic_message", "role": "assistant", "content": [block], "timestamp": "2026-01-01T00:00:00Z"})


def submit(answer: str) -> None:
    """Submits an answer in the ways that the modes name."""
    text, thinking = json.dumps(submission(answer)), {"type": "thinking", "text": "It printed " + answer}
    if "truncated" in modes:
        stream(submit_block(text[:40]))
        wire.send("agent_stream_complete", error="overloaded")
    if modes & {"streams", "truncated", "both"}:
        stream(thinking, submit_block(text))
        wire.send("agent_stream_complete")
    if modes & {"streams", "truncated"}:
        wire.send("agent_history_updated", session_id="1", request_id="r")
    if "unclosed" in modes:
        stream(thinking, submit_block(text))
        wire.send("agent_stream_start", timestamp="2026-01-01T00:00:01Z")
    if modes & {"entry", "both"}:
        send_entry(answer)
    if "result" in modes:
        wire.send("agent_result", structured_output=submission(answer))


def send_parallel_actions() -> None:
    """Sends three actions at once, three times; exits with status 6 if get_context has another action's answer."""
    for _ in range(3):
        answers = await_answers(
            context := send_action("get_context"), send_action("request_globals_summary"), send_action("request_reactivity_summary")
        )
        if answers[context]["context"]["cell_count"] != 1:
            fail(6, f"wrong answer: {answers[context]}")


def work() -> None:
    """Runs the cell and submits what it has printed."""
    created = send_action("create_cell", position=0, cell_type="code", source=CODE, auto_run="no_tx_id" not in modes)
    cell = await_answers(created)[created]["cell_id"]
    if "no_tx_id" in modes:
        wire.send("agent_action", action="run_cell", params={"cell_id": cell})
        submit("42")
        return
    if "parallel" in modes:
        send_parallel_actions()
    result = await_message(lambda m: m["type"] == "kernel_message" and m["message"]["type"] == "cell_result")
    submit(result["message"]["logs"].strip())


def main() -> None:
    wire.send("ready")
    await_message(lambda m: m["type"] == "init")
    if "early_history" in modes:
        wire.send("agent_history_updated", session_id="1")
        wire.send("agent_history_updated", entry={"type": "anthropic_message", "role": "user", "content": "resumed"})
    wire.send("agent_status", status="ready")
    await_message(lambda m: m["type"] == "agent_query")
    work()
    await_message(lambda m: False)  # until the server closes the socket


main()
