"""An agent made for the original protocol: python3 agent.py WAYS FD, the ways joined by commas.

It runs one cell and submits what the cell has printed.

    entry      it submits by an agent_history_updated with the entry in it
    streams    it streams the submission; an agent_history_updated without entry ends it
    unclosed   it streams the submission, and the next agent_stream_start ends it
    cut        it streams a submission that breaks off, and then streams it whole
    result     it submits by agent_result
    both       it streams the submission and sends it as an entry too

    gzip       its frames are gzip, and it takes no others
    early      it tells of its history before it is ready for a query
    three      it asks three actions side by side, three times over
    untold     it runs the cell without a tx_id and submits at once
"""

import itertools
import json
import sys
from typing import Any, Callable, Dict, List

from wire import Message, Wire, fail

CODE = "import time\ntime.sleep(0.3)\nprint(6 * 7)"

ways = set(sys.argv[1].split(","))
wire = Wire(packed="gzip" in ways)
ids = itertools.count(1)
kept: List[Message] = []


def await_message(what: Callable[[Message], bool]) -> Message:
    """The first message of that kind; the others are kept until they are asked for."""
    for message in kept:
        if what(message):
            kept.remove(message)
            return message
    while True:
        message = wire.receive()
        if message is None:
            sys.exit()
        if what(message):
            return message
        kept.append(message)


def ask(action: str, **params: Any) -> str:
    tx = f"tx_{next(ids)}"
    wire.send("agent_action", action=action, params=params, tx_id=tx)
    return tx


def answers(*wanted: str) -> Dict[str, Message]:
    """The answers to these requests, in whatever order they come."""
    got: Dict[str, Message] = {}
    while len(got) < len(wanted):
        message = await_message(lambda m: m["type"] == "agent_action_response")
        if message["tx_id"] not in wanted or message["tx_id"] in got or message["status"] != "success":
            fail(5, f"an answer that was not asked for: {message}")
        got[message["tx_id"]] = message
    return got


def submission(answer: str) -> Message:
    return {"summary": f"<EVAL_ANSWER>{answer}</EVAL_ANSWER> [EVAL_COMPLETE]", "next_status": "done"}


def stream(*blocks: Message) -> None:
    """Streams a message whose blocks grow side by side, in pieces of seven characters."""
    wire.send("agent_stream_start", timestamp="2026-01-01T00:00:00Z")
    pieces: List[List[Message]] = []
    for index, block in enumerate(blocks):
        kind, text = block["type"], block["text"]
        wire.send("agent_stream_block_start", block_index=index, block_type=kind, block_id=f"toolu_{index}", block_name=block.get("name"))
        pieces.append([{"block_index": index, "block_type": kind, "delta": text[at : at + 7]} for at in range(0, len(text), 7)])
    for together in itertools.zip_longest(*pieces):
        for piece in filter(None, together):
            wire.send("agent_stream_delta", **piece)
    for index in range(len(blocks)):
        wire.send("agent_stream_block_stop", block_index=index)


def use(text: str) -> Message:
    return {"type": "tool_use", "name": "submit_response", "text": text}


def entry(answer: str) -> None:
    block = {"type": "tool_use", "id": "toolu_1", "name": "submit_response", "input": submission(answer)}
    wire.send("agent_history_updated", entry={"type": "anthropic_message", "role": "assistant", "content": [block], "timestamp": "2026-01-01T00:00:00Z"})


def submit(answer: str) -> None:
    text, thought = json.dumps(submission(answer)), {"type": "thinking", "text": "It printed " + answer}
    if "cut" in ways:
        stream(use(text[:40]))
        wire.send("agent_stream_complete", error="overloaded")
    if ways & {"streams", "cut", "both"}:
        stream(thought, use(text))
        wire.send("agent_stream_complete")
    if ways & {"streams", "cut"}:
        wire.send("agent_history_updated", session_id="1", request_id="r")
    if "unclosed" in ways:
        stream(thought, use(text))
        wire.send("agent_stream_start", timestamp="2026-01-01T00:00:01Z")
    if ways & {"entry", "both"}:
        entry(answer)
    if "result" in ways:
        wire.send("agent_result", structured_output=submission(answer))


def three_times() -> None:
    for _ in range(3):
        got = answers(context := ask("get_context"), ask("request_globals_summary"), ask("request_reactivity_summary"))
        if got[context]["context"]["cell_count"] != 1:
            fail(6, f"another answer: {got[context]}")


def work() -> None:
    made = ask("create_cell", position=0, cell_type="code", source=CODE, auto_run="untold" not in ways)
    cell = answers(made)[made]["cell_id"]
    if "untold" in ways:
        wire.send("agent_action", action="run_cell", params={"cell_id": cell})
        submit("42")
        return
    if "three" in ways:
        three_times()
    result = await_message(lambda m: m["type"] == "kernel_message" and m["message"]["type"] == "cell_result")
    submit(result["message"]["logs"].strip())


def main() -> None:
    wire.send("ready")
    await_message(lambda m: m["type"] == "init")
    if "early" in ways:
        wire.send("agent_history_updated", session_id="1")
        wire.send("agent_history_updated", entry={"type": "anthropic_message", "role": "user", "content": "resumed"})
    wire.send("agent_status", status="ready")
    await_message(lambda m: m["type"] == "agent_query")
    work()
    await_message(lambda m: False)


main()
