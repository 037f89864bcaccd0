package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
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
	"assay/internal/subprocess"
	"assay/kernel"
	"assay/router"
	"assay/server"
)

// fuzzHouse is a server with sessions whose kernel and agent say nothing, for any
// number of fuzz inputs one after the other.
type fuzzHouse struct {
	*world // takes complaints
	sup    *subprocess.Supervisor
	url    string // "127.0.0.1:…"
	boxes  string
	panics bytes.Buffer
}

func newFuzzHouse(f *testing.F) *fuzzHouse {
	f.Helper()
	h := &fuzzHouse{world: &world{client: newClient()}, boxes: f.TempDir()}
	h.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	var err error
	h.sup, err = subprocess.NewSupervisor(subprocess.Config{CleanupHelper: []string{os.Args[0], "reap"}})
	require.NoError(f, err)
	runsDir := f.TempDir()
	createAttempt(f, createRun(f, runsDir, "one"), 1, map[string]string{"trace.jsonl": "{}\n", "state.json": "{}", "stderr.txt": "\xff", "conversation.jsonl": ""})
	web, err := server.New(server.Config{
		EvalSandbox: true, StartSession: h.open, TraceDir: f.TempDir(), RunsDir: runsDir, MaxFrameBytes: consoleLimit, Log: slog.New(complaints{h.world}),
		PrepareCase: func(path, id string) (server.AttemptRunner, error) {
			if path == "" {
				return nil, errors.New("no path")
			}
			return func(_ context.Context, show *server.AttemptPublisher) error {
				show.AttemptEnded(runs.Attempt{CaseID: id, Outcome: runs.OutcomeCancelled})
				return nil
			}, nil
		},
	})
	require.NoError(f, err)
	ln, err := (&net.ListenConfig{}).Listen(f.Context(), "tcp", "127.0.0.1:0")
	require.NoError(f, err)
	h.url = ln.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- web.Run(ctx, ln) }()
	log.SetOutput(&h.panics)
	f.Cleanup(func() {
		cancel()
		require.NoError(f, <-ended)
		require.NoError(f, h.sup.Close())
		log.SetOutput(os.Stderr)
	})
	return h
}

func (h *fuzzHouse) open(ctx context.Context, o server.StartOptions) (*session.Session, error) {
	command := append([]string{"env", "GORACE=atexit_sleep_ms=0"}, playing("quiet")...)
	return session.Start(ctx, h.sup, session.Config{
		ID: o.SessionID, Journal: o.Journal, RestoreFrom: o.RestoreFrom, Kernel: kernel.Config{Command: command}, Agent: agent.Config{Command: command},
		Environ: os.Environ(), WorkdirRoot: h.boxes, AwaitConsole: true, IsEvaluation: true, // nothing is started anew
		Router: router.Config{DocumentTimeout: time.Second, HolderTimeout: time.Second, CellTimeout: time.Second, Shared: o.SessionID != "owned"},
	})
}

func (h *fuzzHouse) check(t *testing.T) {
	t.Helper()
	require.Empty(t, h.faults)
	require.Empty(t, h.panics.String())
}

// FuzzConsole lets a console say what it likes, from its first message on: what it
// is told is JSON, and it can always leave.
//
// The first byte picks an endpoint and a session; each line is a message, one
// that begins with ! a binary one.
func FuzzConsole(f *testing.F) {
	for _, seed := range consoleSeeds() {
		f.Add([]byte(seed))
	}
	h := newFuzzHouse(f)
	f.Fuzz(func(t *testing.T, input []byte) {
		if len(input) == 0 {
			return
		}
		path := []string{"/run", "/agent"}[input[0]%2]
		id := []string{"held", "viewed", "owned"}[input[0]/2%3]
		ws, response, err := websocket.Dial(t.Context(), "ws://"+h.url+path+"?session="+id, nil)
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
					h.complain(fmt.Sprintf("%s was told %.300q: %v", path, body, err))
				}
			}
		})
		for line := range bytes.SplitSeq(input[1:], []byte("\n")) {
			kind := websocket.MessageText
			if bytes.HasPrefix(line, []byte("!")) {
				kind = websocket.MessageBinary
			}
			if ws.Write(t.Context(), kind, line) != nil {
				break // it was sent away
			}
		}
		began := time.Now()
		_ = ws.Close(websocket.StatusNormalClosure, "") // fails where it was sent away
		reading.Wait()
		require.Less(t, time.Since(began), 4*time.Second, "its goodbye is not heard")
		h.check(t)
	})
}

// consoleSeeds are conversations at each endpoint.
func consoleSeeds() []string {
	const run = runHello + "\n"
	view := `{"type":"init","session_id":"1","role":"view"}` + "\n"
	hold := `{"type":"init","session_id":1}` + "\n"
	return []string{
		"\x00", "\x01", "\x00\n", "\x00{}", "\x01{}", "\x00[", "\x01" + `{"type":"init","role":7}`, "\x01" + `{"type":"init","connection_idx":1e99}`,
		"\x00!" + run, "\x00" + run + "!binary", "\x00\xff\xfe", "\x00" + run + "\xff\xfe", "\x00" + run + "\x00\x01\x01\x00a",
		"\x00" + `{"token":"` + token + `","connection_idx":-1}`, "\x00" + `{"token":"` + token + `","connection_idx":1}`,
		"\x02" + run + `{"type":"run_cell","cell_id":"a","code":"1"}` + "\n" + `{"type":"run_cell","cell_id":"a"}` + "\n" + `{"type":"stop_cell"}` + "\n" + `{"type":"dispose_cell","cell_id":"a"}`,
		"\x04" + run + `{"type":"execute_code","code":"1","agent_tx_id":"m"}` + "\n" + `{"type":"globals_summary","agent_tx_id":[]}` + "\n" + `{"type":"set_widget_value","data":7}`,
		"\x00" + run + `{"type":"managed_process_restart","name":"kernel"}` + "\n" + `{"type":"debug_state"}` + "\n" + `{"type":"run_cell","code":"1"}`,
		"\x01" + hold + `{"type":"agent_action_response","tx_id":"x","status":"success"}` + "\n" + `{"type":"agent_query","query":"q"}` + "\n" + `{"type":"kernel_message"}` + "\nx",
		"\x03" + view + `{"type":"notebook_action","action":"create_cell","tx_id":"t","params":{"position":0,"cell_type":"code","source":"1","auto_run":true}}` + "\n" + `{"type":"notebook_action","action":"get_context"}`,
		"\x05" + view + `{"type":"notebook_action","action":"edit_cell","tx_id":"t","params":[]}` + "\n" + `{"type":"agent_cancel"}` + "\n" + `{"type":"notebook_action","action":"execute_code","params":{"code":"1","timeout_s":-1}}`,
		"\x03" + view + string(nested("notebook_action", 600)) + "\n" + string(nested("agent_query", 9_999)),
		"\x02" + run + strings.Repeat(" ", consoleLimit+1),
	}
}

// FuzzAPI asks for anything: nothing is answered with an internal error, and what
// says that it is JSON is.
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
	h := newFuzzHouse(f)
	f.Fuzz(func(t *testing.T, method uint8, path string, body []byte) {
		methods := []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodHead, http.MethodOptions}
		request, err := http.NewRequestWithContext(t.Context(), methods[int(method)%len(methods)], "http://"+h.url+"/"+strings.TrimPrefix(path, "/"), bytes.NewReader(body))
		if err != nil {
			return // no such address can be asked for
		}
		answer, err := h.client.Do(request)
		require.NoError(t, err)
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.NotContains(t, []int{http.StatusInternalServerError, http.StatusBadGateway}, answer.StatusCode, "%s", text)
		if strings.HasSuffix(answer.Header.Get("Content-Type"), "json") && request.Method != http.MethodHead {
			require.True(t, json.Valid(text), "%q", text)
		}
		h.check(t)
	})
}
