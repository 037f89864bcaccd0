package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"assay/internal/sandbox"
)

func TestMain(m *testing.M) {
	if err := os.Setenv(raceExitEnv()); err != nil {
		panic(err)
	}
	testscript.Main(m, map[string]func(){
		"assay":    main,
		"badagent": func() { os.Exit(faultyAgent(os.Args[1], os.Args[2])) },
	})
}

// raceExitEnv is a variable for the programs that tests start: the race detector
// would keep each of them for a second at its exit.
func raceExitEnv() (name, value string) { return "GORACE", "atexit_sleep_ms=0" }

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
			env.Setenv(raceExitEnv())
			examples, err := filepath.Abs(filepath.Join("..", "..", "docs", "examples"))
			env.Setenv("EXAMPLES", examples)
			return err
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "mount":
				return canMount()
			case "landlock":
				return sandbox.ProbeMachine(t.Context(), []string{"true"}).LandlockVersion > 0, nil
			default:
				return false, fmt.Errorf("unknown condition %q", name)
			}
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"awaitfile":   awaitFileText,
			"nothingleft": awaitNoProcess,
			"nofiles":     awaitNoFiles,
			"smalldisk":   mountDisk,
			"mockmodel":   startMockModel,
		},
	})
}

// waitTimeout bounds each wait for an event. Events come within a second or two; only a
// fault or a machine that is busy many times over lets a wait last this long.
const waitTimeout = time.Minute

func awaitFileText(ts *testscript.TestScript, neg bool, args []string) {
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
	pollScript(ts, matches, fmt.Sprintf("%s does not hold %q", args[0], args[1]))
}

// canMount tells whether a disk can be mounted here: by root, and not in every
// container.
func canMount() (bool, error) {
	dir, err := os.MkdirTemp("", "mount-")
	if err != nil {
		return false, err
	}
	if syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=4k") != nil {
		return false, os.Remove(dir)
	}
	return true, errors.Join(syscall.Unmount(dir, syscall.MNT_DETACH), os.Remove(dir))
}

func mountDisk(ts *testscript.TestScript, neg bool, args []string) {
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

func awaitNoFiles(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: nofiles GLOB")
	}
	pollScript(ts, func() bool {
		files, err := filepath.Glob(ts.MkAbs(args[0]))
		ts.Check(err)
		return len(files) == 0
	}, "still there: "+args[0])
}

func awaitNoProcess(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: nothingleft TEXT")
	}
	pollScript(ts, func() bool { return len(findProcesses(args[0])) == 0 }, "still there: "+args[0])
}

// startMockModel starts the scripted API as a process, which ends with the script.
func startMockModel(ts *testscript.TestScript, neg bool, args []string) {
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

func pollScript(ts *testscript.TestScript, done func() bool, problem string) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(waitTimeout); !done(); <-tick.C {
		if time.Now().After(deadline) {
			ts.Fatalf("after %v: %s", waitTimeout, problem)
		}
	}
}

// findProcesses are the processes, other than this one, that have text in their
// arguments or environment. A zombie has neither.
func findProcesses(text string) (pids []string) {
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
