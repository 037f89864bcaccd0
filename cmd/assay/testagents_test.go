package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/protocol"
)

// scriptedAgent is an agent that does what it is told: the Python between #!agent and
// #!end in a query, with the functions that are defined here.
const scriptedAgent = `
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

// agentQuery is a query that makes the actor do something.
func agentQuery(python string) string { return "#!agent\n" + python + "\n#!end" }

// writeAgentCase writes a case that is passed by 42, and which the actor tries as the
// Python says.
func writeAgentCase(t *testing.T, dir, id, python string) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{
		"id": id, "task": agentQuery(python),
		"grader": map[string]any{"type": "exact", "config": map[string]any{"ground_truth": 42}},
	})
	require.NoError(t, err)
	return writeFile(t, filepath.Join(dir, id+".json"), string(text))
}

// sourceWaitingForFile is Python for a cell that prints a word and goes on until there is a
// file in the sandbox.
func sourceWaitingForFile(word, file string) string {
	return fmt.Sprintf("import os, time\nprint(%q, flush=True)\nwhile not os.path.exists(%q): time.sleep(0.005)", word, file)
}

// faultyAgent is an agent that misbehaves in the way that is named.
func faultyAgent(how, fd string) int {
	number, err := strconv.Atoi(fd)
	if err != nil {
		return 100
	}
	file := os.NewFile(uintptr(number), "server")
	socket, err := net.FileConn(file)
	if err != nil {
		return 101
	}
	_ = file.Close()
	conn := protocol.NewStream(socket, 0)
	switch how {
	case "exits":
		fmt.Fprintln(os.Stderr, "cannot import name 'frobnicate'")
		return 7
	case "garbage":
		_, _ = fmt.Fprintln(socket, "Starting up, please wait a moment ...")
		_, _ = conn.Read()
		return 0
	case "silent":
		_, _ = conn.Read()
		return 0
	}
	if err := handshake(conn); err != nil {
		return 102
	}
	return actFaulty(how, conn)
}

const submissionFrame = `{"type":"agent_history_updated","entry":{"type":"anthropic_message","role":"assistant","content":[{"type":"tool_use","id":"t","name":"submit_response","input":{"summary":"<EVAL_ANSWER>{\"x\":%d}</EVAL_ANSWER> [EVAL_COMPLETE]","next_status":"done"}}]}}`

func actFaulty(how string, conn protocol.Conn) int {
	switch how {
	case "killed":
		fmt.Fprintln(os.Stderr, "out of luck")
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "submits-twice":
		_ = conn.Write(fmt.Appendf(nil, submissionFrame, 42))
		_ = conn.Write(fmt.Appendf(nil, submissionFrame, 1))
	case "flood": // asks without end and reads nothing
		for i := 0; ; i++ {
			err := conn.Write(fmt.Appendf(nil, `{"type":"agent_action","action":"get_context","params":{},"tx_id":"tx_%d"}`, i))
			if err != nil {
				return 0
			}
		}
	case "invalid-json":
		_ = conn.Write([]byte(`{"type":"agent_action",`))
		_ = conn.Write(fmt.Appendf(nil, submissionFrame, 42))
	case "long-output": // prints 32 MiB, none of it a line
		block := strings.Repeat("printing", 1<<17)
		for range 32 {
			_, _ = fmt.Print(block)
		}
		_ = conn.Write(fmt.Appendf(nil, submissionFrame, 42))
	}
	for { // an agent stays until its server goes
		if _, err := conn.Read(); err != nil {
			return 0
		}
	}
}

// handshake goes through the handshake, up to the query.
func handshake(conn protocol.Conn) error {
	if err := conn.Write([]byte(`{"type":"ready"}`)); err != nil {
		return err
	}
	decoder := protocol.NewEnvelopeDecoder()
	for {
		body, err := conn.Read()
		if err != nil {
			return err
		}
		env, err := decoder.Decode(body)
		switch {
		case err != nil:
			return err
		case env.Type == protocol.TypeInit:
			if err := conn.Write([]byte(`{"type":"agent_status","status":"ready"}`)); err != nil {
				return err
			}
		case env.Type == protocol.TypeAgentQuery:
			return nil
		case env.Type == "":
			return errors.New("a message without a type")
		}
	}
}
