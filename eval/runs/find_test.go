package runs_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/eval/runs"
)

func TestFindFolders(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, folder := range []string{"old", "deep/er/run", "deep/er/run/attempts/1", "none"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, folder), 0o700))
	}
	for _, file := range []string{"old/attempts.jsonl", "deep/er/run/attempts.jsonl", "deep/er/run/attempts/1/attempts.jsonl", "none/other.jsonl"} {
		require.NoError(t, os.WriteFile(filepath.Join(root, file), nil, 0o600))
	}
	require.NoError(t, os.Symlink(root, filepath.Join(root, "none", "loop")))
	old, deep := filepath.Join(root, "old"), filepath.Join(root, "deep", "er", "run")
	require.Equal(t, []string{old, deep}, runs.FindFolders(root, 100))
	require.Equal(t, []string{old}, runs.FindFolders(root, 7), "the nearest first")
	require.Empty(t, runs.FindFolders(filepath.Join(root, "missing"), 100))
}
