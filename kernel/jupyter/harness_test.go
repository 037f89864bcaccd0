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

// patience is how long a kernel may take for anything, on a busy machine.
const patience = 60 * time.Second

// started is an adapter's process with a Jupyter kernel behind it.
type started struct {
	protocol.Conn
	t       *testing.T
	cmd     *exec.Cmd
	sandbox string
	ready   protocol.Ready
	n       int // cells so far

	mu     sync.Mutex
	stderr bytes.Buffer
}

// installed is the kernelspec of a name. Without it the test is skipped, but
// where everything is to be tested it fails.
func installed(t *testing.T, name string) jupyter.Spec {
	t.Helper()
	spec, err := jupyter.FindSpec(t.Context(), name, os.Environ())
	if err != nil && os.Getenv("CI") != "true" {
		t.Skipf("SKIPPED: %v", err)
	}
	require.NoError(t, err)
	return spec
}

func startPython(t *testing.T) *started {
	t.Helper()
	return start(t, installed(t, "python3").Path)
}

func startR(t *testing.T) *started {
	t.Helper()
	return start(t, installed(t, "ir").Path)
}

// start starts the adapter for a kernel.json and waits until it is ready.
func start(t *testing.T, path string) *started {
	t.Helper()
	k := spawn(t, path, t.TempDir())
	k.awaitReady()
	return k
}

// spawn starts the adapter's process, as the server does.
func spawn(t *testing.T, path, sandbox string) *started {
	t.Helper()
	k := &started{t: t, sandbox: sandbox}
	require.NoError(t, os.MkdirAll(k.temp(), 0o700))
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	ours, theirs := os.NewFile(uintptr(fds[0]), "ours"), os.NewFile(uintptr(fds[1]), "theirs")
	socket, err := net.FileConn(ours)
	require.NoError(t, err)
	k.cmd = exec.Command(os.Args[0], "jupyter", path, "3")
	k.cmd.Dir, k.cmd.ExtraFiles = sandbox, []*os.File{theirs}
	k.cmd.Env = append(os.Environ(), "TMPDIR="+k.temp(), "HOME="+sandbox, "MPLBACKEND=", "LC_ALL=C.UTF-8")
	k.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	k.cmd.Stdout, k.cmd.Stderr = printer{k}, printer{k}
	k.cmd.WaitDelay = patience
	require.NoError(t, k.cmd.Start())
	require.NoError(t, ours.Close())
	require.NoError(t, theirs.Close())
	k.Conn = protocol.NewStream(socket, 0)
	watchdog := time.AfterFunc(patience, k.kill)
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

func (k *started) temp() string { return filepath.Join(k.sandbox, ".assay", "tmp") }

func (k *started) kill() { _ = syscall.Kill(-k.cmd.Process.Pid, syscall.SIGKILL) }

// printer takes what the adapter prints.
type printer struct{ *started }

func (p printer) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stderr.Write(text)
}

func (k *started) printed() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.stderr.String()
}

func (k *started) awaitReady() {
	k.t.Helper()
	body, err := k.Read()
	require.NoError(k.t, err, k.printed())
	require.NoError(k.t, json.Unmarshal(body, &k.ready))
	require.Equal(k.t, protocol.TypeReady, k.ready.Type)
}

// exit waits until the adapter has ended and returns how.
func (k *started) exit() syscall.WaitStatus {
	k.t.Helper()
	_ = k.cmd.Wait() // the state says it all
	status, ok := k.cmd.ProcessState.Sys().(syscall.WaitStatus)
	require.True(k.t, ok)
	return status
}

// frame is what tests look at in a frame.
type frame struct {
	Type       string
	CellID     *string `json:"cell_id"`
	Sequencer  int     `json:"run_sequencer"`
	Active     *string `json:"active_cell"`
	Stream     string
	Data       json.RawMessage
	Status     string
	HasError   bool `json:"has_exception"`
	Exception  string
	Outputs    []string
	Tables     []string `json:"dataframe_outputs"`
	Plots      []string `json:"figure_outputs"`
	Figures    []string `json:"static_figure_outputs"`
	Output     shown
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

// shown is an output.
type shown struct {
	Type      string `json:"output_type"`
	Data      map[string]json.RawMessage
	Metadata  map[string]any
	Count     int `json:"execution_count"`
	Transient map[string]string
	Wait      *bool
	EName     string
	EValue    string
	Traceback []string
}

func (s shown) text(mime string) string {
	var text string
	_ = json.Unmarshal(s.Data[mime], &text)
	return text
}

func (k *started) next() frame {
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

// until returns the frames up to the first of a type.
func (k *started) until(kind string) []frame {
	k.t.Helper()
	for frames := []frame{}; ; {
		frames = append(frames, k.next())
		if frames[len(frames)-1].Type == kind {
			return frames
		}
	}
}

// await returns the first frame of a type, passing over others.
func (k *started) await(kind string) frame {
	k.t.Helper()
	frames := k.until(kind)
	return frames[len(frames)-1]
}

type fields map[string]any

func (k *started) ask(kind string, with fields) {
	k.t.Helper()
	message := fields{"type": kind}
	maps.Copy(message, with)
	body, err := json.Marshal(message)
	require.NoError(k.t, err)
	require.NoError(k.t, k.Write(body))
}

// send runs code as a new cell and returns its id, "c1" and so on.
func (k *started) send(code string) string {
	k.t.Helper()
	k.n++
	id := "c" + strconv.Itoa(k.n)
	k.ask(protocol.TypeRunCell, fields{"cell_id": id, "code": code})
	return id
}

// run runs code as a cell to its end and returns the frames of the run, which
// are in order and all its own.
func (k *started) run(code string) []frame {
	k.t.Helper()
	id := k.send(code)
	var frames []frame
	for len(frames) == 0 || frames[len(frames)-1].Type != protocol.TypeCellResult {
		f := k.next()
		if idle := f.Type == protocol.TypeStartCell && f.CellID == nil; idle && len(frames) == 0 {
			continue // of the run before
		}
		frames = append(frames, f)
	}
	require.Equal(k.t, protocol.TypeStartCell, frames[0].Type)
	for _, f := range frames {
		if f.Type == protocol.TypeKernelStdio {
			require.Equal(k.t, id, *f.Active)
			continue
		}
		require.Equal(k.t, id, *f.CellID, f.Type)
		require.Equal(k.t, frames[0].Sequencer, f.Sequencer)
	}
	return frames
}

// begun waits until a cell has begun.
func (k *started) begun(id string) {
	k.t.Helper()
	for {
		if f := k.await(protocol.TypeStartCell); f.CellID != nil && *f.CellID == id {
			return
		}
	}
}

// busy runs code that writes something to the file FIFO first, and waits for that.
func (k *started) busy(code string) string {
	k.t.Helper()
	fifo := filepath.Join(k.sandbox, fmt.Sprintf("fifo%d", k.n))
	require.NoError(k.t, unix.Mkfifo(fifo, 0o600))
	id := k.send(strings.ReplaceAll(code, "FIFO", strconv.Quote(fifo)))
	opened, err := os.ReadFile(fifo) // waits for the writer
	require.NoError(k.t, err)
	require.NotEmpty(k.t, opened)
	return id
}

// release lets cell n go on, which reads the same file.
func (k *started) release(n int) {
	k.t.Helper()
	require.NoError(k.t, os.WriteFile(filepath.Join(k.sandbox, fmt.Sprintf("fifo%d", n)), []byte("x"), 0o600))
}

// text is what the frames have on a stream.
func text(t *testing.T, frames []frame, stream string) string {
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

func outputs(frames []frame) []shown {
	var all []shown
	for _, f := range frames {
		if f.Type == protocol.TypeCellOutput {
			all = append(all, f.Output)
		}
	}
	return all
}

func last(frames []frame) frame { return frames[len(frames)-1] }
