package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"assay/agent"
	"assay/eval/session"
	"assay/router"
	"assay/server"
)

// fetchOutputLinesFromAPI asks the API for the process output of a session.
func fetchOutputLinesFromAPI(t *testing.T, url, id string) (lines []server.OutputLine) {
	t.Helper()
	body, err := json.Marshal(getJSON(t, strings.Replace(url, "ws", "http", 1)+"/api/sessions/"+id+"/printed")["lines"])
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(body, &lines))
	return lines
}

func outputLineTexts(lines []server.OutputLine) (texts []string) {
	for _, line := range lines {
		texts = append(texts, line.Text)
	}
	return texts
}

// The output of an agent that exits before it is ready is kept after the session has
// failed to start, a last line without an end and invalid UTF-8 included.
func TestOutputOfAnAgentThatDoesNotStart(t *testing.T) {
	t.Parallel()
	starter := make(chan func(context.Context, server.StartOptions) (*session.Session, error), 1)
	h := newServerHarness(t, server.Config{TraceDir: t.TempDir(), StartSession: func(ctx context.Context, o server.StartOptions) (*session.Session, error) {
		start := <-starter
		starter <- start
		return start(ctx, o)
	}})
	starter <- func(ctx context.Context, o server.StartOptions) (*session.Session, error) {
		return session.Start(ctx, h.Supervisor, session.Config{
			ID: o.SessionID, Journal: o.Journal, Environ: os.Environ(), WorkdirRoot: h.Supervisor.TempDir(), ChildLineSink: o.ChildLineSink, Kernel: busyKernelConfig(),
			Agent:  agent.Config{Command: []string{"sh", "-c", `echo 'Traceback: <b>'; printf 'ModuleNotFoundError: no\377' >&2; exit 3`}},
			Router: router.Config{Shared: true},
		})
	}
	require.ErrorContains(t, h.Server.StartSession(t.Context(), "s"), "exited with status 3")
	lines := fetchOutputLinesFromAPI(t, h.URL, "s")
	require.ElementsMatch(t, []string{"Traceback: <b>", "ModuleNotFoundError: no\uFFFD"}, outputLineTexts(lines))
	require.Equal(t, "agent", lines[0].ProcessName)
	require.WithinDuration(t, time.Now(), lines[0].PrintedAt, time.Minute)
	require.Error(t, h.Server.StartSession(t.Context(), "s"))
	again := fetchOutputLinesFromAPI(t, h.URL, "s")
	require.Len(t, again, 4)
	require.NotEqual(t, again[1].ProcessNumber, again[2].ProcessNumber, "another process")
}

// A watcher of the output gets what is kept, and then each new line once, as it comes.
func TestWatchOutput(t *testing.T) {
	t.Parallel()
	h := newServerHarness(t, server.Config{})
	publisher := h.Server.PublishAttempts("default")
	agentPrints := publisher.ChildLineSink("agent")
	agentPrints([]byte("one"))
	watcher := dialOutput(t, h.URL)
	require.Equal(t, []string{"one"}, outputLineTexts(watcher.next(t)))
	publisher.ChildLineSink("kernel")([]byte("two"))
	agentPrints([]byte("three"))
	var got []server.OutputLine
	for len(got) < 2 {
		got = append(got, watcher.next(t)...)
	}
	require.Equal(t, []string{"two", "three"}, outputLineTexts(got))
	require.Equal(t, []string{"kernel", "agent"}, []string{got[0].ProcessName, got[1].ProcessName})
	require.Equal(t, []string{"one", "two", "three"}, outputLineTexts(dialOutput(t, h.URL).next(t)))
	publisher.Close()
	_, _, err := watcher.ws.Read(t.Context())
	require.Equal(t, websocket.StatusNormalClosure, websocket.CloseStatus(err), "%v", err)
}

// Only the newest lines of each process name are kept: at most 64 KiB, and always one line.
func TestOutputIsBounded(t *testing.T) {
	t.Parallel()
	h := newServerHarness(t, server.Config{})
	publisher := h.Server.PublishAttempts("default")
	t.Cleanup(publisher.Close)
	publisher.ChildLineSink("kernel")([]byte("the last word"))
	agentPrints := publisher.ChildLineSink("agent")
	for n := range 200_000 {
		agentPrints(fmt.Append(nil, n))
	}
	lines := fetchOutputLinesFromAPI(t, h.URL, "default")
	require.Equal(t, "the last word", lines[0].Text)
	require.Len(t, lines, 1+1024)
	require.Equal(t, "199999", lines[len(lines)-1].Text)
	agentPrints(make([]byte, 1<<20))
	require.Len(t, fetchOutputLinesFromAPI(t, h.URL, "default"), 2, "the last line is kept whatever its size")
}

// The output requires the token and an existing session.
func TestOutputRequiresTheToken(t *testing.T) {
	t.Parallel()
	h := newServerHarness(t, server.Config{Token: "secret"})
	publisher := h.Server.PublishAttempts("default")
	t.Cleanup(publisher.Close)
	for path, status := range map[string]int{
		"/api/sessions/default/printed": 401, "/printed": 401, "/printed?token=secret&session=x": 404,
		"/api/sessions/x/printed?token=secret": 404, "/printed?token=secret&from=1": 400, "/api/sessions/default/printed?token=secret": 200,
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.Replace(h.URL, "ws", "http", 1)+path, nil)
		require.NoError(t, err)
		answer, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, status, answer.StatusCode, path)
	}
}

// outputWatcher is a connection to /printed.
type outputWatcher struct{ ws *websocket.Conn }

func dialOutput(t *testing.T, url string) outputWatcher {
	t.Helper()
	ws, _, err := websocket.Dial(t.Context(), url+"/printed", nil) //nolint:bodyclose // the websocket library closes it
	require.NoError(t, err)
	t.Cleanup(func() { _ = ws.CloseNow() })
	return outputWatcher{ws}
}

// next waits for the next message and returns its lines.
func (w outputWatcher) next(t *testing.T) []server.OutputLine {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), generousTimeout)
	defer cancel()
	_, body, err := w.ws.Read(ctx)
	require.NoError(t, err)
	var output server.ProcessOutput
	require.NoError(t, json.Unmarshal(body, &output))
	return output.Lines
}
