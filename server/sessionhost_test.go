package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/agent"
	"assay/eval/runs"
	"assay/eval/session"
	"assay/internal/trace"
	"assay/router"
	"assay/server"
	"assay/server/servertest"
)

// sessionServer is a server that starts sessions, with a kernel that never answers and an
// agent that does nothing.
type sessionServer struct {
	*serverHarness
	refuseSessions atomic.Bool // sessions cannot be started
	ignoreSIGTERM  bool        // its agents do not end on SIGTERM, which makes ending a session take 2 s
}

func newSessionServer(t *testing.T, cfg server.Config) *sessionServer {
	t.Helper()
	n := &sessionServer{}
	cfg.TraceDir, cfg.StartSession = t.TempDir(), n.startSession
	n.serverHarness = newServerHarness(t, cfg)
	return n
}

func (n *sessionServer) startSession(ctx context.Context, o server.StartOptions) (*session.Session, error) {
	if n.refuseSessions.Load() {
		return nil, errors.New("no room just now")
	}
	command := servertest.RoleCommand("quiet")
	if n.ignoreSIGTERM {
		command = []string{"sh", "-c", `trap '' TERM; "$@" & wait; while :; do sleep 0.1; done`, "sh"}
		command = append(command, servertest.RoleCommand("quiet")...)
	}
	return session.Start(ctx, n.Supervisor, session.Config{
		ID: o.SessionID, Journal: o.Journal, RestoreFrom: o.RestoreFrom, Environ: os.Environ(), WorkdirRoot: n.Supervisor.TempDir(),
		Kernel: busyKernelConfig(), Agent: agent.Config{Command: command}, Router: router.Config{Shared: n.sharedConsoles},
	})
}

// publishFailedAttempt publishes an attempt at a case that could not start, with this
// answer (JSON) as a mark. It may be called from any goroutine, and panics on errors.
func publishFailedAttempt(t *testing.T, publisher *server.AttemptPublisher, caseID, answer string) {
	t.Helper()
	recording, err := trace.NewRecording(trace.NewJournal(publisher.SessionID()), filepath.Join(t.TempDir(), "trace.jsonl"), nil)
	if err != nil {
		panic(err)
	}
	publisher.OnTrace(recording)
	if err := recording.Close(); err != nil {
		panic(err)
	}
	publisher.AttemptEnded(runs.Attempt{CaseID: caseID, Outcome: runs.OutcomeSetupError, Answer: json.RawMessage(answer)})
}

// isResultOf matches the result of an attempt at a case.
func isResultOf(caseID string) func(frame) bool {
	return func(f frame) bool {
		return f.Type == "eval_result" && strings.Contains(f.String(), `"case_id":"`+caseID+`"`)
	}
}

// If a session that a console requests after an attempt cannot start, the attempt's result
// stays visible, and the console can request a session again.
func TestFailedRestartKeepsTheResult(t *testing.T) {
	t.Parallel()
	n := newSessionServer(t, server.Config{})
	require.NoError(t, n.Server.QueueAttempts(server.DefaultSessionID, func(_ context.Context, publisher *server.AttemptPublisher) error {
		publishFailedAttempt(t, publisher, "one", "1")
		return nil
	}))
	run := dialConsole(t, n.URL+"/run", runHello, nil)
	run.awaitItem(t, "ready", isMessageOfType("ready"))
	dialConsole(t, n.URL+"/agent", viewHello, nil).awaitItem(t, "the result", isResultOf("one"))
	n.refuseSessions.Store(true)
	run.writeText(`{"type":"managed_process_restart","name":"moon"}`)
	run.awaitItem(t, "what is wrong with the request", func(f frame) bool { return strings.Contains(f.String(), `want kernel or agent`) })
	run.writeText(`{"type":"managed_process_restart","name":"kernel"}`)
	run.awaitItem(t, "why it did not start", func(f frame) bool { return strings.Contains(f.String(), "no room just now") })
	dialConsole(t, n.URL+"/agent", viewHello, nil).awaitItem(t, "the result", isResultOf("one"))
	n.refuseSessions.Store(false)
	run.writeText(`{"type":"managed_process_restart","name":"kernel"}`)
	run.awaitItem(t, "a session", func(f frame) bool {
		return f.Type == "ready" && strings.Contains(f.String(), `"kernel_status":"running"`)
	})
}

// A console gets every result, even if attempts end faster than it can be told.
func TestNoResultIsLost(t *testing.T) {
	t.Parallel()
	n := newSessionServer(t, server.Config{})
	firstSeen := make(chan struct{})
	const more = 20
	require.NoError(t, n.Server.QueueAttempts(server.DefaultSessionID, func(_ context.Context, publisher *server.AttemptPublisher) error {
		publishFailedAttempt(t, publisher, "first", "1")
		<-firstSeen
		for i := range more {
			publishFailedAttempt(t, publisher, fmt.Sprint(i), "1")
		}
		return nil
	}))
	view := dialConsole(t, n.URL+"/agent", viewHello, nil)
	view.awaitItem(t, "the first", isResultOf("first"))
	close(firstSeen)
	for i := range more {
		view.awaitItem(t, "a result", isResultOf(fmt.Sprint(i)))
	}
	require.Len(t, view.itemsMatching(isMessageOfType("eval_result")), 1+more, "each once")
}

// Attempts queued under another id than the default one are published, and can be
// watched, under that id.
func TestAttemptsOfAnotherSession(t *testing.T) {
	t.Parallel()
	n := newSessionServer(t, server.Config{})
	require.NoError(t, n.Server.QueueAttempts("other", func(_ context.Context, publisher *server.AttemptPublisher) error {
		publishFailedAttempt(t, publisher, "one", "1")
		return nil
	}))
	dialConsole(t, n.URL+"/agent?session=other", viewHello, nil).awaitItem(t, "the result", isResultOf("one"))
	watch := dialConsole(t, n.URL+"/watch?session=other", "{}", nil)
	require.Contains(t, watch.awaitItem(t, "the header", isMessageOfType("trace")).String(), `"session":"other"`)
}

// A first message of more than 64 KiB closes the connection, as the console is not
// admitted yet.
func TestLargeFirstMessage(t *testing.T) {
	t.Parallel()
	n := newSessionServer(t, server.Config{Token: "secret"})
	ws := dialConsole(t, n.URL+"/run", `{"token":"`+strings.Repeat("x", 100<<10)+`"}`, nil)
	require.EqualValues(t, 1009, ws.awaitClose(t).Code)
}

// A console that waits for attempts which cannot be made is closed with the reason, and
// /readyz reports that the session is not ready.
func TestAttemptsThatCannotBeMade(t *testing.T) {
	t.Parallel()
	n := newSessionServer(t, server.Config{})
	joined := make(chan struct{})
	require.NoError(t, n.Server.QueueAttempts(server.DefaultSessionID, func(context.Context, *server.AttemptPublisher) error {
		<-joined
		return errors.New("the folder for runs is full")
	}))
	ready, err := http.Get(strings.Replace(n.URL, "ws", "http", 1) + "/readyz")
	require.NoError(t, err)
	require.NoError(t, ready.Body.Close())
	require.Equal(t, http.StatusServiceUnavailable, ready.StatusCode)
	view := dialConsole(t, n.URL+"/agent", viewHello, nil)
	for n.info(t).ConsoleCount == 0 { //nolint:revive // wait until the console has joined
	}
	close(joined)
	require.Contains(t, view.awaitClose(t).Reason, "the folder for runs is full")
}

// A session without consoles ends after IdleTimeout. A console that connects while it
// ends, or later, gets another one; what is left of it can be watched.
func TestIdleSessionEndsAndIsStartedAgain(t *testing.T) {
	t.Parallel()
	n := newSessionServer(t, server.Config{IdleTimeout: 200 * time.Millisecond})
	n.ignoreSIGTERM = true
	require.NoError(t, n.Server.StartSession(t.Context(), server.DefaultSessionID))
	for n.state(t) != "stopping" { //nolint:revive // wait until it is
	}
	isRunning := func(f frame) bool { return strings.Contains(f.String(), `"kernel_status":"running"`) }
	early := dialConsole(t, n.URL+"/run", runHello, nil)
	early.awaitItem(t, "a session", isRunning)
	require.NoError(t, early.ws.CloseNow())
	for n.state(t) != "stopped" { //nolint:revive // wait until it is
	}
	watch := dialConsole(t, n.URL+"/watch", "{}", nil)
	watch.awaitItem(t, "the end of the trace", func(f frame) bool { return strings.Contains(f.String(), `"state":"ended"`) })
	require.Equal(t, "the session has ended", watch.awaitClose(t).Reason)
	dialConsole(t, n.URL+"/run", runHello, nil).awaitItem(t, "a session", isRunning)
}

func (n *sessionServer) state(t *testing.T) server.HostState {
	t.Helper()
	return n.info(t).State
}

// info asks the API about the default session.
func (n *sessionServer) info(t *testing.T) (info server.SessionInfo) {
	t.Helper()
	response, err := http.Get(strings.Replace(n.URL, "ws", "http", 1) + "/api/sessions/default")
	require.NoError(t, err)
	defer response.Body.Close()
	require.NoError(t, json.NewDecoder(response.Body).Decode(&info))
	return info
}

// After a session has ended, the console with the lowest number is the owner, and only it
// can start another session.
func TestOwnerOfAnEndedSession(t *testing.T) {
	t.Parallel()
	n := newSessionServer(t, server.Config{Token: "secret"})
	require.NoError(t, n.Server.QueueAttempts(server.DefaultSessionID, func(_ context.Context, publisher *server.AttemptPublisher) error {
		publishFailedAttempt(t, publisher, "one", "1")
		return nil
	}))
	const hello = `{"token":"secret"}`
	first := dialConsole(t, n.URL+"/run", hello, nil)
	require.Equal(t, true, first.awaitItem(t, "ready", isMessageOfType("ready")).fields(t)["session_owner"])
	second := dialConsole(t, n.URL+"/run", hello, nil)
	require.Equal(t, false, second.awaitItem(t, "ready", isMessageOfType("ready")).fields(t)["session_owner"])
	second.writeText(`{"type":"managed_process_restart","name":"kernel"}`)
	second.awaitItem(t, "a refusal", isMessageOfType("not_session_owner_error"))
	first.writeText(`{"type":"managed_process_restart","name":"kernel"}`)
	second.awaitItem(t, "another session", func(f frame) bool { return strings.Contains(f.String(), `"kernel_status":"running"`) })
}

// A console that does not read a long message delays the stop of the server by less than
// 10 s.
func TestServerStopsDespiteANonReadingConsole(t *testing.T) {
	t.Parallel()
	n := newSessionServer(t, server.Config{})
	require.NoError(t, n.Server.QueueAttempts(server.DefaultSessionID, func(_ context.Context, publisher *server.AttemptPublisher) error {
		publishFailedAttempt(t, publisher, "one", `"`+strings.Repeat("x", 20<<20)+`"`)
		return nil
	}))
	console := dialNonReadingConsole(t, n.URL, viewHello, `{"type":"kernel_message"}`)
	defer console.Close()
	console.awaitFirstByte(t) // the server is writing the result
	began := time.Now()
	n.Stop()
	require.Less(t, time.Since(began), 10*time.Second)
}

// Attempts that are published while the server stops neither block nor delay it.
func TestPublishWhileTheServerStops(t *testing.T) {
	t.Parallel()
	n := newSessionServer(t, server.Config{})
	dir := t.TempDir()
	var publishing sync.WaitGroup
	started := make(chan struct{})
	publishing.Go(func() {
		for i := range 200 {
			recording, err := trace.NewRecording(trace.NewJournal("s"), filepath.Join(dir, fmt.Sprint(i)), nil)
			if err != nil {
				return
			}
			publisher := n.Server.PublishAttempts(fmt.Sprint("published-", i))
			publisher.OnTrace(recording)
			_ = recording.Close()
			publisher.Close()
			if i == 10 {
				close(started)
			}
		}
	})
	<-started
	n.Stop()
	publishing.Wait()
}
