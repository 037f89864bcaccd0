package attempt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"assay/internal/protocol"
	"assay/internal/runs"
	"assay/internal/trace"
	"assay/router"
)

const (
	// quiet is how long an agent must be silent behind a final message without
	// tool use until its turn counts as ended.
	quiet = 5 * time.Second

	// promise is how long a cell that a console has promised to run may take
	// until its run_cell comes.
	promise = time.Second
)

// watch reads the frames of a session in their order and says when its attempt
// is over. It is for one goroutine.
//
//	          a submission with the marker
//	working ───────────────────────────────▶ marked ──idle──▶ completed
//	   │  done, or a last message and 5 s of quiet            ▲
//	   ├──────────────────────────▶ stopped_without_answer    │ an open run or
//	   ├── a limit, a dead child, an agent's error            │ an action in
//	   └── a question ──▶ (answered once) ──▶ asked_question   flight holds it
type watch struct {
	journal *trace.Journal
	follow  *trace.Follower
	limits  runs.Limits
	doing   *Doing

	open    map[string]opened // runs by cell
	actions map[string]action // the agent's, in flight, by tx_id
	began   time.Time         // when the query was sent; zero: not yet
	heard   time.Time         // when the agent was last heard, or a run closed

	marked    bool              // the marker came, in its place
	handedIn  []json.RawMessage // messages with submissions
	summary   string            // of the last submission
	questions int
	lastWord  time.Time // of a message without tool use, while nothing follows it
	limit     string    // which one the agent says it has reached
	complaint string    // the last error that the agent went on after
	ended     bool      // there is a verdict: what comes is only counted

	counts runs.Usage
	tamper int
	saying string // the agent's status
}

// opened is a run that has not ended.
type opened struct {
	since    time.Time
	started  bool
	promised bool // announced by an answer; run_cell is still to come
}

// verdict is what a watch has come to.
type verdict struct {
	outcome  runs.Outcome // empty: a question
	detail   string
	question string
}

func newWatch(journal *trace.Journal, limits runs.Limits, doing *Doing) *watch {
	return &watch{
		journal: journal, follow: journal.Follow(), limits: limits, doing: doing,
		open: map[string]opened{}, actions: map[string]action{},
	}
}

// begin starts the clocks: the agent has its task.
func (w *watch) begin(now time.Time) { w.began, w.heard = now, now }

// next reads on until there is a verdict: the end, or a question that wants an
// answer. When ctx ends the attempt is cancelled.
func (w *watch) next(ctx context.Context) verdict {
	for {
		entry := w.follow.Try()
		if entry == nil {
			v, due := w.onTime(time.Now())
			if v != nil {
				return *v
			}
			w.tell()
			entry = w.wait(ctx, due)
			if entry == nil && ctx.Err() != nil {
				return verdict{outcome: runs.Cancelled, detail: context.Cause(ctx).Error()}
			}
		}
		if entry == nil {
			continue // a deadline has passed
		}
		if v := w.read(entry); v != nil {
			return *v
		}
	}
}

// wait waits for an entry until due, or until ctx ends.
func (w *watch) wait(ctx context.Context, due time.Time) *trace.Entry {
	if !due.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, due)
		defer cancel()
	}
	entry, err := w.follow.Next(ctx)
	if err != nil && errors.Is(err, io.EOF) {
		panic("the journal was closed under a live attempt")
	}
	return entry
}

// rest reads what is there already, for the counts only.
func (w *watch) rest() {
	w.ended = true
	for entry := w.follow.Try(); entry != nil; entry = w.follow.Try() {
		w.read(entry)
	}
}

// read takes in one frame.
func (w *watch) read(e *trace.Entry) *verdict {
	if e.Note == trace.Tamper {
		w.tamper++
	}
	switch e.Hop {
	case trace.AgentToServer:
		return w.fromAgent(e)
	case trace.ServerToAgent:
		return w.toAgent(e)
	case trace.ServerToKernel:
		return w.toKernel(e)
	case trace.KernelToServer:
		return w.fromKernel(e)
	case trace.Session:
		return w.fromSession(e)
	default:
		return nil
	}
}

// idle tells whether nothing of the agent's is under way.
func (w *watch) idle() bool { return len(w.open) == 0 && len(w.actions) == 0 }

// settle completes a marked attempt that is idle.
func (w *watch) settle() *verdict {
	if w.marked && w.idle() {
		return &verdict{outcome: runs.Completed}
	}
	return nil
}

// over is the verdict on an agent whose turn has ended for good.
func (w *watch) over(how string) *verdict {
	switch {
	case w.marked:
		return w.settle() // or later, when it is idle
	case w.limit != "":
		return &verdict{outcome: runs.Limit, detail: w.limit}
	case w.complaint != "":
		return &verdict{outcome: runs.Stopped, detail: how + "; it has reported: " + w.complaint}
	default:
		return &verdict{outcome: runs.Stopped, detail: how}
	}
}

// toKernel opens a run when the kernel is told to run a cell.
func (w *watch) toKernel(e *trace.Entry) *verdict {
	switch e.Type {
	case protocol.TypeRunCell:
		if run, ok := w.open[e.CellID]; !ok || run.promised {
			w.open[e.CellID] = opened{since: e.Wall}
		}
	case protocol.TypeDisposeCell:
		return w.closed(e, e.CellID)
	}
	return nil
}

// fromKernel follows the runs.
func (w *watch) fromKernel(e *trace.Entry) *verdict {
	switch e.Type {
	case protocol.TypeStartCell:
		if e.CellID == "" {
			return w.allIdle(e)
		}
		w.open[e.CellID] = opened{since: e.Wall, started: true}
	case protocol.TypeRunQueue:
		for _, cell := range queueOf(e.Body) {
			if _, ok := w.open[cell]; !ok {
				w.open[cell] = opened{since: e.Wall}
			}
		}
	case protocol.TypeCellResult:
		w.counts.CellsRun++
		w.suspect(e)
		return w.closed(e, e.CellID)
	case protocol.TypeKernelStdio, protocol.TypeCellOutput, protocol.TypeExecuteCodeResponse:
		w.suspect(e)
	}
	return nil
}

// allIdle closes the runs that had started: a kernel that sends no cell_result
// says no more than this.
func (w *watch) allIdle(e *trace.Entry) *verdict {
	var v *verdict
	for cell, run := range w.open {
		if run.started {
			v = w.closed(e, cell)
		}
	}
	return v
}

func (w *watch) closed(e *trace.Entry, cell string) *verdict {
	delete(w.open, cell)
	w.heard = e.Wall
	return w.settle()
}

// fromSession notices the ends of the peers.
func (w *watch) fromSession(e *trace.Entry) *verdict {
	if e.Type != router.TypePeerEnded {
		return nil
	}
	switch e.Action {
	case "kernel":
		return w.kernelEnded()
	case "agent":
		if w.marked {
			return w.settle()
		}
		return &verdict{outcome: runs.AgentExit}
	default:
		return nil
	}
}

// kernelEnded blames the agent's code when it was running.
func (w *watch) kernelEnded() *verdict {
	ran := len(w.open) > 0
	for _, action := range w.actions {
		ran = ran || action.name == protocol.TypeExecuteCode
	}
	w.open = map[string]opened{}
	if ran {
		return &verdict{outcome: runs.KernelExit, detail: ranCode}
	}
	return &verdict{outcome: runs.KernelExit}
}

// ranCode is the detail of a kernel's exit that counts as the agent's.
const ranCode = "while it ran the agent's code"

// onTime says what the time alone decides, and when it decides something next.
func (w *watch) onTime(now time.Time) (v *verdict, due time.Time) {
	if w.began.IsZero() {
		return nil, time.Time{}
	}
	for cell, run := range w.open {
		if run.promised && now.Sub(run.since) >= promise {
			delete(w.open, cell)
			if v := w.settle(); v != nil {
				return v, due
			}
		} else if run.promised {
			due = sooner(due, run.since.Add(promise))
		}
	}
	if wall := seconds(w.limits.WallS); wall > 0 {
		if took := now.Sub(w.began); took >= wall {
			return limitReached("wall", wall, took), due
		}
		due = sooner(due, w.began.Add(wall))
	}
	if idle := seconds(w.limits.IdleS); idle > 0 && len(w.open) == 0 {
		if took := now.Sub(w.heard); took >= idle {
			return limitReached("idle", idle, took), due
		}
		due = sooner(due, w.heard.Add(idle))
	}
	if !w.lastWord.IsZero() && w.idle() {
		if now.Sub(w.lastWord) >= quiet {
			return w.over("the agent ended with a message and no submission"), due
		}
		due = sooner(due, w.lastWord.Add(quiet))
	}
	return nil, due
}

func sooner(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

func limitReached(which string, configured, measured any) *verdict {
	if d, ok := measured.(time.Duration); ok {
		measured = d.Round(time.Millisecond)
	}
	return &verdict{outcome: runs.Limit, detail: fmt.Sprintf("%s: configured %v, measured %v", which, configured, measured)}
}

// tell says what the attempt waits for, when that has changed.
func (w *watch) tell() {
	doing := "waiting for the agent"
	switch {
	case len(w.open) > 0:
		doing = fmt.Sprintf("%d cell(s) running", len(w.open))
	case len(w.actions) > 0:
		doing = fmt.Sprintf("%d action(s) in flight", len(w.actions))
	case w.saying != "":
		doing = "the agent is " + w.saying
	}
	w.doing.set(doing)
}
