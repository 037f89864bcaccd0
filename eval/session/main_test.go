package session_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strconv"
	"testing"

	"go.uber.org/goleak"

	"assay/internal/protocol"
	"assay/internal/subprocess"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == "play" {
		os.Exit(playChild(os.Args[2], os.Args[3]))
	}
	if len(os.Args) > 1 && os.Args[1] == "reap" {
		if err := subprocess.RunCleanupHelper(os.Stdin); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	// The race detector would keep each of our subprocesses for a second at exit.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// childCommand is the command that makes the test binary play a subprocess. A kernel
// gets little of the environment, so the race detector is told again.
func childCommand(role string) []string {
	return []string{"env", "GORACE=" + os.Getenv("GORACE"), os.Args[0], "play", role}
}

// playChild is the subprocess, an agent unless it says otherwise.
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
	say := func(message string) { _ = conn.Write([]byte(message)) }
	switch role {
	case "runs queries":
		say(`{"type":"ready"}`)
		say(`{"type":"agent_event","text":"not yet"}`)
		say(`{"type":"agent_status","status":"thinking"}`)
		say(`{"type":"agent_status","status":"ready"}`)
		runQueries(conn)
	case "early exit": // also as a kernel
		fmt.Fprintln(os.Stderr, "no such module: frobnicate")
		return 7
	case "exit at init":
		say(`{"type":"ready"}`)
		_, _ = conn.Read()
		fmt.Fprintln(os.Stderr, "I do not like this session")
		return 8
	case "talker": // also as a kernel: prints lines in pieces
		say(`{"type":"ready"}`)
		say(`{"type":"agent_status","status":"ready"}`)
		printTestLines()
		say(`{"type":"error","data":{"message":"all was said"}}`)
	case "shows environment":
		folder, _ := os.Getwd()
		for _, entry := range append(os.Environ(), "folder="+folder) {
			fmt.Println(entry)
		}
		say(`{"type":"ready"}`)
		say(`{"type":"agent_status","status":"ready"}`)
	default:
		return 102
	}
	select {} // until it is killed
}

// runQueries makes a cell of each query, and runs it.
func runQueries(conn protocol.Conn) {
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

// printTestLines prints lines in pieces, on both streams, and at last the beginning of
// one.
func printTestLines() {
	out, errs := bufio.NewWriterSize(os.Stdout, printPieceBytes), bufio.NewWriterSize(os.Stderr, printPieceBytes)
	for i := range testLineCount {
		fmt.Fprintln(out, testLine(i))
		fmt.Fprintln(errs, testLine(i))
	}
	fmt.Fprint(out, "the end")
	_, _ = out.Flush(), errs.Flush()
}

// What a talker prints: so much of it that it does not come in one chunk.
const (
	testLineCount   = 3000
	printPieceBytes = 1021 // bytes
)

func testLine(i int) string {
	return fmt.Sprintf("line %d, of some length, so that many a line is cut where a piece ends", i)
}
