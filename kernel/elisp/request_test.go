package elisp_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/protocol"
	"assay/kernel/elisp"
)

// emptyReactivitySummary is the text of the reactivity summary that this kernel always sends, since
// it has no reactivity.
const emptyReactivitySummary = "## Reactive Dependencies\n\n### Signals\n\n### Code Cell Dependencies\n"

func TestRequestsAreAnswered(t *testing.T) {
	t.Parallel()
	k := startKernel(t)
	k.writeMessage(message{"type": "init", "widget_states": map[string]any{}, "kernel_pid": k.PID()})
	k.runCell("(setq x 3)")
	x := map[string]any{"type": "integer", "repr": "3"}
	require.Equal(t, message{"type": "pong", "agent_tx_id": "1"}, k.request(message{"type": "ping", "agent_tx_id": "1"}))
	require.Equal(t, message{"type": "pong"}, k.request(message{"type": "ping"}))
	require.Equal(t, message{"type": "globals_summary", "agent_tx_id": "é", "summary": map[string]any{"x": x}, "truncated": false},
		k.request(message{"type": "globals_summary", "agent_tx_id": "é"}))
	require.Equal(t, message{"type": "agent_action_response", "tx_id": "t", "status": "success", "summary": map[string]any{"x": x}, "truncated": false},
		k.request(message{"type": "agent_action", "action": "request_globals_summary", "tx_id": "t"}))
	require.Equal(t, message{"type": "reactivity_summary", "summary": emptyReactivitySummary, "cell_reactivity": map[string]any{}},
		k.request(message{"type": "reactivity_summary"}))
	require.Equal(t, message{"type": "agent_action_response", "tx_id": "t", "status": "success", "summary": emptyReactivitySummary, "cell_reactivity": map[string]any{}},
		k.request(message{"type": "agent_action", "action": "request_reactivity_summary", "tx_id": "t"}))
	require.Equal(t, message{"type": "get_global_info_response", "agent_tx_id": "1", "status": "success", "info": x},
		k.request(message{"type": "get_global_info", "key": "x", "agent_tx_id": "1"}))
	require.Equal(t, message{"type": "get_global_info_response", "status": "error", "error": "there is no global 'fill-column'"},
		k.request(message{"type": "get_global_info", "key": "fill-column"}))
	require.Equal(t, message{"type": "set_widget_value_response", "status": "error", "errors": map[string]any{"c/k": "there is no such widget"}},
		k.request(message{"type": "set_widget_value", "data": map[string]any{"c/k": "1"}}))
	require.Equal(t, message{"type": "set_widget_value_response", "status": "success", "errors": map[string]any{}},
		k.request(message{"type": "set_widget_value", "data": map[string]any{}}))
	require.Equal(t, message{"type": "debug_state", "agent_tx_id": "1", "data": map[string]any{
		"pid": float64(k.PID()), "names": 1.0, "queue": []any{}, "running": []any{}, "waiting": 0.0, "run_sequencer": 1.0,
	}}, k.request(message{"type": "debug_state", "agent_tx_id": "1"}))
	k.writeMessage(message{"type": "stop_cell", "cell_id": "never"})
	k.writeMessage(message{"type": "dispose_cell", "cell_id": "never"})
	k.requireWorking()
}

// A malformed request is answered with an error message and changes nothing.
func TestMalformedRequests(t *testing.T) {
	t.Parallel()
	k := startKernel(t)
	for body, want := range map[string]string{
		`{`:                                    "message is not JSON: ",
		"\xff":                                 "message is not JSON: ",
		"{\"type\":\"ping\"}\x00":              "message is not JSON",
		`{"type":"ping","x":"` + "\xff" + `"}`: "message is not JSON: ",
		strings.Repeat("[", 5000):              "message is not JSON: ",
		`{"type":"ping","x":1e999}`:            "message is not JSON: ",
		`[]`:                                   "message is not a JSON object with a type",
		`{}`:                                   "message is not a JSON object with a type",
		`{"type":5}`:                           "message is not a JSON object with a type",
		`{"type":"frobnicate"}`:                "unknown message type 'frobnicate'",
		`{"type":"run_cell"}`:                  "run_cell: cell_id is not a string",
		`{"type":"run_cell","cell_id":"","code":""}`:                 "run_cell: cell_id is empty",
		`{"type":"run_cell","cell_id":"c"}`:                          "run_cell: code is not a string",
		`{"type":"run_cell","cell_id":"c","code":["1"]}`:             "run_cell: code is not a string",
		`{"type":"execute_code","code":"1","agent_tx_id":7}`:         "execute_code: agent_tx_id is not a string",
		`{"type":"stop_cell"}`:                                       "stop_cell: agent_tx_id is not a string",
		`{"type":"dispose_cell","agent_tx_id":"x"}`:                  "dispose_cell: cell_id is not a string",
		`{"type":"get_global_info"}`:                                 "get_global_info: key is not a string",
		`{"type":"set_widget_value","data":[]}`:                      "set_widget_value: data is not an object",
		`{"type":"agent_action","action":"fly","tx_id":"t"}`:         "agent_action: a kernel does not know the action 'fly'",
		`{"type":"agent_action","action":"request_globals_summary"}`: "agent_action: tx_id is not a string",
	} {
		require.NoError(t, k.Write([]byte(body)))
		m := k.readMessage()
		require.Equal(t, "error", m["type"], body)
		data, ok := m["data"].(map[string]any)
		require.True(t, ok)
		require.True(t, strings.HasPrefix(message(data).stringField("message"), want), "%s\n%s", body, data["message"])
		require.Less(t, len(message(data).stringField("message")), 2000)
	}
	k.requireWorking()
}

// The kernel decodes escapes that JSON allows and Emacs's own parser refuses, such as single
// surrogates.
func TestUnusualJSONEscapes(t *testing.T) {
	t.Parallel()
	k := startKernel(t)
	require.NoError(t, k.Write([]byte(`{"type":"execute_code","code":"(append \"\ud83d \ud83d\ude00 \u0000 \\\\u0000 \udc00\" nil)"}`)))
	require.Equal(t, "(65533 32 128512 32 65533 32 92 117 48 48 48 48 32 65533)", k.readMessage()["result"])
}

func TestGlobalsSummary(t *testing.T) {
	t.Parallel()
	k := startKernel(t)
	first := k.runCell(`
(require 'json) (require 'ring) (require 'cl-lib)
(setq number 1.5 text (make-string 5000 ?x) items '(1 2 3) table (make-hash-table) vector [1 2] empty nil
      circular (let ((x (list 1))) (setcdr x x)) deep (let (x) (dotimes (_ 20000) (setq x (list x))) x)
      fill-column 99 my--private 1)
(defvar declared 1)
(defun square (n &optional m) "Doc." (* n n))
(defmacro twice (form) form)
(cl-defstruct point x y)
(puthash 'a 1 table)`)
	require.Equal(t, "ok", first.result["status"])
	require.Equal(t, []any{
		"circular", "declared", "deep", "empty", "items", "my--private", "number", "square", "table", "text", "twice", "vector",
	}, first.result["outputs"])
	summary, ok := k.request(message{"type": "globals_summary"})["summary"].(map[string]any)
	require.True(t, ok)
	for name, want := range map[string]map[string]any{
		"number":   {"type": "float", "repr": "1.5"},
		"items":    {"type": "cons", "repr": "(1 2 3)", "len": 3.0},
		"vector":   {"type": "vector", "repr": "[1 2]", "len": 2.0},
		"empty":    {"type": "symbol", "repr": "nil", "len": 0.0},
		"declared": {"type": "integer", "repr": "1"},
		"square":   {"type": "function", "repr": "(square n &optional m)"},
		"twice":    {"type": "macro", "repr": "(twice form)"},
		"point-x":  {"type": "function", "repr": "(point-x cl-x)"},
		"text":     {"type": "string", "repr": `"` + strings.Repeat("x", 996) + "...", "len": 5000.0},
	} {
		require.Equal(t, want, summary[name], name)
	}
	table, _ := summary["table"].(map[string]any)
	require.Equal(t, "hash-table", table["type"])
	require.InDelta(t, 1, table["len"], 0)
	circular, _ := summary["circular"].(map[string]any)
	require.NotContains(t, circular, "len")
	for _, name := range []string{"fill-column", "my--private", "json-encode", "ring-insert", "cl-struct-point-tags--cmacro"} {
		require.NotContains(t, summary, name)
	}
	for _, name := range []string{"deep", "circular", "make-point", "point-p"} {
		require.Contains(t, summary, name)
	}
	require.Equal(t, []any{"items"}, k.runCell("(setq text text items nil)").result["outputs"], "bound to something else")

	k.runCell("(dotimes (i 600) (set (intern (format \"many-%d\" i)) i))")
	all := k.request(message{"type": "globals_summary"})
	require.Len(t, all["summary"], 500)
	require.Equal(t, true, all["truncated"])
}

func TestResetRemovesGlobals(t *testing.T) {
	t.Parallel()
	k := startKernel(t)
	k.runCell(`
(setq x 1) (defun square (n) (* n n)) (setq my--private 2)
(setq fill-column 99) (defun car-safe (_) 'mine) (setenv "MINE" "1") (cd "/")
(find-file "some-file") (insert "text") (run-at-time 600 600 #'ignore)
(make-process :name "p" :command '("sleep" "600"))
(add-hook 'kill-buffer-hook (lambda () (error "no")))
(defconst fixed 1)`)
	require.Equal(t, message{"type": "reset_kernel_globals_complete", "agent_tx_id": "r", "threads": []any{}},
		k.request(message{"type": "reset_kernel_globals", "agent_tx_id": "r"}))
	require.Empty(t, k.request(message{"type": "globals_summary"})["summary"])
	require.Equal(t, `(nil nil nil nil 70 nil nil "*scratch*" nil ("assay"))`, k.runCell(`
(list (boundp 'x) (fboundp 'square) (boundp 'my--private) (boundp 'fixed) fill-column (car-safe 5) (getenv "MINE")
      (buffer-name) timer-list (mapcar #'process-name (process-list)))`).valueText())
	require.Equal(t, `"`+filepath.Clean(k.workdir)+`/"`, k.runCell("default-directory").valueText())
	k.runCell(`(make-thread (lambda () (sleep-for 600)) "mine")`)
	require.Equal(t, []any{"mine"}, k.request(message{"type": "reset_kernel_globals"})["threads"])
	k.requireWorking()
}

// startKernelWithoutSupervisor starts a kernel process without a supervisor, reads its ready message, and
// returns the connection and the command. Both end with the test.
func (s kernelFixture) startKernelWithoutSupervisor(t *testing.T) (net.Conn, *exec.Cmd) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", path)
	require.NoError(t, err)
	argv := append(elisp.KernelCommand(s.emacs.Executable, s.folder), path)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stderr = &strings.Builder{}
	require.NoError(t, cmd.Start())
	conn, err := listener.Accept()
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	t.Cleanup(func() {
		_ = conn.Close()
		_ = cmd.Wait()
	})
	_, err = protocol.NewStream(keepOpenConn{conn}, 0).Read()
	require.NoError(t, err)
	return conn, cmd
}

// keepOpenConn is a connection whose Close does nothing, so that a stream made of it cannot
// close it.
type keepOpenConn struct{ net.Conn }

func (keepOpenConn) Close() error { return nil }

// The kernel understands frames whose bytes arrive in pieces of any size.
func TestFramesArriveInPieces(t *testing.T) {
	t.Parallel()
	conn, _ := newKernelFixture(t).startKernelWithoutSupervisor(t)
	var stream []byte
	const count = 100
	for i := range count {
		body := fmt.Sprintf(`{"type":"ping","agent_tx_id":"%d","x":"%s"}`, i, strings.Repeat("é", i*i))
		stream = binary.LittleEndian.AppendUint64(stream, uint64(len(body)))
		stream = append(stream, body...)
	}
	go func() {
		for size := 1; len(stream) > 0; size = size%977 + 13 {
			n := min(size, len(stream))
			_, _ = conn.Write(stream[:n])
			stream = stream[n:]
		}
	}()
	in := protocol.NewStream(conn, 0)
	for i := range count {
		body, err := in.Read()
		require.NoError(t, err)
		require.JSONEq(t, fmt.Sprintf(`{"type":"pong","agent_tx_id":"%d"}`, i), string(body))
	}
	code := `(length "` + strings.Repeat("x", 20<<20) + `")`
	body, err := json.Marshal(map[string]string{"type": "execute_code", "code": code})
	require.NoError(t, err)
	require.NoError(t, in.Write(body))
	body, err = in.Read()
	require.NoError(t, err)
	require.Contains(t, string(body), `"result":"20971520"`)
}

func TestInvalidFramesEndTheKernel(t *testing.T) {
	t.Parallel()
	s := newKernelFixture(t)
	for _, length := range []int64{0, -1, -1 << 63, 64<<20 + 1, 1<<63 - 1} {
		t.Run(fmt.Sprint(length), func(t *testing.T) {
			t.Parallel()
			conn, cmd := s.startKernelWithoutSupervisor(t)
			_, err := conn.Write(binary.LittleEndian.AppendUint64(nil, uint64(length)))
			require.NoError(t, err)
			_, err = conn.Read(make([]byte, 1))
			require.ErrorIs(t, err, io.EOF)
			require.Error(t, cmd.Wait())
			require.Equal(t, 1, cmd.ProcessState.ExitCode())
			require.Contains(t, fmt.Sprint(cmd.Stderr), fmt.Sprintf("kernel: frame length %d, not between 1 and 67108864\n", length))
		})
	}
	t.Run("cut", func(t *testing.T) {
		t.Parallel()
		conn, cmd := s.startKernelWithoutSupervisor(t)
		_, err := conn.Write([]byte{1, 2, 3})
		require.NoError(t, err)
		require.NoError(t, conn.Close())
		require.NoError(t, cmd.Wait(), "the end of the server is no error")
	})
}
