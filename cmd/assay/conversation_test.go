package main

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/model/mockapi"
	"assay/internal/model/script"
)

// conversationReplyCount returns the number of replies of the model in the long conversation.
func conversationReplyCount() int {
	if testing.Short() {
		return 25
	}
	return 100
}

// conversationScript returns the script of a model that creates, edits and runs cells, executes
// code and reads the notebook, and the sum that it submits. Every fifth call of the model fails
// with one of eight faults.
func conversationScript(t *testing.T) (script string, total int) {
	t.Helper()
	faults := []string{
		`{"error": {"status": 429, "retry_after": 0.01}}`,
		`{"error": {"status": 529}}`,
		`{"error": {"status": 503, "body": "upstream is gone"}}`,
		`{"content": "a reply of which only the beginning comes", "fault": {"cut": 5}}`,
		`{"content": [{"type": "tool_use", "name": "delete_all_cells", "input": {}}], "fault": {"end": 4}}`,
		`{"fault": {"drop": true}}`,
		`{"content": "half of ", "fault": {"error": {"type": "overloaded_error", "message": "Overloaded"}, "after": 3}}`,
		`{"error": {"status": 408}}`,
	}
	var lines strings.Builder
	calls, created := 0, 0
	addReply := func(line map[string]any) {
		if calls++; calls%5 == 0 {
			fmt.Fprintln(&lines, faults[calls/5%len(faults)])
			calls++
		}
		text, err := json.Marshal(line)
		require.NoError(t, err)
		fmt.Fprintf(&lines, "%s\n", text)
	}
	expect := map[string]any{}
	for turn := range conversationReplyCount() - 1 {
		content := []any{map[string]any{"type": "text", "text": fmt.Sprintf("Turn %d: ein Schritt weiter, 一步 🐘.", turn)}}
		reply := map[string]any{"expect": expect, "usage": map[string]int{"input_tokens": 1000, "output_tokens": 50}}
		switch turn % 4 {
		case 0:
			total += turn
			source := fmt.Sprintf("total = %s + %d\nprint('sum', total)", map[bool]string{true: "0", false: "total"}[created == 0], turn)
			content = append(content, toolUse("create_cell", map[string]any{"position": created, "source": source, "auto_run": true}))
			created++
			expect = map[string]any{"tool_result_contains": fmt.Sprintf("sum %d", total)}
		case 1:
			printed := 100
			if turn == 41 {
				printed = 20000 // longer than a tool result may be
			}
			code := fmt.Sprintf("print('x' * %d)\ntotal + 100000", printed)
			content = append(content, toolUse("execute_code", map[string]any{"code": code}))
			expect = map[string]any{"tool_result_contains": fmt.Sprint(total + 100000)}
		case 2:
			input := map[string]any{"cell_id": fmt.Sprintf("$cell[%d]", created-1), "source": fmt.Sprintf("print('edited in turn %d')\n1 / 0", turn), "auto_run": true}
			content = append(content, toolUse("edit_cell", input))
			expect = map[string]any{"tool_result_contains": "ZeroDivisionError"}
		default:
			if turn%60 == 3 {
				content = append(content, toolUse("get_context", map[string]any{}))
			}
			content = append(content, toolUse("request_globals_summary", map[string]any{}), toolUse("no_such_tool", map[string]any{}))
			expect = map[string]any{"tool_result_contains": "Unknown tool: no_such_tool"}
		}
		reply["content"] = content
		addReply(reply)
	}
	summary := fmt.Sprintf("<EVAL_ANSWER>{\"total\": %d}</EVAL_ANSWER> [EVAL_COMPLETE]", total)
	addReply(map[string]any{"expect": expect, "content": []any{toolUse("submit_response", map[string]any{"summary": summary, "next_status": "done"})}})
	return lines.String(), total
}

// A long conversation in which every fifth call of the model fails passes its case. Replays of its
// recording have the same recording, notebook and verdict, byte for byte.
func TestCO12_LongConversationReplays(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text, total := conversationScript(t)
	require.Equal(t, (conversationReplyCount()-1)/4, strings.Count(text, "\n")-conversationReplyCount(), "a fault for every fifth call")
	script, err := script.Parse("long.jsonl", []byte(text))
	require.NoError(t, err)
	api := httptest.NewServer(mockapi.New(script, nil))
	t.Cleanup(api.Close)
	writeFile(t, filepath.Join(dir, "case.json"), fmt.Sprintf(`{"id": "long", "task": "Sum up.", "graders": [
		{"type": "exact", "config": {"ground_truth": {"total": %d}}},
		{"type": "kernel_check", "config": {"probes": [{"expr": "total", "equals": %d}]}}]}`, total, total))
	runCase := func(name, modelName string, more ...string) {
		args := append([]string{"run", "case.json", "--turns", "300", "--model", modelName, "--record", name + ".jsonl", "--out", name}, more...)
		cmd := exec.CommandContext(t.Context(), "assay", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "ANTHROPIC_API_KEY=any")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), "PASS 1/1 ")
	}
	runCase("live", "anthropic/any", "--model-arg", "base_url="+api.URL)
	runCase("once", "replay:live.jsonl")
	runCase("again", "replay:once.jsonl", "--model-arg", "match=order")

	for _, name := range []string{"once", "again"} {
		for _, file := range []string{".jsonl", "/attempts/*/notebook.ipynb"} {
			require.Equal(t, readSingleFile(t, dir, "live"+file), readSingleFile(t, dir, name+file), "%s%s", name, file)
		}
		require.Equal(t, readVerdict(t, dir, "live"), readVerdict(t, dir, name))
		require.Equal(t, blankTimestamps(readSingleFile(t, dir, "live/attempts/*/conversation.jsonl")), blankTimestamps(readSingleFile(t, dir, name+"/attempts/*/conversation.jsonl")))
	}
	require.Equal(t, readSingleFile(t, dir, "once/attempts/*/conversation.jsonl"), readSingleFile(t, dir, "again/attempts/*/conversation.jsonl"))
}

// readSingleFile returns the text of the only file in dir that matches pattern.
func readSingleFile(t *testing.T, dir, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	require.NoError(t, err)
	require.Len(t, found, 1, pattern)
	text, err := os.ReadFile(found[0])
	require.NoError(t, err)
	return string(text)
}

// blankTimestamps replaces the values of all "timestamp" fields with "".
func blankTimestamps(text string) string {
	return regexp.MustCompile(`"timestamp":"[^"]*"`).ReplaceAllString(text, `"timestamp":""`)
}

// readVerdict returns the result of the only attempt of a run, without paths and times.
func readVerdict(t *testing.T, dir, run string) (verdict struct {
	Outcome string
	Passed  bool
	Score   float64
	Graders json.RawMessage
	Answer  json.RawMessage
	Usage   struct {
		InputTokens int `json:"input_tokens"`
		ModelCalls  int `json:"model_calls"`
		Actions     int
	}
},
) {
	t.Helper()
	for line := range strings.Lines(readSingleFile(t, dir, run+"/attempts.jsonl")) {
		if strings.Contains(line, `"type":"attempt"`) {
			require.NoError(t, json.Unmarshal([]byte(line), &verdict))
		}
	}
	require.Equal(t, "completed", verdict.Outcome)
	require.Equal(t, conversationReplyCount(), verdict.Usage.ModelCalls)
	return verdict
}
