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
)

// inn is a house that starts sessions for whoever asks for one.
type inn struct {
	*house
	full     atomic.Bool // no session can be started
	stubborn bool        // its agents do not end for SIGTERM
}

func newInn(t *testing.T, cfg server.Config) *inn {
	t.Helper()
	n := &inn{}
	cfg.TraceDir, cfg.StartSession = t.TempDir(), n.open
	n.house = newHouse(t, cfg)
	return n
}

func (n *inn) open(ctx context.Context, o server.StartOptions) (*session.Session, error) {
	if n.full.Load() {
		return nil, errors.New("no room just now")
	}
	command := playing("quiet")
	if n.stubborn {
		command = []string{"sh", "-c", `trap '' TERM; "$@" & wait; while :; do sleep 0.1; done`, "sh"}
		command = append(command, playing("quiet")...)
	}
	return session.Start(ctx, n.sup, session.Config{
		ID: o.SessionID, Journal: o.Journal, RestoreFrom: o.RestoreFrom, Environ: os.Environ(), WorkdirRoot: n.sup.TempDir(),
		Kernel: busy(), Agent: agent.Config{Command: command}, Router: router.Config{Shared: n.shared},
	})
}

// end shows that an attempt has ended that could not start.
func end(t *testing.T, show *server.AttemptPublisher, id, answer string) {
	t.Helper()
	recording, err := trace.NewRecording(trace.NewJournal(show.SessionID()), filepath.Join(t.TempDir(), "trace.jsonl"))
	if err != nil {
		panic(err)
	}
	show.OnTrace(recording)
	if err := recording.Close(); err != nil {
		panic(err)
	}
	show.AttemptEnded(runs.Attempt{CaseID: id, Outcome: runs.OutcomeSetupError, Answer: json.RawMessage(answer)})
}

const viewHello = `{"type":"init","role":"view"}`

func verdictOf(id string) func(frame) bool {
	return func(f frame) bool {
		return f.Type == "eval_result" && strings.Contains(f.String(), `"case_id":"`+id+`"`)
	}
}

// A session that cannot be started in place of an attempt that has ended leaves
// the attempt's verdict to be seen, and can be asked for again.
func TestRestartThatFailsBehindAVerdict(t *testing.T) {
	t.Parallel()
	n := newInn(t, server.Config{})
	require.NoError(t, n.web.QueueAttempts(server.DefaultSessionID, func(_ context.Context, show *server.AttemptPublisher) error {
		end(t, show, "one", "1")
		return nil
	}))
	run := dial(t, n.url+"/run", runHello, nil)
	run.await(t, "ready", ofType("ready"))
	dial(t, n.url+"/agent", viewHello, nil).await(t, "the verdict", verdictOf("one"))
	n.full.Store(true)
	run.write(`{"type":"managed_process_restart","name":"moon"}`)
	run.await(t, "what is wrong with that", func(f frame) bool { return strings.Contains(f.String(), `want kernel or agent`) })
	run.write(`{"type":"managed_process_restart","name":"kernel"}`)
	run.await(t, "why there is none", func(f frame) bool { return strings.Contains(f.String(), "no room just now") })
	dial(t, n.url+"/agent", viewHello, nil).await(t, "the verdict", verdictOf("one"))
	n.full.Store(false)
	run.write(`{"type":"managed_process_restart","name":"kernel"}`)
	run.await(t, "a session", func(f frame) bool {
		return f.Type == "ready" && strings.Contains(f.String(), `"kernel_status":"running"`)
	})
}

// Verdicts that come faster than a console can be told of them all come.
func TestNoVerdictIsLost(t *testing.T) {
	t.Parallel()
	n := newInn(t, server.Config{})
	seen := make(chan struct{})
	const more = 20
	require.NoError(t, n.web.QueueAttempts(server.DefaultSessionID, func(_ context.Context, show *server.AttemptPublisher) error {
		end(t, show, "first", "1")
		<-seen
		for i := range more {
			end(t, show, fmt.Sprint(i), "1")
		}
		return nil
	}))
	view := dial(t, n.url+"/agent", viewHello, nil)
	view.await(t, "the first", verdictOf("first"))
	close(seen)
	for i := range more {
		view.await(t, "a verdict", verdictOf(fmt.Sprint(i)))
	}
	require.Len(t, view.all(ofType("eval_result")), 1+more, "each once")
}

// Attempts are made under the id that they were asked for, and their traces are
// kept under it.
func TestAttemptsOfAnotherSession(t *testing.T) {
	t.Parallel()
	n := newInn(t, server.Config{})
	require.NoError(t, n.web.QueueAttempts("other", func(_ context.Context, show *server.AttemptPublisher) error {
		end(t, show, "one", "1")
		return nil
	}))
	dial(t, n.url+"/agent?session=other", viewHello, nil).await(t, "the verdict", verdictOf("one"))
	watch := dial(t, n.url+"/watch?session=other", "{}", nil)
	require.Contains(t, watch.await(t, "the header", ofType("trace")).String(), `"session":"other"`)
}

// The first message of somebody who has not been let in is a small one.
func TestLargeFirstMessage(t *testing.T) {
	t.Parallel()
	n := newInn(t, server.Config{Token: "secret"})
	ws := dial(t, n.url+"/run", `{"token":"`+strings.Repeat("x", 100<<10)+`"}`, nil)
	require.EqualValues(t, 1009, ws.closed(t).Code)
}

// Who waits for attempts that cannot be made is told why.
func TestAttemptsThatCannotBeMade(t *testing.T) {
	t.Parallel()
	n := newInn(t, server.Config{})
	came := make(chan struct{})
	require.NoError(t, n.web.QueueAttempts(server.DefaultSessionID, func(context.Context, *server.AttemptPublisher) error {
		<-came
		return errors.New("the folder for runs is full")
	}))
	ready, err := http.Get(strings.Replace(n.url, "ws", "http", 1) + "/readyz")
	require.NoError(t, err)
	require.NoError(t, ready.Body.Close())
	require.Equal(t, http.StatusServiceUnavailable, ready.StatusCode)
	view := dial(t, n.url+"/agent", viewHello, nil)
	for n.info(t).Consoles == 0 { //nolint:revive // until it has come
	}
	close(came)
	require.Contains(t, view.closed(t).Reason, "the folder for runs is full")
}

// A session ends that nobody has needed for its time. Who comes while it does, or
// later, gets another.
func TestIdleSessionEndsAndComesBack(t *testing.T) {
	t.Parallel()
	n := newInn(t, server.Config{IdleTimeout: 200 * time.Millisecond})
	n.stubborn = true // it takes two seconds to end
	require.NoError(t, n.web.StartSession(t.Context(), server.DefaultSessionID))
	for n.state(t) != "stopping" { //nolint:revive // until it is
	}
	running := func(f frame) bool { return strings.Contains(f.String(), `"kernel_status":"running"`) }
	while := dial(t, n.url+"/run", runHello, nil)
	while.await(t, "a session", running)
	require.NoError(t, while.ws.CloseNow())
	for n.state(t) != "stopped" { //nolint:revive // until it is
	}
	// What is left of it can be watched to its end.
	watch := dial(t, n.url+"/watch", "{}", nil)
	watch.await(t, "the end of the trace", func(f frame) bool { return strings.Contains(f.String(), `"state":"ended"`) })
	require.Equal(t, "the session has ended", watch.closed(t).Reason)
	dial(t, n.url+"/run", runHello, nil).await(t, "a session", running)
}

func (n *inn) state(t *testing.T) string {
	t.Helper()
	return n.info(t).State
}

type info struct {
	State    string
	Consoles int
}

// info is what the API says of the session.
func (n *inn) info(t *testing.T) (is info) {
	t.Helper()
	response, err := http.Get(strings.Replace(n.url, "ws", "http", 1) + "/api/sessions/default")
	require.NoError(t, err)
	defer response.Body.Close()
	require.NoError(t, json.NewDecoder(response.Body).Decode(&is))
	return is
}

// When a session has ended, the console that came first owns what is left, and
// only it can have another begun.
func TestOwnerOfAnEndedSession(t *testing.T) {
	t.Parallel()
	n := newInn(t, server.Config{Token: "secret"})
	require.NoError(t, n.web.QueueAttempts(server.DefaultSessionID, func(_ context.Context, show *server.AttemptPublisher) error {
		end(t, show, "one", "1")
		return nil
	}))
	const hello = `{"token":"secret"}`
	first := dial(t, n.url+"/run", hello, nil)
	require.Equal(t, true, first.await(t, "ready", ofType("ready")).fields(t)["session_owner"])
	second := dial(t, n.url+"/run", hello, nil)
	require.Equal(t, false, second.await(t, "ready", ofType("ready")).fields(t)["session_owner"])
	second.write(`{"type":"managed_process_restart","name":"kernel"}`)
	second.await(t, "a refusal", ofType("not_session_owner_error"))
	first.write(`{"type":"managed_process_restart","name":"kernel"}`)
	second.await(t, "another session", func(f frame) bool { return strings.Contains(f.String(), `"kernel_status":"running"`) })
}

// A console that never reads does not keep the server from stopping, whatever it
// was being told.
func TestDeafConsoleAndTheServersEnd(t *testing.T) {
	t.Parallel()
	n := newInn(t, server.Config{})
	require.NoError(t, n.web.QueueAttempts(server.DefaultSessionID, func(_ context.Context, show *server.AttemptPublisher) error {
		end(t, show, "one", `"`+strings.Repeat("x", 20<<20)+`"`)
		return nil
	}))
	deaf := deafConsole(t, n.url, viewHello, `{"type":"kernel_message"}`)
	defer deaf.Close()
	deaf.readOne(t) // the server is in the middle of the verdict
	began := time.Now()
	n.stop()
	require.Less(t, time.Since(began), 10*time.Second)
}

// Sessions that others begin while the server ends hold up neither, and are shown
// to nobody.
func TestShownWhileTheServerEnds(t *testing.T) {
	t.Parallel()
	n := newInn(t, server.Config{})
	dir := t.TempDir()
	var showing sync.WaitGroup
	began := make(chan struct{})
	showing.Go(func() {
		for i := range 200 {
			recording, err := trace.NewRecording(trace.NewJournal("s"), filepath.Join(dir, fmt.Sprint(i)))
			if err != nil {
				return
			}
			show := n.web.PublishAttempts(fmt.Sprint("shown-", i))
			show.OnTrace(recording)
			_ = recording.Close()
			show.Close()
			if i == 10 {
				close(began)
			}
		}
	})
	<-began
	n.stop()
	showing.Wait()
}
