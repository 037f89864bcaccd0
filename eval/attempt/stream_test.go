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

// The frames of a stream.
const (
	opens   = `agent>server {"type":"agent_stream_start","timestamp":"2026-01-01T00:00:00Z"}`
	closes  = `agent>server {"type":"agent_stream_complete"}`
	breaks  = `agent>server {"type":"agent_stream_complete","error":"overloaded"}`
	updates = `agent>server {"type":"agent_history_updated","session_id":"1","request_id":"r"}`
)

func blockOf(index int, kind, name string) string {
	return fmt.Sprintf(`agent>server {"type":"agent_stream_block_start","block_index":%d,"block_type":%q,"block_id":"toolu_%d","block_name":%q}`, index, kind, index, name)
}

func delta(index int, kind, text string) string {
	return fmt.Sprintf(`agent>server {"type":"agent_stream_delta","block_index":%d,"block_type":%q,"delta":%s}`, index, kind, quoted(text))
}

func stops(index int) string {
	return fmt.Sprintf(`agent>server {"type":"agent_stream_block_stop","block_index":%d}`, index)
}

func quoted(text string) string {
	raw, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// streams is a whole stream of one block, the text in two parts, without its
// end.
func streams(kind, name, text string) []string {
	half := len(text) / 2
	return []string{opens, blockOf(0, kind, name), delta(0, kind, text[:half]), delta(0, kind, text[half:]), stops(0)}
}

// streamsInput is a whole stream of a submission, without its end.
func streamsInput(input string) []string { return streams("tool_use", "submit_response", input) }

const (
	input     = `{"summary":"x [EVAL_COMPLETE]","next_status":"done"}`
	asksInput = `{"summary":"which?","next_status":"awaiting_user_response"}`
)

func TestStreamedVerdicts(t *testing.T) {
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
		// What ends a message, and what makes it count.
		"update":                   {join(streamsInput(input), one(closes, updates)), runs.OutcomeCompleted, "", 0},
		"update without complete":  {join(streamsInput(input), one(updates)), runs.OutcomeCompleted, "", 0},
		"entry null":               {join(streamsInput(input), one(`agent>server {"type":"agent_history_updated","entry":null}`)), runs.OutcomeCompleted, "", 0},
		"entry of another kind":    {join(streamsInput(input), one(`agent>server {"type":"agent_history_updated","entry":{"type":"note"}}`)), runs.OutcomeCompleted, "", 0},
		"next start":               {join(streamsInput(input), one(closes, opens)), runs.OutcomeCompleted, "", 0},
		"start without complete":   {join(streamsInput(input), one(opens)), runs.OutcomeCompleted, "", 0},
		"status":                   {join(streamsInput(input), one(closes, status("ready"))), runs.OutcomeCompleted, "", 0},
		"status done":              {join(streamsInput(input), one(closes, saysDone)), runs.OutcomeCompleted, "", 0},
		"done without complete":    {join(streamsInput(input), one(saysDone)), runs.OutcomeCompleted, "", 0},
		"result":                   {join(streamsInput(input), one(closes, `agent>server {"type":"agent_result"}`)), runs.OutcomeCompleted, "", 0},
		"error":                    {join(streamsInput(input), one(closes, `agent>server {"type":"agent_error","error":"bye","fatal":true}`)), runs.OutcomeCompleted, "", 0},
		"the end of the agent":     {join(streamsInput(input), one(closes, `session {"type":"peer_ended","action":"agent"}`)), runs.OutcomeCompleted, "", 0},
		"nothing for a second":     {join(streamsInput(input), one(closes, "wait 1s")), runs.OutcomeCompleted, "", 0},
		"not for a second":         {join(streamsInput(input), one(closes, "wait 900ms")), "", "", 0},
		"usage ends nothing":       {join(streamsInput(input), one(closes, `agent>server {"type":"agent_usage_update"}`)), "", "", 0},
		"open at a status":         {join(streamsInput(input), one(status("thinking"), "wait 10s")), "", "", 0},
		"open at an action":        {join(streamsInput(input), one(asksRun, runBad, "wait 10s")), "", "", 0},
		"cut and silent":           {join(streamsInput(input), one("wait 20s")), "", "", 0},
		"cut by the agent's end":   {join(streamsInput(input), one(`session {"type":"peer_ended","action":"agent"}`)), runs.OutcomeAgentExit, "", 0},
		"broken off":               {join(streamsInput(input), one(breaks, "wait 2s", updates, saysDone)), runs.OutcomeStopped, "said that it is done", 0},
		"broken off and again":     {join(streamsInput(`{"summary`), one(breaks), streamsInput(input), one(closes, updates)), runs.OutcomeCompleted, "", 0},
		"frames behind the end":    {join(streamsInput(input[:30]), one(closes, delta(0, "tool_use", input[30:]), "wait 2s")), "", "", 0},
		"frames without a start":   {join(streamsInput(input)[1:], one(closes, updates, "wait 2s")), "", "", 0},
		"over mcp":                 {join(streams("tool_use", "mcp__assay__submit_response", input), one(closes, updates)), runs.OutcomeCompleted, "", 0},
		"held by a running cell":   {join(one(runsA, startsA), streamsInput(input), one(closes, updates, saysDone)), "", "", 0},
		"when the cell has run":    {join(one(runsA, startsA), streamsInput(input), one(closes, updates, saysDone, endsA)), runs.OutcomeCompleted, "", 0},
		"held by an action behind": {join(streamsInput(input), one(closes, asksRun)), "", "", 0},
		"when that is answered":    {join(streamsInput(input), one(closes, asksRun, runBad)), runs.OutcomeCompleted, "", 0},

		// How it is put together.
		"interleaved blocks": {one(opens, blockOf(0, "thinking", ""), blockOf(1, "tool_use", "submit_response"),
			delta(1, "tool_use", input[:9]), delta(0, "thinking", "hm"), delta(1, "tool_use", input[9:]), delta(0, "thinking", "m"),
			stops(1), stops(0), closes, updates), runs.OutcomeCompleted, "", 0},
		"missing stops":           {one(opens, blockOf(0, "text", ""), delta(0, "text", "x"), blockOf(1, "tool_use", "submit_response"), delta(1, "tool_use", input), closes, updates), runs.OutcomeCompleted, "", 0},
		"a stop before its delta": {one(opens, blockOf(1, "tool_use", "submit_response"), stops(1), stops(7), delta(1, "tool_use", input), closes, updates), runs.OutcomeCompleted, "", 0},
		"an index used twice":     {one(opens, blockOf(0, "text", ""), delta(0, "text", "x"), blockOf(0, "tool_use", "submit_response"), delta(0, "tool_use", input), closes, updates), runs.OutcomeCompleted, "", 0},
		"no index":                {one(opens, `agent>server {"type":"agent_stream_block_start","block_type":"tool_use","block_name":"submit_response"}`, `agent>server {"type":"agent_stream_delta","delta":`+quoted(input)+`}`, closes, updates), runs.OutcomeCompleted, "", 0},
		"a delta without a block": {one(opens, delta(0, "tool_use", input), closes, updates, "wait 5s"), "", "", 1},
		"input cut":               {join(streamsInput(input[:len(input)-1]), one(closes, updates, saysDone)), runs.OutcomeStopped, "said that it is done", 0},
		"input twice":             {join(streamsInput(input+input), one(closes, updates, "wait 10s")), "", "", 0},
		"input no object":         {join(streamsInput(quoted(input)), one(closes, updates, saysDone)), runs.OutcomeStopped, "", 0},
		"a frame that is no such": {one(opens, blockOf(0, "tool_use", "submit_response"), delta(0, "tool_use", input), `agent>server {"type":"agent_stream_delta","block_index":"0","delta":"x"}`, closes, updates, saysDone), runs.OutcomeStopped, "given up: a frame of it cannot be read", 0},

		// It counts as a message that was sent whole.
		"without the marker":          {join(streamsInput(`{"summary":"x","next_status":"done"}`), one(closes, updates)), runs.OutcomeStopped, "without [EVAL_COMPLETE]", 0},
		"asks twice":                  {join(streamsInput(asksInput), one(closes, updates), streamsInput(asksInput), one(closes, updates)), runs.OutcomeAskedQuestion, "which?", 0},
		"asks and is done":            {join(streamsInput(asksInput), one(closes, saysDone)), runs.OutcomeStopped, "", 0},
		"an action behind a question": {join(streamsInput(asksInput), one(closes, asksRun), streamsInput(input), one(closes, updates)), "", "", 0},
		"a last word":                 {join(streams("text", "", "I give up."), one(closes, updates, "wait 5s")), runs.OutcomeStopped, "message and no submission", 0},
		"a last word alone":           {join(streams("text", "", "I give up."), one(closes, "wait 5s")), runs.OutcomeStopped, "message and no submission", 0},
		"committed late":              {join(streams("text", "", "I give up."), one(closes, "wait 2s", updates, "wait 3s")), runs.OutcomeStopped, "message and no submission", 0},
		"committed twice":             {join(streams("text", "", "Wait."), one(closes, updates, updates, "wait 20s")), "", "", 0},
		"goes on":                     {join(streams("text", "", "Wait."), one(closes, updates, "wait 4s", opens, "wait 20s")), "", "", 0},
		"tool use":                    {join(streams("tool_use", "run_cell", ""), one(closes, updates, "wait 20s")), "", "", 0},
		"turns":                       {join(streams("tool_use", "a", "{}"), one(updates), streams("tool_use", "b", "{}"), one(updates), streams("tool_use", "c", "{}"), one(updates)), runs.OutcomeLimit, "turns: configured 2, measured 3", 0},
		"marker in text":              {join(streams("text", "", "x "+done), one(closes, updates)), "", "", 1},
		"marker in a tool":            {join(streams("tool_use", "run_cell", `{"summary":"`+done+`"}`), one(closes, updates)), "", "", 1},
		"marker in frames":            {join(streams("text", "", done), one("wait 2s")), "", "", 0},

		// It is counted once.
		"entry behind it":            {join(streams("text", "", done), one(closes, says("assistant", `"`+done+`"`), "wait 2s")), "", "", 1},
		"entries, then streams":      {join(one(says("user", `"the task"`)), streamsInput(input), one(closes, updates, "wait 2s")), "", "", 0},
		"the built-in agent's order": {join(streamsInput(input), one(closes, submits(input))), runs.OutcomeCompleted, "", 0},
		"entry after a while":        {join(streams("tool_use", "a", "{}"), one(closes, "wait 2s", says("assistant", `[{"type":"tool_use"}]`), says("assistant", `[{"type":"tool_use"}]`))), "", "", 0},
		"entry after a status":       {join(streamsInput(asksInput), one(closes, status("ready"), submits(asksInput), "wait 20s")), "", "", 0},
		"entry shows more":           {join(streams("text", "", done), one(closes, status("ready"), submits(input))), runs.OutcomeCompleted, "", 0},
		"result behind it":           {join(streamsInput(asksInput), one(closes, result("which?"), "wait 20s")), "", "", 0},
		"result and update":          {join(streamsInput(asksInput), one(closes, updates, result("which?"), "wait 20s")), "", "", 0},
		"another result":             {join(streamsInput(asksInput), one(closes, result("or this?"))), runs.OutcomeAskedQuestion, "or this?", 0},
		"both with the marker":       {join(one(runsA, startsA), streamsInput(input), one(closes, submits(input), `agent>server {"type":"agent_result","structured_output":{"summary":"`+done+`"}}`, endsA)), runs.OutcomeCompleted, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { judge(t, tc.frames, tc.want, tc.detail, tc.tamper) })
		})
	}
}

// A message that would fill the memory is given up, and its agent told of in the
// detail; what it says after that counts.
func TestStreamedMessageIsBounded(t *testing.T) {
	t.Parallel()
	megabyte := strings.Repeat("x", 1<<20)
	huge := []string{opens, blockOf(0, "text", "")}
	for range 16 {
		huge = append(huge, delta(0, "text", megabyte))
	}
	huge = append(huge, blockOf(1, "tool_use", "submit_response"), delta(1, "tool_use", input), closes, updates)
	t.Run("given up", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			judge(t, append(slices.Clone(huge), saysDone), runs.OutcomeStopped, "given up: it has more than 16 MiB", 0)
		})
	})
	t.Run("and then", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			judge(t, slices.Concat(huge, streamsInput(input), []string{closes, updates}), runs.OutcomeCompleted, "", 0)
		})
	})
	t.Run("blocks without end", func(t *testing.T) {
		t.Parallel()
		parts := slices.Repeat([][]byte{[]byte(`{"type":"agent_stream_block_start"}`)}, 70_000)
		_, fault := attempt.Rebuild(parts...)
		require.Equal(t, "it has more than 16 MiB", fault)
	})
}

func TestStreamedMessageIsAsWhole(t *testing.T) {
	t.Parallel()
	var parts [][]byte
	for _, frame := range []string{
		blockOf(0, "thinking", ""), delta(0, "thinking", "hm, "), blockOf(1, "text", ""), delta(1, "text", "Héllo "), delta(0, "thinking", "yes"),
		blockOf(2, "tool_use", "run_cell"), delta(2, "tool_use", `{"cell_`), delta(1, "text", "<world>"), delta(2, "tool_use", `id":"a"}`),
		blockOf(3, "tool_use", "get_context"), blockOf(4, "tool_use", "edit_cell"), delta(4, "tool_use", `{"cell_`), stops(4),
	} {
		parts = append(parts, []byte(strings.TrimPrefix(frame, "agent>server ")))
	}
	parts = parts[:len(parts)-1] // a block_stop is no part
	entry, fault := attempt.Rebuild(parts...)
	require.Empty(t, fault)
	require.Equal(t, "assistant", entry.Role)
	require.JSONEq(t, `[
		{"type":"thinking","thinking":"hm, yes"},
		{"type":"text","text":"Héllo <world>"},
		{"type":"tool_use","id":"toolu_2","name":"run_cell","input":{"cell_id":"a"}},
		{"type":"tool_use","id":"toolu_3","name":"get_context","input":{}},
		{"type":"tool_use","id":"toolu_4","name":"edit_cell"}]`, string(entry.Content))
}

// A streamed message counts as a turn when it is used, and one that an entry
// follows as one with it.
func TestStreamedTurnsAreCounted(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		behind []string
		turns  int
	}{
		"alone":                 {[]string{closes, saysDone}, 1},
		"with its entry":        {[]string{closes, says("assistant", `[{"type":"tool_use"}]`), saysDone}, 1},
		"entry after an action": {[]string{closes, asksRun, runBad, says("assistant", `[{"type":"tool_use"}]`), saysDone}, 1},
		"and a second":          {[]string{opens, closes, saysDone}, 2},
		"broken off":            {[]string{breaks, saysDone}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			journal := trace.NewJournal("s")
			w := attempt.NewWatch(journal, runs.Limits{})
			for _, line := range append(streams("tool_use", "a", "{}"), tc.behind...) {
				play(t, journal, line)
			}
			got, _, _ := w.Next(t.Context())
			require.Equal(t, runs.OutcomeStopped, got)
			require.Equal(t, tc.turns, w.Usage().ModelCalls)
		})
	}
}

// Whatever comes as parts, what is made of it is a message, or a fault.
func FuzzStreamed(f *testing.F) {
	for _, parts := range []string{
		"", "{}", "[]", `{"delta":"x"}`, `{"block_index":-1,"delta":"\ud800"}`, `{"block_index":1e9}`,
		strings.Join([]string{blockOf(0, "tool_use", "submit_response"), delta(0, "tool_use", input)}, "\n"),
		strings.Join([]string{blockOf(0, "thinking", ""), delta(0, "thinking", "a"), delta(0, "text", "b")}, "\n"),
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
		entry, fault := attempt.Rebuild(parts...)
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
