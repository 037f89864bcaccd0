package chaos_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"assay/agent"
	"assay/eval/runs"
	"assay/eval/session"
	"assay/internal/protocol"
	"assay/kernel"
	"assay/router"
	"assay/server"
	"assay/server/servertest"
)

// runHello is the first message of a console at /run.
const runHello = `{"token":"` + server.EvalSandboxToken + `","notebook_id":"n"}`

// fuzzTarget is a server with sessions whose kernel and agent do nothing. It is used
// for all inputs of a fuzz test.
type fuzzTarget struct {
	*chaosRun        // collects faults
	address   string // "127.0.0.1:…"
	panics    bytes.Buffer
}

func newFuzzTarget(f *testing.F) *fuzzTarget {
	f.Helper()
	h := &fuzzTarget{chaosRun: &chaosRun{client: newHTTPClient(), workdirRoot: f.TempDir()}}
	h.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	f.Cleanup(func() { log.SetOutput(os.Stderr) })
	h.harness = servertest.StartServer(f, server.Config{
		StartSession: h.startSession, TraceDir: f.TempDir(), RunsDir: createStoredRun(f), MaxFrameBytes: maxConsoleFrameBytes, Log: slog.New(faultReportingLogHandler{h.chaosRun}),
		PrepareCase: func(path, id string) (server.AttemptRunner, error) {
			if path == "" {
				return nil, errors.New("no path")
			}
			return func(_ context.Context, publisher *server.AttemptPublisher) error {
				publisher.AttemptEnded(runs.Attempt{CaseID: id, Outcome: runs.OutcomeCancelled})
				return nil
			}, nil
		},
	})
	h.address = strings.TrimPrefix(h.harness.URL, "ws://")
	log.SetOutput(&h.panics) // panics of handlers, which net/http recovers and logs
	return h
}

// createStoredRun returns a folder with one run, "one", with one attempt.
func createStoredRun(f *testing.F) string {
	f.Helper()
	dir := f.TempDir()
	folder, err := runs.Create(filepath.Join(dir, "one"), runs.Info{Started: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Config: map[string]any{}}, nil)
	require.NoError(f, err)
	f.Cleanup(func() { _ = folder.Close() })
	attemptDir, _, err := folder.MakeAttemptDir(1, "case-1", 1, 1)
	require.NoError(f, err)
	for name, text := range map[string]string{"trace.jsonl": "{}\n", "state.json": "{}", "stderr.txt": "\xff", "conversation.jsonl": ""} {
		require.NoError(f, os.WriteFile(filepath.Join(attemptDir, name), []byte(text), 0o600))
	}
	return dir
}

func (h *fuzzTarget) startSession(ctx context.Context, o server.StartOptions) (*session.Session, error) {
	command := append([]string{"env", "GORACE=atexit_sleep_ms=0"}, servertest.RoleCommand("quiet")...)
	return session.Start(ctx, h.harness.Supervisor, session.Config{
		ID: o.SessionID, Journal: o.Journal, RestoreFrom: o.RestoreFrom, Kernel: kernel.Config{Command: command}, Agent: agent.Config{Command: command},
		Environ: os.Environ(), WorkdirRoot: h.workdirRoot, AwaitConsole: true, IsEvaluation: true, // so that no process is restarted
		Router: router.Config{RequestTimeout: time.Second, HolderTimeout: time.Second, CellTimeout: time.Second, Shared: o.SessionID != "owned"},
	})
}

// check requires that no fault was reported and no handler panicked.
func (h *fuzzTarget) check(t *testing.T) {
	t.Helper()
	require.Empty(t, h.faults)
	require.Empty(t, h.panics.String())
}

// FuzzConsole sends messages as a console, from the first one on, and requires that
// every message of the server is JSON with a type, and that the console can disconnect.
//
// The first byte of the input selects an endpoint and a session. Each line is a
// message; one that begins with ! is binary.
func FuzzConsole(f *testing.F) {
	for _, seed := range consoleFuzzSeeds() {
		f.Add([]byte(seed))
	}
	h := newFuzzTarget(f)
	f.Fuzz(func(t *testing.T, input []byte) {
		if len(input) == 0 {
			return
		}
		path := []string{"/run", "/agent"}[input[0]%2]
		id := []string{"held", "viewed", "owned"}[input[0]/2%3]
		ws, response, err := websocket.Dial(t.Context(), h.harness.URL+path+"?session="+id, nil)
		require.NoError(t, err)
		require.Equal(t, http.StatusSwitchingProtocols, response.StatusCode)
		ws.SetReadLimit(-1)
		var reading sync.WaitGroup
		reading.Go(func() {
			for {
				_, body, err := ws.Read(context.Background())
				if err != nil {
					return
				}
				if env, err := protocol.NewEnvelopeDecoder().Decode(body); err != nil || env.Type == "" {
					h.reportFault(fmt.Sprintf("%s sent %.300q: %v", path, body, err))
				}
			}
		})
		for line := range bytes.SplitSeq(input[1:], []byte("\n")) {
			messageType := websocket.MessageText
			if bytes.HasPrefix(line, []byte("!")) {
				messageType = websocket.MessageBinary
			}
			if ws.Write(t.Context(), messageType, line) != nil {
				break // the server has closed the connection
			}
		}
		began := time.Now()
		_ = ws.Close(websocket.StatusNormalClosure, "") // fails if the server has closed it
		reading.Wait()
		require.Less(t, time.Since(began), 4*time.Second, "the close handshake takes too long")
		h.check(t)
	})
}

// consoleFuzzSeeds returns conversations at both endpoints, as FuzzConsole reads them.
func consoleFuzzSeeds() []string {
	const run = runHello + "\n"
	view := `{"type":"init","session_id":"1","role":"view"}` + "\n"
	hold := `{"type":"init","session_id":1}` + "\n"
	return []string{
		"\x00", "\x01", "\x00\n", "\x00{}", "\x01{}", "\x00[", "\x01" + `{"type":"init","role":7}`, "\x01" + `{"type":"init","connection_idx":1e99}`,
		"\x00!" + run, "\x00" + run + "!binary", "\x00\xff\xfe", "\x00" + run + "\xff\xfe", "\x00" + run + "\x00\x01\x01\x00a",
		"\x00" + `{"token":"` + server.EvalSandboxToken + `","connection_idx":-1}`, "\x00" + `{"token":"` + server.EvalSandboxToken + `","connection_idx":1}`,
		"\x02" + run + `{"type":"run_cell","cell_id":"a","code":"1"}` + "\n" + `{"type":"run_cell","cell_id":"a"}` + "\n" + `{"type":"stop_cell"}` + "\n" + `{"type":"dispose_cell","cell_id":"a"}`,
		"\x04" + run + `{"type":"execute_code","code":"1","agent_tx_id":"m"}` + "\n" + `{"type":"globals_summary","agent_tx_id":[]}` + "\n" + `{"type":"set_widget_value","data":7}`,
		"\x00" + run + `{"type":"managed_process_restart","name":"kernel"}` + "\n" + `{"type":"debug_state"}` + "\n" + `{"type":"run_cell","code":"1"}`,
		"\x01" + hold + `{"type":"agent_action_response","tx_id":"x","status":"success"}` + "\n" + `{"type":"agent_query","query":"q"}` + "\n" + `{"type":"kernel_message"}` + "\nx",
		"\x03" + view + `{"type":"notebook_action","action":"create_cell","tx_id":"t","params":{"position":0,"cell_type":"code","source":"1","auto_run":true}}` + "\n" + `{"type":"notebook_action","action":"get_context"}`,
		"\x05" + view + `{"type":"notebook_action","action":"edit_cell","tx_id":"t","params":[]}` + "\n" + `{"type":"agent_cancel"}` + "\n" + `{"type":"notebook_action","action":"execute_code","params":{"code":"1","timeout_s":-1}}`,
		"\x03" + view + string(deeplyNestedMessage("notebook_action", 600)) + "\n" + string(deeplyNestedMessage("agent_query", 9_999)),
		"\x02" + run + strings.Repeat(" ", maxConsoleFrameBytes+1),
	}
}

// FuzzAPI sends HTTP requests, and requires that none is answered with status 500 or
// 502, and that a response that claims to be JSON is JSON.
func FuzzAPI(f *testing.F) {
	for _, path := range []string{
		"/", "/healthz", "/readyz", "/metrics", "/run", "/agent", "/watch?session=x&from=-1", "/watch?from=9e9", "/api/config", "/api/sessions", "/api/sessions/x",
		"/api/sessions/..%2f", "/api/runs/" + strings.Repeat("x", 300), "/api/runs/one/attempts/" + strings.Repeat("x", 300), "/api/runs", "/api/runs?limit=-1&limit=2", "/api/runs/one", "/api/runs/..", "/api/runs/%00", "/api/runs/one/attempts?from=x&outcome=%ff",
		"/api/runs/one/attempts/1-case-1-e1-t1", "/api/runs/one/attempts/1-case-1-e1-t1/trace?from=2", "/api/runs/one/attempts/1-case-1-e1-t1/files/..%2f..%2frun.json",
		"/api/runs/one/attempts/1-case-1-e1-t1/stderr", "/api/runs/one/attempts/1-case-1-e1-t1/state", "/api/sessions/x/case?token=%zz", "//api", "/api/../healthz",
	} {
		f.Add(uint8(0), path, []byte(nil))
	}
	for _, body := range []string{`{"path":"p","id":"i"}`, `{"path":""}`, `{"path":7}`, `[]`, `{`, "", strings.Repeat(" ", 70_000), "\xff"} {
		f.Add(uint8(1), "/api/sessions/x/case", []byte(body))
		f.Add(uint8(1), "/api/sessions/%20/case", []byte(body))
	}
	h := newFuzzTarget(f)
	f.Fuzz(func(t *testing.T, method uint8, path string, body []byte) {
		methods := []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodHead, http.MethodOptions}
		request, err := http.NewRequestWithContext(t.Context(), methods[int(method)%len(methods)], "http://"+h.address+"/"+strings.TrimPrefix(path, "/"), bytes.NewReader(body))
		if err != nil {
			return // not a valid URL
		}
		response, err := h.client.Do(request)
		require.NoError(t, err)
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.NotContains(t, []int{http.StatusInternalServerError, http.StatusBadGateway}, response.StatusCode, "%s", text)
		if strings.HasSuffix(response.Header.Get("Content-Type"), "json") && request.Method != http.MethodHead {
			require.True(t, json.Valid(text), "%q", text)
		}
		h.check(t)
	})
}
