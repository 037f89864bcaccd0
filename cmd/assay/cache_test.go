package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/model/mockapi"
	"assay/internal/model/script"
)

// cachedTurns are the replies of a model that needs three calls to solve cachedCase.
const (
	cachedCase  = `{"id": "one", "task": "Answer 1.", "grader": {"type": "exact", "config": {"ground_truth": 1}}}`
	cachedTurns = `{"content": [{"type": "tool_use", "name": "create_cell", "input": {"position": 0, "source": "import os\nprint(os.getcwd())\nobject()", "auto_run": true}}], "usage": {"input_tokens": 10, "output_tokens": 5}}
{"content": [{"type": "thinking", "thinking": "", "signature": "openai:rs_1:gAAA"}, {"type": "tool_use", "name": "execute_code", "input": {"code": "1"}}], "usage": {"input_tokens": 20, "output_tokens": 7}}
{"content": [{"type": "tool_use", "name": "submit_response", "input": {"summary": "<EVAL_ANSWER>1</EVAL_ANSWER> [EVAL_COMPLETE]", "next_status": "done"}}], "usage": {"input_tokens": 30, "output_tokens": 9}}`
)

// cachedRuns makes runs of one case with a cache against a scripted API whose calls it counts.
type cachedRuns struct {
	dir, url string
	calls    atomic.Int64
	hold     atomic.Int64 // the call with this number does not end; 0: all do
}

func newCachedRuns(t *testing.T) *cachedRuns {
	t.Helper()
	r := &cachedRuns{dir: t.TempDir()}
	writeFile(t, filepath.Join(r.dir, "case.json"), cachedCase)
	turns, err := script.Parse("turns", []byte(cachedTurns))
	require.NoError(t, err)
	mock := mockapi.New(turns, nil)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if r.calls.Add(1) == r.hold.Load() {
			_, _ = io.Copy(io.Discard, request.Body) // so that the server notices that the client goes
			<-request.Context().Done()
			return
		}
		mock.ServeHTTP(w, request)
	}))
	t.Cleanup(api.Close)
	r.url = api.URL
	return r
}

// command returns the command of a run into the new folder out.
func (r *cachedRuns) command(t *testing.T, out string, more ...string) *exec.Cmd {
	t.Helper()
	return exec.CommandContext(t.Context(), "assay", append([]string{
		"run", filepath.Join(r.dir, "case.json"), "--model", "openai/gpt-5", "--model-arg", "base_url=" + r.url,
		"--cache", filepath.Join(r.dir, "cache"), "--quiet", "--out", filepath.Join(r.dir, out),
	}, more...)...)
}

// run makes a run that must pass, and returns how many calls the API has got and the lines of the attempts.
func (r *cachedRuns) run(t *testing.T, out string, more ...string) (calls int64, attempts string) {
	t.Helper()
	before := r.calls.Load()
	printed, err := r.command(t, out, more...).CombinedOutput()
	require.NoError(t, err, string(printed))
	require.NotContains(t, string(printed), "cache", "something is wrong with an entry")
	lines, err := os.ReadFile(filepath.Join(r.dir, out, "attempts.jsonl"))
	require.NoError(t, err)
	return r.calls.Load() - before, string(lines)
}

// A run with a cache makes no call that an earlier run has made, although it has another working folder. Other epochs
// are other samples, and another setting is another call.
func TestCacheAnswersTheNextRun(t *testing.T) {
	t.Parallel()
	for _, api := range []string{"chat", "responses"} {
		t.Run(api, func(t *testing.T) {
			t.Parallel()
			r := newCachedRuns(t)
			arg := []string{"--model-arg", "api=" + api}
			calls, attempts := r.run(t, "one", arg...)
			require.EqualValues(t, 3, calls)
			require.NotContains(t, attempts, "cached_calls")
			calls, attempts = r.run(t, "two", append(arg, "--record", filepath.Join(r.dir, "two.jsonl"))...)
			require.Zero(t, calls)
			require.Contains(t, attempts, `"usage":{"input_tokens":60,"output_tokens":21,"cost_usd":0,"model_calls":3,"cached_calls":3,`)
			info, err := os.ReadFile(filepath.Join(r.dir, "two", "run.json"))
			require.NoError(t, err)
			require.Contains(t, string(info), `"cache": "`+filepath.Join(r.dir, "cache"))

			calls, attempts = r.run(t, "epochs", append(arg, "--epochs", "3", "-j", "2")...)
			require.EqualValues(t, 6, calls)
			require.Equal(t, 1, strings.Count(attempts, `"cached_calls":3`))
			calls, _ = r.run(t, "again", append(arg, "--epochs", "3", "-j", "3")...)
			require.Zero(t, calls)
			calls, _ = r.run(t, "setting", append(arg, "--model-arg", "max_tokens=1000")...)
			require.EqualValues(t, 3, calls)

			before := r.calls.Load()
			printed := runAssay(t, "run", filepath.Join(r.dir, "case.json"), "--model", "replay:"+filepath.Join(r.dir, "two.jsonl"), "--quiet", "--out", filepath.Join(r.dir, "replay"))
			require.Contains(t, printed, "PASS 1/1 ")
			require.Equal(t, before, r.calls.Load())
		})
	}
}

// A run that is killed in the middle of a call leaves the replies before it, which the next run gets.
func TestCacheOfAKilledRun(t *testing.T) {
	t.Parallel()
	r := newCachedRuns(t)
	r.hold.Store(3)
	killed := r.command(t, "killed")
	require.NoError(t, killed.Start())
	awaitCondition(t, "the third call was not made, or the replies to the others were not stored", func() bool {
		return r.calls.Load() == 3 && len(globPaths(t, filepath.Join(r.dir, "cache", "*.jsonl"))) == 2
	})
	require.NoError(t, killed.Process.Kill())
	require.Error(t, killed.Wait())
	awaitCondition(t, "processes of the killed run are still running", func() bool { return len(findProcessesWithText(r.dir)) == 0 })
	calls, attempts := r.run(t, "next")
	require.EqualValues(t, 1, calls)
	require.Contains(t, attempts, `"model_calls":3,"cached_calls":2,`)
}

// Two runs at once may share a cache.
func TestCacheOfTwoRunsAtOnce(t *testing.T) {
	t.Parallel()
	r := newCachedRuns(t)
	first, second := r.command(t, "first", "--epochs", "2"), r.command(t, "second", "--epochs", "2")
	require.NoError(t, first.Start())
	require.NoError(t, second.Start())
	require.NoError(t, first.Wait())
	require.NoError(t, second.Wait())
	require.LessOrEqual(t, r.calls.Load(), int64(12))
	calls, _ := r.run(t, "third", "--epochs", "2")
	require.Zero(t, calls)
}
