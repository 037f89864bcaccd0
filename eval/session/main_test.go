package session_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strconv"
	"testing"

	"assay/internal/protocol"
	"assay/internal/subprocess/subprocesstest"
)

// TestMain makes the test binary play the subprocesses that tests start: a kernel or agent
// ("play ROLE FD"), the supervisor's cleanup helper and the sandbox's launcher
// ("launch PLAN -- [COMMAND...]").
func TestMain(m *testing.M) {
	subprocesstest.RunTestsOrRole(m, map[string]subprocesstest.Role{"play": func(args []string) int { return playChild(args[0], args[1]) }, "launch": subprocesstest.RunSandboxLauncher})
}

// sandboxLauncherCommand returns the command with which the test binary starts another command
// in a sandbox.
func sandboxLauncherCommand() []string { return []string{os.Args[0], "launch"} }

// childCommand returns the command that makes the test binary play a kernel or agent in this
// role. It sets GORACE, which a kernel's environment lacks.
func childCommand(role string) []string {
	return []string{"env", "GORACE=" + os.Getenv("GORACE"), os.Args[0], "play", role}
}

// playChild is the main function of a child process of the test, with its socket on file
// descriptor fd. Every role is an agent; some are also kernels. It returns the exit status.
func playChild(role, fd string) int {
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
	write := func(message string) { _ = conn.Write([]byte(message)) }
	switch role {
	case "runs queries":
		write(`{"type":"ready"}`)
		write(`{"type":"agent_event","text":"not yet"}`)
		write(`{"type":"agent_status","status":"thinking"}`)
		write(`{"type":"agent_status","status":"ready"}`)
		playQueryRunner(conn)
	case "early exit": // also a kernel
		fmt.Fprintln(os.Stderr, "no such module: frobnicate")
		return 7
	case "exit at init":
		write(`{"type":"ready"}`)
		_, _ = conn.Read()
		fmt.Fprintln(os.Stderr, "I do not like this session")
		return 8
	case "talker": // also a kernel; prints lines in pieces
		write(`{"type":"ready"}`)
		write(`{"type":"agent_status","status":"ready"}`)
		playLinePrinter()
		write(`{"type":"error","data":{"message":"all lines are printed"}}`)
	case "shows environment":
		folder, _ := os.Getwd()
		for _, entry := range append(os.Environ(), "folder="+folder) {
			fmt.Println(entry)
		}
		write(`{"type":"ready"}`)
		write(`{"type":"agent_status","status":"ready"}`)
	default:
		return 102
	}
	select {} // until it is killed
}

// playQueryRunner plays an agent that, for each query that it gets, creates and runs a cell
// with the query's text, until the connection ends.
func playQueryRunner(conn protocol.Conn) {
	for n := 0; ; n++ {
		body, err := conn.Read()
		if err != nil {
			return
		}
		var query protocol.AgentQuery
		if json.Unmarshal(body, &query) != nil || query.Type != protocol.TypeAgentQuery {
			continue
		}
		params, _ := json.Marshal(map[string]any{"position": 0, "cell_type": "code", "source": query.Query, "auto_run": true})
		action, _ := json.Marshal(protocol.AgentAction{
			Type: protocol.TypeAgentAction, Action: "create_cell", Params: params, TxID: fmt.Sprintf("tx_%d", n),
		})
		_ = conn.Write(action)
	}
}

// playLinePrinter prints testLineCount lines on both stdout and stderr, in pieces that do not
// end where lines do, and then an unfinished line on stdout.
func playLinePrinter() {
	out, errs := bufio.NewWriterSize(os.Stdout, printPieceBytes), bufio.NewWriterSize(os.Stderr, printPieceBytes)
	for i := range testLineCount {
		fmt.Fprintln(out, linePrinterLine(i))
		fmt.Fprintln(errs, linePrinterLine(i))
	}
	fmt.Fprint(out, "the end")
	_, _ = out.Flush(), errs.Flush()
}

// The output of a talker.
const (
	testLineCount   = 3000 // lines per stream, so many that they do not arrive in one chunk
	printPieceBytes = 1021 // size of each write, so that lines are cut
)

// linePrinterLine returns the text of line number i that the child in the role "talker" prints.
func linePrinterLine(i int) string {
	return fmt.Sprintf("line %d, of some length, so that many lines are cut where a piece ends", i)
}
