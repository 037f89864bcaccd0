package attempt_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"assay/eval/runs"
)

// A submit_response action with the marker is no sign of tampering. The marker in the params of another
// action beside it is one, before or after the submission, however often the params have it.
func TestMarkerBesideASubmitAction(t *testing.T) {
	t.Parallel()
	const (
		submitAction = `agent>server {"type":"agent_action","action":"submit_response","params":{"summary":"x ` + completionMarker + `","next_status":"done"},"tx_id":"t9"}`
		submitAnswer = `server>agent {"type":"agent_action_response","tx_id":"t9","status":"error","error":"no"}`
		markedAction = `agent>server {"type":"agent_action","action":"edit_cell","params":{"cell_id":"a","source":"` + completionMarker + ` ` + completionMarker + `"},"tx_id":"t1"}`
	)
	for name, tc := range map[string]struct {
		frames []string
		tamper int
	}{
		"alone":               {[]string{submitAction, submitAnswer}, 0},
		"alone, without a tx": {[]string{strings.Replace(submitAction, `,"tx_id":"t9"`, "", 1)}, 0},
		"marked with escapes": {[]string{strings.ReplaceAll(markedAction, "[EVAL", `\u005bEV\u0041L`), frameRunRefused, submitAction, submitAnswer}, 1},
		"marked action first": {[]string{markedAction, frameRunRefused, submitAction, submitAnswer}, 1},
		"marked in between":   {[]string{markedAction, submitAction, frameRunRefused, submitAnswer}, 1},
		"marked action last":  {[]string{submitAction, strings.Replace(markedAction, "edit_cell", "get_context", 1), submitAnswer, frameRunRefused}, 1}, // a change would count too
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { requireVerdict(t, tc.frames, runs.OutcomeCompleted, "", tc.tamper) })
		})
	}
}
