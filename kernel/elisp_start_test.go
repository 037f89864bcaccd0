package kernel_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/internal/protocol"
	"assay/internal/subprocess"
	"assay/kernel"
)

// elispHouse is where the Emacs Lisp kernels of one test live.
type elispHouse struct {
	sup   *subprocess.Supervisor
	emacs *kernel.Emacs
}

func newElispHouse(t *testing.T) elispHouse {
	t.Helper()
	return elispHouse{emacs: resolveElisp(t), sup: supervisor(t)}
}

// elispKernel is an Emacs Lisp kernel in a sandbox of its own.
type elispKernel struct {
	*kernel.Kernel
	t       *testing.T
	sandbox string
}

func (h elispHouse) start(t *testing.T) *elispKernel {
	t.Helper()
	sandbox := t.TempDir()
	for _, name := range []string{"home", "tmp"} {
		require.NoError(t, os.MkdirAll(filepath.Join(sandbox, ".assay", name), 0o700))
	}
	k, err := kernel.Start(t.Context(), h.sup, kernel.Config{
		Emacs: h.emacs, Workdir: sandbox, Session: "s1", Environ: os.Environ(), MaxStdioBytes: -1,
		Output: func(stream string, chunk []byte) { t.Logf("%s: %s", stream, chunk) },
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, k.Stop(context.Background())) })
	return &elispKernel{Kernel: k, t: t, sandbox: sandbox}
}

// message is any message; fields is what it is made of.
type message map[string]any

func (m message) str(field string) string { s, _ := m[field].(string); return s }

func (k *elispKernel) write(m message) {
	k.t.Helper()
	body, err := json.Marshal(m)
	require.NoError(k.t, err)
	require.NoError(k.t, k.Write(body))
}

// read reads the next message, which is checked to be good.
func (k *elispKernel) read() message {
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

// ask sends a request and reads its answer, which is the next message.
func (k *elispKernel) ask(m message) message {
	k.t.Helper()
	k.write(m)
	return k.read()
}

// cell is what a run of a cell was.
type cell struct {
	text   string // stdout
	stderr string
	frames int // of text
	output message
	result message
}

// run runs code as the cell c, to its result.
func (k *elispKernel) run(code string) cell {
	k.t.Helper()
	k.begin(code)
	return k.end()
}

func (k *elispKernel) begin(code string) {
	k.t.Helper()
	k.write(message{"type": "run_cell", "cell_id": "c", "code": code})
	for {
		m := k.read()
		if m.str("type") == protocol.TypeStartCell && m.str("cell_id") == "c" {
			return
		}
	}
}

// end reads up to the result of the cell that runs, and that all is idle.
func (k *elispKernel) end() cell {
	k.t.Helper()
	var c cell
	var text strings.Builder
	for c.result == nil {
		m := k.read()
		switch m.str("type") {
		case protocol.TypeKernelStdio:
			require.Equal(k.t, "c", m["active_cell"])
			if m["stream"] == protocol.Stderr {
				c.stderr += m.str("data")
				break
			}
			text.WriteString(m.str("data"))
			c.frames++
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
	idle := k.read()
	require.Equal(k.t, protocol.TypeStartCell, idle.str("type"))
	require.Nil(k.t, idle["cell_id"])
	return c
}

// shown is the last value as it was shown.
func (c cell) shown() string {
	data, _ := c.output["data"].(map[string]any)
	return message(data).str("text/plain")
}

// alive makes sure that the kernel is as good as new.
func (k *elispKernel) alive() {
	k.t.Helper()
	require.Equal(k.t, "4", k.run("(+ 2 2)").shown())
}

// code runs code without a cell.
func (k *elispKernel) code(code string) message {
	k.t.Helper()
	return k.ask(message{"type": "execute_code", "code": code, "agent_tx_id": "tx"})
}

func TestElispReady(t *testing.T) {
	t.Parallel()
	k := newElispHouse(t).start(t)
	require.Equal(t, protocol.Ready{
		Type: "ready", Language: "elisp", Version: k.ReadyMessage.Version, PID: k.PID(), Protocol: 1, Actions: true,
		Unsupported: []string{"reactivity", "widgets", "rich_outputs"},
	}, k.ReadyMessage)
	require.Equal(t, `"`+filepath.Clean(k.sandbox)+`/"`, k.run("default-directory").shown())
}

// The end of its socket is the end of a kernel, also of a busy one.
func TestElispEndsWithItsSocket(t *testing.T) {
	t.Parallel()
	house := newElispHouse(t)
	for name, code := range map[string]string{"idle": "1", "busy": "(while t)", "printing": `(while t (princ "text\n"))`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// A machine that is busy elsewhere may let the grace pass once, and
			// then it is killed; a kernel that does not end by itself never does.
			const tries = 3
			for n := 1; ; n++ {
				k := house.start(t)
				k.begin(code)
				began := time.Now()
				require.NoError(t, k.Stop(t.Context()))
				if time.Since(began) < subprocess.StopGrace {
					return
				}
				require.Less(t, n, tries, "it had to be killed each time")
			}
		})
	}
}

func TestElispDeath(t *testing.T) {
	t.Parallel()
	house := newElispHouse(t)
	for name, c := range map[string]struct{ code, want string }{
		"kill-emacs": {`(princ "last words\n") (kill-emacs 3)`, "kernel exited with status 3"},
		"SIGKILL":    {`(signal-process (emacs-pid) 9) (sleep-for 60)`, "kernel was killed by SIGKILL"},
		"C stack":    {`(defun deep () (deep)) (setq max-lisp-eval-depth 1000000000 max-specpdl-size 1000000000) (deep)`, "kernel exited with status 70"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := house.start(t)
			k.begin(c.code)
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
