package jupyter_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"assay/internal/protocol"
	"assay/kernel/jupyter"
)

// testTimeout is how long a test may take on a busy machine before its kernel is killed.
const testTimeout = 180 * time.Second

// testKernel is a running adapter process with its Jupyter kernel, and the server's end of the
// connection to it.
type testKernel struct {
	protocol.Conn
	t         *testing.T
	cmd       *exec.Cmd
	workdir   string
	ready     protocol.Ready
	cellCount int // cells sent so far

	mu     sync.Mutex
	stderr bytes.Buffer
}

// installedSpec returns the kernelspec with this name. If it is not installed, the test is
// skipped; in CI it fails.
func installedSpec(t *testing.T, name string) jupyter.Spec {
	t.Helper()
	spec, err := jupyter.FindSpec(t.Context(), name, os.Environ())
	if err != nil && os.Getenv("CI") != "true" {
		t.Skipf("SKIPPED: %v", err)
	}
	require.NoError(t, err)
	return spec
}

// startPythonKernel starts an adapter with the installed Python kernel and waits for its ready
// message.
func startPythonKernel(t *testing.T) *testKernel {
	t.Helper()
	return startKernel(t, installedSpec(t, "python3").Path)
}

// startRKernel starts an adapter with the installed R kernel and waits for its ready message.
func startRKernel(t *testing.T) *testKernel {
	t.Helper()
	return startKernel(t, installedSpec(t, "ir").Path)
}

// startKernel starts an adapter in a new folder, for the kernel.json file at path, and waits
// for its ready message.
func startKernel(t *testing.T, path string) *testKernel {
	t.Helper()
	k := spawnAdapter(t, path, t.TempDir())
	k.awaitReady()
	return k
}

// spawnAdapter starts an adapter process in the folder sandbox, for the kernel.json file at
// path, and kills it after the test. It does not wait for the ready message.
func spawnAdapter(t *testing.T, path, sandbox string) *testKernel {
	t.Helper()
	k := &testKernel{t: t, workdir: sandbox}
	require.NoError(t, os.MkdirAll(k.tempDir(), 0o700))
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	ours, theirs := os.NewFile(uintptr(fds[0]), "ours"), os.NewFile(uintptr(fds[1]), "theirs")
	socket, err := net.FileConn(ours)
	require.NoError(t, err)
	k.cmd = exec.Command(os.Args[0], "jupyter", path, "3")
	k.cmd.Dir, k.cmd.ExtraFiles = sandbox, []*os.File{theirs}
	k.cmd.Env = append(os.Environ(), "TMPDIR="+k.tempDir(), "HOME="+sandbox, "MPLBACKEND=", "LC_ALL=C.UTF-8")
	k.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	k.cmd.Stdout, k.cmd.Stderr = adapterOutputWriter{k}, adapterOutputWriter{k}
	k.cmd.WaitDelay = testTimeout
	require.NoError(t, k.cmd.Start())
	require.NoError(t, ours.Close())
	require.NoError(t, theirs.Close())
	k.Conn = protocol.NewStream(socket, 0)
	watchdog := time.AfterFunc(testTimeout, k.kill)
	t.Cleanup(func() {
		watchdog.Stop()
		_ = k.Close(protocol.CloseNormal, "")
		k.kill()
		_ = k.cmd.Wait()
		if t.Failed() {
			t.Log(k.printedText())
		}
	})
	return k
}

// tempDir returns the folder for temporary files of the kernel.
func (k *testKernel) tempDir() string { return filepath.Join(k.workdir, ".assay", "tmp") }

// kill sends SIGKILL to the adapter's process group.
func (k *testKernel) kill() { _ = syscall.Kill(-k.cmd.Process.Pid, syscall.SIGKILL) }

// adapterOutputWriter appends what the adapter prints to the testKernel's buffer stderr.
type adapterOutputWriter struct{ *testKernel }

func (p adapterOutputWriter) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stderr.Write(text)
}

// printedText returns what the adapter has printed to stdout and stderr so far.
func (k *testKernel) printedText() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.stderr.String()
}

// awaitReady reads the ready message and stores it.
func (k *testKernel) awaitReady() {
	k.t.Helper()
	body, err := k.Read()
	require.NoError(k.t, err, k.printedText())
	require.NoError(k.t, json.Unmarshal(body, &k.ready))
	require.Equal(k.t, protocol.TypeReady, k.ready.Type)
}

// awaitExit waits until the adapter process has exited and returns its wait status.
func (k *testKernel) awaitExit() syscall.WaitStatus {
	k.t.Helper()
	_ = k.cmd.Wait() // ProcessState has the result
	status, ok := k.cmd.ProcessState.Sys().(syscall.WaitStatus)
	require.True(k.t, ok)
	return status
}

// frameFields has those fields of a frame from the adapter that tests look at.
type frameFields struct {
	Type       string
	CellID     *string `json:"cell_id"`
	Sequencer  int     `json:"run_sequencer"`
	ActiveCell *string `json:"active_cell"`
	Stream     string
	Data       json.RawMessage
	Status     string
	HasError   bool `json:"has_exception"`
	Exception  string
	Outputs    []string
	Tables     []string `json:"dataframe_outputs"`
	Plots      []string `json:"figure_outputs"`
	Figures    []string `json:"static_figure_outputs"`
	Output     cellOutput
	Queue      []string
	AgentTxID  string `json:"agent_tx_id"`
	TxID       string `json:"tx_id"`
	Result     *string
	Stdout     string
	Stderr     string
	EName      string
	Error      string
	Summary    json.RawMessage
	Truncated  bool
	Note       string
	Info       json.RawMessage
	Threads    []string
	Errors     map[string]string
	Reactivity map[string]any `json:"cell_reactivity"`
}

// cellOutput is the notebook output inside a cell_output frame.
type cellOutput struct {
	Type           string `json:"output_type"`
	Data           map[string]json.RawMessage
	Metadata       map[string]any
	ExecutionCount int `json:"execution_count"`
	Transient      map[string]string
	Wait           *bool
	EName          string
	EValue         string
	Traceback      []string
}

// textOfMIMEType returns the output's representation for a MIME type, or "" if that is missing or not
// a string.
func (s cellOutput) textOfMIMEType(mime string) string {
	var text string
	_ = json.Unmarshal(s.Data[mime], &text)
	return text
}

// readFrame reads the next frame from the adapter. The test fails if the frame is not valid.
func (k *testKernel) readFrame() frameFields {
	k.t.Helper()
	body, err := k.Read()
	require.NoError(k.t, err, k.printedText())
	text, err := protocol.BodyToJSON(body)
	require.NoError(k.t, err)
	_, err = protocol.NewEnvelopeDecoder().Decode(text)
	require.NoError(k.t, err, "%s", text)
	var f frameFields
	require.NoError(k.t, json.Unmarshal(text, &f), "%s", text)
	return f
}

// readUntil reads frames up to and including the first one of this type and returns them.
func (k *testKernel) readUntil(kind string) []frameFields {
	k.t.Helper()
	for frames := []frameFields{}; ; {
		frames = append(frames, k.readFrame())
		if frames[len(frames)-1].Type == kind {
			return frames
		}
	}
}

// awaitFrame reads frames up to the first one of this type and returns that one.
func (k *testKernel) awaitFrame(kind string) frameFields {
	k.t.Helper()
	frames := k.readUntil(kind)
	return frames[len(frames)-1]
}

// messageFields are the JSON fields of a message to the adapter, without its type.
type messageFields map[string]any

// sendMessage sends the adapter a message of this type with these fields.
func (k *testKernel) sendMessage(kind string, with messageFields) {
	k.t.Helper()
	message := messageFields{"type": kind}
	maps.Copy(message, with)
	body, err := json.Marshal(message)
	require.NoError(k.t, err)
	require.NoError(k.t, k.Write(body))
}

// sendCell sends a run_cell with this code for a new cell and returns the cell's id: "c1",
// "c2" and so on.
func (k *testKernel) sendCell(code string) string {
	k.t.Helper()
	k.cellCount++
	id := "c" + strconv.Itoa(k.cellCount)
	k.sendMessage(protocol.TypeRunCell, messageFields{"cell_id": id, "code": code})
	return id
}

// runCell runs code as a new cell and returns the frames of the run. The test fails if one of
// them belongs to another cell.
func (k *testKernel) runCell(code string) []frameFields {
	k.t.Helper()
	id := k.sendCell(code)
	var frames []frameFields
	for len(frames) == 0 || frames[len(frames)-1].Type != protocol.TypeCellResult {
		f := k.readFrame()
		if idle := f.Type == protocol.TypeStartCell && f.CellID == nil; idle && len(frames) == 0 {
			continue // it belongs to the previous run
		}
		frames = append(frames, f)
	}
	require.Equal(k.t, protocol.TypeStartCell, frames[0].Type)
	for _, f := range frames {
		if f.Type == protocol.TypeKernelStdio {
			require.Equal(k.t, id, *f.ActiveCell)
			continue
		}
		require.Equal(k.t, id, *f.CellID, f.Type)
		require.Equal(k.t, frames[0].Sequencer, f.Sequencer)
	}
	return frames
}

// awaitCellStart reads frames until the start_cell of this cell.
func (k *testKernel) awaitCellStart(id string) {
	k.t.Helper()
	for {
		if f := k.awaitFrame(protocol.TypeStartCell); f.CellID != nil && *f.CellID == id {
			return
		}
	}
}

// runBusyCell starts a cell and waits until its code has written to a named pipe. In code,
// FIFO stands for the path of the pipe. It returns the cell's id.
func (k *testKernel) runBusyCell(code string) string {
	k.t.Helper()
	fifo := filepath.Join(k.workdir, fmt.Sprintf("fifo%d", k.cellCount))
	require.NoError(k.t, unix.Mkfifo(fifo, 0o600))
	id := k.sendCell(strings.ReplaceAll(code, "FIFO", strconv.Quote(fifo)))
	opened, err := os.ReadFile(fifo) // waits for the writer
	require.NoError(k.t, err)
	require.NotEmpty(k.t, opened)
	return id
}

// releaseBusyCell writes to the named pipe of the nth cell (from 0), which lets a cell go on that
// reads from it.
func (k *testKernel) releaseBusyCell(n int) {
	k.t.Helper()
	require.NoError(k.t, os.WriteFile(filepath.Join(k.workdir, fmt.Sprintf("fifo%d", n)), []byte("x"), 0o600))
}

// streamText returns the printed text in the frames for one stream, stdout or stderr.
func streamText(t *testing.T, frames []frameFields, stream string) string {
	t.Helper()
	var out strings.Builder
	for _, f := range frames {
		if f.Type == protocol.TypeKernelStdio && f.Stream == stream {
			var data string
			require.NoError(t, json.Unmarshal(f.Data, &data))
			out.WriteString(data)
		}
	}
	return out.String()
}

// cellOutputs returns the notebook outputs among the frames, in order.
func cellOutputs(frames []frameFields) []cellOutput {
	var all []cellOutput
	for _, f := range frames {
		if f.Type == protocol.TypeCellOutput {
			all = append(all, f.Output)
		}
	}
	return all
}

// lastFrame returns the last of the frames.
func lastFrame(frames []frameFields) frameFields { return frames[len(frames)-1] }
