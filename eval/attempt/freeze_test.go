package attempt_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/eval/runs"
)

// actionLine returns an agent_action for the task of an agent that follows it. params are JSON.
func actionLine(txID, action, params string) string {
	return fmt.Sprintf(`{"type":"agent_action","action":%q,"params":%s,"tx_id":%q}`, action, params, txID)
}

// submittingLine returns a message of the assistant that submits {"n": 1} and uses these other tools
// before that.
func submittingLine(tools ...string) string {
	blocks := ""
	for _, tool := range tools {
		blocks += fmt.Sprintf(`{"type":"tool_use","id":"u","name":%q,"input":{}},`, tool)
	}
	message := submissionMessage(`<EVAL_ANSWER>{\"n\": 1}</EVAL_ANSWER> ` + completionMarker)
	return strings.Replace(message, `"content":[`, `"content":[`+blocks, 1)
}

const doneLine = `{"type":"agent_status","status":"done"}`

// kernelCheck returns a grader that evaluates code in the kernel.
func kernelCheck(code string) any {
	return map[string]any{"type": "kernel_check", "config": map[string]any{"code": code}}
}

// answerCheck returns a grader that wants the answer {"n": 1}.
func answerCheck() any {
	return map[string]any{"type": "exact", "config": map[string]any{"ground_truth": map[string]any{"n": 1}}}
}

// The state at the submission is graded: no action that comes later is carried out, whatever the
// agent sends with the submission in one write. Each change that is tried counts as tamper.
func TestChangesAfterSubmissionAreRefused(t *testing.T) {
	t.Parallel()
	late := []string{
		actionLine("t2", "execute_code", `{"code":"value = 2"}`),
		actionLine("t3", "create_cell", `{"cell_type":"code","source":"value = 3","auto_run":true,"position":0}`),
		actionLine("t4", "get_context", `{}`),
		actionLine("t5", "submit_response", `{"summary":"<EVAL_ANSWER>{\"n\": 2}</EVAL_ANSWER> [EVAL_COMPLETE]","next_status":"done"}`),
	}
	for name, submission := range map[string]string{
		"in a history entry": submittingLine(),
		"in an agent_result": `{"type":"agent_result","structured_output":{"summary":"<EVAL_ANSWER>{\"n\": 1}</EVAL_ANSWER> [EVAL_COMPLETE]"}}`,
		"in an action":       actionLine("t1", "submit_response", `{"summary":"<EVAL_ANSWER>{\"n\": 1}</EVAL_ANSWER> [EVAL_COMPLETE]","next_status":"done"}`),
		"in a stream": `{"type":"agent_stream_start"}
{"type":"agent_stream_block_start","block_index":0,"block_type":"tool_use","block_name":"submit_response"}
{"type":"agent_stream_delta","block_index":0,"delta":"{\"summary\":\"<EVAL_ANSWER>{\\\"n\\\": 1}</EVAL_ANSWER> [EVAL_COMPLETE]\"}"}
{"type":"agent_stream_complete"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lines := []string{
				actionLine("t0", "execute_code", `{"code":"value = 1"}`), `await "tx_id":"t0"`,
				// Code that still runs keeps the attempt from ending before the late actions come.
				actionLine("t9", "create_cell", `{"cell_type":"code","source":"import time; time.sleep(1)","auto_run":true,"position":0}`), "await start_cell",
				submission,
			}
			lines = append(append(lines, late...), "await the answer was submitted", doneLine)
			result, dir := runAttempt(t, followsTask, map[string]any{
				"id": "late", "task": strings.Join(lines, "\n"), "graders": []any{answerCheck(), kernelCheck("value == 1")},
			})
			requirePassed(t, result)
			require.Equal(t, 2, result.TamperSignals, "the two changes")
			trace := readFile(t, dir, "trace.jsonl")
			require.Equal(t, len(late), strings.Count(trace, "the answer was submitted: no further action is carried out"))
		})
	}
}

// The other tools of the message that submits are carried out first.
func TestToolsOfTheSubmittingMessageAreCarriedOut(t *testing.T) {
	t.Parallel()
	result, _ := runAttempt(t, followsTask, map[string]any{
		"id": "same-message", "task": strings.Join([]string{
			submittingLine("execute_code", "create_cell"),
			actionLine("t1", "execute_code", `{"code":"import time; time.sleep(0.5); value = 1"}`), `await "tx_id":"t1"`,
			actionLine("t2", "create_cell", `{"cell_type":"code","source":"value += 1","auto_run":true,"position":0}`), `await "tx_id":"t2"`,
			`{"type":"agent_history_updated","entry":{"type":"anthropic_message","role":"user","content":[]}}`,
			actionLine("t3", "execute_code", `{"code":"value = 9"}`),
		}, "\n"),
		"graders": []any{answerCheck(), kernelCheck("value == 2")},
	})
	requirePassed(t, result)
}

// The answer is that of the first marked submission, also if its message has another one without
// the marker in front of it, and if further ones follow.
func TestFirstMarkedSubmissionIsTheAnswer(t *testing.T) {
	t.Parallel()
	block := func(n int, marker string) string {
		return fmt.Sprintf(`{"type":"tool_use","name":"submit_response","input":{"summary":"<EVAL_ANSWER>{\"n\": %d}</EVAL_ANSWER>%s"}}`, n, marker)
	}
	message := func(blocks ...string) string {
		return `{"type":"agent_history_updated","entry":{"type":"anthropic_message","role":"assistant","content":[` + strings.Join(blocks, ",") + `]}}`
	}
	result, _ := runAttempt(t, followsTask, map[string]any{
		"id": "twice", "task": strings.Join([]string{
			message(block(5, "")), message(block(4, ""), block(1, completionMarker), block(2, completionMarker)), message(block(3, completionMarker)),
		}, "\n"),
		"graders": []any{answerCheck()},
	})
	requirePassed(t, result)
	require.JSONEq(t, `{"n":1}`, string(result.Answer))
}

// A cell that never ends is stopped at the limit for cells, and the agent learns that; the
// kernel and its state live on.
func TestCellLimitStopsCell(t *testing.T) {
	t.Parallel()
	result, dir := runAttempt(t, followsTask, map[string]any{
		"id": "loop", "limits": map[string]any{"cell_s": 1}, "task": strings.Join([]string{
			actionLine("t1", "create_cell", `{"cell_type":"code","source":"value = 1\nwhile True: pass","auto_run":true,"position":0}`),
			"await ran longer than the limit of 1s", submittingLine(), doneLine,
		}, "\n"),
		"graders": []any{answerCheck(), kernelCheck("value == 1")},
	})
	requirePassed(t, result)
	require.Contains(t, readFile(t, dir, "trace.jsonl"), `"type":"cell_limit"`)
}

// A cell that runs when the answer is submitted has what is left of the limit for cells.
func TestCellThatRunsAtSubmissionIsStopped(t *testing.T) {
	t.Parallel()
	result, _ := runAttempt(t, followsTask, map[string]any{
		"id": "loop", "limits": map[string]any{"cell_s": 1}, "task": strings.Join([]string{
			actionLine("t1", "create_cell", `{"cell_type":"code","source":"value = 1\nwhile True: pass","auto_run":true,"position":0}`),
			"await start_cell", submittingLine(), doneLine,
		}, "\n"),
		"graders": []any{answerCheck(), kernelCheck("value == 1")},
	})
	requirePassed(t, result)
	require.Equal(t, runs.OutcomeCompleted, result.Outcome)
}

// The detail of a limit says what the attempt was waiting for, whether there was a submission, and
// which folder has the evidence.
func TestDetailOfLimitNamesWait(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		lines []string
		want  string
	}{
		"the agent":                      {[]string{`{"type":"agent_status","status":"thinking"}`}, `; waiting for the agent \(the agent is thinking\); nothing was submitted; folder attempts/1$`},
		"an agent that has its answer":   {[]string{actionLine("t1", "get_context", `{}`)}, `; waiting for the agent, which has sent nothing since the answer to get_context \(t1\); nothing was submitted; `},
		"an action without a tx_id":      {[]string{strings.Replace(actionLine("t1", "get_context", `{}`), `,"tx_id":"t1"`, "", 1)}, `; waiting for the agent, which has sent nothing since get_context: it had no tx_id, so it got no answer; nothing was submitted; folder attempts/1$`},
		"an action with a numeric tx_id": {[]string{strings.Replace(actionLine("t1", "get_context", `{}`), `"t1"`, "17", 1)}, `since get_context: its tx_id was 17, .*; folder attempts/1; a message of the agent could not be read: agent_action \(entry \d+ of the trace\): get_context: its tx_id was 17, which is no text, so it got no answer$`},
		"an agent that writes no JSON":   {[]string{`{'type': 'agent_action', 'action': 'get_context'}`}, `; folder attempts/1; a message of the agent could not be read: a frame \(entry \d+ of the trace\): it is malformed: want one JSON object in UTF-8$`},
		"a cell": {[]string{
			actionLine("t1", "create_cell", `{"cell_type":"code","source":"while True: pass","auto_run":true,"position":0}`), "await start_cell", submittingLine(),
		}, `; waiting for cell [0-9a-f-]+; the answer was submitted; folder attempts/1$`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result, _ := runAttempt(t, followsTask, map[string]any{"id": "wait", "limits": map[string]any{"wall_s": 3}, "task": strings.Join(tc.lines, "\n")})
			require.Equal(t, runs.OutcomeLimit, result.Outcome)
			require.Regexp(t, tc.want, result.Detail)
		})
	}
}

// The detail of an agent's fatal error has the folder with the evidence.
func TestDetailOfAgentErrorNamesFolder(t *testing.T) {
	t.Parallel()
	result, _ := runAttempt(t, followsTask, map[string]any{"id": "error", "task": `{"type":"agent_error","error":"401","fatal":true}`})
	require.Equal(t, runs.OutcomeAgentError, result.Outcome)
	require.Equal(t, "401; folder attempts/1", result.Detail)
}

// The detail of the outcome names a message of the agent that could not be read.
func TestDetailNamesUnreadableMessage(t *testing.T) {
	t.Parallel()
	result, dir := runAttempt(t, followsTask, map[string]any{
		"id": "unreadable", "task": strings.TrimPrefix(submissionFrame(`"[EVAL_COMPLETE]"`), "agent>server ") + "\n" + doneLine, "graders": []any{answerCheck()},
	})
	require.Equal(t, runs.OutcomeStopped, result.Outcome)
	require.Contains(t, result.Detail, `agent_history_updated (entry `)
	require.Contains(t, result.Detail, `the input of submit_response: want an object, found "[EVAL_COMPLETE]"`)
	require.Contains(t, readFile(t, dir, "trace.jsonl"), `"type":"unreadable"`)
}

// The conversation has entries with fields of unexpected types, too.
func TestConversationHasUnusualEntries(t *testing.T) {
	t.Parallel()
	_, dir := runAttempt(t, followsTask, map[string]any{
		"id": "numeric", "task": `{"type":"agent_history_updated","request_id":7,"entry":{"type":"anthropic_message","role":"user","content":"x","timestamp":12.5}}` + "\n" + doneLine,
	})
	require.JSONEq(t, `{"type":"anthropic_message","role":"user","content":"x","timestamp":12.5}`, readFile(t, dir, "conversation.jsonl"))
}

func readFile(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	require.NoError(t, err)
	return string(text)
}

// While programs grade, nothing of the agent's kernel runs, also not what has left its process group.
func TestKernelStandsStillDuringGrading(t *testing.T) {
	t.Parallel()
	spin := "import subprocess, sys\n" +
		"spinner = subprocess.Popen([sys.executable, '-c', 'print(flush=True)\\nwhile True: pass'], start_new_session=True, stdout=subprocess.PIPE)\n" +
		"spinner.stdout.readline()\nopen('pid', 'w').write(str(spinner.pid))\ntotal = 45"
	usedTime := "import json, sys, time\n" +
		"pid = open(json.load(sys.stdin)['sandbox'] + '/pid').read()\n" +
		"def used_ticks(): return open(f'/proc/{pid}/stat').read().rpartition(')')[2].split()[11]\n" +
		"before = used_ticks()\ndeadline = time.monotonic() + 0.5\n" +
		"while time.monotonic() < deadline: pass\n" +
		"print(json.dumps({'passed': used_ticks() == before}))"
	program := map[string]any{"type": "command", "config": map[string]any{"argv": []string{"python3", "-c", usedTime}}}
	live := map[string]any{"type": "kernel_check", "config": map[string]any{"live": true, "code": "total == 45 and spinner.poll() is None"}}
	params, err := json.Marshal(map[string]string{"code": spin})
	require.NoError(t, err)
	result, _ := runAttempt(t, followsTask, map[string]any{
		"id": "spinner", "task": strings.Join([]string{
			actionLine("t1", "execute_code", string(params)), `await "tx_id":"t1"`, submittingLine(), doneLine,
		}, "\n"),
		"graders": []any{program, kernelCheck("total == 45"), program, live, program},
	})
	requirePassed(t, result)
}
