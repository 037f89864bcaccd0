package server_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/agent"
	"assay/eval/attempt"
	"assay/eval/runs"
	"assay/eval/session"
	"assay/internal/protocol"
	"assay/kernel"
	"assay/router"
	"assay/server"
	"assay/testcases"
)

const (
	// consoleLimit is the largest message of a console, in bytes.
	consoleLimit = 256 << 10

	// actionLimit is how long an action may take, whoever answers it.
	actionLimit = 700 * time.Millisecond

	caseSession  = "case"  // of which attempts take the place
	shownSession = "shown" // whose attempts somebody else makes
)

// sessions are the ids that people come to.
func sessions() []string { return []string{"held", "viewed", "both", caseSession, shownSession} }

// world is where the chaos takes place. It is safe for concurrent use.
type world struct {
	seed   uint64
	house  *house
	client *http.Client
	marks  string // folder that is named on the command line of every child
	boxes  string // folder of the sandboxes
	out    string // folder of the traces
	cases  []testcases.Case

	mu       sync.Mutex
	faults   []string
	lives    []*session.Session
	paths    []string // of the traces of attempts
	outcomes []runs.Attempt
}

func newWorld(t *testing.T, seed uint64) *world {
	t.Helper()
	w := &world{seed: seed, client: newClient(), marks: t.TempDir(), boxes: t.TempDir(), out: t.TempDir()}
	path := filepath.Join(t.TempDir(), "case.json")
	text := `{"id":"sum","task":"How much is 6 times 7?","grader":{"type":"exact","config":{"ground_truth":{"n":42}}}}`
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	cases, err := testcases.Load([]string{path}, testcases.Options{})
	require.NoError(t, err)
	w.cases = cases
	w.house = newHouse(t, server.Config{
		StartSession: w.open, TraceDir: w.out, IdleTimeout: 700 * time.Millisecond, PingInterval: 500 * time.Millisecond, MaxFrameBytes: consoleLimit,
		Log: slog.New(complaints{w}),
		PrepareCase: func(string, string) (server.AttemptRunner, error) {
			return func(ctx context.Context, show *server.AttemptPublisher) error {
				w.try(ctx, show, caseSession)
				return nil
			}, nil
		},
	})
	return w
}

// complain notes what must not be.
func (w *world) complain(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = append(w.faults, text)
}

// children are the kernel and the agent of a session.
func (w *world) children(who string) (kernel.Config, agent.Config) {
	play := func(role string) []string {
		return append([]string{"env", "GORACE=atexit_sleep_ms=0"}, playing(role, w.marks, strconv.FormatUint(w.seed, 10), who)...)
	}
	return kernel.Config{Command: play("chaos-kernel"), ReadyTimeout: 2 * time.Second}, agent.Config{Command: play("chaos-agent"), ReadyTimeout: 2 * time.Second}
}

func (w *world) open(ctx context.Context, o server.StartOptions) (*session.Session, error) {
	kernel, agent := w.children(o.SessionID)
	takeOver := 300 * time.Millisecond
	if o.SessionID == "held" {
		takeOver = time.Minute
	}
	live, err := session.Start(ctx, w.house.sup, session.Config{
		ID: o.SessionID, Journal: o.Journal, RestoreFrom: o.RestoreFrom, Kernel: kernel, Agent: agent, Environ: os.Environ(),
		WorkdirRoot: w.boxes, AwaitConsole: true, TakeOverDelay: takeOver, AgentInit: protocol.AgentInit{SessionID: 1}, Log: slog.New(complaints{w}),
		Router: router.Config{
			DocumentTimeout: actionLimit / 2, HolderTimeout: actionLimit, CellTimeout: actionLimit, StaleDelay: 20 * time.Millisecond, AgentStallTimeout: 2 * time.Second, Shared: o.SessionID != "both",
		},
	})
	if err == nil {
		w.keep(live)
	}
	return live, err
}

func (w *world) keep(live *session.Session) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lives = append(w.lives, live)
}

// try makes an attempt in the place of a session.
func (w *world) try(ctx context.Context, show *server.AttemptPublisher, id string) {
	w.mu.Lock()
	n := len(w.paths)
	dir := filepath.Join(w.marks, fmt.Sprintf("try-%d", n))
	w.paths = append(w.paths, filepath.Join(dir, "trace.jsonl"))
	w.mu.Unlock()
	if err := os.Mkdir(dir, 0o700); err != nil {
		w.complain(err.Error())
		return
	}
	d := newDice(w.seed, "try", strconv.Itoa(n))
	who := fmt.Sprintf("try%d", n)
	kernel, agentConfig := w.children(who)
	result := attempt.Run(ctx, attempt.Config{
		Supervisor: w.house.sup, Kernel: kernel, Environ: os.Environ(), WorkdirRoot: w.boxes, SessionID: id, SharedConsoles: d.chance(2),
		AgentConfig:  func(string) (agent.Config, error) { return agentConfig, nil },
		AwaitConsole: d.chance(2), HolderGrace: 300 * time.Millisecond,
		LimitOverrides: runs.Limits{WallS: 0.5 + 2*d.Float64(), IdleS: 1, CellS: 0.5, Actions: 50 + d.IntN(200)},
		OnTrace:        show.OnTrace, OnSession: func(live *session.Session) { w.keep(live); show.OnSession(live) }, Log: slog.New(complaints{w}),
	}, attempt.Job{Case: w.cases[0], Epoch: 1, Try: 1, Dir: dir, RelDir: who})
	w.mu.Lock()
	w.outcomes = append(w.outcomes, result)
	w.mu.Unlock()
	show.AttemptEnded(result)
}

// shows makes attempts for an id of their own until ctx ends.
func (w *world) shows(ctx context.Context) {
	for ctx.Err() == nil {
		show := w.house.web.PublishAttempts(shownSession)
		for range 2 {
			w.try(ctx, show, shownSession)
		}
		pause(ctx.Done(), 300*time.Millisecond)
		show.Close()
	}
}

// complaints takes a log and notes what in it must not be. What a peer does wrong
// is a warning; a session that cannot start is an error of which people are told.
type complaints struct{ *world }

func (complaints) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelError }

func (c complaints) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(a slog.Attr) bool {
		text += fmt.Sprintf(" %s=%.2000s", a.Key, a.Value)
		return true
	})
	if r.Message != "session" {
		c.complain("logged: " + text)
	}
	return nil
}

func (c complaints) WithAttrs([]slog.Attr) slog.Handler { return c }

func (c complaints) WithGroup(string) slog.Handler { return c }

// traces are the files of all traces there are, each once.
func (w *world) traces(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(w.out, "*"))
	require.NoError(t, err)
	all = append(all, w.paths...)
	seen, files := map[string]bool{}, []string{}
	for _, path := range all {
		real, err := filepath.EvalSymlinks(path)
		require.NoError(t, err)
		if !seen[real] {
			seen[real] = true
			files = append(files, real)
		}
	}
	return files
}
