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

// scriptedAgentSource is the source of an agent in Python. It executes the Python between #!agent and
// #!end of each query, which may use the functions that are defined here. Then it sends the
// agent_event "done", or a fatal agent_error with the traceback.
const scriptedAgentSource = `
import itertools, json, os, signal, socket, struct, sys, time, traceback

sock = socket.socket(fileno=int(sys.argv[-1]))
tx_numbers = itertools.count(1)
unread, cell_ids = [], []


def send(**message):
    body = json.dumps(message).encode()
    sock.sendall(struct.pack("<q", len(body)) + body)


def read_exactly(n):
    data = b""
    while len(data) < n:
        data += sock.recv(n - len(data)) or sys.exit()
    return data


def receive(matches):
    """Return the first matching message that has not been returned yet."""
    for i, message in enumerate(unread):
        if matches(message):
            return unread.pop(i)
    while True:
        message = json.loads(read_exactly(struct.unpack("<q", read_exactly(8))[0]))
        if matches(message):
            return message
        unread.append(message)


def has_type(kind):
    return lambda m: m["type"] == kind


def start_action(action, **params):
    """Send an action and return its tx_id."""
    tx = f"tx_{next(tx_numbers)}"
    send(type="agent_action", action=action, params=params, tx_id=tx)
    return tx


def await_response(tx):
    return receive(lambda m: m["type"] == "agent_action_response" and m["tx_id"] == tx)


def do_action(action, **params):
    """Send an action and return the response."""
    return await_response(start_action(action, **params))


def start_cell(source):
    """Append a cell, run it, and return its id at once."""
    cell = do_action("create_cell", position=len(cell_ids), cell_type="code", source=source, auto_run=True)["cell_id"]
    cell_ids.append(cell)
    return cell


def receive_from_cell(kind, cell):
    return receive(lambda m: m["type"] == "kernel_message" and m["message"]["type"] == kind and m["message"].get("cell_id") == cell)["message"]


def run_cell(source):
    """Append a cell, run it to its end, and return the cell_result."""
    return receive_from_cell("cell_result", start_cell(source))


def submit(value):
    summary = f"<EVAL_ANSWER>{json.dumps(value)}</EVAL_ANSWER> [EVAL_" + "COMPLETE]"
    call = {"type": "tool_use", "id": "t", "name": "submit_response", "input": {"summary": summary, "next_status": "done"}}
    send(type="agent_history_updated", entry={"type": "anthropic_message", "role": "assistant", "content": [call]})


send(type="ready")
receive(has_type("init"))
send(type="agent_status", status="ready")
while True:
    query = receive(has_type("agent_query"))["query"]
    try:
        exec(query.split("#!agent\n")[1].split("#!end")[0], globals())
        send(type="agent_event", channel="py", mode="PY", text="done", metadata={"type": "response"})
    except Exception:
        send(type="agent_error", error=traceback.format_exc(), fatal=True)
`

// queryThatExecutes returns a query that makes the scripted agent execute python.
func queryThatExecutes(python string) string { return "#!agent\n" + python + "\n#!end" }

// writeAgentCase writes the case dir/ID.json and returns its path. In it the scripted agent
// executes python; the answer 42 passes.
func writeAgentCase(t *testing.T, dir, id, python string) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{
		"id": id, "task": queryThatExecutes(python),
		"grader": map[string]any{"type": "exact", "config": map[string]any{"ground_truth": 42}},
	})
	require.NoError(t, err)
	return writeFile(t, filepath.Join(dir, id+".json"), string(text))
}

// sourceWaitingForFile returns Python for a cell that prints word and then waits until file
// exists in the working folder.
func sourceWaitingForFile(word, file string) string {
	return fmt.Sprintf("import os, time\nprint(%q, flush=True)\nwhile not os.path.exists(%q): time.sleep(0.005)", word, file)
}

// runFaultyAgent runs an agent with the fault that how names, on the socket with the file
// descriptor fd, and returns its exit status. An unknown fault is an agent that does nothing.
func runFaultyAgent(how, fd string) int {
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
	if err := answerUntilFirstQuery(conn); err != nil {
		return 102
	}
	return actOutFault(how, conn)
}

// submissionFrameFormat is the format of a message that submits the answer {"x": %d}.
const submissionFrameFormat = `{"type":"agent_history_updated","entry":{"type":"anthropic_message","role":"assistant","content":[{"type":"tool_use","id":"t","name":"submit_response","input":{"summary":"<EVAL_ANSWER>{\"x\":%d}</EVAL_ANSWER> [EVAL_COMPLETE]","next_status":"done"}}]}}`

// actOutFault has the faults that follow the handshake. It returns when the server has closed
// the connection.
func actOutFault(how string, conn protocol.Conn) int {
	switch how {
	case "killed":
		fmt.Fprintln(os.Stderr, "out of luck")
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "submits-twice":
		_ = conn.Write(fmt.Appendf(nil, submissionFrameFormat, 42))
		_ = conn.Write(fmt.Appendf(nil, submissionFrameFormat, 1))
	case "flood": // sends actions without end and reads nothing
		for i := 0; ; i++ {
			err := conn.Write(fmt.Appendf(nil, `{"type":"agent_action","action":"get_context","params":{},"tx_id":"tx_%d"}`, i))
			if err != nil {
				return 0
			}
		}
	case "invalid-json":
		_ = conn.Write([]byte(`{"type":"agent_action",`))
		_ = conn.Write(fmt.Appendf(nil, submissionFrameFormat, 42))
	case "long-output": // prints 32 MiB, none of it a line
		block := strings.Repeat("printing", 1<<17)
		for range 32 {
			_, _ = fmt.Print(block)
		}
		_ = conn.Write(fmt.Appendf(nil, submissionFrameFormat, 42))
	}
	for { // until the server closes the connection
		if _, err := conn.Read(); err != nil {
			return 0
		}
	}
}

// answerUntilFirstQuery answers the messages of the server until the first query has come.
func answerUntilFirstQuery(conn protocol.Conn) error {
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
