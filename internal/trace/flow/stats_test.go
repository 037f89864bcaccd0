package flow_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/internal/trace"
	"assay/internal/trace/flow"
)

// newAnsweredActionFrame returns the frame of an action which this answerer took the given time to
// answer.
func newAnsweredActionFrame(action, answerer string, took time.Duration) flow.Frame {
	return flow.Frame{DelayRequest: &flow.Request{
		Kind: flow.KindAction, State: flow.StateAnswered, Action: action, Answerer: answerer,
		Asked: flow.EntryTime{Seq: 1}, Answered: flow.EntryTime{Seq: 2, Elapsed: took},
	}}
}

// Percentiles in the statistics are by nearest rank, and P99Hop is the slowest hop of the
// request at that rank.
func TestStatsPercentiles(t *testing.T) {
	t.Parallel()
	var stats flow.StatsCollector
	require.Equal(t, flow.Summary{Actions: []flow.ActionSummary{}, Notes: map[trace.Note]int{}}, stats.Summary())
	for i := 100; i > 0; i-- {
		answerer := "notebook"
		if i == 99 {
			answerer = "console"
		}
		stats.AddFrame(newAnsweredActionFrame("get_context", answerer, time.Duration(i)*time.Millisecond))
	}
	row := stats.Summary().Actions[0]
	require.Equal(t, 100, row.Count)
	require.InDelta(t, 50, *row.P50MS, 0)
	require.InDelta(t, 99, *row.P99MS, 0)
	require.InDelta(t, 100, *row.MaxMS, 0)
	require.Equal(t, "console", row.P99Hop)
}

// Actions beyond the maximum number of rows are counted as "other", so that an agent
// that invents actions does not fill the memory.
func TestStatsRowsAreBounded(t *testing.T) {
	t.Parallel()
	var stats flow.StatsCollector
	for i := range 3000 {
		stats.AddFrame(newAnsweredActionFrame(fmt.Sprintf("action_%d", i), "server", 0))
	}
	sum := stats.Summary()
	require.Len(t, sum.Actions, 1001)
	require.Equal(t, "other", sum.Actions[len(sum.Actions)-1].Action)
	require.Equal(t, 2000, sum.Actions[len(sum.Actions)-1].Count)
}

// The time is divided only if all frames were added.
func TestStatsOfSomeFramesDoNotDivideTheTime(t *testing.T) {
	t.Parallel()
	task := flow.Frame{Record: trace.Record{Seq: 1, Hop: trace.ServerToAgent, Type: "agent_query"}}
	end := flow.Frame{Record: trace.Record{Seq: 2, ElapsedNS: 5e6, Hop: trace.AgentToServer, Type: "agent_status"}}
	var all, some flow.StatsCollector
	all.AddFrame(task)
	all.AddFrame(end)
	require.Equal(t, &flow.TimeShares{NeitherMS: 5}, all.Summary().Time)
	end.Record.Seq = 3
	some.AddFrame(task)
	some.AddFrame(end)
	require.Nil(t, some.Summary().Time)
}
