package router_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// A console that holds the document answers run_cell without a cell_id, before it sends the run to the
// kernel or at any time after. In each order the agent gets the cell's id with the answer, and the start
// and the result of the run once each, so that it can tell that they are its run's.
func TestAgentLearnsItsRunInEachOrderOfAHoldersAnswer(t *testing.T) {
	t.Parallel()
	run := []string{
		`console {"type":"run_cell","cell_id":"a","code":"1"}`,
		`kernel {"type":"start_cell","cell_id":"a","run_sequencer":7}`,
		`kernel {"type":"cell_result","cell_id":"a","run_sequencer":7,"status":"ok","has_exception":false}`,
	}
	const answer = `holder {"type":"agent_action_response","tx_id":"tx_1","status":"success"}`
	for before := range len(run) + 1 { // how much of the run comes before the answer
		script := []string{
			"attach agent", "attach kernel", "attach holder", "attach console",
			`agent {"type":"agent_action","action":"run_cell","params":{"cell_id":"a"},"tx_id":"tx_1"}`,
		}
		script = append(script, slices.Insert(slices.Clone(run), before, answer)...)
		var played string
		synctest.Test(t, func(t *testing.T) { played = playTranscript(t, "> "+strings.Join(script, "\n> ")+"\n") })
		toAgent := strings.Join(regexp.MustCompile(`(?m)^  agent < .*$`).FindAllString(played, -1), "\n")
		for _, want := range []string{
			`{"cell_id":"a","type":"agent_action_response","tx_id":"tx_1","status":"success"}`,
			`{"type":"kernel_message","message":{"type":"start_cell","cell_id":"a","run_sequencer":7}}`,
			`{"type":"kernel_message","message":{"cell_id":"a","has_exception":false,"run_sequencer":7,"status":"ok","type":"cell_result",`,
		} {
			require.Equal(t, 1, strings.Count(toAgent, want), "%d before the answer: want %s in\n%s", before, want, played)
		}
		require.NotContains(t, played, "orphaned")
		require.NotContains(t, played, "dropped")
	}
}
