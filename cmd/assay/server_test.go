package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/eval/runs"
	"assay/internal/trace"
	"assay/server"
)

// serveProcess is a running assay serve, on a free port. It writes only below dir, and every
// process that it starts has dir in its environment.
type serveProcess struct {
	dir     string
	url     string // such as http://127.0.0.1:8765
	token   string
	stderr  *inbox[string] // lines of its standard error
	cmd     *exec.Cmd
	exited  chan struct{} // closed after it has exited and exitErr is set
	exitErr error         // of exec.Cmd.Wait
}

// serveConfig is how startServe starts assay serve.
type serveConfig struct {
	dir   string // of an earlier server; default: a new folder
	token string // default: EVAL_SANDBOX=1, where only /run requires a token
	args  []string
	env   []string // in addition to the environment of the test
}

// startServe starts assay serve and waits until it listens. Its agent is the scripted agent unless
// args has another --agent.
func startServe(t *testing.T, p serveConfig) *serveProcess {
	t.Helper()
	if p.dir == "" {
		p.dir = shortTempDir(t)
		for _, name := range []string{"tmp", "boxes"} {
			require.NoError(t, os.Mkdir(filepath.Join(p.dir, name), 0o700))
		}
	}
	writeFile(t, filepath.Join(p.dir, "agent.py"), scriptedAgentSource)
	args := append([]string{"serve", "--addr", "127.0.0.1:0", "--agent", "python3 agent.py", "--out", "out", "--sandbox-root", "boxes"}, p.args...)
	s := &serveProcess{dir: p.dir, token: server.EvalSandboxToken, stderr: newInbox[string](), exited: make(chan struct{})}
	s.cmd = exec.CommandContext(context.WithoutCancel(t.Context()), "assay", args...)
	s.cmd.Dir = p.dir
	s.cmd.Env = append(os.Environ(), "TMPDIR="+filepath.Join(p.dir, "tmp"), "EVAL_SANDBOX=1")
	s.cmd.Env = append(s.cmd.Env, p.env...)
	if p.token != "" {
		s.token = p.token
		s.cmd.Env = append(s.cmd.Env, "EVAL_SANDBOX=", "ASSAY_TOKEN="+p.token)
	}
	stderr, err := s.cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, s.cmd.Start())
	go func() {
		in := bufio.NewReader(stderr)
		s.stderr.readItemsFrom(func() (string, error) { return in.ReadString('\n') })
		s.exitErr = s.cmd.Wait()
		close(s.exited)
	}()
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill() // fails if it has ended
		<-s.exited
		if t.Failed() {
			lines, _, _ := s.stderr.snapshot()
			t.Logf("standard error of assay serve:\n%s", strings.Join(lines, ""))
		}
	})
	line := s.stderr.awaitItem(t, "its address", func(line string) bool { return strings.Contains(line, "serving at ") })
	_, s.url, _ = strings.Cut(strings.TrimSpace(line), "serving at ")
	return s
}

// shortTempDir returns a new folder that is removed at the end of the test. The names of tests are
// in the paths of t.TempDir, which are too long for the Unix sockets below them: those have at
// most 103 bytes.
func shortTempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "assay-test-") //nolint:usetesting // see above
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return dir
}

// stop ends the server with SIGTERM. It requires exit status 0, and that no process and no
// temporary file is left. It returns how long the server took to exit.
func (s *serveProcess) stop(t *testing.T) time.Duration {
	t.Helper()
	began := time.Now()
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, s.awaitExit(t))
	took := time.Since(began)
	s.requireCleanedUp(t)
	return took
}

// awaitExit waits until the server has exited and returns the error of exec.Cmd.Wait. After
// waitTimeout it makes the server print its goroutines, and fails the test.
func (s *serveProcess) awaitExit(t *testing.T) error {
	t.Helper()
	select {
	case <-s.exited:
		return s.exitErr
	case <-time.After(waitTimeout):
		_ = s.cmd.Process.Signal(syscall.SIGQUIT) // prints its goroutines
		<-s.exited
		require.Fail(t, "assay serve does not exit")
		return nil
	}
}

// requireCleanedUp waits until no process of the server is left, and its folders for temporary
// files and sandboxes are empty.
func (s *serveProcess) requireCleanedUp(t *testing.T) {
	t.Helper()
	awaitCondition(t, "processes of the server are still running", func() bool { return len(findProcessesWithText(s.dir)) == 0 })
	for _, folder := range []string{"tmp", "boxes"} {
		awaitCondition(t, "files are left in "+folder, func() bool {
			entries, err := os.ReadDir(filepath.Join(s.dir, folder))
			return err == nil && len(entries) == 0
		})
	}
}

// awaitCondition waits until done returns true. After waitTimeout it fails the test with problem.
func awaitCondition(t *testing.T, problem string, done func() bool) {
	t.Helper()
	require.True(t, pollUntil(done), problem)
}

// get sends a GET request and returns the response. header is names and values in turn.
func (s *serveProcess) get(t *testing.T, path string, header ...string) (status int, body string) {
	t.Helper()
	return s.request(t, http.MethodGet, path, "", header...)
}

// request sends a request with the body text and returns the response. header is names and
// values in turn.
func (s *serveProcess) request(t *testing.T, method, path, text string, header ...string) (status int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(text))
	require.NoError(t, err)
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
		if header[i] == "Host" {
			request.Host = header[i+1]
		}
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(answer)
}

// awaitAttempts waits until exactly n attempts are recorded in all runs of the server, and
// returns them by start time.
func (s *serveProcess) awaitAttempts(t *testing.T, n int) (all []runs.Attempt) {
	t.Helper()
	awaitCondition(t, "too few attempts have ended", func() bool {
		all = nil
		files, _ := filepath.Glob(filepath.Join(s.dir, "runs", "*", "attempts.jsonl"))
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			for line := range bytes.Lines(text) {
				var a runs.Attempt
				if json.Unmarshal(line, &a) == nil && a.Type == runs.TypeAttempt {
					all = append(all, a)
				}
			}
		}
		return len(all) >= n
	})
	require.Len(t, all, n)
	slices.SortFunc(all, func(a, b runs.Attempt) int { return a.Started.Compare(b.Started) })
	return all
}

// readTrace returns the records of the newest trace of a session.
func (s *serveProcess) readTrace(t *testing.T, session string) (records []trace.Record) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(s.dir, "out", session+"@*"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	file, err := os.Open(slices.Max(files))
	require.NoError(t, err)
	defer file.Close()
	_, err = trace.ReadRecords(file, func(r trace.Record) error {
		records = append(records, r)
		return nil
	})
	require.NoError(t, err)
	return records
}

// endCause returns the cause in the last state of a session's trace, which must be "ended".
func (s *serveProcess) endCause(t *testing.T, session string) string {
	t.Helper()
	var last struct{ State, Cause string }
	for _, r := range s.readTrace(t, session) {
		if r.Hop == trace.HopSession && r.Type == "state" {
			require.NoError(t, json.Unmarshal(r.Message, &last))
		}
	}
	require.Equal(t, "ended", last.State)
	return last.Cause
}
