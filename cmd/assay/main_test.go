package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"assay/internal/protocol"
	"assay/internal/sandbox"
)

func TestMain(m *testing.M) {
	if err := os.Setenv(quickExit()); err != nil {
		panic(err)
	}
	testscript.Main(m, map[string]func(){
		"assay":    main,
		"badagent": func() { os.Exit(badAgent(os.Args[1], os.Args[2])) },
	})
}

// quickExit is a variable for the programs that tests start: the race detector
// would keep each of them for a second at its exit.
func quickExit() (name, value string) { return "GORACE", "atexit_sleep_ms=0" }

// TestScripts runs the command line as a user does: testdata/script/*.txtar.
// Beside testscript's own commands they have
//
//	awaitfile FILE TEXT    waits until FILE holds TEXT
//	mockmodel FILE         starts assay mockmodel and puts its address into $MOCK
//	nofiles GLOB           waits until no file matches
//	smalldisk DIR SIZE     mounts a disk of so many bytes at DIR; wants [mount]
//	nothingleft TEXT       fails when a process has TEXT in its arguments or environment
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv(quickExit())
			examples, err := filepath.Abs(filepath.Join("..", "..", "docs", "examples"))
			env.Setenv("EXAMPLES", examples)
			return err
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "mount":
				return mayMount()
			case "landlock":
				return sandbox.ProbeMachine(t.Context(), []string{"true"}).LandlockVersion > 0, nil
			default:
				return false, fmt.Errorf("unknown condition %q", name)
			}
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"awaitfile":   awaitFile,
			"nothingleft": nothingLeft,
			"nofiles":     noFiles,
			"smalldisk":   smallDisk,
			"mockmodel":   mockModel,
		},
	})
}

const patience = 20 * time.Second

func awaitFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: awaitfile FILE TEXT")
	}
	matches := func() bool {
		files, err := filepath.Glob(ts.MkAbs(args[0]))
		ts.Check(err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err == nil && strings.Contains(string(text), args[1]) {
				return true
			}
		}
		return false
	}
	poll(ts, matches, fmt.Sprintf("%s does not hold %q", args[0], args[1]))
}

// mayMount tells whether a disk can be mounted here: by root, and not in every
// container.
func mayMount() (bool, error) {
	dir, err := os.MkdirTemp("", "mount-")
	if err != nil {
		return false, err
	}
	if syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=4k") != nil {
		return false, os.Remove(dir)
	}
	return true, errors.Join(syscall.Unmount(dir, syscall.MNT_DETACH), os.Remove(dir))
}

func smallDisk(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: smalldisk DIR SIZE")
	}
	dir := ts.MkAbs(args[0])
	ts.Check(os.Mkdir(dir, 0o700))
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+args[1]); err != nil {
		ts.Fatalf("mount: %v", err)
	}
	ts.Defer(func() { ts.Check(syscall.Unmount(dir, syscall.MNT_DETACH)) })
}

func noFiles(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: nofiles GLOB")
	}
	poll(ts, func() bool {
		files, err := filepath.Glob(ts.MkAbs(args[0]))
		ts.Check(err)
		return len(files) == 0
	}, "still there: "+args[0])
}

func nothingLeft(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: nothingleft TEXT")
	}
	poll(ts, func() bool { return len(processesWith(args[0])) == 0 }, "still there: "+args[0])
}

// mockModel starts the scripted API as a process, which ends with the script.
func mockModel(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: mockmodel FILE")
	}
	program, err := exec.LookPath("assay")
	ts.Check(err)
	cmd := exec.Command(program, "mockmodel", "--script", ts.MkAbs(args[0]))
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	ts.Defer(func() {
		ts.Check(cmd.Process.Signal(syscall.SIGTERM))
		_ = cmd.Wait()
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	ts.Check(err)
	ts.Setenv("MOCK", strings.TrimSpace(address))
}

func poll(ts *testscript.TestScript, done func() bool, problem string) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); !done(); <-tick.C {
		if time.Now().After(deadline) {
			ts.Fatalf("after %v: %s", patience, problem)
		}
	}
}

// processesWith are the processes, other than this one, that have text in their
// arguments or environment. A zombie has neither.
func processesWith(text string) (pids []string) {
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range folders {
		pid := filepath.Base(folder)
		if pid == strconv.Itoa(os.Getpid()) {
			continue
		}
		args, _ := os.ReadFile(filepath.Join(folder, "cmdline"))
		env, _ := os.ReadFile(filepath.Join(folder, "environ"))
		if strings.Contains(string(args)+string(env), text) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// badAgent is an agent that misbehaves in the way that is named.
func badAgent(how, fd string) int {
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
	case "mute":
		_, _ = conn.Read()
		return 0
	}
	if err := greet(conn); err != nil {
		return 102
	}
	return misbehave(how, conn)
}

const submission = `{"type":"agent_history_updated","entry":{"type":"anthropic_message","role":"assistant","content":[{"type":"tool_use","id":"t","name":"submit_response","input":{"summary":"<EVAL_ANSWER>{\"x\":%d}</EVAL_ANSWER> [EVAL_COMPLETE]","next_status":"done"}}]}}`

func misbehave(how string, conn protocol.Conn) int {
	switch how {
	case "dies":
		fmt.Fprintln(os.Stderr, "out of luck")
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "twice":
		_ = conn.Write(fmt.Appendf(nil, submission, 42))
		_ = conn.Write(fmt.Appendf(nil, submission, 1))
	case "flood": // asks without end and reads nothing
		for i := 0; ; i++ {
			err := conn.Write(fmt.Appendf(nil, `{"type":"agent_action","action":"get_context","params":{},"tx_id":"tx_%d"}`, i))
			if err != nil {
				return 0
			}
		}
	case "brokenjson":
		_ = conn.Write([]byte(`{"type":"agent_action",`))
		_ = conn.Write(fmt.Appendf(nil, submission, 42))
	case "chatter": // prints 32 MiB, none of it a line
		block := strings.Repeat("chatter ", 1<<17)
		for range 32 {
			_, _ = fmt.Print(block)
		}
		_ = conn.Write(fmt.Appendf(nil, submission, 42))
	}
	for { // an agent stays until its server goes
		if _, err := conn.Read(); err != nil {
			return 0
		}
	}
}

// greet goes through the handshake, up to the query.
func greet(conn protocol.Conn) error {
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
