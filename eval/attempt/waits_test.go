package attempt_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"assay/eval/attempt"
	"assay/eval/runs"
	"assay/internal/trace"
)

func retries(waitMS float64, attempt int) string {
	return fmt.Sprintf(`agent>server {"type":"agent_event","channel":"ai","mode":"NL","text":"t","metadata":{"type":"retry","status":529,"wait_ms":%g,"attempt":%d,"error":"anthropic: 529 overloaded_error: Overloaded","waited_ms":0}}`, waitMS, attempt)
}

func waitsForTurn(waitedMS float64, over bool) string {
	return fmt.Sprintf(`agent>server {"type":"agent_event","channel":"ai","mode":"NL","text":"t","metadata":{"type":"waiting","for":"a model call's turn","waited_ms":%g,"over":%t}}`, waitedMS, over)
}

// TestCO6_WaitingIsCountedApart: what an agent waits until its model can be called
// is summed, what it waits for at once only once, and of a wait that is cut short
// what there was of it.
func TestCO6_WaitingIsCountedApart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		frames  []string // a second apart
		after   time.Duration
		want    time.Duration
		retries int
	}{
		"none":            {[]string{says("user", `"a"`)}, time.Second, 0, 0},
		"one":             {[]string{retries(1500, 1)}, 10 * time.Second, 1500 * time.Millisecond, 1},
		"several":         {[]string{retries(500, 1), retries(700, 2)}, 10 * time.Second, 1200 * time.Millisecond, 2},
		"side by side":    {[]string{retries(5000, 1), retries(5000, 1)}, 10 * time.Second, 6 * time.Second, 2},
		"cut short":       {[]string{retries(60_000, 1)}, 10 * time.Second, 10 * time.Second, 1},
		"not waited out":  {[]string{retries(60_000, 1), `agent>server {"type":"agent_stream_start"}`}, 10 * time.Second, time.Second, 1},
		"for a turn":      {[]string{waitsForTurn(1000, false), waitsForTurn(2000, true)}, 10 * time.Second, 2 * time.Second, 0},
		"still for one":   {[]string{waitsForTurn(1000, false)}, 10 * time.Second, time.Second, 0},
		"never":           {[]string{retries(-5, 1), waitsForTurn(-5, true)}, 10 * time.Second, 0, 1},
		"incredibly long": {[]string{retries(1e300, 1)}, 2 * time.Hour, time.Hour, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				journal := trace.NewJournal("s")
				w := attempt.NewWatch(journal, runs.Limits{WallS: 24 * 3600})
				<-time.After(time.Minute) // nobody has waited before the agent began
				for _, frame := range c.frames {
					play(t, journal, frame)
					<-time.After(time.Second)
				}
				<-time.After(c.after - time.Second)
				play(t, journal, saysDone)
				_, _, _ = w.Next(t.Context())
				require.Equal(t, c.want, w.Waited())
				require.Equal(t, c.retries, w.Usage().Retries)
				w.Close()
			})
		})
	}
}

// A pause that was announced is no silence, however long it is.
func TestAnAnnouncedPauseIsNotIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		journal := trace.NewJournal("s")
		w := attempt.NewWatch(journal, runs.Limits{IdleS: 30})
		began := time.Now()
		play(t, journal, retries(100_000, 1))
		got, detail, _ := w.Next(t.Context())
		require.Equal(t, runs.OutcomeLimit, got)
		require.Contains(t, detail, "idle: configured 30s")
		require.Equal(t, 130*time.Second, time.Since(began))
		w.Close()
	})
}

// What an attempt does is said as it changes: what the model is at, tools by
// their names, waits and what for, and what was used.
func TestDoing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		journal := trace.NewJournal("s")
		w := attempt.NewWatch(journal, runs.Limits{})
		over := make(chan struct{})
		go func() {
			defer close(over)
			_, _, _ = w.Next(t.Context())
		}()
		for _, step := range []struct{ frame, want string }{
			{"", "waiting for the agent"},
			{`agent>server {"type":"agent_status","status":"thinking"}`, "the agent is thinking"},
			{retries(12_000, 2), "waits 12s, try 3: 529 overloaded_error: Overloaded"},
			{"12s", "the agent is thinking"},
			{waitsForTurn(1000, false), "waits for its turn"},
			{waitsForTurn(2000, true), "the agent is thinking"},
			{`agent>server {"type":"agent_stream_start"}`, "the agent is thinking"},
			{`agent>server {"type":"agent_stream_block_start","block_index":0,"block_type":"thinking"}`, "the model thinks"},
			{`agent>server {"type":"agent_stream_block_start","block_index":1,"block_type":"text"}`, "the model writes"},
			{`agent>server {"type":"agent_stream_block_start","block_index":2,"block_type":"tool_use","block_name":"create_cell"}`, "the model writes create_cell"},
			{`agent>server {"type":"agent_status","status":"executing"}`, "the agent is executing"},
			{`agent>server {"type":"agent_action","action":"get_context","params":{},"tx_id":"t1"}`, "get_context"},
			{`agent>server {"type":"agent_action","action":"create_cell","params":{"auto_run":true},"tx_id":"t2"}`, "create_cell, get_context"},
			{`server>agent {"type":"agent_action_response","tx_id":"t1","status":"success"}`, "create_cell"},
			{`server>agent {"type":"agent_action_response","tx_id":"t2","status":"success","cell_id":"a"}`, "create_cell runs a cell"},
			{runsA, "create_cell runs a cell"},
		} {
			if pause, err := time.ParseDuration(step.frame); err == nil {
				<-time.After(pause)
			} else if step.frame != "" {
				play(t, journal, step.frame)
			}
			synctest.Wait()
			text, _ := w.Doing().Activity()
			require.Equal(t, step.want, text, step.frame)
		}
		play(t, journal, `agent>server {"type":"agent_usage_update","input_tokens":10,"output_tokens":5}`)
		synctest.Wait()
		require.Equal(t, int64(15), w.Doing().Usage().InputTokens+w.Doing().Usage().OutputTokens)
		play(t, journal, `session {"type":"peer_ended","action":"agent"}`)
		<-over
		w.Close()
	})
}

// An agent that tells what it does is heard out when it has handed in its answer;
// another, or one that says no more, does not hold up the attempt.
func TestItsLastTurnIsRecordedWhole(t *testing.T) {
	t.Parallel()
	const executing = `agent>server {"type":"agent_status","status":"executing"}`
	for name, c := range map[string]struct {
		before, after []string // after the submission a frame every 100 ms
		want          time.Duration
	}{
		"says done":      {[]string{executing}, []string{says("user", `"Submitted."`), saysDone, says("user", `"more"`)}, 200 * time.Millisecond},
		"says nothing":   {[]string{executing}, nil, time.Second},
		"never did":      {nil, []string{says("user", `"Submitted."`)}, 0},
		"was only ready": {[]string{`agent>server {"type":"agent_status","status":"ready"}`}, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				journal := trace.NewJournal("s")
				w := attempt.NewWatch(journal, runs.Limits{})
				for _, frame := range append(c.before, submits(`{"summary":"`+done+`","next_status":"done"}`)) {
					play(t, journal, frame)
				}
				got, _, _ := w.Next(t.Context())
				require.Equal(t, runs.OutcomeCompleted, got)
				var entries []trace.Entry
				for _, frame := range c.after {
					hop, body, _ := strings.Cut(frame, " ")
					entries = append(entries, entry(t, hop, body))
				}
				began, over := time.Now(), make(chan struct{})
				go func() {
					defer close(over)
					for _, e := range entries {
						<-time.After(100 * time.Millisecond)
						e.Wall = time.Now()
						journal.Append(e)
					}
				}()
				w.HearOut(t.Context())
				require.Equal(t, c.want, time.Since(began))
				<-over
				w.Close()
			})
		})
	}
}
