package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// actor is an agent that does what it is told: the Python between #!agent and
// #!end in a query, with the functions that are defined here.
const actor = `
import itertools, json, os, signal, socket, struct, sys, time, traceback

wire = socket.socket(fileno=int(sys.argv[-1]))
ids = itertools.count(1)
heard, made = [], []


def send(**message):
    body = json.dumps(message).encode()
    wire.sendall(struct.pack("<q", len(body)) + body)


def exactly(n):
    data = b""
    while len(data) < n:
        data += wire.recv(n - len(data)) or sys.exit()
    return data


def hear(match):
    """The first message that matches, of those that nobody has asked for yet."""
    for i, message in enumerate(heard):
        if match(message):
            return heard.pop(i)
    while True:
        message = json.loads(exactly(struct.unpack("<q", exactly(8))[0]))
        if match(message):
            return message
        heard.append(message)


def of_type(kind):
    return lambda m: m["type"] == kind


def ask(action, **params):
    tx = f"tx_{next(ids)}"
    send(type="agent_action", action=action, params=params, tx_id=tx)
    return tx


def answer(tx):
    return hear(lambda m: m["type"] == "agent_action_response" and m["tx_id"] == tx)


def act(action, **params):
    return answer(ask(action, **params))


def start(source):
    """Append a cell and have it run."""
    cell = act("create_cell", position=len(made), cell_type="code", source=source, auto_run=True)["cell_id"]
    made.append(cell)
    return cell


def of_run(kind, cell):
    return hear(lambda m: m["type"] == "kernel_message" and m["message"]["type"] == kind and m["message"].get("cell_id") == cell)["message"]


def run(source):
    """Append a cell, have it run, and return how it ended."""
    return of_run("cell_result", start(source))


def submit(value):
    summary = f"<EVAL_ANSWER>{json.dumps(value)}</EVAL_ANSWER> [EVAL_" + "COMPLETE]"
    call = {"type": "tool_use", "id": "t", "name": "submit_response", "input": {"summary": summary, "next_status": "done"}}
    send(type="agent_history_updated", entry={"type": "anthropic_message", "role": "assistant", "content": [call]})


send(type="ready")
hear(of_type("init"))
send(type="agent_status", status="ready")
while True:
    query = hear(of_type("agent_query"))["query"]
    try:
        exec(query.split("#!agent\n")[1].split("#!end")[0], globals())
        send(type="agent_event", channel="py", mode="PY", text="done", metadata={"type": "response"})
    except Exception:
        send(type="agent_error", error=traceback.format_exc(), fatal=True)
`

// actorQuery is a query that makes the actor do something.
func actorQuery(python string) string { return "#!agent\n" + python + "\n#!end" }

// actorCase writes a case that is passed by 42, and which the actor tries as the
// Python says.
func actorCase(t *testing.T, dir, id, python string) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{
		"id": id, "task": actorQuery(python),
		"grader": map[string]any{"type": "exact", "config": map[string]any{"ground_truth": 42}},
	})
	require.NoError(t, err)
	return write(t, filepath.Join(dir, id+".json"), string(text))
}

// untilFile is Python for a cell that prints a word and goes on until there is a
// file in the sandbox.
func untilFile(word, file string) string {
	return fmt.Sprintf("import os, time\nprint(%q, flush=True)\nwhile not os.path.exists(%q): time.sleep(0.005)", word, file)
}
