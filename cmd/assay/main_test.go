package main

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"assay/internal/model/mockapi"
	"assay/internal/model/script"
	"assay/internal/sandbox"
)

// TestMain runs the tests with two more programs on PATH: assay, which is this test binary
// under another name, and faultyagent. Any other use of the test binary as a program is an
// error: it would run all tests, which would start it again.
func TestMain(m *testing.M) {
	if err := prepareEnvironment(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	testscript.Main(m, map[string]func(){
		"assay":       main,
		"faultyagent": func() { os.Exit(runFaultyAgent(os.Args[1], os.Args[2])) },
	})
}

// prepareEnvironment sets GORACE and PATH for the test binary and for the programs that tests
// start. In the programs assay and faultyagent, which inherit them, it does nothing. It fails if
// the binary was started as another program, or if python3 cannot be run.
func prepareEnvironment() error {
	switch filepath.Base(os.Args[0]) {
	case "assay", "faultyagent":
		return nil
	}
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		return fmt.Errorf("%s: unknown argument %q: the tests start this binary as assay only", os.Args[0], os.Args[1])
	}
	return errors.Join(os.Setenv(raceExitEnv()), addPythonToPath())
}

// addPythonToPath puts the folder of the interpreter behind python3 in front of PATH. A version
// manager's python3 is a shell script that takes longer to start than the kernel does.
func addPythonToPath() error {
	found, err := exec.LookPath("python3")
	if err != nil {
		return err
	}
	out, err := exec.Command(found, "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		return fmt.Errorf("%s: %w", found, err)
	}
	folder := filepath.Dir(strings.TrimSpace(string(out)))
	if folder == filepath.Dir(found) {
		return nil
	}
	return os.Setenv("PATH", folder+string(filepath.ListSeparator)+os.Getenv("PATH"))
}

// raceExitEnv returns an environment variable for the programs that tests start. Without it
// the race detector delays the exit of each of them by 1 s.
func raceExitEnv() (name, value string) { return "GORACE", "atexit_sleep_ms=0" }

// TestScripts runs the scripts testdata/script/*.txtar, which use the command line as users do.
// In addition to testscript's own commands they have
//
//	awaitfile GLOB TEXT         waits until a matching file contains TEXT
//	awaitnofiles GLOB           waits until no file matches
//	awaitnoprocess TEXT         waits until no process has TEXT in its arguments or environment
//	heldmodel FILE GLOB TEXT    starts a scripted model API and sets $MOCK to its address; the first
//	                            request is not answered until a matching file contains TEXT
//	mockmodel FILE              starts assay mockmodel and sets $MOCK to its address
//	mountdisk DIR SIZE          mounts a disk of SIZE bytes at DIR; needs the condition [mount]
//
// and the conditions [mount], disks can be mounted, and [landlock], the kernel has Landlock.
// $EXAMPLES is the folder docs/examples, $SDK the one of assay_agent.py, $CHECKDATA the one of faulty_agent.py.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv(raceExitEnv())
			examples, err := filepath.Abs(filepath.Join("..", "..", "docs", "examples"))
			env.Setenv("EXAMPLES", examples)
			env.Setenv("SDK", filepath.Join(examples, "..", "..", "agent", "python"))
			env.Setenv("CHECKDATA", filepath.Join(examples, "..", "..", "agent", "check", "testdata"))
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
			"awaitfile":      awaitFileText,
			"awaitnofiles":   awaitNoFiles,
			"awaitnoprocess": awaitNoProcess,
			"heldmodel":      startModelHeldUntilText,
			"mockmodel":      startMockModel,
			"mountdisk":      mountDisk,
		},
	})
}

// waitTimeout bounds each wait for an event. Events come within a second or two; only a
// fault or a machine that is busy many times over lets a wait last this long.
const waitTimeout = time.Minute

func awaitFileText(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: awaitfile GLOB TEXT")
	}
	pattern := ts.MkAbs(args[0])
	pollScript(ts, func() bool { return fileContains(pattern, args[1]) }, fmt.Sprintf("%s does not contain %q", args[0], args[1]))
}

// fileContains reports whether a file that matches pattern contains text. It panics if pattern is
// malformed.
func fileContains(pattern, text string) bool {
	files, err := filepath.Glob(pattern)
	if err != nil {
		panic(err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err == nil && strings.Contains(string(content), text) {
			return true
		}
	}
	return false
}

// canMount reports whether this process can mount a disk: root can, but not in every container.
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
		ts.Fatalf("usage: mountdisk DIR SIZE")
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
		ts.Fatalf("usage: awaitnofiles GLOB")
	}
	pollScript(ts, func() bool {
		files, err := filepath.Glob(ts.MkAbs(args[0]))
		ts.Check(err)
		return len(files) == 0
	}, "files still there: "+args[0])
}

func awaitNoProcess(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: awaitnoprocess TEXT")
	}
	pollScript(ts, func() bool { return len(findProcessesWithText(args[0])) == 0 }, "processes still running: "+args[0])
}

// startMockModel starts assay mockmodel, the scripted model API, and sets $MOCK to its
// address. It ends with the script.
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

// startModelHeldUntilText starts the scripted model API in this process and sets $MOCK to its address. It
// does not answer the first request until a file that matches GLOB contains TEXT.
func startModelHeldUntilText(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: heldmodel FILE GLOB TEXT")
	}
	turns, err := script.Parse(args[0], []byte(ts.ReadFile(args[0])))
	ts.Check(err)
	pattern, text := ts.MkAbs(args[1]), args[2]
	api := mockapi.New(turns, nil)
	var first sync.Once
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		first.Do(func() { pollUntil(func() bool { return fileContains(pattern, text) }) })
		api.ServeHTTP(w, r)
	}))
	ts.Defer(web.Close)
	ts.Setenv("MOCK", web.URL)
}

// pollScript waits until done returns true. After waitTimeout it fails the script with problem.
func pollScript(ts *testscript.TestScript, done func() bool, problem string) {
	if !pollUntil(done) {
		ts.Fatalf("after %v: %s", waitTimeout, problem)
	}
}

// pollUntil waits until done returns true, and returns false after waitTimeout.
func pollUntil(done func() bool) bool {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(waitTimeout); !done(); <-tick.C {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// findProcessesWithText returns the ids of the processes other than this one that have text in their
// arguments or environment. Zombies have neither, so they are never found.
func findProcessesWithText(text string) (pids []string) {
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
