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

// testTimeout is how long a whole test may take on a busy machine.
const testTimeout = 60 * time.Second

// testKernel is a running adapter process with a Jupyter kernel.
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

// installedSpec returns the kernelspec of a name. If it is not installed the test is skipped,
// except in CI, where it fails.
func installedSpec(t *testing.T, name string) jupyter.Spec {
	t.Helper()
	spec, err := jupyter.FindSpec(t.Context(), name, os.Environ())
	if err != nil && os.Getenv("CI") != "true" {
		t.Skipf("SKIPPED: %v", err)
	}
	require.NoError(t, err)
	return spec
}

// startPython starts the Python kernel and waits until it is ready.
func startPython(t *testing.T) *testKernel {
	t.Helper()
	return startKernel(t, installedSpec(t, "python3").Path)
}

// startR starts the R kernel and waits until it is ready.
func startR(t *testing.T) *testKernel {
	t.Helper()
	return startKernel(t, installedSpec(t, "ir").Path)
}

// startKernel starts the adapter for a kernel.json in a new folder and waits until it is ready.
func startKernel(t *testing.T, path string) *testKernel {
	t.Helper()
	k := spawnAdapter(t, path, t.TempDir())
	k.awaitReady()
	return k
}

// spawnAdapter starts the adapter's process, as the server does, and stops it after the test.
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
	k.cmd.Stdout, k.cmd.Stderr = outputWriter{k}, outputWriter{k}
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
			t.Log(k.printed())
		}
	})
	return k
}

func (k *testKernel) tempDir() string { return filepath.Join(k.workdir, ".assay", "tmp") }

func (k *testKernel) kill() { _ = syscall.Kill(-k.cmd.Process.Pid, syscall.SIGKILL) }

// outputWriter appends what the adapter prints to its kernel's stderr buffer.
type outputWriter struct{ *testKernel }

func (p outputWriter) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stderr.Write(text)
}

// printed returns what the adapter has printed so far.
func (k *testKernel) printed() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.stderr.String()
}

// awaitReady reads the ready message.
func (k *testKernel) awaitReady() {
	k.t.Helper()
	body, err := k.Read()
	require.NoError(k.t, err, k.printed())
	require.NoError(k.t, json.Unmarshal(body, &k.ready))
	require.Equal(k.t, protocol.TypeReady, k.ready.Type)
}

// awaitExit waits until the adapter has exited and returns its status.
func (k *testKernel) awaitExit() syscall.WaitStatus {
	k.t.Helper()
	_ = k.cmd.Wait() // ProcessState has the result
	status, ok := k.cmd.ProcessState.Sys().(syscall.WaitStatus)
	require.True(k.t, ok)
	return status
}

// frame has the fields of a frame that tests look at.
type frame struct {
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

// cellOutput is the output of a cell_output frame.
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

// textOf returns the representation of a mime type, or "" if it is no string.
func (s cellOutput) textOf(mime string) string {
	var text string
	_ = json.Unmarshal(s.Data[mime], &text)
	return text
}

// readFrame reads the next frame, which must be valid.
func (k *testKernel) readFrame() frame {
	k.t.Helper()
	body, err := k.Read()
	require.NoError(k.t, err, k.printed())
	text, err := protocol.ToJSON(body)
	require.NoError(k.t, err)
	_, err = protocol.NewEnvelopeDecoder().Decode(text)
	require.NoError(k.t, err, "%s", text)
	var f frame
	require.NoError(k.t, json.Unmarshal(text, &f), "%s", text)
	return f
}

// readUntil reads frames up to the first of a type and returns them.
func (k *testKernel) readUntil(kind string) []frame {
	k.t.Helper()
	for frames := []frame{}; ; {
		frames = append(frames, k.readFrame())
		if frames[len(frames)-1].Type == kind {
			return frames
		}
	}
}

// awaitFrame reads frames up to the first of a type and returns that.
func (k *testKernel) awaitFrame(kind string) frame {
	k.t.Helper()
	frames := k.readUntil(kind)
	return frames[len(frames)-1]
}

// answerFields are the fields of a message without its type.
type answerFields map[string]any

// sendMessage sends a message of a type.
func (k *testKernel) sendMessage(kind string, with answerFields) {
	k.t.Helper()
	message := answerFields{"type": kind}
	maps.Copy(message, with)
	body, err := json.Marshal(message)
	require.NoError(k.t, err)
	require.NoError(k.t, k.Write(body))
}

// sendCell sends code as a new cell and returns its id: "c1", "c2" and so on.
func (k *testKernel) sendCell(code string) string {
	k.t.Helper()
	k.cellCount++
	id := "c" + strconv.Itoa(k.cellCount)
	k.sendMessage(protocol.TypeRunCell, answerFields{"cell_id": id, "code": code})
	return id
}

// runCell runs code as a new cell and returns the frames of the run. It requires that all of
// them belong to the cell.
func (k *testKernel) runCell(code string) []frame {
	k.t.Helper()
	id := k.sendCell(code)
	var frames []frame
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

// awaitStart waits until a cell has started.
func (k *testKernel) awaitStart(id string) {
	k.t.Helper()
	for {
		if f := k.awaitFrame(protocol.TypeStartCell); f.CellID != nil && *f.CellID == id {
			return
		}
	}
}

// runBusyCell runs code that first writes to the pipe FIFO, waits for that, and returns the
// cell's id.
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

// releaseCell lets the nth cell (from 0) go on, if it reads from its FIFO.
func (k *testKernel) releaseCell(n int) {
	k.t.Helper()
	require.NoError(k.t, os.WriteFile(filepath.Join(k.workdir, fmt.Sprintf("fifo%d", n)), []byte("x"), 0o600))
}

// streamText returns the text that the frames have on a stream.
func streamText(t *testing.T, frames []frame, stream string) string {
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

// cellOutputs returns the outputs among the frames.
func cellOutputs(frames []frame) []cellOutput {
	var all []cellOutput
	for _, f := range frames {
		if f.Type == protocol.TypeCellOutput {
			all = append(all, f.Output)
		}
	}
	return all
}

func lastFrame(frames []frame) frame { return frames[len(frames)-1] }
