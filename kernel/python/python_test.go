package python_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"assay/internal/protocol"
	"assay/kernel/python"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestUnpackSources(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "kernel")
	start, err := python.UnpackSources(dir)
	require.NoError(t, err)
	require.FileExists(t, start)
	require.FileExists(t, python.PoolParentStartFile(dir))
	require.FileExists(t, filepath.Join(dir, "assay", "kernel.py"))
	require.NoDirExists(t, filepath.Join(dir, "tests"))

	_, err = python.UnpackSources(dir)
	require.ErrorIs(t, err, fs.ErrExist)
}

// maxTestProcesses is how many files of Python tests run at a time. More would disturb each
// other, since they measure time.
const maxTestProcesses = 4

// TestPythonUnitTests runs the kernel's own tests, which are written in Python, against the
// unpacked kernel. Each file is a subtest with python3 from PATH, and another one with the
// system's python3 if that is a different one with numpy, pandas and matplotlib. A test that
// all interpreters skip is skipped here too, by name and with the reason; in CI it fails if
// the reason is a missing module.
func TestPythonUnitTests(t *testing.T) {
	t.Parallel()
	start, err := python.UnpackSources(t.TempDir())
	require.NoError(t, err)
	files, err := filepath.Glob(filepath.Join("tests", "test_*.py"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	found := testInterpreters(t)
	for _, interpreter := range found {
		// Without compiled modules each start of a kernel would compile them.
		out, err := exec.CommandContext(t.Context(), interpreter, "-m", "compileall", "-q", filepath.Dir(start)).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}

	var mu sync.Mutex
	skipped := map[string][]string{} // reasons by test, one for each interpreter that skips it
	running := make(chan struct{}, maxTestProcesses)
	t.Run("files", func(t *testing.T) {
		for i, interpreter := range found {
			for _, file := range files {
				t.Run(fmt.Sprintf("%s/python%d", filepath.Base(file), i+1), func(t *testing.T) {
					t.Parallel()
					running <- struct{}{}
					defer func() { <-running }()
					reasons := runPythonTestFile(t, interpreter, file, start)
					mu.Lock()
					defer mu.Unlock()
					for test, reason := range reasons {
						skipped[test] = append(skipped[test], reason)
					}
				})
			}
		}
	})
	for test, reasons := range skipped {
		if len(reasons) < len(found) {
			continue
		}
		t.Run(test, func(t *testing.T) {
			t.Parallel()
			if os.Getenv("CI") == "true" && strings.Contains(reasons[0], " lacks ") {
				t.Fatal(reasons[0])
			}
			t.Skip(reasons[0])
		})
	}
}

// runPythonTestFile runs a file of Python unit tests with this interpreter, against the kernel whose
// start file is start. The Go test fails if one of them fails. It returns the reasons of
// skipped tests by test name.
func runPythonTestFile(t *testing.T, interpreter, file, start string) map[string]string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), interpreter, "-m", "unittest", "--verbose", filepath.Base(file))
	cmd.Dir = filepath.Dir(file)
	cmd.Env = append(os.Environ(), "KERNEL_START="+start, "PYTHONDONTWRITEBYTECODE=1")
	if testing.Short() {
		cmd.Env = append(cmd.Env, "SHORT_TESTS=1") // leaves out the longest
	}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s %s\n%s", interpreter, file, out)
	return parseSkippedTests(string(out))
}

// testInterpreters returns the paths of the Python interpreters with which the tests are run:
// python3 and the system's, or with -short one, if possible the system's, which has the packages
// that tests need.
func testInterpreters(t *testing.T) []string {
	t.Helper()
	found := []string{resolveInterpreter(t.Context(), "python3", "pass")}
	require.NotEmpty(t, found[0], "no python3 on PATH")
	system := resolveInterpreter(t.Context(), "/usr/bin/python3", "import numpy, pandas, matplotlib")
	if system != "" && system != found[0] {
		found = append(found, system)
	}
	if testing.Short() {
		return found[len(found)-1:]
	}
	return found
}

// resolveInterpreter returns the path of the real interpreter behind a name or shim, or "" if
// it cannot run code, which is Python source.
func resolveInterpreter(ctx context.Context, interpreter, code string) string {
	code += "\nimport os, sys; print(os.path.realpath(sys.executable))"
	out, err := exec.CommandContext(ctx, interpreter, "-c", code).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// parseSkippedTests parses a verbose report of unittest and returns the reasons of skipped tests by
// test name.
func parseSkippedTests(report string) map[string]string {
	found := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^(\S+) .*\.\.\. skipped ['"](.*)['"]$`).FindAllStringSubmatch(report, -1) {
		found[m[1]] = m[2]
	}
	return found
}

// TestCellAndRequestsOverTheSocket runs a cell and sends requests to the Python kernel, with the message
// types of package protocol.
func TestCellAndRequestsOverTheSocket(t *testing.T) {
	t.Parallel()
	conn := startKernel(t)

	var ready protocol.Ready
	receiveMessage(t, conn, protocol.TypeReady, &ready)
	require.Equal(t, "python", ready.Language)
	require.True(t, ready.Actions)
	sendMessage(t, conn, protocol.NewKernelInit(ready.PID))

	code := "x = [1]\nprint('hello')\nx"
	sendMessage(t, conn, protocol.CellCommand{Type: protocol.TypeRunCell, CellID: "c1", Code: &code})
	var start protocol.StartCell
	receiveMessage(t, conn, protocol.TypeStartCell, &start)
	require.Equal(t, "c1", *start.CellID)
	requireReceivedText(t, conn, "c1", "hello\n")
	var output protocol.CellOutput
	receiveMessage(t, conn, protocol.TypeCellOutput, &output)
	require.JSONEq(t, `{"output_type":"execute_result","data":{"text/plain":"[1]"},"metadata":{},"execution_count":1}`, string(output.Output))
	var result protocol.CellResult
	receiveMessage(t, conn, protocol.TypeCellResult, &result)
	require.Equal(t, protocol.StatusOK, result.Status)
	require.Equal(t, []string{"x"}, result.Outputs)
	require.Equal(t, start.RunSequencer, result.RunSequencer)
	receiveMessage(t, conn, protocol.TypeStartCell, &start)
	require.Nil(t, start.CellID)

	sendMessage(t, conn, protocol.KernelRequest{Type: protocol.TypeGlobalsSummary, AgentTxID: "tx"})
	var summary struct {
		Summary   json.RawMessage `json:"summary"`
		AgentTxID string          `json:"agent_tx_id"`
	}
	receiveMessage(t, conn, protocol.TypeGlobalsSummary, &summary)
	require.Equal(t, "tx", summary.AgentTxID)
	require.JSONEq(t, `{"x":{"type":"list","repr":"[1]","len":1}}`, string(summary.Summary))

	sendMessage(t, conn, protocol.KernelRequest{Type: protocol.TypeExecuteCode, AgentTxID: "e", Code: new("1 / 0")})
	var response protocol.ExecuteCodeResponse
	receiveMessage(t, conn, protocol.TypeExecuteCodeResponse, &response)
	require.Equal(t, protocol.StatusError, response.Status)
	require.Equal(t, "ZeroDivisionError", response.EName)
}

// startKernel starts a Python kernel process with python3 and returns the connection to it.
// After the test it closes the connection and waits for the process.
func startKernel(t *testing.T) protocol.Conn {
	t.Helper()
	start, err := python.UnpackSources(t.TempDir())
	require.NoError(t, err)
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	ours, theirs := os.NewFile(uintptr(pair[0]), "ours"), os.NewFile(uintptr(pair[1]), "theirs")
	// Not the test's context, which ends before the cleanup lets the kernel exit by itself.
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "python3", "-u", start, "3")
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.Stderr = t.Output()
	require.NoError(t, cmd.Start())
	require.NoError(t, theirs.Close())
	end, err := net.FileConn(ours)
	require.NoError(t, err)
	require.NoError(t, ours.Close())
	conn := protocol.NewStream(end, 0)
	t.Cleanup(func() {
		require.NoError(t, conn.Close(protocol.CloseNormal, ""))
		require.NoError(t, cmd.Wait())
	})
	return conn
}

// sendMessage sends a message to the kernel as JSON.
func sendMessage(t *testing.T, conn protocol.Conn, message any) {
	t.Helper()
	body, err := json.Marshal(message)
	require.NoError(t, err)
	require.NoError(t, conn.Write(body))
}

// requireReceivedText reads text frames until they contain as many bytes as want. The test fails
// unless the text is want, on stdout, of this cell.
func requireReceivedText(t *testing.T, conn protocol.Conn, cellID, want string) {
	t.Helper()
	got := ""
	for len(got) < len(want) {
		body, err := conn.Read()
		require.NoError(t, err)
		raw, err := protocol.ParseRawFrame(body)
		require.NoError(t, err)
		require.Equal(t, protocol.Stdout, raw.Stream)
		require.Equal(t, cellID, raw.CellID)
		got += string(raw.Text)
	}
	require.Equal(t, want, got)
}

// receiveMessage reads the next message and decodes it into into. The test fails if it has
// another type.
func receiveMessage(t *testing.T, conn protocol.Conn, messageType string, into any) {
	t.Helper()
	body, err := conn.Read()
	require.NoError(t, err)
	var typed struct {
		Type string `json:"type"`
	}
	require.NoError(t, json.Unmarshal(body, &typed))
	require.Equal(t, messageType, typed.Type, "%s", body)
	require.NoError(t, json.Unmarshal(body, into))
}
