package flow_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/internal/trace"
	"assay/internal/trace/flow"
)

// answered is the frame of an action that took so long at a hop.
func answered(action, whom string, took time.Duration) flow.Frame {
	return flow.Frame{DelayRequest: &flow.Request{
		Kind: flow.KindAction, State: flow.StateAnswered, Action: action, Answerer: whom,
		Asked: flow.EntryTime{Seq: 1}, Answered: flow.EntryTime{Seq: 2, Elapsed: took},
	}}
}

// Percentiles are by nearest rank, and the hop is that of the very request.
func TestStatsPercentiles(t *testing.T) {
	t.Parallel()
	var stats flow.Stats
	require.Equal(t, flow.Summary{Actions: []flow.ActionSummary{}, Notes: map[trace.Note]int{}}, stats.Summary())
	for i := 100; i > 0; i-- {
		whom := "notebook"
		if i == 99 {
			whom = "console"
		}
		stats.AddFrame(answered("get_context", whom, time.Duration(i)*time.Millisecond))
	}
	row := stats.Summary().Actions[0]
	require.Equal(t, 100, row.Count)
	require.InDelta(t, 50, *row.P50MS, 0)
	require.InDelta(t, 99, *row.P99MS, 0)
	require.InDelta(t, 100, *row.MaxMS, 0)
	require.Equal(t, "console", row.P99Hop)
}

// An agent that invents actions does not fill the memory.
func TestStatsAreBounded(t *testing.T) {
	t.Parallel()
	var stats flow.Stats
	for i := range 3000 {
		stats.AddFrame(answered(fmt.Sprintf("action_%d", i), "server", 0))
	}
	sum := stats.Summary()
	require.Len(t, sum.Actions, 1001)
	require.Equal(t, "other", sum.Actions[len(sum.Actions)-1].Action)
	require.Equal(t, 2000, sum.Actions[len(sum.Actions)-1].Count)
}
