package elisp_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/internal/protocol"
	"assay/internal/subprocess"
	"assay/internal/subprocess/subprocesstest"
	"assay/kernel"
)

// kernelFixture is the supervisor, Emacs and kernel folder that all kernels of one test share.
type kernelFixture struct {
	sup    *subprocess.Supervisor
	emacs  *kernel.Emacs
	folder string // the kernel's files
}

// newKernelFixture returns a kernelFixture with the Emacs on PATH. If Emacs is not installed,
// the test is skipped; in CI it fails.
func newKernelFixture(t *testing.T) kernelFixture {
	t.Helper()
	if _, err := exec.LookPath("emacs"); err != nil && os.Getenv("CI") != "true" {
		t.Skip("emacs is not installed: the Emacs Lisp kernel is not tested here (package emacs-nox)")
	}
	dir := t.TempDir()
	emacs, err := kernel.ResolveEmacs(t.Context(), "", dir)
	require.NoError(t, err)
	sup, err := subprocess.NewSupervisor(subprocess.Config{CleanupHelper: []string{os.Args[0], subprocesstest.CleanupHelperArg}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, sup.Close()) })
	return kernelFixture{sup: sup, emacs: emacs, folder: filepath.Join(dir, "elisp")}
}

// testKernel is a running Emacs Lisp kernel.
type testKernel struct {
	*kernel.Kernel
	t       *testing.T
	workdir string
}

// startKernel starts an Emacs Lisp kernel in a new fixture and stops it after the test.
func startKernel(t *testing.T) *testKernel {
	t.Helper()
	return newKernelFixture(t).startKernel(t)
}

// startKernel starts an Emacs Lisp kernel in a new folder and stops it after the test.
func (s kernelFixture) startKernel(t *testing.T) *testKernel {
	t.Helper()
	workdir := t.TempDir()
	for _, name := range []string{"home", "tmp"} {
		require.NoError(t, os.MkdirAll(filepath.Join(workdir, ".assay", name), 0o700))
	}
	k, err := kernel.Start(t.Context(), s.sup, kernel.Config{
		Emacs: s.emacs, Workdir: workdir, Session: "s1", Environ: os.Environ(), MaxStdioBytes: -1,
		Output: func(stream string, chunk []byte) { t.Logf("%s: %s", stream, chunk) },
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, k.Stop(context.Background())) })
	return &testKernel{Kernel: k, t: t, workdir: workdir}
}

// message is a JSON message to or from the kernel, by field.
type message map[string]any

// stringField returns the value of a field, or "" if it is missing or not a string.
func (m message) stringField(field string) string { s, _ := m[field].(string); return s }

// writeMessage sends a message to the kernel.
func (k *testKernel) writeMessage(m message) {
	k.t.Helper()
	body, err := json.Marshal(m)
	require.NoError(k.t, err)
	require.NoError(k.t, k.Write(body))
}

// readMessage returns the kernel's next message. A frame with printed text is converted to a
// kernel_stdio message. The test fails if a frame is not valid.
func (k *testKernel) readMessage() message {
	k.t.Helper()
	body, err := k.Read()
	require.NoError(k.t, err)
	if protocol.IsRawFrame(body) {
		raw, err := protocol.ParseRawFrame(body)
		require.NoError(k.t, err)
		return message{"type": protocol.TypeKernelStdio, "stream": raw.Stream, "active_cell": raw.CellID, "data": string(raw.Text)}
	}
	_, err = protocol.NewEnvelopeDecoder().Decode(body)
	require.NoError(k.t, err)
	var m message
	require.NoError(k.t, json.Unmarshal(body, &m))
	return m
}

// request sends a message to the kernel and returns the kernel's next message, which is its
// answer.
func (k *testKernel) request(m message) message {
	k.t.Helper()
	k.writeMessage(m)
	return k.readMessage()
}

// cellRun is the text, the last output and the result of one run of a cell.
type cellRun struct {
	text       string // stdout
	stderr     string
	textFrames int     // number of frames with text on stdout
	output     message // the last cell_output
	result     message // the cell_result
}

// runCell runs code as the cell "c", waits until the kernel is idle, and returns what the run
// sent.
func (k *testKernel) runCell(code string) cellRun {
	k.t.Helper()
	k.beginCell(code)
	return k.awaitCellEnd()
}

// beginCell sends code as the cell "c" and waits until the cell has started.
func (k *testKernel) beginCell(code string) {
	k.t.Helper()
	k.writeMessage(message{"type": "run_cell", "cell_id": "c", "code": code})
	for {
		m := k.readMessage()
		if m.stringField("type") == protocol.TypeStartCell && m.stringField("cell_id") == "c" {
			return
		}
	}
}

// awaitCellEnd reads frames until the cell has ended and the kernel is idle, and returns what
// the run sent.
func (k *testKernel) awaitCellEnd() cellRun {
	k.t.Helper()
	var c cellRun
	var text strings.Builder
	for c.result == nil {
		m := k.readMessage()
		switch m.stringField("type") {
		case protocol.TypeKernelStdio:
			require.Equal(k.t, "c", m["active_cell"])
			if m["stream"] == protocol.Stderr {
				c.stderr += m.stringField("data")
				break
			}
			text.WriteString(m.stringField("data"))
			c.textFrames++
		case protocol.TypeCellOutput:
			output, ok := m["output"].(map[string]any)
			require.True(k.t, ok)
			c.output = output
		case protocol.TypeCellResult:
			c.result = m
		default:
			require.Fail(k.t, "unexpected", "%v", m)
		}
	}
	c.text = text.String()
	idle := k.readMessage()
	require.Equal(k.t, protocol.TypeStartCell, idle.stringField("type"))
	require.Nil(k.t, idle["cell_id"])
	return c
}

// valueText returns the text/plain of the last output, or "" if there was none.
func (c cellRun) valueText() string {
	data, _ := c.output["data"].(map[string]any)
	return message(data).stringField("text/plain")
}

// requireWorking fails the test unless the kernel evaluates (+ 2 2) to 4.
func (k *testKernel) requireWorking() {
	k.t.Helper()
	require.Equal(k.t, "4", k.runCell("(+ 2 2)").valueText())
}

// executeCode sends an execute_code request with this code and returns the answer.
func (k *testKernel) executeCode(code string) message {
	k.t.Helper()
	return k.request(message{"type": "execute_code", "code": code, "agent_tx_id": "tx"})
}

func TestReadyMessage(t *testing.T) {
	t.Parallel()
	k := startKernel(t)
	require.Equal(t, protocol.Ready{
		Type: "ready", Language: "elisp", Version: k.ReadyMessage.Version, PID: k.PID(), Protocol: 1, Actions: true,
		Unsupported: []string{"reactivity", "widgets", "rich_outputs"},
	}, k.ReadyMessage)
	require.Equal(t, `"`+filepath.Clean(k.workdir)+`/"`, k.runCell("default-directory").valueText())
}

// A kernel exits when its socket is closed, even if it is running code or printing.
func TestKernelExitsWhenSocketCloses(t *testing.T) {
	t.Parallel()
	s := newKernelFixture(t)
	for name, code := range map[string]string{"idle": "1", "busy": "(while t)", "printing": `(while t (princ "text\n"))`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// On a busy machine a kernel may miss the grace period and be killed, but not
			// each time.
			const tries = 3
			for n := 1; ; n++ {
				k := s.startKernel(t)
				k.beginCell(code)
				began := time.Now()
				require.NoError(t, k.Stop(t.Context()))
				if time.Since(began) < subprocess.StopGrace {
					return
				}
				require.Less(t, n, tries, "it was killed each time")
			}
		})
	}
}

func TestKernelDeathReportsItsCause(t *testing.T) {
	t.Parallel()
	s := newKernelFixture(t)
	for name, c := range map[string]struct{ code, want string }{
		"kill-emacs": {`(princ "last words\n") (kill-emacs 3)`, "kernel exited with status 3"},
		"SIGKILL":    {`(signal-process (emacs-pid) 9) (sleep-for 60)`, "kernel was killed by SIGKILL"},
		"C stack":    {`(defun deep () (deep)) (setq max-lisp-eval-depth 1000000000 max-specpdl-size 1000000000) (deep)`, "kernel exited with status 70"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := s.startKernel(t)
			k.beginCell(c.code)
			var text string
			for {
				body, err := k.Read()
				if err != nil {
					require.ErrorContains(t, err, c.want)
					break
				}
				raw, err := protocol.ParseRawFrame(body)
				require.NoError(t, err)
				if raw.Stream == protocol.Stdout {
					text += string(raw.Text)
				}
			}
			if name == "kill-emacs" {
				require.Equal(t, "last words\n", text)
			}
		})
	}
}
