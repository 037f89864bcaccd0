package testcases_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"assay/testcases"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// writeTestFolder writes these files into a new folder of the test and returns the
// folder's path.
func writeTestFolder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		writeFile(t, filepath.Join(dir, name), text)
	}
	return dir
}

func writeFile(tb testing.TB, path, text string) {
	tb.Helper()
	require.NoError(tb, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(tb, os.WriteFile(path, []byte(text), 0o644))
}

// loadOneCase writes a file with this text and loads the one case in it. An error fails
// the test.
func loadOneCase(t *testing.T, name, text string) testcases.Case {
	t.Helper()
	cases, err := testcases.Load([]string{filepath.Join(writeTestFolder(t, map[string]string{name: text}), name)}, testcases.Options{})
	require.NoError(t, err)
	require.Len(t, cases, 1)
	return cases[0]
}

// loadErrorText loads a case from a file of this name in the working directory and
// returns the text of the error. It fails the test if there is none.
func loadErrorText(t *testing.T, name, text string) string {
	t.Helper()
	dir := writeTestFolder(t, map[string]string{name: text})
	t.Chdir(dir)
	cases, err := testcases.Load([]string{name}, testcases.Options{})
	require.Error(t, err, text)
	require.Nil(t, cases)
	return err.Error()
}

func idsOfCases(cases []testcases.Case) []string {
	var out []string
	for _, c := range cases {
		out = append(out, c.ID)
	}
	return out
}
