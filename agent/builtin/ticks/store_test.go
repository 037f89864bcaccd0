package ticks_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/agent/builtin"
	"assay/agent/builtin/agenttest"
	"assay/agent/builtin/ticks"
)

// lastEvalRecord returns lastEvalResult of the state file without white space.
func lastEvalRecord(t *testing.T, dir string) string {
	t.Helper()
	var state struct{ LastEvalResult json.RawMessage }
	require.NoError(t, json.Unmarshal([]byte(readStateFile(t, dir, "consciousness.json")), &state))
	return strings.Join(strings.Fields(string(state.LastEvalResult)), "")
}

// The whole state is saved, and the next agent loads it.
func TestEV5_StateIsSavedAndLoaded(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "made", "here")
	p := startTicksAgent(t, ticks.Config{StateDir: dir},
		objectScriptLine(frame{"eval": "(+ 2 2)", "mood": "glad", "confidence": 0.75, "monologue": "m", "thread": frame{"op": "create", "concern": "c", "buffers": []string{"c1"}}}))
	p.InitAndAwaitReady(frame{"language": "elisp"})
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.Equal(t, `{
  "tick": 1,
  "mood": "glad",
  "confidence": 0.75,
  "activeThread": "thread-1",
  "threads": [
    {
      "id": "thread-1",
      "concern": "c",
      "status": "active",
      "buffers": [
        "c1"
      ],
      "skills": []
    }
  ],
  "lastEvalResult": {
    "elisp": "(+ 2 2)",
    "success": true,
    "result": "42",
    "error": null,
    "skipped": false,
    "tick": 1,
    "forms": 0
  },
  "recentMonologue": [
    "[2026-11-20 12:03][TICK 1] EVAL: (+ 2 2) => 42",
    "[2026-11-20 12:03][TICK 1] m"
  ],
  "recentActions": [
    {
      "tick": 1,
      "action": "eval: (+ 2 2)",
      "confidence": 0.75
    }
  ]
}
`, readStateFile(t, dir, "consciousness.json"))

	first := readStateFile(t, dir, "consciousness.json")
	again := startTicksAgent(t, ticks.Config{StateDir: dir}, `{"error":{"status":400}}`, objectScriptLine(frame{}))
	again.InitAndAwaitReady(frame{"language": "elisp"})
	require.Equal(t, "done", again.QueryAndWait("go"))
	require.True(t, strings.HasPrefix(sentPrompts(again)[0], "## Last Eval Result (tick 1)\n\n```json\n{\n  \"elisp\": \"(+ 2 2)\""))
	require.Contains(t, sentPrompts(again)[0], "## Recent Monologue\n\n- [2026-11-20 12:03][TICK 1] m\n")
	require.Equal(t, "thread-1", tickEventMetadata(again)[0]["thread"])
	require.EqualValues(t, 3, tickEventMetadata(again)[0]["tick"])
	record := func(state string) string {
		return state[strings.Index(state, `"lastEvalResult"`):strings.Index(state, `"recentMonologue"`)]
	}
	require.Equal(t, record(first), record(gitOutput(t, dir, "show", "HEAD~1:consciousness.json")), "a tick without a reply leaves the record")
}

func TestEV5_InvalidStateIsAnError(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]string{
		`{`: "unexpected end of JSON input", `[]`: "cannot unmarshal array", `{"tick": "x"}`: "cannot unmarshal string", `{"tick": -1}`: "tick is -1",
		`{"threads": [{"id": "a", "status": "dead"}]}`:                                     `thread "a": the status "dead" is unknown`,
		`{"threads": [{"id": "a", "status": "active"}, {"id": "a", "status": "pending"}]}`: `thread "a" is there twice`,
		`{"threads": [{"id": "a", "status": "active"}, {"id": "b", "status": "active"}]}`:  "2 threads are active",
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, "consciousness.json")
		require.NoError(t, os.WriteFile(file, []byte(state), 0o600))
		p := startAgent(t, ticks.Config{Agent: builtin.Config{Model: &recordingModel{}}, StateDir: dir})
		err := <-p.Ended
		require.ErrorContains(t, err, "load the state: "+file+": ")
		require.ErrorContains(t, err, want)
		require.Empty(t, p.Frames(), "before the first frame")
		require.Equal(t, state, readStateFile(t, dir, "consciousness.json"), "the file is not changed")
	}
	for state, want := range map[string]string{`{}`: "neutral", `{"mood":"m","confidence":7,"unknown":1}`: "m"} {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "consciousness.json"), []byte(state), 0o600))
		p := startTicksAgent(t, ticks.Config{StateDir: dir}, objectScriptLine(frame{}))
		p.InitAndAwaitReady(nil)
		require.Equal(t, "done", p.QueryAndWait("go"))
		require.Equal(t, want, tickEventMetadata(p)[0]["mood"])
		require.LessOrEqual(t, tickEventMetadata(p)[0]["confidence"], 1.0)
	}
}

// An agent without a state folder works as usual.
func TestEV5_NoStateFolder(t *testing.T) {
	t.Parallel()
	p := startTicksAgent(t, ticks.Config{}, objectScriptLine(frame{"eval": "1", "monologue": "m", "continue": true}), objectScriptLine(frame{}))
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.Contains(t, sentPrompts(p)[1], "[TICK 1] m")
	require.Empty(t, p.FramesOfType("agent_error"))
}

// A reader never sees a half written state file or line.
func TestEV5_FilesAreWrittenAtomically(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, ".git"), 0o700)) // an empty .git prevents commits
	s, err := ticks.OpenStore(dir)
	require.NoError(t, err)
	require.NoError(t, s.Save(1))
	var writing sync.WaitGroup
	for writer := range 4 {
		writing.Go(func() {
			for n := range 25 {
				require.NoError(t, s.Save(writer*1000+n))
				require.NoError(t, s.AppendMonologue(fmt.Sprintf("[%d] %s", writer, strings.Repeat("x", 5000))))
			}
		})
	}
	for range 100 {
		var state struct{ Tick *int }
		require.NoError(t, json.Unmarshal([]byte(readStateFile(t, dir, "consciousness.json")), &state))
		require.NotNil(t, state.Tick)
	}
	writing.Wait()
	lines := strings.Split(strings.TrimSuffix(readStateFile(t, dir, "monologue.md"), "\n"), "\n")
	require.Len(t, lines, 100)
	for _, line := range lines {
		require.Len(t, line, 5004)
	}
	left, err := filepath.Glob(filepath.Join(dir, ".consciousness*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestTK2_EachTickHasOneMonologueLineAndOneCommit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := startTicksAgent(t, ticks.Config{StateDir: dir},
		objectScriptLine(frame{"mood": "odd]\n", "monologue": strings.Repeat("字", 60) + "\nsecond", "continue": true}),
		objectScriptLine(frame{"monologue": "  ", "thought": "# only thought", "continue": true, "thread": frame{"op": "create", "id": "a b"}}),
		objectScriptLine(frame{"monologue": []string{"not", "a text"}}))
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.Equal(t, "[2026-11-20 12:03][TICK 1] "+strings.Repeat("字", 60)+`\nsecond`+"\n"+`[2026-11-20 12:03][TICK 3] ["not","a text"]`+"\n", readStateFile(t, dir, "monologue.md"))
	log := strings.Split(gitOutput(t, dir, "log", "--reverse", "--format=%an <%ae> %aI %B"), "\n\n")
	author := "assay <assay@localhost> 2026-11-20T12:03:04"
	for i, want := range []string{`[TICK 1][none][odd]\n] ` + strings.Repeat("字", 27) + "...", "[TICK 2][a b][odd]\\n] # only thought", `[TICK 3][a b][odd]\n] ["not","a text"]`} {
		require.True(t, strings.HasPrefix(log[i], author), log[i])
		_, message, _ := strings.Cut(strings.TrimPrefix(log[i], author), " ")
		require.Equal(t, want, message)
		require.LessOrEqual(t, ticks.TerminalColumns(message), 80)
	}
	require.Empty(t, p.FramesOfType("agent_error"))
}

func TestTK2_NothingToCommitIsNoError(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := ticks.OpenStore(dir)
	require.NoError(t, err)
	require.NoError(t, s.Commit("nothing there"))
	require.NoError(t, s.Save(1))
	for range 3 {
		require.NoError(t, s.Commit("[TICK 1][none][calm] -- 'quoted' $HOME"))
	}
	require.Equal(t, "[TICK 1][none][calm] -- 'quoted' $HOME", gitOutput(t, dir, "log", "--format=%B"))
}

// In a repository of the user only the files of the store are committed, without the user's
// hooks, signatures and staged files.
func TestTK2_RepositoryOfTheUser(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	git("init", "--quiet")
	git("config", "commit.gpgSign", "true")
	git("config", "gpg.program", "/bin/false")
	git("config", "core.autocrlf", "true")
	for _, hook := range []string{"pre-commit", "commit-msg", "post-commit"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, ".git", "hooks", hook), []byte("#!/bin/sh\necho hooked > "+dir+"/hooked\nexit 1\n"), 0o700))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "mine.txt"), []byte("mine"), 0o600))
	git("add", "mine.txt")
	s, err := ticks.OpenStore(dir)
	require.NoError(t, err)
	require.NoError(t, s.Save(1))
	require.NoError(t, s.Commit("one"))
	require.NoError(t, s.Commit("again, with other things staged"))
	require.Equal(t, "one", gitOutput(t, dir, "log", "--format=%s"))
	git("reset", "--quiet")
	require.NoError(t, s.Commit("again, with files that are not added"))
	require.Equal(t, "consciousness.json", gitOutput(t, dir, "show", "--format=", "--name-only", "HEAD"))
	require.NoFileExists(t, filepath.Join(dir, "hooked"))
}

// A state folder inside another repository gets its own repository. A folder with other
// files does not.
func TestTK2_WhichFolderIsARepository(t *testing.T) {
	t.Parallel()
	outer := t.TempDir()
	out, err := exec.Command("git", "-C", outer, "init", "--quiet").CombinedOutput()
	require.NoError(t, err, "%s", out)
	inner := filepath.Join(outer, "state")
	s, err := ticks.OpenStore(inner)
	require.NoError(t, err)
	require.NoError(t, s.Save(1))
	require.NoError(t, s.Commit("mine"))
	require.Equal(t, "mine", gitOutput(t, inner, "log", "--format=%s"))
	require.Empty(t, gitOutput(t, outer, "log", "--format=%s"))

	half := filepath.Join(t.TempDir(), "state")
	require.NoError(t, os.MkdirAll(filepath.Join(half, ".git"), 0o700), "a git init that was killed leaves this")
	s, err = ticks.OpenStore(half)
	require.NoError(t, err)
	require.NoError(t, s.Save(1))
	require.NoError(t, s.Commit("after all"))
	require.Equal(t, "after all", gitOutput(t, half, "log", "--format=%s"))

	full := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(full, "thesis.tex"), nil, 0o600))
	p := startTicksAgent(t, ticks.Config{StateDir: full}, objectScriptLine(frame{"continue": true}), objectScriptLine(frame{"monologue": "m"}))
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.Len(t, p.FramesOfType("agent_error"), 1, "it is reported once")
	require.Equal(t, frame{
		"type": "agent_error", "fatal": false,
		"error": "the state is not committed: " + full + " holds other files and is not itself a git repository",
	}, p.FramesOfType("agent_error")[0])
	require.NotEmpty(t, readStateFile(t, full, "monologue.md"))
	require.NoDirExists(t, filepath.Join(full, ".git"))
}

// A commit while another process holds the lock is tried once more.
func TestTK2_LockedIndex(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := ticks.OpenStore(dir)
	require.NoError(t, err)
	require.NoError(t, s.Save(1))
	lock := filepath.Join(dir, ".git", "index.lock")
	require.NoError(t, os.WriteFile(lock, nil, 0o600))
	require.ErrorContains(t, s.Commit("never"), "index.lock")
	require.NoError(t, os.Remove(lock))
	require.NoError(t, s.Commit("now"))
}

// Agents that share a folder lose no line of the monologue, and the state is that of one of them.
func TestTK2_AgentsShareAFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var servers []*agenttest.Server
	for i := range 3 {
		line := objectScriptLine(frame{"monologue": fmt.Sprintf("agent %d", i), "continue": true})
		p := startTicksAgent(t, ticks.Config{StateDir: dir}, line, line, objectScriptLine(frame{"monologue": fmt.Sprintf("agent %d", i)}))
		p.InitAndAwaitReady(nil)
		servers = append(servers, p)
	}
	for _, p := range servers {
		p.SendQuery("go")
	}
	for _, p := range servers {
		p.AwaitFrame(0, "done", func(f frame) bool { return f.StringField("status") == "done" })
		for _, f := range p.FramesOfType("agent_error") {
			require.Contains(t, f.StringField("error"), "lock", "only a lock may be in the way")
		}
	}
	require.Equal(t, 9, strings.Count(readStateFile(t, dir, "monologue.md"), "\n"))
	require.True(t, json.Valid([]byte(readStateFile(t, dir, "consciousness.json"))))
}

// An agent whose state folder disappears goes on and reports each fault once.
func TestTK2_StateFolderIsLost(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	p := startTicksAgent(t, ticks.Config{StateDir: dir},
		objectScriptLine(frame{"eval": "1", "monologue": "m", "continue": true}), objectScriptLine(frame{"monologue": "n", "reply": "fine"}))
	p.InitAndAwaitReady(nil)
	require.NoError(t, os.RemoveAll(dir))
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.Len(t, p.FramesOfType("agent_error"), 2)
	require.Len(t, tickEventMetadata(p), 2)
}
