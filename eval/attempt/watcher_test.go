package attempt_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"assay/eval/attempt"
	"assay/eval/runs"
	"assay/internal/protocol"
	"assay/internal/trace"
)

// completionMarker is the text that marks a submission as final; tests put it into frames.
const completionMarker = `[EVAL_COMPLETE]`

// submissionFrame returns an agent_history_updated in which the agent calls submit_response
// with this input, a JSON text.
func submissionFrame(input string) string {
	return `agent>server {"type":"agent_history_updated","entry":{"type":"anthropic_message","role":"assistant","content":[{"type":"tool_use","id":"t","name":"submit_response","input":` + input + `}]}}`
}

// historyMessageFrame returns an agent_history_updated with a message of this role and content,
// a JSON text.
func historyMessageFrame(role, content string) string {
	return fmt.Sprintf(`agent>server {"type":"agent_history_updated","entry":{"type":"anthropic_message","role":%q,"content":%s}}`, role, content)
}

// Trace entries as playTestCaseLine takes them: a hop and a frame, about cell a, widget a/w, action t1 and
// consoles 1 and 2.
const (
	frameRunA        = `server>kernel {"type":"run_cell","cell_id":"a","code":"1"}`
	frameStartA      = `kernel>server {"type":"start_cell","cell_id":"a","run_sequencer":1}`
	frameResultA     = `kernel>server {"type":"cell_result","cell_id":"a","run_sequencer":1,"status":"ok"}`
	frameSetWidget   = `server>kernel {"type":"set_widget_value","data":{"a/w":"1"},"agent_tx_id":"eval_1"}`
	frameQueueA      = `kernel>server {"type":"run_queue","queue":["a"]}`
	entryKernelStuck = `session {"type":"kernel_stuck"}`
	entryKernelEnded = `session {"type":"peer_ended","action":"kernel"}`
	frameKernelInit  = `server>kernel {"type":"init"}`

	frameRunAction          = `agent>server {"type":"agent_action","action":"run_cell","params":{"cell_id":"a"},"tx_id":"t1"}`
	frameRunAccepted        = `server>agent {"type":"agent_action_response","tx_id":"t1","status":"success","cell_id":"a"}`
	frameRunRefused         = `server>agent {"type":"agent_action_response","tx_id":"t1","status":"error","error":"no"}`
	frameRunActionWithoutID = `agent>server {"type":"agent_action","action":"run_cell","params":{"cell_id":"a"}}`
	entryConsoleHolds       = `session#1 {"type":"holder","by":"console","conn":1}`
	entryConsole2Holds      = `session#2 {"type":"holder","by":"console","conn":2}`
	frameAgentDone          = `agent>server {"type":"agent_status","status":"done"}`
)

// Each case is a sequence of frames and waits, and the watcher's verdict that must come with
// the last of them, not earlier.
func TestWatcherVerdicts(t *testing.T) {
	t.Parallel()
	submitted := submissionFrame(`{"summary":"x ` + completionMarker + `","next_status":"done"}`)
	longText := `kernel>server {"type":"kernel_stdio","active_cell":"a","stream":"stdout","data":"` + strings.Repeat("x", 40<<10) + `"}`
	submittedWithTool := strings.Replace(submitted, `"content":[`, `"content":[{"type":"tool_use","name":"run_cell","input":{}},`, 1)
	for name, tc := range map[string]struct {
		frames []string
		want   runs.Outcome // empty: none yet
		detail string
		tamper int
	}{
		"submitted":             {[]string{submitted}, runs.OutcomeCompleted, "", 0},
		"submitted over mcp":    {[]string{strings.Replace(submitted, "submit_response", "mcp__assay__submit_response", 1)}, runs.OutcomeCompleted, "", 0},
		"older agent":           {[]string{`agent>server {"type":"agent_result","structured_output":{"summary":"` + completionMarker + `"}}`}, runs.OutcomeCompleted, "", 0},
		"without the marker":    {[]string{submissionFrame(`{"summary":"x","next_status":"done"}`)}, runs.OutcomeStopped, "without " + completionMarker, 0},
		"not yet done":          {[]string{submissionFrame(`{"summary":"x","next_status":"thinking"}`)}, "", "", 0},
		"summary is not text":   {[]string{submissionFrame(`{"summary":["` + completionMarker + `"],"next_status":"done"}`)}, "", "", 0},
		"done without anything": {[]string{frameAgentDone}, runs.OutcomeStopped, "said that it is done", 0},

		"as an action": {[]string{
			`agent>server {"type":"agent_action","action":"submit_response","params":{"summary":"x [EVAL_COMPLETE]","next_status":"done"},"tx_id":"t1"}`, frameRunAccepted,
		}, runs.OutcomeCompleted, "", 0},
		"as an action without tx_id": {[]string{`agent>server {"type":"agent_action","action":"submit_response","params":{"summary":"[EVAL_COMPLETE]"}}`}, runs.OutcomeCompleted, "", 0},
		"a question as an action":    {[]string{`agent>server {"type":"agent_action","action":"submit_response","params":{"summary":"x","next_status":"done"}}`}, runs.OutcomeStopped, "without " + completionMarker, 0},

		"with another tool":          {[]string{submittedWithTool, "wait 9s"}, "", "", 0},
		"with another tool and done": {[]string{submittedWithTool, frameAgentDone}, runs.OutcomeCompleted, "", 0},
		"with its result":            {[]string{submittedWithTool, historyMessageFrame("user", `[{"type":"tool_result"}]`)}, runs.OutcomeCompleted, "", 0},
		"with the next message":      {[]string{submittedWithTool, historyMessageFrame("assistant", `"x"`)}, runs.OutcomeCompleted, "", 0},
		"with the end of the agent":  {[]string{submittedWithTool, `session {"type":"peer_ended","action":"agent"}`}, runs.OutcomeCompleted, "", 0},
		"with a fatal error":         {[]string{submittedWithTool, `agent>server {"type":"agent_error","error":"x","fatal":true}`}, runs.OutcomeCompleted, "", 0},
		"with another tool for 10 s": {[]string{submittedWithTool, "wait 9s", "wait 1s"}, runs.OutcomeCompleted, "", 0},
		"with a tool that is carried out": {[]string{
			submittedWithTool, frameRunAction, frameRunAccepted, frameRunA, frameAgentDone, frameStartA, frameResultA,
		}, runs.OutcomeCompleted, "", 0},
		"a change after it": {[]string{frameRunA, frameStartA, submitted, frameRunAction, frameRunRefused, frameResultA}, runs.OutcomeCompleted, "", 1},
		"a look after it": {[]string{
			frameRunA, frameStartA, submitted, `agent>server {"type":"agent_action","action":"get_context","tx_id":"t1"}`, frameRunRefused, frameResultA,
		}, runs.OutcomeCompleted, "", 0},

		"the marker printed in pieces": {[]string{
			`kernel>server {"type":"kernel_stdio","active_cell":"a","stream":"stdout","data":"[EVAL"}`, `kernel>server {"type":"kernel_stdio","active_cell":"a","stream":"stdout","data":"_COMPLETE]"}`,
			`server>agent {"type":"kernel_message","message":{"type":"cell_result","cell_id":"a","logs":"` + completionMarker + `"}}`,
			`server>agent {"type":"kernel_message","message":{"type":"cell_result","cell_id":"b","logs":"` + completionMarker + `"}}`,
		}, "", "", 1},
		"the marker printed at once": {[]string{
			`kernel>server {"type":"kernel_stdio","active_cell":"a","stream":"stdout","data":"` + completionMarker + `"}`,
			`server>agent {"type":"kernel_message","message":{"type":"cell_result","cell_id":"a","logs":"` + completionMarker + `"}}`,
		}, "", "", 1},

		"a cell runs":                   {[]string{frameRunA, frameStartA, submitted}, "", "", 0},
		"a cell has run":                {[]string{frameRunA, frameStartA, submitted, frameAgentDone, frameResultA}, runs.OutcomeCompleted, "", 0},
		"a cell waits in the queue":     {[]string{`kernel>server {"type":"run_queue","queue":["a"]}`, submitted}, "", "", 0},
		"all cells of it have run":      {[]string{`kernel>server {"type":"run_queue","queue":["a"]}`, submitted, frameStartA, frameResultA}, runs.OutcomeCompleted, "", 0},
		"a cell is disposed of":         {[]string{frameRunA, submitted, `server>kernel {"type":"dispose_cell","cell_id":"a"}`}, runs.OutcomeCompleted, "", 0},
		"idle closes started runs":      {[]string{frameRunA, frameStartA, submitted, `kernel>server {"type":"start_cell","cell_id":null,"run_sequencer":1}`}, runs.OutcomeCompleted, "", 0},
		"idle leaves waiting runs open": {[]string{frameRunA, submitted, `kernel>server {"type":"start_cell","cell_id":null,"run_sequencer":1}`}, "", "", 0},

		"a queued run that does not begin":   {[]string{frameQueueA, submitted, frameAgentDone, `wait 29s`}, "", "", 0},
		"a queued run that never begins":     {[]string{frameQueueA, submitted, frameAgentDone, `wait 30s`}, runs.OutcomeCompleted, "", 0},
		"a queued run behind one that began": {[]string{frameRunA, frameStartA, `kernel>server {"type":"run_queue","queue":["b"]}`, submitted, `wait 45s`}, "", "", 0},

		"a widget is set":              {[]string{frameSetWidget, submitted, `wait 900ms`}, "", "", 0},
		"a widget that reruns nothing": {[]string{frameSetWidget, submitted, `wait 1s`}, runs.OutcomeCompleted, "", 0},
		"a widget that reruns a cell":  {[]string{frameSetWidget, submitted, frameQueueA, frameStartA, `wait 9s`, frameResultA}, runs.OutcomeCompleted, "", 0},
		"a widget set during a run":    {[]string{frameRunA, frameStartA, frameSetWidget, submitted, `wait 9s`, frameResultA, `wait 500ms`, frameQueueA, frameStartA, frameResultA}, runs.OutcomeCompleted, "", 0},
		"a widget and an expected run": {[]string{frameSetWidget, frameRunAction, frameRunAccepted, submitted, `wait 1s`}, runs.OutcomeCompleted, "", 0},

		"queued again while it runs": {[]string{frameRunA, frameStartA, frameRunA, submitted, frameResultA}, "", "", 0},
		"both its runs have ended": {[]string{
			frameRunA, frameStartA, frameRunA, `kernel>server {"type":"run_queue","queue":["a"]}`, submitted, frameResultA, frameStartA, frameResultA,
		}, runs.OutcomeCompleted, "", 0},
		"promised again while it runs": {[]string{frameRunA, frameStartA, frameRunAction, frameRunAccepted, submitted, frameResultA}, "", "", 0},
		"a run that was dropped":       {[]string{strings.Replace(frameRunA, "server>kernel", "server>kernel!", 1), submitted}, runs.OutcomeCompleted, "", 0},
		"an empty result after it":     {[]string{frameRunA, frameStartA, submitted, `agent>server {"type":"agent_result","structured_output":null}`, frameResultA}, runs.OutcomeCompleted, "", 0},
		"an action of a dead agent": {[]string{
			`agent>server {"type":"agent_action","action":"execute_code","params":{},"tx_id":"t1"}`, submitted, `session {"type":"peer_ended","action":"agent"}`,
		}, runs.OutcomeCompleted, "", 0},

		"an action in flight": {[]string{frameRunAction, submitted}, "", "", 0},
		"a tx_id used twice": {[]string{
			frameRunAction, frameRunAction, strings.Replace(frameRunRefused, "no", "tx_id in flight", 1), submitted,
		}, "", "", 0},
		"a tx_id used twice, then answered": {[]string{
			frameRunAction, frameRunAction, frameRunRefused, submitted, frameRunRefused,
		}, runs.OutcomeCompleted, "", 0},
		"an action that failed":                  {[]string{frameRunAction, submitted, frameRunRefused}, runs.OutcomeCompleted, "", 0},
		"a promised run":                         {[]string{frameRunAction, submitted, frameRunAccepted}, "", "", 0},
		"a promised run that comes":              {[]string{frameRunAction, submitted, frameRunAccepted, frameRunA, "wait 2s", frameStartA, frameResultA}, runs.OutcomeCompleted, "", 0},
		"a run without tx_id":                    {[]string{frameRunActionWithoutID, submitted}, "", "", 0},
		"a run without tx_id that comes":         {[]string{frameRunActionWithoutID, submitted, frameRunA, frameStartA, frameResultA}, runs.OutcomeCompleted, "", 0},
		"a run without tx_id that does not come": {[]string{frameRunActionWithoutID, submitted, "wait 1s"}, runs.OutcomeCompleted, "", 0},
		"a promised run that does not come":      {[]string{frameRunAction, submitted, frameRunAccepted, "wait 1s"}, runs.OutcomeCompleted, "", 0},
		"create without auto_run": {[]string{
			`agent>server {"type":"agent_action","action":"create_cell","params":{"source":"1"},"tx_id":"t1"}`, submitted, frameRunAccepted,
		}, runs.OutcomeCompleted, "", 0},
		"create with auto_run": {[]string{
			`agent>server {"type":"agent_action","action":"create_cell","params":{"source":"1","auto_run":true},"tx_id":"t1"}`, submitted, frameRunAccepted,
		}, "", "", 0},

		"final message and silence":  {[]string{historyMessageFrame("assistant", `"I give up."`), "wait 5s"}, runs.OutcomeStopped, "message and no submission", 0},
		"text blocks and silence":    {[]string{historyMessageFrame("assistant", `[{"type":"text","text":"x"}]`), "wait 5s"}, runs.OutcomeStopped, "", 0},
		"usage after it":             {[]string{historyMessageFrame("assistant", `"x"`), `agent>server {"type":"agent_usage_update"}`, "wait 5s"}, runs.OutcomeStopped, "", 0},
		"final message, then active": {[]string{historyMessageFrame("assistant", `"x"`), "wait 4s", `agent>server {"type":"agent_status","status":"thinking"}`, "wait 10s"}, "", "", 0},
		"ready after it":             {[]string{historyMessageFrame("assistant", `"x"`), `agent>server {"type":"agent_status","status":"ready"}`, "wait 5s"}, runs.OutcomeStopped, "", 0},
		"user message after it":      {[]string{historyMessageFrame("assistant", `"x"`), historyMessageFrame("user", `"go on"`), "wait 10s"}, "", "", 0},
		"tool use is not final":      {[]string{historyMessageFrame("assistant", `[{"type":"tool_use","name":"run_cell","input":{}}]`), "wait 10s"}, "", "", 0},
		"not while a cell runs":      {[]string{frameRunA, historyMessageFrame("assistant", `"x"`), "wait 10s"}, "", "", 0},

		"asks twice": {[]string{submissionFrame(`{"summary":"?","next_status":"awaiting_user_response"}`), submissionFrame(`{"summary":"?","questions":["which?"]}`)}, runs.OutcomeAskedQuestion, "which?", 0},

		"wall":                        {[]string{"wait 60s"}, runs.OutcomeLimit, "wall: configured 1m0s, measured 1m0s", 0},
		"idle":                        {[]string{"wait 5s", `agent>server {"type":"agent_status","status":"thinking"}`, "wait 30s"}, runs.OutcomeLimit, "idle: configured 30s, measured 30s", 0},
		"not idle":                    {[]string{frameRunA, "wait 40s"}, "", "", 0},
		"turns":                       {[]string{historyMessageFrame("assistant", `[{"type":"tool_use"}]`), historyMessageFrame("assistant", `[{"type":"tool_use"}]`), historyMessageFrame("assistant", `[{"type":"tool_use"}]`)}, runs.OutcomeLimit, "turns: configured 2, measured 3", 0},
		"actions":                     {[]string{frameRunAction, frameRunAction, frameRunAction, frameRunAction}, runs.OutcomeLimit, "actions: configured 3, measured 4", 0},
		"trace of small messages":     {slices.Repeat([]string{`kernel>server {}`}, 432), runs.OutcomeLimit, "trace: configured 64KiB, measured 64.", 0},
		"trace":                       {[]string{frameRunA, frameStartA, longText, longText}, runs.OutcomeLimit, "trace: configured 64KiB, measured 80.", 0},
		"tokens":                      {[]string{`agent>server {"type":"agent_usage_update","input_tokens":60,"output_tokens":20,"cache_read_input_tokens":21}`}, runs.OutcomeLimit, "tokens: configured 100, measured 101", 0},
		"cost":                        {[]string{`agent>server {"type":"agent_usage_update","cost_usd":1.5}`}, runs.OutcomeLimit, "cost_usd: configured 1, measured 1.5", 0},
		"limit of the agent":          {[]string{`agent>server {"type":"agent_event","text":"limit reached: turns 2 of 2","metadata":{"type":"limit"}}`, frameAgentDone}, runs.OutcomeLimit, "turns 2 of 2", 0},
		"fatal agent error":           {[]string{`agent>server {"type":"agent_error","error":"401","fatal":true}`}, runs.OutcomeAgentError, "401", 0},
		"agent error":                 {[]string{`agent>server {"type":"agent_error","error":"slow","fatal":false}`}, "", "", 0},
		"agent stops with an error":   {[]string{`agent>server {"type":"agent_error","error":"refused","fatal":false}`, frameAgentDone}, runs.OutcomeStopped, "it has reported: refused", 0},
		"agent ends":                  {[]string{`session {"type":"peer_ended","action":"agent"}`}, runs.OutcomeAgentExit, "", 0},
		"kernel ends":                 {[]string{`session {"type":"peer_ended","action":"kernel"}`}, runs.OutcomeKernelExit, "", 0},
		"kernel is stuck":             {[]string{frameRunA, frameStartA, submitted, entryKernelStuck, entryKernelEnded}, "", "", 0},
		"kernel is replaced":          {[]string{frameRunA, frameStartA, submitted, entryKernelStuck, entryKernelEnded, frameKernelInit}, runs.OutcomeCompleted, "", 0},
		"the new kernel ends":         {[]string{entryKernelStuck, entryKernelEnded, frameKernelInit, entryKernelEnded}, runs.OutcomeKernelExit, "", 0},
		"no new kernel":               {[]string{entryKernelStuck, entryKernelEnded, `session {"type":"kernel_lost"}`}, runs.OutcomeHarnessError, "no new kernel could be started", 0},
		"no new kernel after a run":   {[]string{frameRunAction, entryKernelStuck, entryKernelEnded, `session {"type":"kernel_lost"}`}, runs.OutcomeKernelExit, "because its code did not stop; no new kernel could be started", 0},
		"kernel dies in a cell":       {[]string{frameRunA, frameStartA, `session {"type":"peer_ended","action":"kernel"}`}, runs.OutcomeKernelExit, "while it ran the agent's code", 0},
		"kernel dies in execute_code": {[]string{`agent>server {"type":"agent_action","action":"execute_code","tx_id":"t"}`, `session {"type":"peer_ended","action":"kernel"}`}, runs.OutcomeKernelExit, "while it ran the agent's code", 0},
		"console goes":                {[]string{entryConsoleHolds, `session#1 {"type":"peer_ended","action":"console"}`, "wait 29s"}, "", "", 0},
		"console is lost":             {[]string{entryConsoleHolds, `session#1 {"type":"peer_ended","action":"console"}`, "wait 30s"}, runs.OutcomeConsoleLost, "was away for 30s: configured 30s", 0},
		"lost while a cell runs":      {[]string{entryConsoleHolds, frameRunA, `session#1 {"type":"peer_ended","action":"console"}`, "wait 30s"}, runs.OutcomeConsoleLost, "", 0},
		"console comes back":          {[]string{entryConsoleHolds, `session#1 {"type":"peer_ended","action":"console"}`, "wait 29s", entryConsole2Holds, "wait 25s"}, "", "", 0},
		"console goes again":          {[]string{entryConsoleHolds, `session#1 {"type":"peer_ended","action":"console"}`, "wait 20s", entryConsole2Holds, `session#2 {"type":"peer_ended","action":"console"}`, "wait 30s"}, runs.OutcomeConsoleLost, "30s", 0},
		"console is replaced":         {[]string{entryConsoleHolds, entryConsole2Holds, `session#1 {"type":"peer_ended","action":"console"}`, "wait 50s"}, "", "", 0},
		"another console goes":        {[]string{entryConsoleHolds, `session#3 {"type":"peer_ended","action":"run"}`, `session#4 {"type":"peer_ended","action":"view"}`, "wait 50s"}, "", "", 0},
		"a view goes":                 {[]string{`session {"type":"holder","by":"server"}`, `session#4 {"type":"peer_ended","action":"view"}`, "wait 50s"}, "", "", 0},

		"marker printed":               {[]string{frameRunA, frameStartA, `kernel>server {"type":"kernel_stdio","active_cell":"a","stream":"stdout","data":"` + completionMarker + `"}`, frameResultA}, "", "", 1},
		"marker raised":                {[]string{`kernel>server {"type":"cell_result","cell_id":"a","status":"error","exception":"` + completionMarker + `"}`}, "", "", 1},
		"marker from code":             {[]string{`kernel>server {"type":"execute_code_response","stdout":"` + completionMarker + `"}`}, "", "", 1},
		"marker in an output":          {[]string{`kernel>server {"type":"cell_output","cell_id":"a","output":"` + completionMarker + `"}`}, "", "", 1},
		"marker in a widget":           {[]string{`kernel>server {"type":"cell_widgets","cell_id":"a","widget_state":"` + completionMarker + `"}`}, "", "", 1},
		"marker in a kernel's history": {[]string{`kernel>server ` + strings.TrimPrefix(submitted, "agent>server ")}, "", "", 1},
		"marker in a kernel's action":  {[]string{`kernel>server? {"type":"agent_action","action":"submit_response","tx_id":"q","params":"` + completionMarker + `"}`}, "", "", 1},
		"marker in an orphaned answer": {[]string{`kernel>server? {"type":"agent_action_response","tx_id":"q","x":"` + completionMarker + `"}`}, "", "", 1},
		"marker in values":             {[]string{`kernel>server {"type":"agent_action_response","tx_id":"q","x":"` + completionMarker + `"}`, `kernel>server {"type":"globals_summary","x":"` + completionMarker + `"}`}, "", "", 0},
		"marker in a source":           {[]string{`agent>server {"type":"agent_action","action":"create_cell","params":{"source":"` + completionMarker + completionMarker + `"},"tx_id":"t"}`}, "", "", 1},
		"marker in text":               {[]string{historyMessageFrame("assistant", `"`+completionMarker+`"`)}, "", "", 1},
		"marker in another tool":       {[]string{historyMessageFrame("assistant", `[{"type":"tool_use","name":"execute_code","input":{"code":"`+completionMarker+`"}}]`)}, "", "", 1},
		"marker from the user":         {[]string{historyMessageFrame("user", `"end with `+completionMarker+`"`)}, "", "", 0},
		"marker to the agent":          {[]string{`server>agent {"type":"kernel_message","message":"` + completionMarker + `"}`}, "", "", 0},
		"marker in a stream":           {[]string{`agent>server {"type":"agent_stream_delta","delta":"` + completionMarker + `"}`}, "", "", 0},
		"marker with escapes in text":  {[]string{historyMessageFrame("assistant", strings.ReplaceAll(`"now `+completionMarker+`"`, "[EVAL", `\u005b\u0045VAL`))}, "", "", 1},
		"marker with escapes in text and submission": {[]string{
			historyMessageFrame("assistant", strings.ReplaceAll(`[{"type":"text","text":"now `+completionMarker+`"},{"type":"tool_use","name":"submit_response","input":{"summary":"`+completionMarker+`"}}]`, "[EVAL", `\u005bEVAL`)),
		}, runs.OutcomeCompleted, "", 1},
		"marker in text and submission": {[]string{
			historyMessageFrame("assistant", `[{"type":"text","text":"now `+completionMarker+`"},{"type":"tool_use","name":"submit_response","input":{"summary":"`+completionMarker+`"}}]`),
		}, runs.OutcomeCompleted, "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { requireVerdict(t, tc.frames, tc.want, tc.detail, tc.tamper) })
		})
	}
}

// testLimits returns limits of an attempt that are so small that a test can reach each of them.
func testLimits() runs.Limits {
	return runs.Limits{WallTimeoutS: 60, IdleTimeoutS: 30, MaxTurns: 2, MaxActions: 3, MaxTokens: 100, MaxCostUSD: 1}
}

// testVerdict is a result of Watcher.NextVerdict: outcome, detail and question.
type testVerdict struct {
	outcome          runs.Outcome
	detail, question string
}

// requireVerdict plays frames to a watcher and requires the outcome want, a part of its detail,
// and a number of tamper signals. An empty want means that there must be no outcome. It must
// run in a synctest bubble.
func requireVerdict(t *testing.T, frames []string, want runs.Outcome, detail string, tamper int) {
	t.Helper()
	journal := trace.NewJournal("s")
	limits := testLimits()
	if want != runs.OutcomeLimit || strings.HasPrefix(detail, "wall") {
		limits.IdleTimeoutS = 0
	}
	if strings.HasPrefix(detail, "trace") {
		limits.MaxTraceBytes = 64 << 10
	}
	w := attempt.NewWatcher(journal, limits)
	ctx, cancel := context.WithCancelCause(t.Context())
	verdicts := make(chan testVerdict, 10)
	go func() {
		defer close(verdicts)
		for {
			var v testVerdict
			v.outcome, v.detail, v.question = w.NextVerdict(ctx)
			verdicts <- v
			if v.outcome != "" {
				return
			}
		}
	}()
	for i, frame := range frames {
		synctest.Wait()
		require.Empty(t, finalVerdicts(verdicts), "a verdict before frame %d", i)
		playTestCaseLine(t, journal, frame)
	}
	synctest.Wait()
	got := finalVerdicts(verdicts)
	cancel(errors.New("the test is over"))
	for range verdicts { //nolint:revive // until it has ended
	}
	if want == "" {
		require.Empty(t, got)
	} else {
		require.Len(t, got, 1)
		require.Equal(t, want, got[0].outcome, got[0].detail)
		require.Contains(t, got[0].detail, detail)
	}
	require.Equal(t, tamper, w.TamperSignals())
}

// finalVerdicts returns those verdicts in the channel that have an outcome, not a question.
func finalVerdicts(verdicts <-chan testVerdict) (got []testVerdict) {
	for {
		select {
		case v, ok := <-verdicts:
			if !ok {
				return got
			}
			if v.outcome != "" {
				got = append(got, v)
			}
		default:
			return got
		}
	}
}

// playTestCaseLine carries out one line of a test case: it appends the frame in it to the journal, or
// waits, as in "wait 5s".
func playTestCaseLine(t *testing.T, journal *trace.Journal, line string) {
	t.Helper()
	what, rest, _ := strings.Cut(line, " ")
	if what == "wait" {
		d, err := time.ParseDuration(rest)
		require.NoError(t, err)
		<-time.After(d)
		return
	}
	journal.Append(parseEntry(t, what, rest))
}

// parseEntry returns the trace entry for a frame on a hop. "hop#3" means console 3, "hop!" that
// the frame was dropped, and "hop?" that it was orphaned.
func parseEntry(t *testing.T, hop, body string) trace.Entry {
	t.Helper()
	env, err := protocol.NewEnvelopeDecoder().Decode([]byte(body))
	require.NoError(t, err, body)
	hop, orphaned := strings.CutSuffix(hop, "?")
	hop, dropped := strings.CutSuffix(hop, "!")
	hop, number, _ := strings.Cut(hop, "#")
	conn, _ := strconv.Atoi(number) // none is 0
	e := trace.Entry{Hop: trace.Hop(hop), ConsoleID: conn, Envelope: env, Body: []byte(body)}
	if dropped {
		e.Note = trace.NoteDropped
	}
	if orphaned {
		e.Note = trace.NoteOrphaned
	}
	return e
}

// The watcher counts messages and changes by people at consoles. While a console holds the
// notebook its commands for cells do not count, because the agent may have caused them.
func TestInterventionsOfPeopleAreCounted(t *testing.T) {
	t.Parallel()
	journal := trace.NewJournal("s")
	w := attempt.NewWatcher(journal, testLimits())
	for _, frame := range []string{
		`session {"type":"holder","by":"server"}`,
		`console>server#2 {"type":"notebook_action","action":"edit_cell"}`,
		`console>server#2! {"type":"notebook_action","action":"edit_cell"}`,
		`console>server#2 {"type":"notebook_action","action":"get_context"}`,
		`console>server#1 {"type":"run_cell","cell_id":"a","code":"1"}`,
		`console>server#1 {"type":"globals_summary"}`,
		`console>server#2 {"type":"agent_query","query":"hurry"}`,
		`session#3 {"type":"holder","by":"console","conn":3}`,
		`console>server#1 {"type":"run_cell","cell_id":"a","code":"1"}`,
		`console>server#3 {"type":"agent_cancel"}`,
		frameAgentDone,
	} {
		playTestCaseLine(t, journal, frame)
	}
	got, _, _ := w.NextVerdict(t.Context())
	require.Equal(t, runs.OutcomeStopped, got)
	require.Equal(t, 4, w.Interventions())
}

func TestCancelledWatcherReportsCause(t *testing.T) {
	t.Parallel()
	w := attempt.NewWatcher(trace.NewJournal("s"), testLimits())
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("interrupted by SIGINT"))
	got, detail, _ := w.NextVerdict(ctx)
	require.Equal(t, runs.OutcomeCancelled, got)
	require.Equal(t, "interrupted by SIGINT", detail)
}

func TestWatcherCountsUsage(t *testing.T) {
	t.Parallel()
	journal := trace.NewJournal("s")
	w := attempt.NewWatcher(journal, runs.Limits{})
	for _, line := range []string{
		frameRunAction, frameRunAccepted, frameRunA, frameStartA, frameResultA, historyMessageFrame("assistant", `"a"`), historyMessageFrame("user", `"b"`),
		`agent>server {"type":"agent_usage_update","input_tokens":10,"output_tokens":5,"cache_read_input_tokens":3,"cache_creation_input_tokens":2,"cost_usd":0.25}`,
		frameAgentDone,
	} {
		playTestCaseLine(t, journal, line)
	}
	got, _, _ := w.NextVerdict(t.Context())
	require.Equal(t, runs.OutcomeStopped, got)
	cost := 0.25
	require.Equal(t, runs.Usage{InputTokens: 15, OutputTokens: 5, CostUSD: &cost, ModelCalls: 1, Actions: 1, CellsRun: 1, CacheReadInputTokens: 3, CacheCreationInputTokens: 2}, w.Usage())
}

// Frames that the agent sends before it gets its task change neither the counts nor the limits.
func TestFramesBeforeTheTaskDoNotCount(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		frameAgentDone, submissionFrame(`{"summary":"` + completionMarker + `","next_status":"done"}`), historyMessageFrame("assistant", `"hello"`),
		`agent>server {"type":"agent_error","error":"warming up","fatal":true}`,
	} {
		synctest.Test(t, func(t *testing.T) {
			journal := trace.NewJournal("s")
			w := attempt.NewWatcherBeforeTask(journal, runs.Limits{WallTimeoutS: 600, IdleTimeoutS: 300})
			playTestCaseLine(t, journal, line)
			<-time.After(10 * time.Minute) // as if the console connected late
			w.StartTask()
			began := time.Now()
			got, detail, _ := w.NextVerdict(t.Context())
			require.Equal(t, runs.OutcomeLimit, got)
			require.Contains(t, detail, "idle")
			require.Equal(t, 5*time.Minute, time.Since(began))
			w.Close()
		})
	}
}

func TestKernelExitBeforeTheTask(t *testing.T) {
	t.Parallel()
	journal := trace.NewJournal("s")
	w := attempt.NewWatcherBeforeTask(journal, runs.Limits{})
	playTestCaseLine(t, journal, `session {"type":"peer_ended","action":"kernel"}`)
	w.StartTask()
	got, _, _ := w.NextVerdict(t.Context())
	require.Equal(t, runs.OutcomeKernelExit, got)
}

// Trace entries that come while the attempt does something else are counted. A panic of the
// reading goroutine is repeated in the attempt's goroutine, which recovers it.
func TestReadEntriesDuringOtherWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		journal := trace.NewJournal("s")
		w := attempt.NewWatcher(journal, runs.Limits{})
		w.ReadEntriesDuring(func() {
			playTestCaseLine(t, journal, frameRunAction)
			synctest.Wait()
			require.Equal(t, 1, w.Usage().Actions)
			playTestCaseLine(t, journal, frameRunAction)
		})
		w.CountRemainingAndClose()
		require.Equal(t, 2, w.Usage().Actions)
	})
	synctest.Test(t, func(t *testing.T) {
		journal := trace.NewJournal("s")
		w := attempt.NewWatcher(journal, runs.Limits{})
		defer w.Close()
		require.Panics(t, func() {
			w.ReadEntriesDuring(func() {
				playTestCaseLine(t, journal, `session {"type":"limit","configured":"not a number"}`)
				synctest.Wait()
			})
		})
	})
}

// An agent that sends frames faster than they can be read does not delay the wall limit or a
// cancellation of the attempt, and the memory stays bounded.
func TestFloodDoesNotDelayWallLimit(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		wall   float64
		cancel time.Duration // a flood that delays the limit is noticed after a minute
		want   runs.Outcome
	}{"wall": {0.2, time.Minute, runs.OutcomeLimit}, "cancelled": {0, 500 * time.Millisecond, runs.OutcomeCancelled}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			journal := trace.NewJournal("s")
			w := attempt.NewWatcher(journal, runs.Limits{WallTimeoutS: tc.wall})
			floodEntry := parseEntry(t, "agent>server", `{"type":"agent_history_updated","entry":{"type":"anthropic_message","role":"user","content":"`+strings.Repeat("x", 256<<10)+`"}}`)
			flooding, stopFlood := context.WithCancel(t.Context())
			flooded := make(chan struct{})
			go func() {
				defer close(flooded)
				for journal.WaitForRoom(flooding) == nil {
					journal.Append(floodEntry)
				}
			}()
			ctx, cancel := context.WithTimeout(t.Context(), tc.cancel)
			defer cancel()
			got, detail, _ := w.NextVerdict(ctx)
			require.Equal(t, tc.want, got, detail)
			stopFlood()
			<-flooded
		})
	}
}

// After a submission the watcher waits until an agent that sends agent_status ends its turn, at
// most for turnEndGrace. It does not wait for an agent that sends no agent_status.
func TestAwaitTurnEnd(t *testing.T) {
	t.Parallel()
	const executing = `agent>server {"type":"agent_status","status":"executing"}`
	for name, c := range map[string]struct {
		before, after []string // after the submission a frame every 100 ms
		want          time.Duration
	}{
		"sends done":      {[]string{executing}, []string{historyMessageFrame("user", `"Submitted."`), frameAgentDone, historyMessageFrame("user", `"more"`)}, 200 * time.Millisecond},
		"sends nothing":   {[]string{executing}, nil, time.Second},
		"sends no status": {nil, []string{historyMessageFrame("user", `"Submitted."`)}, 0},
		"only ready":      {[]string{`agent>server {"type":"agent_status","status":"ready"}`}, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				journal := trace.NewJournal("s")
				w := attempt.NewWatcher(journal, runs.Limits{})
				for _, frame := range append(c.before, submissionFrame(`{"summary":"`+completionMarker+`","next_status":"done"}`)) {
					playTestCaseLine(t, journal, frame)
				}
				got, _, _ := w.NextVerdict(t.Context())
				require.Equal(t, runs.OutcomeCompleted, got)
				var entries []trace.Entry
				for _, frame := range c.after {
					hop, body, _ := strings.Cut(frame, " ")
					entries = append(entries, parseEntry(t, hop, body))
				}
				began, over := time.Now(), make(chan struct{})
				go func() {
					defer close(over)
					for _, e := range entries {
						<-time.After(100 * time.Millisecond)
						e.WallTime = time.Now()
						journal.Append(e)
					}
				}()
				w.AwaitTurnEnd(t.Context())
				require.Equal(t, c.want, time.Since(began))
				<-over
				w.Close()
			})
		})
	}
}
