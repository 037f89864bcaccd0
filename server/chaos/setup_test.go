package chaos_test

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
	"assay/server/servertest"
	"assay/testcases"
)

const (
	// maxConsoleFrameBytes is the size of the largest message of a console.
	maxConsoleFrameBytes = 256 << 10

	// actionTimeout is how long an action may take, no matter which peer answers it.
	actionTimeout = 700 * time.Millisecond

	attemptSessionID   = "case"  // in whose place attempts are made
	publishedSessionID = "shown" // whose attempts publishAttempts makes
)

// sessionIDs returns the ids of the sessions to which the actors connect.
func sessionIDs() []string {
	return []string{"held", "viewed", "both", attemptSessionID, publishedSessionID}
}

// chaosRun is a server under test and what was found. It is safe for concurrent use.
type chaosRun struct {
	seed        uint64
	harness     *servertest.Harness
	client      *http.Client
	childDir    string // named on the command line of every child process
	workdirRoot string // of sessions
	traceDir    string
	cases       []testcases.Case

	mu            sync.Mutex
	faults        []string
	sessions      []*session.Session
	attemptTraces []string // paths
	results       []runs.Attempt
}

func newChaosRun(t *testing.T, seed uint64) *chaosRun {
	t.Helper()
	c := &chaosRun{seed: seed, client: newHTTPClient(), childDir: t.TempDir(), workdirRoot: t.TempDir(), traceDir: t.TempDir()}
	path := filepath.Join(t.TempDir(), "case.json")
	text := `{"id":"sum","task":"How much is 6 times 7?","grader":{"type":"exact","config":{"ground_truth":{"n":42}}}}`
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	cases, err := testcases.Load([]string{path}, testcases.Options{})
	require.NoError(t, err)
	c.cases = cases
	c.harness = servertest.StartServer(t, server.Config{
		StartSession: c.startSession, TraceDir: c.traceDir, IdleTimeout: 700 * time.Millisecond, PingInterval: 500 * time.Millisecond, MaxFrameBytes: maxConsoleFrameBytes,
		Log: slog.New(faultReportingLogHandler{c}),
		PrepareCase: func(string, string) (server.AttemptRunner, error) {
			return func(ctx context.Context, publisher *server.AttemptPublisher) error {
				c.makeAttempt(ctx, publisher, attemptSessionID)
				return nil
			}, nil
		},
	})
	return c
}

// reportFault records something that must not be, with which the test fails.
func (c *chaosRun) reportFault(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = append(c.faults, text)
}

// childConfigs returns the kernel and the agent of a session, or of an attempt.
func (c *chaosRun) childConfigs(name string) (kernel.Config, agent.Config) {
	command := func(role string) []string {
		return append([]string{"env", "GORACE=atexit_sleep_ms=0"}, servertest.RoleCommand(role, c.childDir, strconv.FormatUint(c.seed, 10), name)...)
	}
	return kernel.Config{Command: command("faulty-kernel"), ReadyTimeout: 2 * time.Second}, agent.Config{Command: command("faulty-agent"), ReadyTimeout: 2 * time.Second}
}

func (c *chaosRun) startSession(ctx context.Context, o server.StartOptions) (*session.Session, error) {
	kernelConfig, agentConfig := c.childConfigs(o.SessionID)
	takeOverDelay := 300 * time.Millisecond
	if o.SessionID == "held" {
		takeOverDelay = time.Minute
	}
	live, err := session.Start(ctx, c.harness.Supervisor, session.Config{
		ID: o.SessionID, Journal: o.Journal, RestoreFrom: o.RestoreFrom, Kernel: kernelConfig, Agent: agentConfig, Environ: os.Environ(),
		WorkdirRoot: c.workdirRoot, AwaitConsole: true, TakeOverDelay: takeOverDelay, AgentInit: protocol.AgentInit{SessionID: 1}, Log: slog.New(faultReportingLogHandler{c}),
		Router: router.Config{
			RequestTimeout: actionTimeout / 2, HolderTimeout: actionTimeout, CellTimeout: actionTimeout,
			StaleDelay: 20 * time.Millisecond, AgentStallTimeout: 2 * time.Second, Shared: o.SessionID != "both",
		},
	})
	if err == nil {
		c.addSessionToCheck(live)
	}
	return live, err
}

// addSessionToCheck makes check look at a session in the end.
func (c *chaosRun) addSessionToCheck(live *session.Session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sessions = append(c.sessions, live)
}

// makeAttempt makes an attempt and publishes it under a session id.
func (c *chaosRun) makeAttempt(ctx context.Context, publisher *server.AttemptPublisher, id string) {
	c.mu.Lock()
	n := len(c.attemptTraces)
	dir := filepath.Join(c.childDir, fmt.Sprintf("attempt-%d", n))
	c.attemptTraces = append(c.attemptTraces, filepath.Join(dir, "trace.jsonl"))
	c.mu.Unlock()
	if err := os.Mkdir(dir, 0o700); err != nil {
		c.reportFault(err.Error())
		return
	}
	random := newRNG(c.seed, "attempt", strconv.Itoa(n))
	name := fmt.Sprintf("attempt%d", n)
	kernelConfig, agentConfig := c.childConfigs(name)
	result := attempt.Run(ctx, attempt.Config{
		Supervisor: c.harness.Supervisor, Kernel: kernelConfig, Environ: os.Environ(), WorkdirRoot: c.workdirRoot, SessionID: id, SharedConsoles: random.oneIn(2),
		AgentConfig:  func(string) (agent.Config, error) { return agentConfig, nil },
		AwaitConsole: random.oneIn(2), HolderGrace: 300 * time.Millisecond,
		LimitOverrides: runs.Limits{WallTimeoutS: 0.5 + 2*random.Float64(), IdleTimeoutS: 1, CellTimeoutS: 0.5, MaxActions: 50 + random.IntN(200)},
		OnTrace:        publisher.OnTrace, OnSession: func(live *session.Session) { c.addSessionToCheck(live); publisher.OnSession(live) }, Log: slog.New(faultReportingLogHandler{c}),
	}, attempt.Job{Case: c.cases[0], Epoch: 1, Try: 1, Dir: dir, RelDir: name})
	c.mu.Lock()
	c.results = append(c.results, result)
	c.mu.Unlock()
	publisher.AttemptEnded(result)
}

// publishAttempts makes attempts under publishedSessionID until ctx ends.
func (c *chaosRun) publishAttempts(ctx context.Context) {
	for ctx.Err() == nil {
		publisher := c.harness.Server.PublishAttempts(publishedSessionID)
		for range 2 {
			c.makeAttempt(ctx, publisher, publishedSessionID)
		}
		sleepUnlessDone(ctx.Done(), 300*time.Millisecond)
		publisher.Close()
	}
}

// faultReportingLogHandler is a slog.Handler that reports errors as faults, except that a session could
// not start: consoles receive a message about that. Faults of peers are logged as warnings, which
// it ignores.
type faultReportingLogHandler struct{ *chaosRun }

// Enabled reports whether the level is an error.
func (faultReportingLogHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelError
}

// Handle reports a log record.
func (l faultReportingLogHandler) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(a slog.Attr) bool {
		text += fmt.Sprintf(" %s=%.2000s", a.Key, a.Value)
		return true
	})
	if r.Message != "session failed" {
		l.reportFault("logged: " + text)
	}
	return nil
}

// WithAttrs returns l itself.
func (l faultReportingLogHandler) WithAttrs([]slog.Attr) slog.Handler { return l }

// WithGroup returns l itself.
func (l faultReportingLogHandler) WithGroup(string) slog.Handler { return l }

// traceFiles returns the paths of all traces, each once.
func (c *chaosRun) traceFiles(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(c.traceDir, "*"))
	require.NoError(t, err)
	all = append(all, c.attemptTraces...)
	seen, paths := map[string]bool{}, []string{}
	for _, path := range all {
		target, err := filepath.EvalSymlinks(path)
		require.NoError(t, err)
		if !seen[target] {
			seen[target] = true
			paths = append(paths, target)
		}
	}
	return paths
}
