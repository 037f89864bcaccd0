package ticks_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/agent/builtin/ticks"
)

func TestTK4_Threads(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	steps := []struct{ change, active, fault string }{
		{`{"op":"create","id":"a","concern":"first"}`, "a", ""},
		{`{"op":"create"}`, "thread-1", ""},
		{`{"op":"create","id":"a"}`, "thread-1", `create: there is a thread "a" already`},
		{`{"op":"switch","id":"a","skills":["s"]}`, "a", ""},
		{`{"op":"switch","id":"x\ny"}`, "a", `switch: there is no thread "x\\ny"`},
		{`{"op":"complete","id":"thread-1"}`, "a", ""},
		{`{"op":"complete"}`, "none", ""},
		{`{"op":"complete"}`, "none", `complete: no thread is active`},
	}
	more := []struct{ change, active, fault string }{
		{`{"op":"complete","id":"z"}`, "none", `complete: there is no thread "z"`},
		{`{"op":"fly"}`, "none", `op must be create, switch or complete, not "fly"`},
		{`"create"`, "none", `thread must be an object of op, id, concern (strings), buffers and skills (lists of strings)`},
		{`[]`, "none", `thread must be an object of op, id, concern (strings), buffers and skills (lists of strings)`},
		{`{"op":"switch","id":"thread-1","buffers":null}`, "thread-1", ""},
		{`null`, "thread-1", ""},
		{`false`, "thread-1", ""},
		{`{"op":"create","id":"` + strings.Repeat("i", 99) + `"}`, strings.Repeat("i", 37) + "...", ""},
	}
	for _, part := range [][]struct{ change, active, fault string }{steps, more} {
		var lines []string
		for i, step := range part {
			lines = append(lines, objectScriptLine(frame{"thread": json.RawMessage(step.change), "continue": i < len(part)-1}))
		}
		p := startTicksAgent(t, ticks.Config{StateDir: dir}, lines...)
		p.InitAndAwaitReady(nil)
		before := strings.Count(readStateFile(t, dir, "monologue.md"), "\n")
		require.Equal(t, "done", p.QueryAndWait("go"))
		var faults, want []string
		for i, step := range part {
			require.Equal(t, step.active, tickEventMetadata(p)[i]["thread"], step.change)
			if step.fault != "" {
				want = append(want, "THREAD ERROR: "+step.fault)
			}
		}
		for _, line := range strings.Split(strings.TrimSpace(readStateFile(t, dir, "monologue.md")), "\n")[before:] {
			_, text, _ := strings.Cut(line, "THREAD")
			faults = append(faults, "THREAD"+text)
		}
		require.Equal(t, want, faults)
	}
	require.Contains(t, readStateFile(t, dir, "consciousness.json"), `"skills": [
        "s"
      ]`)
}

// The state stays small whatever the model writes.
func TestTK4_StateIsBounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var threads []frame
	for i := range 100 {
		threads = append(threads, frame{"id": fmt.Sprint(i), "status": "pending"})
	}
	write := func() {
		state, err := json.Marshal(frame{"threads": threads})
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "consciousness.json"), state, 0o600))
	}
	write()
	many := []string{"1", "1"}
	for i := range 99 {
		many = append(many, fmt.Sprint(i))
	}
	line := objectScriptLine(frame{"monologue": strings.Repeat("long ", 10000), "thought": strings.Repeat("x", 100000), "continue": true, "thread": frame{"op": "create", "id": "new", "skills": many}})
	p := startTicksAgent(t, ticks.Config{StateDir: dir}, line, line, line, line, line, line, line, line, line, line)
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.Contains(t, readStateFile(t, dir, "monologue.md"), "THREAD ERROR: create: there are 100 threads already, and none is completed\n")
	require.Less(t, len(readStateFile(t, dir, "consciousness.json")), 40<<10)
	require.Equal(t, 5, strings.Count(sentPrompts(p)[9], "(confidence "))
	require.Equal(t, 18, strings.Count(sentPrompts(p)[9], "- [2026"))

	threads[7]["status"] = "completed"
	write()
	p = startTicksAgent(t, ticks.Config{StateDir: dir}, line, objectScriptLine(frame{}))
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.Equal(t, "new", tickEventMetadata(p)[0]["thread"])
	require.Equal(t, 50, strings.Count(sentPrompts(p)[1], "(There is no such skill.)"))
	require.Equal(t, 1, strings.Count(sentPrompts(p)[1], "### 1\n"))
	require.NotContains(t, readStateFile(t, dir, "consciousness.json"), `"id": "7"`)
}

// No skill name and no link leads out of the skills folder.
func TestTK4_SkillNamesStayInTheFolder(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(outside, "SKILL.md"), []byte("secret"), 0o600))
	dir := filepath.Join(outside, "skills")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "good one"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "good one", "SKILL.md"), []byte("Be good."), 0o600))
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "link")))
	names := []string{"good one", "..", ".", "", "a/..", "../skills/good one", outside, "link", "a\x00b", strings.Repeat("n", 5000)}
	p := startTicksAgent(t, ticks.Config{SkillsDir: dir}, objectScriptLine(frame{"continue": true, "thread": frame{"op": "create", "skills": names}}), objectScriptLine(frame{}))
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.Equal(t, 1, strings.Count(sentPrompts(p)[1], "Be good."))
	require.NotContains(t, sentPrompts(p)[1], "secret")
	require.Equal(t, 7, strings.Count(sentPrompts(p)[1], "(There is no such skill.)"))
	require.Equal(t, 2, strings.Count(sentPrompts(p)[1], "(The skill cannot be read: "))
}
