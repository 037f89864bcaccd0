package attempt_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"assay/eval/attempt"
	"assay/eval/runs"
	"assay/internal/protocol"
	"assay/internal/trace"
)

// Frames of a stream.
const (
	frameStreamStart        = `agent>server {"type":"agent_stream_start","timestamp":"2026-01-01T00:00:00Z"}`
	frameStreamComplete     = `agent>server {"type":"agent_stream_complete"}`
	frameStreamError        = `agent>server {"type":"agent_stream_complete","error":"overloaded"}`
	frameUpdateWithoutEntry = `agent>server {"type":"agent_history_updated","session_id":"1","request_id":"r"}`
)

// blockStartFrame returns the agent_stream_block_start frame of a content block.
func blockStartFrame(index int, kind, name string) string {
	return fmt.Sprintf(`agent>server {"type":"agent_stream_block_start","block_index":%d,"block_type":%q,"block_id":"toolu_%d","block_name":%q}`, index, kind, index, name)
}

// deltaFrame returns an agent_stream_delta frame with a further piece of a content block's
// text.
func deltaFrame(index int, kind, text string) string {
	return fmt.Sprintf(`agent>server {"type":"agent_stream_delta","block_index":%d,"block_type":%q,"delta":%s}`, index, kind, jsonString(text))
}

// blockStopFrame returns the agent_stream_block_stop frame that ends a content block.
func blockStopFrame(index int) string {
	return fmt.Sprintf(`agent>server {"type":"agent_stream_block_stop","block_index":%d}`, index)
}

// jsonString returns text as a quoted JSON string.
func jsonString(text string) string {
	raw, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// streamFrames returns the frames of a streamed message with one block, whose text is split in
// two, without the agent_stream_complete at the end.
func streamFrames(kind, name, text string) []string {
	half := len(text) / 2
	return []string{frameStreamStart, blockStartFrame(0, kind, name), deltaFrame(0, kind, text[:half]), deltaFrame(0, kind, text[half:]), blockStopFrame(0)}
}

// submissionStreamFrames returns the frames of a streamed message that submits an answer,
// without the agent_stream_complete at the end.
func submissionStreamFrames(input string) []string {
	return streamFrames("tool_use", "submit_response", input)
}

// Inputs of submit_response.
const (
	submissionInput = `{"summary":"x [EVAL_COMPLETE]","next_status":"done"}`
	unmarkedInput   = `{"summary":"x","next_status":"done"}`
	questionInput   = `{"summary":"which?","next_status":"awaiting_user_response"}`
)

// Each case is a sequence of frames, among them frames of streamed messages, and the watcher's
// verdict that must come with the last frame, not earlier.
func TestStreamedMessageVerdicts(t *testing.T) {
	t.Parallel()
	join := func(parts ...[]string) []string { return slices.Concat(parts...) }
	one := func(frames ...string) []string { return frames }
	status := func(s string) string { return `agent>server {"type":"agent_status","status":"` + s + `"}` }
	result := func(summary string) string {
		return `agent>server {"type":"agent_result","structured_output":{"summary":"` + summary + `","next_status":"awaiting_user_response"}}`
	}
	for name, tc := range map[string]struct {
		frames []string
		want   runs.Outcome
		detail string
		tamper int
	}{
		// Which frames finish a message, and which make it count.
		"update":                  {join(submissionStreamFrames(unmarkedInput), one(frameStreamComplete, frameUpdateWithoutEntry)), runs.OutcomeStopped, "without [EVAL_COMPLETE]", 0},
		"update without complete": {join(submissionStreamFrames(submissionInput), one(frameUpdateWithoutEntry)), runs.OutcomeCompleted, "", 0},
		"entry null":              {join(submissionStreamFrames(submissionInput), one(`agent>server {"type":"agent_history_updated","entry":null}`)), runs.OutcomeCompleted, "", 0},
		"entry of another kind":   {join(submissionStreamFrames(submissionInput), one(`agent>server {"type":"agent_history_updated","entry":{"type":"note"}}`)), runs.OutcomeCompleted, "", 0},
		"next start":              {join(submissionStreamFrames(unmarkedInput), one(frameStreamComplete, frameStreamStart)), runs.OutcomeStopped, "without [EVAL_COMPLETE]", 0},
		"start without complete":  {join(submissionStreamFrames(submissionInput), one(frameStreamStart)), runs.OutcomeCompleted, "", 0},
		"status":                  {join(submissionStreamFrames(unmarkedInput), one(frameStreamComplete, status("ready"))), runs.OutcomeStopped, "without [EVAL_COMPLETE]", 0},
		"status done":             {join(submissionStreamFrames(unmarkedInput), one(frameStreamComplete, frameAgentDone)), runs.OutcomeStopped, "without [EVAL_COMPLETE]", 0},
		"done without complete":   {join(submissionStreamFrames(submissionInput), one(frameAgentDone)), runs.OutcomeCompleted, "", 0},
		"result":                  {join(submissionStreamFrames(unmarkedInput), one(frameStreamComplete, `agent>server {"type":"agent_result"}`)), runs.OutcomeStopped, "without [EVAL_COMPLETE]", 0},
		"error":                   {join(submissionStreamFrames(unmarkedInput), one(frameStreamComplete, `agent>server {"type":"agent_error","error":"bye","fatal":true}`)), runs.OutcomeStopped, "without [EVAL_COMPLETE]", 0},
		"the end of the agent":    {join(submissionStreamFrames(unmarkedInput), one(frameStreamComplete, `session {"type":"peer_ended","action":"agent"}`)), runs.OutcomeStopped, "without [EVAL_COMPLETE]", 0},
		"nothing for a second":    {join(submissionStreamFrames(unmarkedInput), one(frameStreamComplete, "wait 1s")), runs.OutcomeStopped, "without [EVAL_COMPLETE]", 0},
		"not for a second":        {join(submissionStreamFrames(unmarkedInput), one(frameStreamComplete, "wait 900ms")), "", "", 0},
		"usage ends nothing":      {join(submissionStreamFrames(unmarkedInput), one(frameStreamComplete, `agent>server {"type":"agent_usage_update"}`)), "", "", 0},
		"open at a status":        {join(submissionStreamFrames(submissionInput), one(status("thinking"), "wait 10s")), "", "", 0},
		"open at an action":       {join(submissionStreamFrames(submissionInput), one(frameRunAction, frameRunRefused, "wait 10s")), "", "", 0},
		"cut and silent":          {join(submissionStreamFrames(submissionInput), one("wait 20s")), "", "", 0},
		"cut by the agent's end":  {join(submissionStreamFrames(submissionInput), one(`session {"type":"peer_ended","action":"agent"}`)), runs.OutcomeAgentExit, "", 0},
		"broken off":              {join(submissionStreamFrames(submissionInput), one(frameStreamError, "wait 2s", frameUpdateWithoutEntry, frameAgentDone)), runs.OutcomeStopped, "said that it is done", 0},
		"broken off and again":    {join(submissionStreamFrames(`{"summary`), one(frameStreamError), submissionStreamFrames(unmarkedInput), one(frameStreamComplete, frameUpdateWithoutEntry)), runs.OutcomeStopped, "without [EVAL_COMPLETE]", 0},
		"frames behind the end":   {join(submissionStreamFrames(submissionInput[:30]), one(frameStreamComplete, deltaFrame(0, "tool_use", submissionInput[30:]), "wait 2s")), "", "", 0},
		"frames without a start":  {join(submissionStreamFrames(submissionInput)[1:], one(frameStreamComplete, frameUpdateWithoutEntry, "wait 2s")), "", "", 0},
		"over mcp":                {join(streamFrames("tool_use", "mcp__assay__submit_response", submissionInput), one(frameStreamComplete)), runs.OutcomeCompleted, "", 0},
		"held by a running cell":  {join(one(frameRunA, frameStartA), submissionStreamFrames(submissionInput), one(frameStreamComplete, frameUpdateWithoutEntry, frameAgentDone)), "", "", 0},
		"when the cell has run":   {join(one(frameRunA, frameStartA), submissionStreamFrames(submissionInput), one(frameStreamComplete, frameUpdateWithoutEntry, frameAgentDone, frameResultA)), runs.OutcomeCompleted, "", 0},
		"held by an action of it": {join(submissionStreamFrames(submissionInput)[:4], one(blockStartFrame(1, "tool_use", "run_cell"), frameStreamComplete, frameRunAction, frameAgentDone)), "", "", 0},
		"when that is answered":   {join(submissionStreamFrames(submissionInput)[:4], one(blockStartFrame(1, "tool_use", "run_cell"), frameStreamComplete, frameRunAction, frameAgentDone, frameRunRefused)), runs.OutcomeCompleted, "", 0},
		"at once":                 {join(submissionStreamFrames(submissionInput), one(frameStreamComplete)), runs.OutcomeCompleted, "", 0},

		// How it is assembled.
		"interleaved blocks": {one(frameStreamStart, blockStartFrame(0, "thinking", ""), blockStartFrame(1, "tool_use", "submit_response"),
			deltaFrame(1, "tool_use", submissionInput[:9]), deltaFrame(0, "thinking", "hm"), deltaFrame(1, "tool_use", submissionInput[9:]), deltaFrame(0, "thinking", "m"),
			blockStopFrame(1), blockStopFrame(0), frameStreamComplete), runs.OutcomeCompleted, "", 0},
		"missing stops":           {one(frameStreamStart, blockStartFrame(0, "text", ""), deltaFrame(0, "text", "x"), blockStartFrame(1, "tool_use", "submit_response"), deltaFrame(1, "tool_use", submissionInput), frameStreamComplete), runs.OutcomeCompleted, "", 0},
		"a stop before its delta": {one(frameStreamStart, blockStartFrame(1, "tool_use", "submit_response"), blockStopFrame(1), blockStopFrame(7), deltaFrame(1, "tool_use", submissionInput), frameStreamComplete), runs.OutcomeCompleted, "", 0},
		"an index used twice":     {one(frameStreamStart, blockStartFrame(0, "text", ""), deltaFrame(0, "text", "x"), blockStartFrame(0, "tool_use", "submit_response"), deltaFrame(0, "tool_use", submissionInput), frameStreamComplete), runs.OutcomeCompleted, "", 0},
		"no index":                {one(frameStreamStart, `agent>server {"type":"agent_stream_block_start","block_type":"tool_use","block_name":"submit_response"}`, `agent>server {"type":"agent_stream_delta","delta":`+jsonString(submissionInput)+`}`, frameStreamComplete), runs.OutcomeCompleted, "", 0},
		"a delta without a block": {one(frameStreamStart, deltaFrame(0, "tool_use", submissionInput), frameStreamComplete, frameUpdateWithoutEntry, "wait 5s"), "", "", 1},
		"input cut":               {join(submissionStreamFrames(submissionInput[:len(submissionInput)-1]), one(frameStreamComplete, frameUpdateWithoutEntry, frameAgentDone)), runs.OutcomeStopped, "said that it is done", 0},
		"input twice":             {join(submissionStreamFrames(submissionInput+submissionInput), one(frameStreamComplete, frameUpdateWithoutEntry, "wait 10s")), "", "", 0},
		"input no object":         {join(submissionStreamFrames(jsonString(submissionInput)), one(frameStreamComplete, frameUpdateWithoutEntry, frameAgentDone)), runs.OutcomeStopped, "", 0},
		"a malformed frame":       {one(frameStreamStart, blockStartFrame(0, "tool_use", "submit_response"), deltaFrame(0, "tool_use", submissionInput), `agent>server {"type":"agent_stream_delta","block_index":"0","delta":"x"}`, frameStreamComplete, frameUpdateWithoutEntry, frameAgentDone), runs.OutcomeStopped, "discarded: a frame of it cannot be read", 0},

		// It counts like a message in a history entry.
		"without the marker":          {join(submissionStreamFrames(`{"summary":"x","next_status":"done"}`), one(frameStreamComplete, frameUpdateWithoutEntry)), runs.OutcomeStopped, "without [EVAL_COMPLETE]", 0},
		"asks twice":                  {join(submissionStreamFrames(questionInput), one(frameStreamComplete, frameUpdateWithoutEntry), submissionStreamFrames(questionInput), one(frameStreamComplete, frameUpdateWithoutEntry)), runs.OutcomeAskedQuestion, "which?", 0},
		"asks and is done":            {join(submissionStreamFrames(questionInput), one(frameStreamComplete, frameAgentDone)), runs.OutcomeStopped, "", 0},
		"an action behind a question": {join(submissionStreamFrames(questionInput), one(frameStreamComplete, frameRunAction), submissionStreamFrames(submissionInput), one(frameStreamComplete, frameUpdateWithoutEntry)), "", "", 0},
		"a last word":                 {join(streamFrames("text", "", "I give up."), one(frameStreamComplete, frameUpdateWithoutEntry, "wait 5s")), runs.OutcomeStopped, "message and no submission", 0},
		"a last word alone":           {join(streamFrames("text", "", "I give up."), one(frameStreamComplete, "wait 5s")), runs.OutcomeStopped, "message and no submission", 0},
		"committed late":              {join(streamFrames("text", "", "I give up."), one(frameStreamComplete, "wait 2s", frameUpdateWithoutEntry, "wait 3s")), runs.OutcomeStopped, "message and no submission", 0},
		"committed twice":             {join(streamFrames("text", "", "Wait."), one(frameStreamComplete, frameUpdateWithoutEntry, frameUpdateWithoutEntry, "wait 20s")), "", "", 0},
		"goes on":                     {join(streamFrames("text", "", "Wait."), one(frameStreamComplete, frameUpdateWithoutEntry, "wait 4s", frameStreamStart, "wait 20s")), "", "", 0},
		"tool use":                    {join(streamFrames("tool_use", "run_cell", ""), one(frameStreamComplete, frameUpdateWithoutEntry, "wait 20s")), "", "", 0},
		"turns":                       {join(streamFrames("tool_use", "a", "{}"), one(frameUpdateWithoutEntry), streamFrames("tool_use", "b", "{}"), one(frameUpdateWithoutEntry), streamFrames("tool_use", "c", "{}"), one(frameUpdateWithoutEntry)), runs.OutcomeLimit, "turns: configured 2, measured 3", 0},
		"marker in text":              {join(streamFrames("text", "", "x "+completionMarker), one(frameStreamComplete, frameUpdateWithoutEntry)), "", "", 1},
		"marker in a tool":            {join(streamFrames("tool_use", "run_cell", `{"summary":"`+completionMarker+`"}`), one(frameStreamComplete, frameUpdateWithoutEntry)), "", "", 1},
		"marker in frames":            {join(streamFrames("text", "", completionMarker), one("wait 2s")), "", "", 0},

		// It is counted only once.
		"entry behind it":            {join(streamFrames("text", "", completionMarker), one(frameStreamComplete, historyMessageFrame("assistant", `"`+completionMarker+`"`), "wait 2s")), "", "", 1},
		"entries, then streams":      {join(one(historyMessageFrame("user", `"the task"`)), submissionStreamFrames(submissionInput), one(frameStreamComplete, frameUpdateWithoutEntry, "wait 2s")), "", "", 0},
		"the built-in agent's order": {join(submissionStreamFrames(unmarkedInput), one(frameStreamComplete, submissionFrame(unmarkedInput))), runs.OutcomeStopped, "without [EVAL_COMPLETE]", 0},
		"entry after a while":        {join(streamFrames("tool_use", "a", "{}"), one(frameStreamComplete, "wait 2s", historyMessageFrame("assistant", `[{"type":"tool_use"}]`), historyMessageFrame("assistant", `[{"type":"tool_use"}]`))), "", "", 0},
		"entry after a status":       {join(submissionStreamFrames(questionInput), one(frameStreamComplete, status("ready"), submissionFrame(questionInput), "wait 20s")), "", "", 0},
		"entry shows more":           {join(streamFrames("text", "", completionMarker), one(frameStreamComplete, status("ready"), submissionFrame(submissionInput))), runs.OutcomeCompleted, "", 0},
		"result behind it":           {join(submissionStreamFrames(questionInput), one(frameStreamComplete, result("which?"), "wait 20s")), "", "", 0},
		"result and update":          {join(submissionStreamFrames(questionInput), one(frameStreamComplete, frameUpdateWithoutEntry, result("which?"), "wait 20s")), "", "", 0},
		"another result":             {join(submissionStreamFrames(questionInput), one(frameStreamComplete, result("or this?"))), runs.OutcomeAskedQuestion, "or this?", 0},
		"both with the marker":       {join(one(frameRunA, frameStartA), submissionStreamFrames(submissionInput), one(frameStreamComplete, submissionFrame(submissionInput), `agent>server {"type":"agent_result","structured_output":{"summary":"`+completionMarker+`"}}`, frameResultA)), runs.OutcomeCompleted, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { requireVerdict(t, tc.frames, tc.want, tc.detail, tc.tamper) })
		})
	}
}

// A streamed message that is too large is discarded, which the detail of the outcome says;
// messages after it are used.
func TestStreamedMessageIsBounded(t *testing.T) {
	t.Parallel()
	megabyte := strings.Repeat("x", 1<<20)
	huge := []string{frameStreamStart, blockStartFrame(0, "text", "")}
	for range 16 {
		huge = append(huge, deltaFrame(0, "text", megabyte))
	}
	huge = append(huge, blockStartFrame(1, "tool_use", "submit_response"), deltaFrame(1, "tool_use", submissionInput), frameStreamComplete, frameUpdateWithoutEntry)
	t.Run("discarded", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			requireVerdict(t, append(slices.Clone(huge), frameAgentDone), runs.OutcomeStopped, "discarded: it has more than 16 MiB", 0)
		})
	})
	t.Run("next message", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			requireVerdict(t, slices.Concat(huge, submissionStreamFrames(submissionInput), []string{frameStreamComplete}), runs.OutcomeCompleted, "", 0)
		})
	})
	t.Run("too many blocks", func(t *testing.T) {
		t.Parallel()
		parts := slices.Repeat([][]byte{[]byte(`{"type":"agent_stream_block_start"}`)}, 70_000)
		_, fault := attempt.AssembleStream(parts...)
		require.Equal(t, "it has more than 16 MiB", fault)
	})
}

func TestStreamedMessageIsAssembled(t *testing.T) {
	t.Parallel()
	var parts [][]byte
	for _, frame := range []string{
		blockStartFrame(0, "thinking", ""), deltaFrame(0, "thinking", "hm, "), blockStartFrame(1, "text", ""), deltaFrame(1, "text", "Héllo "), deltaFrame(0, "thinking", "yes"),
		blockStartFrame(2, "tool_use", "run_cell"), deltaFrame(2, "tool_use", `{"cell_`), deltaFrame(1, "text", "<world>"), deltaFrame(2, "tool_use", `id":"a"}`),
		blockStartFrame(3, "tool_use", "get_context"), blockStartFrame(4, "tool_use", "edit_cell"), deltaFrame(4, "tool_use", `{"cell_`), blockStopFrame(4),
	} {
		parts = append(parts, []byte(strings.TrimPrefix(frame, "agent>server ")))
	}
	parts = parts[:len(parts)-1] // AssembleStream takes no block_stop
	entry, fault := attempt.AssembleStream(parts...)
	require.Empty(t, fault)
	require.Equal(t, "assistant", entry.Role)
	require.JSONEq(t, `[
		{"type":"thinking","thinking":"hm, yes"},
		{"type":"text","text":"Héllo <world>"},
		{"type":"tool_use","id":"toolu_2","name":"run_cell","input":{"cell_id":"a"}},
		{"type":"tool_use","id":"toolu_3","name":"get_context","input":{}},
		{"type":"tool_use","id":"toolu_4","name":"edit_cell"}]`, string(entry.Content))
}

// A streamed message counts as one turn of the agent when it is used, even if a history entry
// with the same message follows.
func TestStreamedTurnsCountOnce(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		behind []string
		turns  int
	}{
		"alone":                 {[]string{frameStreamComplete, frameAgentDone}, 1},
		"with its entry":        {[]string{frameStreamComplete, historyMessageFrame("assistant", `[{"type":"tool_use"}]`), frameAgentDone}, 1},
		"entry after an action": {[]string{frameStreamComplete, frameRunAction, frameRunRefused, historyMessageFrame("assistant", `[{"type":"tool_use"}]`), frameAgentDone}, 1},
		"and a second":          {[]string{frameStreamStart, frameStreamComplete, frameAgentDone}, 2},
		"broken off":            {[]string{frameStreamError, frameAgentDone}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			journal := trace.NewJournal("s")
			w := attempt.NewWatcher(journal, runs.Limits{})
			for _, line := range append(streamFrames("tool_use", "a", "{}"), tc.behind...) {
				playTestCaseLine(t, journal, line)
			}
			got, _, _ := w.NextVerdict(t.Context())
			require.Equal(t, runs.OutcomeStopped, got)
			require.Equal(t, tc.turns, w.Usage().ModelCalls)
		})
	}
}

// FuzzStreamed assembles arbitrary stream frames: the result is a message with valid JSON, or
// the reason why the message is discarded.
func FuzzStreamed(f *testing.F) {
	for _, parts := range []string{
		"", "{}", "[]", `{"delta":"x"}`, `{"block_index":-1,"delta":"\ud800"}`, `{"block_index":1e9}`,
		strings.Join([]string{blockStartFrame(0, "tool_use", "submit_response"), deltaFrame(0, "tool_use", submissionInput)}, "\n"),
		strings.Join([]string{blockStartFrame(0, "thinking", ""), deltaFrame(0, "thinking", "a"), deltaFrame(0, "text", "b")}, "\n"),
	} {
		f.Add([]byte(strings.ReplaceAll(parts, "agent>server ", "")))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var parts [][]byte
		for line := range strings.Lines(string(data)) {
			if _, err := protocol.NewEnvelopeDecoder().Decode([]byte(line)); err == nil {
				parts = append(parts, []byte(line))
			}
		}
		entry, fault := attempt.AssembleStream(parts...)
		if fault != "" {
			return
		}
		var blocks []struct {
			Type string `json:"type"`
		}
		require.NoError(t, json.Unmarshal(entry.Content, &blocks))
		require.LessOrEqual(t, len(blocks), len(parts))
		for _, block := range blocks {
			require.Contains(t, []string{"text", "thinking", "tool_use"}, block.Type)
		}
	})
}
