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

// serveProcess is an assay serve in a process of its own, on a port of its own. What
// it writes goes below dir, and every process that it starts has dir in its
// environment.
type serveProcess struct {
	dir     string
	url     string // http://127.0.0.1:…
	token   string
	stderr  *inbox[string] // the lines of its stderr
	cmd     *exec.Cmd
	exited  chan struct{} // closed when it has ended
	exitErr error         // how, after that
}

// serveConfig says how to start a station.
type serveConfig struct {
	dir   string // of an earlier station; empty: a new one
	token string // empty: EVAL_SANDBOX=1
	args  []string
	env   []string // beside the test's own
}

// startServe starts a station whose agent is the actor, unless args say otherwise.
func startServe(t *testing.T, p serveConfig) *serveProcess {
	t.Helper()
	if p.dir == "" {
		p.dir = t.TempDir()
		for _, name := range []string{"tmp", "boxes"} {
			require.NoError(t, os.Mkdir(filepath.Join(p.dir, name), 0o700))
		}
	}
	writeFile(t, filepath.Join(p.dir, "actor.py"), scriptedAgent)
	args := append([]string{"serve", "--addr", "127.0.0.1:0", "--agent", "python3 actor.py", "--out", "out", "--sandbox-root", "boxes"}, p.args...)
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
		s.stderr.fill(func() (string, error) { return in.ReadString('\n') })
		s.exitErr = s.cmd.Wait()
		close(s.exited)
	}()
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill() // which may have ended
		<-s.exited
		if t.Failed() {
			lines, _, _ := s.stderr.snapshot()
			t.Logf("assay serve said:\n%s", strings.Join(lines, ""))
		}
	})
	line := s.stderr.await(t, "its address", func(line string) bool { return strings.Contains(line, "serving at ") })
	_, s.url, _ = strings.Cut(strings.TrimSpace(line), "serving at ")
	return s
}

// stop ends the station as a person does, and makes sure that it ends well and
// that nothing of it is left. It returns how long it took.
func (s *serveProcess) stop(t *testing.T) time.Duration {
	t.Helper()
	began := time.Now()
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, s.awaitExit(t))
	took := time.Since(began)
	s.requireCleanedUp(t)
	return took
}

// awaitExit waits for its end.
func (s *serveProcess) awaitExit(t *testing.T) error {
	t.Helper()
	select {
	case <-s.exited:
		return s.exitErr
	case <-time.After(waitTimeout):
		_ = s.cmd.Process.Signal(syscall.SIGQUIT) // it says where it hangs
		<-s.exited
		require.Fail(t, "it does not end")
		return nil
	}
}

// awaitNoProcess waits until there is no process of the station, and nothing in the
// folders for what is temporary.
func (s *serveProcess) requireCleanedUp(t *testing.T) {
	t.Helper()
	eventually(t, "a process is left", func() bool { return len(findProcesses(s.dir)) == 0 })
	for _, folder := range []string{"tmp", "boxes"} {
		eventually(t, "something is left in "+folder, func() bool {
			entries, err := os.ReadDir(filepath.Join(s.dir, folder))
			return err == nil && len(entries) == 0
		})
	}
}

// eventually waits until done returns true. After waitTimeout it fails the test with problem.
func eventually(t *testing.T, problem string, done func() bool) {
	t.Helper()
	require.True(t, pollUntil(done), problem)
}

// get asks the API and returns the answer.
func (s *serveProcess) get(t *testing.T, path string, header ...string) (status int, body string) {
	t.Helper()
	return s.request(t, http.MethodGet, path, "", header...)
}

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

// awaitAttempts waits until the runs of the station have n attempts, and returns them
// in the order in which they began.
func (s *serveProcess) awaitAttempts(t *testing.T, n int) (all []runs.Attempt) {
	t.Helper()
	eventually(t, "too few attempts have ended", func() bool {
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

// readTrace reads the newest trace of a session.
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

// endCause is why a session has ended, as its trace says.
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
