package builtin_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/agent/builtin"
)

// held is an action that is not answered.
type held struct {
	asked chan string // the id of the action
}

// hold has the peer keep an action back; everything else goes on.
func (p *peer) hold(name string) *held {
	h := &held{asked: make(chan string, 100)}
	p.onAction(func(action string, _ frame, tx string) bool {
		if action != name {
			return false
		}
		h.asked <- tx
		return true
	})
	return h
}

// cancel ends the open query.
func (p *peer) cancel() { p.send(frame{"type": "agent_cancel"}) }

// stops lists what the agent asked to have stopped.
func (p *peer) stops() []frame {
	var all []frame
	for _, f := range p.of("agent_action") {
		if f.text("action") == "stop_cell" {
			all = append(all, f.object("params"))
		}
	}
	return all
}

func isStop(f frame) bool { return f.text("action") == "stop_cell" }

// A cell that was created and run by a request which was cancelled before its
// answer is stopped when the answer comes.
func TestCO11_LateCellsAreStopped(t *testing.T) {
	t.Parallel()
	p := startTools(t, builtin.Config{}, uses("create_cell", `{"position":0,"source":"hang","auto_run":true}`), `{"content":"fine"}`)
	held := p.hold("create_cell")
	p.init(nil)
	from := len(p.seen())
	p.query("go")
	tx := <-held.asked
	p.cancel()
	require.Equal(t, "ready", p.ends(from))
	require.Empty(t, p.stops())

	p.answer(tx, frame{"cell_id": "late"})
	p.await(from, "stop_cell", isStop)
	require.Equal(t, []frame{{"cell_id": "late"}}, p.stops())
	p.answer(tx, frame{"cell_id": "late"}) // twice: of no effect
	require.Equal(t, "done", p.ask("again"))
	require.Len(t, p.stops(), 1)
}

// Nothing is stopped for a creation that failed, or that runs nothing.
func TestCO11_LateAnswersThatStopNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		autoRun bool
		answer  frame
	}{
		"failed":    {true, frame{"status": "error", "error": "no"}},
		"nameless":  {true, nil},
		"not a run": {false, frame{"cell_id": "late"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startTools(t, builtin.Config{}, uses("create_cell", fmt.Sprintf(`{"position":0,"source":"x","auto_run":%t}`, c.autoRun)), `{"content":"fine"}`)
			held := p.hold("create_cell")
			p.init(nil)
			from := len(p.seen())
			p.query("go")
			tx := <-held.asked
			p.cancel()
			require.Equal(t, "ready", p.ends(from))
			p.answer(tx, c.answer)
			require.Equal(t, "done", p.ask("again"))
			require.Empty(t, p.stops())
		})
	}
}

// A cell whose run was asked for is stopped at once: the server takes things in
// their order.
func TestCO11_RunsWithoutAnAnswerAreStopped(t *testing.T) {
	t.Parallel()
	for _, call := range [][]string{
		{"run_cell", `{"cell_id":"c1"}`},
		{"edit_cell", `{"cell_id":"c1","source":"hang","auto_run":true}`},
	} {
		t.Run(call[0], func(t *testing.T) {
			t.Parallel()
			p := startTools(t, builtin.Config{}, uses(call...), uses("get_context", `{}`), `{"content":"fine"}`)
			p.init(nil)
			for _, name := range []string{call[0], "get_context"} { // by the second the cell is the agent's no longer
				held := p.hold(name)
				from := len(p.seen())
				p.query("go")
				<-held.asked
				p.cancel()
				require.Equal(t, "ready", p.ends(from))
				require.Equal(t, []frame{{"cell_id": "c1"}}, p.stops())
			}
			require.Equal(t, "done", p.ask("again"))
			require.Len(t, p.stops(), 1)
		})
	}
}

// What is remembered of cancelled operations does not grow.
func TestCO11_LateAnswersAreRememberedInBounds(t *testing.T) {
	t.Parallel()
	const rounds = 20
	var all []any
	for range rounds {
		all = append(all, replies(createAndRun()))
	}
	p, _ := startReplies(t, builtin.Config{}, nil, append(all, replies())...)
	held := p.hold("create_cell")
	p.init(nil)
	var asked []string
	for range rounds {
		from := len(p.seen())
		p.query("go")
		asked = append(asked, <-held.asked)
		p.cancel()
		require.Equal(t, "ready", p.ends(from))
	}
	for i, tx := range asked {
		p.answer(tx, frame{"cell_id": fmt.Sprint(i)})
	}
	p.await(0, "the last stop_cell", func(f frame) bool { return isStop(f) && f.object("params").text("cell_id") == fmt.Sprint(rounds-1) })
	require.Len(t, p.stops(), 16, "the first are forgotten")
	require.Equal(t, "done", p.ask("again"))
}
