package builtin_test

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
)

// lastRecord is lastEvalResult as it is kept, byte for byte but for white space.
func lastRecord(t *testing.T, dir string) string {
	t.Helper()
	var state struct{ LastEvalResult json.RawMessage }
	require.NoError(t, json.Unmarshal([]byte(kept(t, dir, "consciousness.json")), &state))
	return strings.Join(strings.Fields(string(state.LastEvalResult)), "")
}

// A whole state, and another agent that takes it up.
func TestEV5_StateIsKeptAndLoaded(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "made", "here")
	p := startTicks(t, builtin.Config{StateDir: dir},
		ticking(frame{"eval": "(+ 2 2)", "mood": "glad", "confidence": 0.75, "monologue": "m", "thread": frame{"op": "create", "concern": "c", "buffers": []string{"c1"}}}))
	p.init(frame{"language": "elisp"})
	require.Equal(t, "done", p.ask("go"))
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
`, kept(t, dir, "consciousness.json"))

	first := kept(t, dir, "consciousness.json")
	again := startTicks(t, builtin.Config{StateDir: dir}, `{"error":{"status":400}}`, ticking(frame{}))
	again.init(frame{"language": "elisp"})
	require.Equal(t, "done", again.ask("go"))
	require.True(t, strings.HasPrefix(again.prompts()[0], "## Last Eval Result (tick 1)\n\n```json\n{\n  \"elisp\": \"(+ 2 2)\""))
	require.Contains(t, again.prompts()[0], "## Recent Monologue\n\n- [2026-11-20 12:03][TICK 1] m\n")
	require.Equal(t, "thread-1", again.ticks()[0]["thread"])
	require.EqualValues(t, 3, again.ticks()[0]["tick"])
	record := func(state string) string {
		return state[strings.Index(state, `"lastEvalResult"`):strings.Index(state, `"recentMonologue"`)]
	}
	require.Equal(t, record(first), record(gitOf(t, dir, "show", "HEAD~1:consciousness.json")), "a tick without a reply leaves the record")
}

func TestEV5_StateThatCannotBeRead(t *testing.T) {
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
		p := start(t, builtin.Run, builtin.Config{Strategy: "ticks", Model: &spyModel{}, StateDir: dir})
		err := <-p.over
		require.ErrorContains(t, err, "load the state: "+file+": ")
		require.ErrorContains(t, err, want)
		require.Empty(t, p.seen(), "before the first frame")
		require.Equal(t, state, kept(t, dir, "consciousness.json"), "it is left as it was")
	}
	for state, want := range map[string]string{`{}`: "neutral", `{"mood":"m","confidence":7,"unknown":1}`: "m"} {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "consciousness.json"), []byte(state), 0o600))
		p := startTicks(t, builtin.Config{StateDir: dir}, ticking(frame{}))
		p.init(nil)
		require.Equal(t, "done", p.ask("go"))
		require.Equal(t, want, p.ticks()[0]["mood"])
		require.LessOrEqual(t, p.ticks()[0]["confidence"], 1.0)
	}
}

// Without a folder nothing is kept, and nothing is missed.
func TestEV5_NoFolder(t *testing.T) {
	t.Parallel()
	p := startTicks(t, builtin.Config{}, ticking(frame{"eval": "1", "monologue": "m", "continue": true}), ticking(frame{}))
	p.init(nil)
	require.Equal(t, "done", p.ask("go"))
	require.Contains(t, p.prompts()[1], "[TICK 1] m")
	require.Empty(t, p.of("agent_error"))
}

// Whoever reads while it is replaced finds a whole state.
func TestEV5_ReplacedAtomically(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, ".git"), 0o700)) // nothing is to be committed here
	s, err := builtin.OpenStore(dir)
	require.NoError(t, err)
	require.NoError(t, s.Save(1))
	var writing sync.WaitGroup
	for writer := range 4 {
		writing.Go(func() {
			for n := range 25 {
				require.NoError(t, s.Save(writer*1000+n))
				require.NoError(t, s.Write(fmt.Sprintf("[%d] %s", writer, strings.Repeat("x", 5000))))
			}
		})
	}
	for range 100 {
		var state struct{ Tick *int }
		require.NoError(t, json.Unmarshal([]byte(kept(t, dir, "consciousness.json")), &state))
		require.NotNil(t, state.Tick)
	}
	writing.Wait()
	lines := strings.Split(strings.TrimSuffix(kept(t, dir, "monologue.md"), "\n"), "\n")
	require.Len(t, lines, 100)
	for _, line := range lines {
		require.Len(t, line, 5004)
	}
	left, err := filepath.Glob(filepath.Join(dir, ".consciousness*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestTK2_OneLineAndOneCommit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := startTicks(t, builtin.Config{StateDir: dir},
		ticking(frame{"mood": "odd]\n", "monologue": strings.Repeat("字", 60) + "\nsecond", "continue": true}),
		ticking(frame{"monologue": "  ", "thought": "# only thought", "continue": true, "thread": frame{"op": "create", "id": "a b"}}),
		ticking(frame{"monologue": []string{"not", "a text"}}))
	p.init(nil)
	require.Equal(t, "done", p.ask("go"))
	require.Equal(t, "[2026-11-20 12:03][TICK 1] "+strings.Repeat("字", 60)+`\nsecond`+"\n"+`[2026-11-20 12:03][TICK 3] ["not","a text"]`+"\n", kept(t, dir, "monologue.md"))
	log := strings.Split(gitOf(t, dir, "log", "--reverse", "--format=%an <%ae> %aI %B"), "\n\n")
	author := "assay <assay@localhost> 2026-11-20T12:03:04"
	for i, want := range []string{`[TICK 1][none][odd]\n] ` + strings.Repeat("字", 27) + "...", "[TICK 2][a b][odd]\\n] # only thought", `[TICK 3][a b][odd]\n] ["not","a text"]`} {
		require.True(t, strings.HasPrefix(log[i], author), log[i])
		_, message, _ := strings.Cut(strings.TrimPrefix(log[i], author), " ")
		require.Equal(t, want, message)
		require.LessOrEqual(t, builtin.Columns(message), 80)
	}
	require.Empty(t, p.of("agent_error"))
}

func TestTK2_NothingToCommitIsNoError(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := builtin.OpenStore(dir)
	require.NoError(t, err)
	require.NoError(t, s.Commit("nothing there"))
	require.NoError(t, s.Save(1))
	for range 3 {
		require.NoError(t, s.Commit("[TICK 1][none][calm] -- 'quoted' $HOME"))
	}
	require.Equal(t, "[TICK 1][none][calm] -- 'quoted' $HOME", gitOf(t, dir, "log", "--format=%B"))
}

// Nothing of the user's settings counts, and nothing else of the folder is
// committed: hooks, signatures, what is staged.
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
	s, err := builtin.OpenStore(dir)
	require.NoError(t, err)
	require.NoError(t, s.Save(1))
	require.NoError(t, s.Commit("one"))
	require.NoError(t, s.Commit("again, with other things staged"))
	require.Equal(t, "one", gitOf(t, dir, "log", "--format=%s"))
	git("reset", "--quiet")
	require.NoError(t, s.Commit("again, with files that are not added"))
	require.Equal(t, "consciousness.json", gitOf(t, dir, "show", "--format=", "--name-only", "HEAD"))
	require.NoFileExists(t, filepath.Join(dir, "hooked"))
}

// A folder in another repository is not that one's, and one with other files is no
// repository of ours.
func TestTK2_WhichFolderIsARepository(t *testing.T) {
	t.Parallel()
	outer := t.TempDir()
	out, err := exec.Command("git", "-C", outer, "init", "--quiet").CombinedOutput()
	require.NoError(t, err, "%s", out)
	inner := filepath.Join(outer, "state")
	s, err := builtin.OpenStore(inner)
	require.NoError(t, err)
	require.NoError(t, s.Save(1))
	require.NoError(t, s.Commit("mine"))
	require.Equal(t, "mine", gitOf(t, inner, "log", "--format=%s"))
	require.Empty(t, gitOf(t, outer, "log", "--format=%s"))

	half := filepath.Join(t.TempDir(), "state")
	require.NoError(t, os.MkdirAll(filepath.Join(half, ".git"), 0o700), "as a git that was killed leaves it")
	s, err = builtin.OpenStore(half)
	require.NoError(t, err)
	require.NoError(t, s.Save(1))
	require.NoError(t, s.Commit("after all"))
	require.Equal(t, "after all", gitOf(t, half, "log", "--format=%s"))

	full := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(full, "thesis.tex"), nil, 0o600))
	p := startTicks(t, builtin.Config{StateDir: full}, ticking(frame{"continue": true}), ticking(frame{"monologue": "m"}))
	p.init(nil)
	require.Equal(t, "done", p.ask("go"))
	require.Len(t, p.of("agent_error"), 1, "it is told once")
	require.Equal(t, frame{
		"type": "agent_error", "fatal": false,
		"error": "the state is not committed: " + full + " holds other files and is no git repository of its own",
	}, p.of("agent_error")[0])
	require.NotEmpty(t, kept(t, full, "monologue.md"))
	require.NoDirExists(t, filepath.Join(full, ".git"))
}

// Another process that commits at the moment is waited for once.
func TestTK2_LockedIndex(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := builtin.OpenStore(dir)
	require.NoError(t, err)
	require.NoError(t, s.Save(1))
	lock := filepath.Join(dir, ".git", "index.lock")
	require.NoError(t, os.WriteFile(lock, nil, 0o600))
	require.ErrorContains(t, s.Commit("never"), "index.lock")
	require.NoError(t, os.Remove(lock))
	require.NoError(t, s.Commit("now"))
}

// Agents that share a folder lose no line, and the state is that of one of them.
func TestTK2_AgentsShareAFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var peers []*peer
	for i := range 3 {
		line := ticking(frame{"monologue": fmt.Sprintf("agent %d", i), "continue": true})
		p := startTicks(t, builtin.Config{StateDir: dir}, line, line, ticking(frame{"monologue": fmt.Sprintf("agent %d", i)}))
		p.init(nil)
		peers = append(peers, p)
	}
	for _, p := range peers {
		p.query("go")
	}
	for _, p := range peers {
		p.await(0, "done", func(f frame) bool { return f.text("status") == "done" })
		for _, f := range p.of("agent_error") {
			require.Contains(t, f.text("error"), "lock", "the only thing that may go wrong")
		}
	}
	require.Equal(t, 9, strings.Count(kept(t, dir, "monologue.md"), "\n"))
	require.True(t, json.Valid([]byte(kept(t, dir, "consciousness.json"))))
}

// A folder that goes away costs what is kept, and is told once of each.
func TestTK2_FolderIsLost(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	p := startTicks(t, builtin.Config{StateDir: dir},
		ticking(frame{"eval": "1", "monologue": "m", "continue": true}), ticking(frame{"monologue": "n", "reply": "fine"}))
	p.init(nil)
	require.NoError(t, os.RemoveAll(dir))
	require.Equal(t, "done", p.ask("go"))
	require.Len(t, p.of("agent_error"), 2)
	require.Len(t, p.ticks(), 2)
}
