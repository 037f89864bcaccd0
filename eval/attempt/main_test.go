package attempt_test

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/agent"
	"assay/eval/attempt"
	"assay/eval/runs"
	"assay/internal/protocol"
	"assay/internal/subprocess"
	"assay/internal/subprocess/subprocesstest"
	"assay/kernel"
	"assay/testcases"
)

// TestMain makes the test binary play the subprocesses that tests start: the
// supervisor's cleanup helper, the sandbox's launcher ("launch PLAN -- COMMAND..."),
// and an agent ("agent ROLE FD").
func TestMain(m *testing.M) {
	subprocesstest.RunTestsOrRole(m, map[string]subprocesstest.Role{"agent": func(args []string) int { return playAgent(args[0], args[1]) }, "launch": subprocesstest.RunSandboxLauncher})
}

// The roles of playAgent.
const (
	// floodsAfterSubmission runs the task's text up to the first blank line as a
	// cell, submits, says done and then sends floodBytes.
	floodsAfterSubmission = "floods after submission"

	// submitsAtOnce submits when it gets the task.
	submitsAtOnce = "submits at once"

	// floodsBeforeTask sends floodBytes as soon as it is ready, and submits when it
	// gets the task.
	floodsBeforeTask = "floods before task"

	// followsTask does what the lines of the task up to the first blank line say. A line is
	// "await TEXT", for a message of the server that contains the text, or a message to send.
	followsTask = "follows task"
)

// floodBytes is how many bytes of messages a flooding agent sends: more than any queue of the
// server holds.
const floodBytes = 24 << 20

// playAgent is the main function of the agent process that the test binary plays in this role.
// It returns the exit status.
func playAgent(role, fd string) int {
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
	write := func(messages ...string) {
		for _, message := range messages {
			_ = conn.Write([]byte(message))
		}
	}
	write(`{"type":"ready"}`)
	awaitMessage(conn, protocol.TypeInit)
	write(`{"type":"agent_status","status":"ready"}`)
	if role == floodsBeforeTask {
		write(floodMessages()...)
	}
	query := awaitMessage(conn, protocol.TypeAgentQuery)
	if role == followsTask {
		followTask(query, conn)
	}
	if role == floodsAfterSubmission {
		var task protocol.AgentQuery
		_ = json.Unmarshal(query, &task)
		source, _, _ := strings.Cut(task.Query, "\n\n")
		params, _ := json.Marshal(map[string]any{"position": 0, "cell_type": "code", "source": source, "auto_run": true})
		action, _ := json.Marshal(protocol.AgentAction{Type: protocol.TypeAgentAction, Action: "create_cell", Params: params, TxID: "tx_1"})
		write(string(action))
		for !strings.Contains(string(awaitMessage(conn, protocol.TypeKernelMessage)), protocol.TypeCellResult) {
		}
	}
	write(submissionMessage(`<EVAL_ANSWER>{\"n\": 1}</EVAL_ANSWER> `+completionMarker), `{"type":"agent_status","status":"done"}`)
	if role == floodsAfterSubmission {
		write(floodMessages()...)
	}
	select {} // until it is killed
}

// followTask does what the task in a query says, and waits until the process is killed.
func followTask(query []byte, conn protocol.Conn) {
	var task protocol.AgentQuery
	_ = json.Unmarshal(query, &task)
	lines, _, _ := strings.Cut(task.Query, "\n\n")
	for line := range strings.SplitSeq(lines, "\n") {
		if text, isAwait := strings.CutPrefix(line, "await "); isAwait {
			awaitText(conn, text)
		} else {
			_ = conn.Write([]byte(line))
		}
	}
	select {}
}

// awaitText reads messages from the connection until one contains a text. If the connection ends
// it exits the process.
func awaitText(conn protocol.Conn, text string) {
	for {
		body, err := conn.Read()
		if err != nil {
			os.Exit(0)
		}
		if strings.Contains(string(body), text) {
			return
		}
	}
}

// awaitMessage reads messages from the connection until one has this type, and returns that
// one. If the connection ends it exits the process.
func awaitMessage(conn protocol.Conn, kind string) []byte {
	for {
		body, err := conn.Read()
		if err != nil {
			os.Exit(0)
		}
		if env, err := protocol.NewEnvelopeDecoder().Decode(body); err == nil && env.Type == kind {
			return body
		}
	}
}

// submissionMessage returns the message by which an agent submits an answer with this summary,
// which is JSON text without its quotes.
func submissionMessage(summary string) string {
	return strings.TrimPrefix(submissionFrame(`{"summary":"`+summary+`","next_status":"done"}`), "agent>server ")
}

// floodMessages returns an agent's meaningless messages with floodBytes bytes in all.
func floodMessages() []string {
	const size = 256 << 10
	message := strings.TrimPrefix(historyMessageFrame("user", `"`+strings.Repeat("x", size)+`"`), "agent>server ")
	messages := make([]string, floodBytes/size)
	for i := range messages {
		messages[i] = message
	}
	return messages
}

// runAttempt runs an attempt at a case, given by its JSON fields, with a Python kernel and an
// agent that the test binary plays in this role. configure changes the attempt's Config before
// that. It returns the attempt's line and its folder.
func runAttempt(t *testing.T, role string, fields map[string]any, configure ...func(*attempt.Config)) (result runs.Attempt, dir string) {
	t.Helper()
	text, err := json.Marshal(fields)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "case.json")
	require.NoError(t, os.WriteFile(path, text, 0o600))
	cases, err := testcases.Load([]string{path}, testcases.Options{})
	require.NoError(t, err)
	supervisor, err := subprocess.NewSupervisor(subprocess.Config{CleanupHelper: []string{os.Args[0], subprocesstest.CleanupHelperArg}, Launcher: []string{os.Args[0], "launch"}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, supervisor.Close()) })
	python, err := kernel.ResolvePython(t.Context(), "python3", supervisor.TempDir())
	require.NoError(t, err)
	dir = t.TempDir()
	cfg := attempt.Config{
		Supervisor: supervisor, Kernel: kernel.Config{Python: python}, Environ: os.Environ(), WorkdirRoot: supervisor.TempDir(),
		AgentConfig: func(string) (agent.Config, error) {
			return agent.Config{Command: []string{os.Args[0], "agent", role}, ReadyTimeout: time.Minute}, nil
		},
	}
	for _, change := range configure {
		change(&cfg)
	}
	return attempt.Run(t.Context(), cfg, attempt.Job{Case: cases[0], Epoch: 1, Try: 1, Dir: dir, RelDir: "attempts/1"}), dir
}
