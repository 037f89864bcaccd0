package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/eval/runs"
	"assay/internal/model/mockapi"
	"assay/internal/model/script"
)

// A run has the same verdicts with one call of a model at a time as with 64: what attempts wait for each other does not
// count. In all, the calls take longer than the wall limit of one attempt.
func TestVerdictsDoNotDependOnSlots(t *testing.T) {
	t.Parallel()
	const epochs, delay = 16, 250 * time.Millisecond
	played, err := script.Parse("turns", []byte(solvingTurns("")))
	require.NoError(t, err)
	mock := mockapi.New(played, nil)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-time.After(delay)
		mock.ServeHTTP(w, r)
	}))
	t.Cleanup(api.Close)
	dir := t.TempDir()
	cases := writeFile(t, filepath.Join(dir, "cases.json"), recipeCase)
	writeFile(t, filepath.Join(dir, "numbers.csv"), "n\n40\n2\n")
	for _, slots := range []int{1, 64} {
		t.Run(strconv.Itoa(slots), func(t *testing.T) {
			t.Parallel()
			out := filepath.Join(t.TempDir(), "run")
			cmd := exec.CommandContext(t.Context(), "assay", "run", cases, "--model", "anthropic/claude-sonnet-5", "--epochs", strconv.Itoa(epochs), "-j", strconv.Itoa(epochs),
				"--wall", "6s", "--max-model-calls", strconv.Itoa(slots), "--out", out)
			cmd.Env = append(os.Environ(), "ANTHROPIC_API_KEY=any", "ANTHROPIC_BASE_URL="+api.URL)
			text, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", text)
			attempts := readAttempts(t, out)
			require.Len(t, attempts, epochs)
			waited := int64(0)
			for _, a := range attempts {
				require.Equal(t, runs.OutcomeCompleted, a.Outcome)
				waited = max(waited, a.Phases.WaitMS)
			}
			if slots == 1 {
				require.Greater(t, waited, (6*time.Second - 3*delay).Milliseconds(), "the test is worth nothing: nobody has waited")
			}
		})
	}
}
