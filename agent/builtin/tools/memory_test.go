package tools_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/agent/builtin"
	"assay/agent/builtin/agenttest"
	"assay/agent/builtin/tools"
	"assay/internal/protocol"
)

// newMemoryDir creates a memory whose files contain their own names.
func newMemoryDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"soul", "user", "telos", "context", "harness"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name+".md"), []byte("text of "+name+"\n"), 0o600))
	}
	return dir
}

func TestTL1_MissingMemoryFileIsAnError(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"soul", "user", "telos", "context", "harness"} {
		dir := newMemoryDir(t)
		require.NoError(t, os.Remove(filepath.Join(dir, name+".md")))
		_, theirs := protocol.Pipe()
		client := agenttest.ParseModelScript(t, `{"content":"x"}`).Client()
		err := tools.Run(t.Context(), theirs, tools.Config{Agent: builtin.Config{Model: client}, MemoryDir: dir})
		require.ErrorIs(t, err, os.ErrNotExist)
		require.ErrorContains(t, err, name+".md")
	}
}

func TestTL1_NoMemoryToolsWithoutMemory(t *testing.T) {
	t.Parallel()
	p, r := startToolsAgentRecordingRequests(t, tools.Config{}, `{"content":"x"}`)
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	for _, tool := range r.Requests[0].Tools {
		require.NotContains(t, []string{"read_memory", "update_context"}, tool.Name)
	}
	require.NotContains(t, r.Requests[0].System[0].Text, "## Your Identity")
}

func TestTL2_SystemPrompt(t *testing.T) {
	t.Parallel()
	p, r := startToolsAgentRecordingRequests(t, tools.Config{Agent: builtin.Config{Name: "Ada"}, MemoryDir: newMemoryDir(t)}, `{"content":"x"}`)
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	prompt := r.Requests[0].System[0].Text
	require.True(t, strings.HasPrefix(prompt, "You are Ada, "))
	at := 0
	for _, part := range []string{
		"## Your Identity\n\ntext of soul\n\n", "## Your User\n\ntext of user\n\n", "## Your Purpose\n\ntext of telos\n\n",
		"## Recent Context\n\ntext of context\n\n", "## Your Architecture (Self-Awareness)\n\ntext of harness\n\n", "## Working in the Notebook\n",
	} {
		i := strings.Index(prompt, part)
		require.Greater(t, i, at, part)
		at = i
	}

	p, r = startToolsAgentRecordingRequests(t, tools.Config{}, `{"content":"x"}`)
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.True(t, strings.HasPrefix(r.Requests[0].System[0].Text, "You are Eva, "))
}

func TestTL3_ReadMemory(t *testing.T) {
	t.Parallel()
	dir := newMemoryDir(t)
	p := startToolsAgentWithConfig(t, tools.Config{MemoryDir: dir}, agenttest.ToolCallScriptLine("read_memory", `{"name":"telos"}`, "read_memory", `{"name":"user"}`, "read_memory", `{"name":"harness"}`, "read_memory", `{"name":"../secret"}`), `{"content":"x"}`)
	p.InitAndAwaitReady(nil)
	require.NoError(t, os.Remove(filepath.Join(dir, "user.md")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "harness.md"), nil, 0o600))
	require.Equal(t, "done", p.QueryAndWait("go"))
	for i, want := range []string{"text of telos\n", "Error: the memory has no file user.md", "(the file is empty)"} {
		text, isError := p.ToolResult(i)
		require.False(t, isError)
		require.Equal(t, want, text)
	}
	text, isError := p.ToolResult(3)
	require.True(t, isError)
	require.Contains(t, text, "name: \"../secret\" does not fit")
}

// A new entry can be read at once, and is in the system prompt of the next agent.
func TestTL4_UpdateContext(t *testing.T) {
	t.Parallel()
	dir := newMemoryDir(t)
	clock := func() time.Time { return time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC) }
	p, r := startToolsAgentRecordingRequests(t, tools.Config{Agent: builtin.Config{Clock: clock}, MemoryDir: dir},
		agenttest.ToolCallScriptLine("update_context", `{"category":"Data\nset","summary":"Found it.","details":"In a.csv.","followup":"Look again."}`,
			"update_context", `{"category":"Note","summary":"s","details":"d"}`, "read_memory", `{"name":"context"}`), `{"content":"x"}`)
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	want := `text of context

### 2026-03-04 05:06 - [Data set]
**Summary:** Found it.
**Details:** In a.csv.
**Follow-up:** Look again.

### 2026-03-04 05:06 - [Note]
**Summary:** s
**Details:** d
`
	text, _ := p.ToolResult(0)
	require.Contains(t, text, "success")
	text, _ = p.ToolResult(2)
	require.Equal(t, want, text)
	require.NotContains(t, r.Requests[1].System[0].Text, "Found it.")

	p, r = startToolsAgentRecordingRequests(t, tools.Config{MemoryDir: dir}, `{"content":"x"}`)
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.Contains(t, r.Requests[0].System[0].Text, "Found it.")
}

// Entries that several agents add at once stay whole, also after a file that does not end
// with a newline.
func TestTL3_EntriesAreAppendedAtomically(t *testing.T) {
	t.Parallel()
	dir := newMemoryDir(t)
	file := filepath.Join(dir, "context.md")
	require.NoError(t, os.WriteFile(file, []byte("no newline"), 0o600))
	var servers []*agenttest.Server
	for n := range 4 {
		var all []string
		for range 10 {
			all = append(all, "update_context", fmt.Sprintf(`{"category":"c%d","summary":"s","details":"%s"}`, n, strings.Repeat("d", 5000)))
		}
		p := startToolsAgentWithConfig(t, tools.Config{MemoryDir: dir}, agenttest.ToolCallScriptLine(all...), `{"content":"x"}`)
		p.InitAndAwaitReady(nil)
		servers = append(servers, p)
	}
	for _, p := range servers {
		p.SendQuery("go")
	}
	for _, p := range servers {
		p.AwaitFrame(0, "done", func(f frame) bool { return f.StringField("status") == "done" })
	}
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	entries := strings.Split(string(data), "\n### ")
	require.Len(t, entries, 41)
	require.Equal(t, "no newline\n", entries[0])
	for _, e := range entries[1:] {
		require.Regexp(t, `^\d{4}-\d\d-\d\d \d\d:\d\d - \[c\d\]\n\*\*Summary:\*\* s\n\*\*Details:\*\* d+\n+$`, e)
		require.Equal(t, 5000, strings.Count(e, "d"))
	}
}
