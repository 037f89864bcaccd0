package localsession_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"assay/cmd/assay/internal/exit"
	"assay/cmd/assay/internal/localsession"
	"assay/eval/session"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A folder that has a trace, or cannot be created, is bad usage, and nothing is started.
func TestStartRefusesTheFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "trace.jsonl")
	require.NoError(t, os.WriteFile(file, []byte("kept"), 0o600))
	for outDir, wantErr := range map[string]string{
		dir:                        "--out " + dir + ": the folder already has a trace",
		filepath.Join(file, "new"): "--out: mkdir " + file + ": not a directory",
	} {
		_, err := localsession.Start(t.Context(), nil, session.Config{ID: "a"}, outDir, nil)
		require.EqualError(t, err, wantErr)
		var status *exit.Error
		require.ErrorAs(t, err, &status)
		require.Equal(t, exit.StatusUsage, status.Status)
	}
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "kept", string(text))
}
