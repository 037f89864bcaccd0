package main

import (
	"bytes"
	"compress/zlib"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// searchingAgent submits the number that follows the word truth in any file of its program's folder that it can
// read, also in packed ones, or 0.
const searchingAgent = `
import os, re, sys, zlib
from assay_agent import connect
import asyncio

def search():
    for folder, _, names in os.walk(os.path.dirname(os.path.abspath(__file__))):
        for name in names:
            try:
                with open(os.path.join(folder, name), "rb") as file:
                    text = file.read()
            except OSError:
                continue
            try:
                text = zlib.decompress(text)
            except zlib.error:
                pass
            found = re.search(rb"(?:truth\D{1,9}|expected |ANSWER>\D?)(\d\d+)", text)
            if found:
                print("found in", os.path.join(folder, name), file=sys.stderr)
                return found[1].decode()
    return "0"

async def work(agent, query):
    agent.submit(f"<EVAL_ANSWER>{search()}</EVAL_ANSWER> [EVAL_COMPLETE]")

async def main():
    async with connect() as agent:
        await agent.serve(work)

asyncio.run(main())
`

// What is beside a case and its agent does not tell the answer: the repository, what editors leave, other cases, the
// output of the run, its recording, another name of the file.
func TestWhatIsBesideACaseIsHidden(t *testing.T) {
	t.Parallel()
	const sum = `{"id": "sum", "task": "Guess.", "grader": {"type": "exact", "config": {"ground_truth": 4711}}}`
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	_, err := z.Write([]byte("blob 9\x00" + sum))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	library, err := filepath.Abs(filepath.Join("..", "..", "agent", "python"))
	require.NoError(t, err)
	for name, layout := range map[string]struct {
		cases string // folder of the case, in that of the agent
		extra map[string]string
		link  string // another name of the case's file
	}{
		"repository":               {"cases", map[string]string{".git/objects/12/34": packed.String()}, ""},
		"repository of the cases":  {"cases", map[string]string{"cases/.git/objects/12/34": packed.String()}, ""},
		"linked working tree":      {"cases", map[string]string{".git": "gitdir: REPO/main/worktrees/x\n", "REPO/main/objects/12/34": packed.String()}, ""},
		"copy of an editor":        {"cases", map[string]string{"cases/.case.json.swp": sum}, ""},
		"copy beside the agent":    {"", map[string]string{"case.json~": sum}, ""},
		"solution beside the case": {"cases", map[string]string{"cases/solution.csv": "truth: 4711"}, ""},
		"other cases":              {"", map[string]string{"others.jsonl": sum + "\n"}, ""},
		"other name":               {"cases", nil, "notes.txt"},
		"other name, same folder":  {"", nil, "notes.txt"},
		"output":                   {"cases", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			writeFile(t, filepath.Join(dir, "agent.py"), searchingAgent)
			require.NoError(t, os.MkdirAll(filepath.Join(dir, layout.cases), 0o750))
			file := writeFile(t, filepath.Join(dir, layout.cases, "case.json"), sum)
			for path, text := range layout.extra {
				path, text = filepath.Join(dir, path), string(bytes.ReplaceAll([]byte(text), []byte("REPO"), []byte(dir+"/REPO")))
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
				writeFile(t, path, text)
			}
			if layout.link != "" {
				require.NoError(t, os.Link(file, filepath.Join(dir, layout.link)))
			}
			cmd := exec.CommandContext(t.Context(), "assay", "run", file, "--agent", "python3 agent.py", "--epochs", "2", "-j", "1", "--record", "calls.jsonl", "--out", filepath.Join(t.TempDir(), "run"))
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "PYTHONPATH="+library, "PYTHONDONTWRITEBYTECODE=1")
			log, err := os.Create(filepath.Join(dir, "log.txt"))
			require.NoError(t, err)
			cmd.Stdout, cmd.Stderr = log, log
			_ = cmd.Run() // 1: no attempt passes
			require.NoError(t, log.Close())
			text, err := os.ReadFile(log.Name())
			require.NoError(t, err)
			require.Contains(t, string(text), "FAIL 0/2 ")
			require.Contains(t, string(text), "expected 4711, found 0")
		})
	}
}

// What earlier commands have left in the agent's folder, and copies of the cases, do not tell the answer.
func TestWhatEarlierCommandsLeftIsHidden(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	library, err := filepath.Abs(filepath.Join("..", "..", "agent", "python"))
	require.NoError(t, err)
	run := func(stdout, stderr string, args ...string) {
		cmd := exec.CommandContext(t.Context(), "assay", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "PYTHONPATH="+library, "PYTHONDONTWRITEBYTECODE=1")
		out, err := os.Create(filepath.Join(dir, stdout))
		require.NoError(t, err)
		log, err := os.Create(filepath.Join(dir, stderr))
		require.NoError(t, err)
		cmd.Stdout, cmd.Stderr = out, log
		_ = cmd.Run() // 1: an attempt or a line fails
		require.NoError(t, errors.Join(out.Close(), log.Close()))
	}
	const sum = `{"id": "sum", "task": "Guess.", "grader": {"type": "exact", "config": {"ground_truth": 4711}}}`
	writeFile(t, filepath.Join(dir, "lint.txt"), "  error    E110  oracle: played by its own solution, the case does not pass: expected 4711, found 1")
	for _, copied := range []string{"cases/case.json", "cases_v1/case.json", "cases_v1/deep/old", "case.json.orig"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, copied)), 0o750))
		writeFile(t, filepath.Join(dir, copied), sum)
	}
	writeFile(t, filepath.Join(dir, "cases_v1", "expected.txt"), "truth: 4711")
	writeFile(t, filepath.Join(dir, "case.txt"), "id: sum\ntask: Guess.\ngrader:\n  type: exact\n  config: {ground_truth: 4711}\n")
	writeFile(t, filepath.Join(dir, "lines.jsonl"), `{"id": "sum", "answer": 4712, "grader": {"type": "exact", "config": {"ground_truth": 4711}}}`)
	turns := writeFile(t, filepath.Join(t.TempDir(), "turns.jsonl"), `{"content": [{"type": "tool_use", "name": "submit_response", "input": {"summary": "<EVAL_ANSWER>4711</EVAL_ANSWER> [EVAL_COMPLETE]", "next_status": "done"}}]}`)
	run("results.jsonl", "run.log", "run", "cases/case.json", "--model", "script:"+turns, "--record", "calls.jsonl", "--json", "--out", filepath.Join(t.TempDir(), "run"))
	run("graded.jsonl", "grade.log", "grade", "lines.jsonl")
	run("shown.jsonl", "shown.log", "run", "cases/case.json", "--agent", "oracle", "--out", "earlier")
	attempts, err := os.ReadFile(filepath.Join(dir, "earlier", "attempts.jsonl"))
	require.NoError(t, err)
	writeFile(t, filepath.Join(dir, "baseline.jsonl"), string(attempts))
	for _, file := range []string{"results.jsonl", "calls.jsonl", "graded.jsonl"} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		require.NoError(t, err)
		require.Contains(t, string(text), "4711", file)
	}

	// What comes during a run is hidden from later attempts.
	writeFile(t, filepath.Join(dir, "agent.py"), searchingAgent)
	during := exec.CommandContext(t.Context(), "sh", "-c", "assay run cases/case.json --agent 'python3 agent.py' --epochs 2 -j 1 --out "+filepath.Join(t.TempDir(), "run")+" 2>&1 | tee during.log")
	during.Dir, during.Env = dir, append(os.Environ(), "PYTHONPATH="+library, "PYTHONDONTWRITEBYTECODE=1")
	require.NoError(t, during.Run()) // of tee
	shown, err := os.ReadFile(filepath.Join(dir, "during.log"))
	require.NoError(t, err)
	require.Contains(t, string(shown), "FAIL 0/2 ")

	run("now.txt", "now.log", "run", "cases/case.json", "--agent", "python3 agent.py", "--out", filepath.Join(t.TempDir(), "run"))
	text, err := os.ReadFile(filepath.Join(dir, "now.log"))
	require.NoError(t, err)
	require.Contains(t, string(text), "expected 4711, found 0")
	require.Contains(t, string(text), "hidden from the agent and the kernel, as they hold cases or earlier results: ")
}
