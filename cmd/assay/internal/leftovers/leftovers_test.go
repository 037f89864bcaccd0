package leftovers_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"assay/cmd/assay/internal/leftovers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const caseObject = `{"id": "sum", "task": "Guess.", "grader": {"type": "exact", "config": {"ground_truth": 4711}}}`

// Whether a file is found depends on what is in it, not on its name.
func TestFind_Files(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		caseObject:             true,
		"[" + caseObject + "]": true,
		`{"id": "a", "task": ""}` + "\n" + caseObject:                                                                     true,
		"\ufeff\n" + caseObject:                                                                                           true,
		"id: sum\ntask: Guess.\ngrader:\n  type: exact\n":                                                                 true,
		"- id: sum\n  task: Guess.\n  oracle: [print(1)]\n":                                                               true,
		"id: sum\ntask: Guess.\ndata_node: gone.csv\ngraders: [{type: exact}]\n":                                          true,
		strings.Repeat("# long\n", 20_000) + "id: sum\ntask: Guess.\ngrader: {type: exact}\n":                             true,
		`{"type":"attempt","run":"r","case_id":"sum","epoch":1,"outcome":"completed"}`:                                    true,
		`{"id":"sum","passed":false,"score":0.0,"metrics":{},"reasoning":"expected 4711"}`:                                true,
		`{"id":"sum","grader":{"type":"exact"},"answer":4711}`:                                                            true,
		`{"at":"2026-01-01T00:00:00Z","api":"messages","model":"m","request":{"messages":["` + strings.Repeat("x", 1<<20): true,
		`{"seq":1,"t_ns":1,"hop":"agent>server","msg":{}}`:                                                                true,
		"kernels have no network\n[1/2] FAIL  sum  0.1s\n":                                                                true,
		"kernels have no network\n1 attempt, 2 at once, agent oracle, into runs/r\n":                                      true,
		"12:00:00.000 [eval] session: ready kernel\n":                                                                     true,

		"": false,
		`{"id": "a", "task": "a case that tells nothing"}`:                                           false,
		`{"model": "m", "temperature": 0}`:                                                           false,
		`{"type": "object", "content": "text"}`:                                                      false,
		"prompt: Solve the task.\nid: 1\n":                                                           false,
		"import json\ncase = {\"id\": \"sum\", \"task\": \"Guess.\", \"grader\": {}}\nprint(case)\n": false,
		"# grader\n\nA grader has an id: and a task: as keys.\n":                                     false,
		"PASS or FAIL\n":    false,
		"\x00" + caseObject: false,
	} {
		root := t.TempDir()
		path := filepath.Join(root, "notes.txt")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		found, isComplete := leftovers.Find(root, nil, nil)
		require.True(t, isComplete)
		if want {
			require.Equal(t, []string{path}, found, "%.80s", text)
		} else {
			require.Empty(t, found, "%.80s", text)
		}
	}
}

func TestFind_Folders(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, folder := range []string{"old", "deep/er/run", "deep/er/run/attempts/1", "none", "node_modules/a"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, folder), 0o700))
	}
	for _, file := range []string{"old/attempts.jsonl", "deep/er/run/attempts.jsonl", "deep/er/run/attempts/1/attempts.jsonl", "none/other.jsonl", "node_modules/a/attempts.jsonl"} {
		require.NoError(t, os.WriteFile(filepath.Join(root, file), nil, 0o600))
	}
	require.NoError(t, os.Symlink(root, filepath.Join(root, "none", "loop")))
	found, isComplete := leftovers.Find(root, nil, nil)
	require.True(t, isComplete)
	require.Equal(t, []string{filepath.Join(root, "old"), filepath.Join(root, "deep", "er", "run")}, found)
	found, isComplete = leftovers.Find(filepath.Join(root, "missing"), nil, nil)
	require.True(t, isComplete)
	require.Empty(t, found)
}

// What lies beside a case is its data or its grader, so its folder is found. A folder above one that must stay readable is not,
// nor is the root, also if it is that of a run.
func TestFind_FoldersOfCases(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for path, text := range map[string]string{
		"copied/case.json": caseObject, "copied/truth.json": "4711", "copied/data/x.csv": "1",
		"mixed/case.json": caseObject, "mixed/tool/agent.py": "", "mixed/tool/notes": caseObject,
		"attempts.jsonl": "", "run.json": "", "attempts/1/state.json": "", "agent.py": "",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, path)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(root, path), []byte(text), 0o600))
	}
	found, isComplete := leftovers.Find(root, []string{filepath.Join(root, "mixed", "tool")}, nil)
	require.True(t, isComplete)
	var want []string
	for _, path := range []string{"attempts", "attempts.jsonl", "run.json", "copied", "mixed/case.json", "mixed/tool/notes"} {
		want = append(want, filepath.Join(root, path))
	}
	require.Equal(t, want, found)

	found, isComplete = leftovers.Find(root, nil, want)
	require.True(t, isComplete)
	require.Empty(t, found, "what is skipped is not looked at")
}

// In a very large folder the nearest files are found, and the rest is said to be unknown.
func TestFind_LargeFolder(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(root, "case"), []byte(caseObject), 0o600))
	for folder := range 2 {
		require.NoError(t, os.Mkdir(filepath.Join(root, fmt.Sprint(folder)), 0o700))
		for i := range 15_000 {
			require.NoError(t, os.WriteFile(filepath.Join(root, fmt.Sprint(folder), fmt.Sprint(i)), nil, 0o600))
		}
	}
	found, isComplete := leftovers.Find(root, nil, nil)
	require.False(t, isComplete)
	require.Equal(t, []string{filepath.Join(root, "case")}, found)
}
