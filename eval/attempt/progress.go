package attempt

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"assay/eval/runs"
	"assay/internal/protocol"
	"assay/internal/trace"
)

// Progress says what an attempt is doing or waiting for at the moment, and how many tokens,
// calls and so on it has used. The zero value is that of an attempt that has not begun. It is
// safe for concurrent use.
type Progress struct {
	mu            sync.Mutex
	activity      string
	activitySince time.Time
	usage         runs.Usage
}

// setActivity sets the text that Activity returns, and the time since when, if the text has
// changed.
func (p *Progress) setActivity(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.activity != text {
		p.activity, p.activitySince = text, time.Now()
	}
}

// setUsage sets the counts that Usage returns.
func (p *Progress) setUsage(used runs.Usage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.usage = used
}

// Activity returns a few words for people about what the attempt is doing, and for how long it
// has been doing that.
func (p *Progress) Activity() (text string, duration time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.activity == "" {
		return "beginning", 0
	}
	return p.activity, time.Since(p.activitySince)
}

// Usage returns the tokens, cost, calls and actions that the attempt has used so far.
func (p *Progress) Usage() runs.Usage {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.usage
}

// updateProgress writes the current activity and usage to the attempt's Progress.
func (w *completionWatcher) updateProgress(now time.Time) {
	w.progress.setActivity(w.describeActivity(now))
	w.progress.setUsage(w.usage())
}

// describeActivity returns a text for people about what the attempt is doing at the time now:
// what the agent waits for (a console, a cell, an action, its model) or what its model or the
// agent itself is doing.
func (w *completionWatcher) describeActivity(now time.Time) string {
	wait := cmp.Or(w.modelCalls.time.descriptionAt(now), w.modelWaits.descriptionAt(now))
	switch {
	case !w.holderPresence.awaySince.IsZero():
		return "waiting for the console to come back"
	case len(w.cells) > 0:
		return w.describeRunningCells()
	case len(w.actions) > 0:
		return strings.Join(w.actionNames(), ", ")
	case wait != "":
		return wait
	case w.agentReports.modelActivity != "":
		return w.agentReports.modelActivity
	case w.modelCalls.time.isAnswering():
		return "the model replies"
	case w.person != nil:
		return "the person works"
	case w.agentReports.status != "":
		return "the agent is " + w.agentReports.status
	default:
		return "waiting for the agent"
	}
}

// describeEnd returns what the attempt was waiting for at the time now, when a limit on time ended
// it, and whether there was a submission.
func (w *completionWatcher) describeEnd(now time.Time) string {
	var what []string
	for _, id := range slices.Sorted(maps.Keys(w.cells)) {
		if id == widgetRerunsID {
			id = "that a widget runs again"
		}
		what = append(what, "cell "+id)
	}
	for _, id := range slices.Sorted(maps.Keys(w.actions)) {
		what = append(what, fmt.Sprintf("the answer to %s (%s)", w.actions[id].name, id))
	}
	if len(what) == 0 {
		what = []string{"the agent"}
		if activity := w.describeActivity(now); activity != "waiting for the agent" {
			what[0] += " (" + activity + ")"
		}
		what[0] += w.agentReports.lastFrame.describeSilence()
	}
	submission := "nothing was submitted"
	switch {
	case w.submitted.isMarked():
		submission = "the answer was submitted"
	case w.submitted.summary != "":
		submission = "the submission had no " + CompletionMarker
	}
	return "waiting for " + strings.Join(what, ", ") + "; " + submission
}

// describeSilence says, of an agent that has sent nothing since this frame, how its action ended, because the
// agent may wait for an answer that it got, or will not get. It returns "" if the frame is no action.
func (f agentFrame) describeSilence() string {
	switch {
	case f.kind != protocol.TypeAgentAction:
		return ""
	case f.txIDProblem != "":
		return ", which has sent nothing since " + f.action + ": " + f.txIDProblem
	default:
		return fmt.Sprintf(", which has sent nothing since the answer to %s (%s)", f.action, f.txID)
	}
}

// describeRunningCells returns a text for people with the number of running cells and the
// agent's action that started them, such as "run_cell runs a cell".
func (w *completionWatcher) describeRunningCells() string {
	what := fmt.Sprintf("%d cells", len(w.cells))
	if len(w.cells) == 1 {
		what = "a cell"
	}
	if w.lastRunAction == "" {
		return "running " + what // run by a person
	}
	return w.lastRunAction + " runs " + what
}

// actionNames returns the names of the agent's actions that have no answer yet, sorted, without
// duplicates.
func (w *completionWatcher) actionNames() []string {
	names := map[string]bool{}
	for _, a := range w.actions {
		names[a.name] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// trackModelActivity updates, from a frame of the agent, the description of what its model is
// doing, and ends the current wait for the model if the frame shows that the agent has gone on.
func (w *completionWatcher) trackModelActivity(e *trace.Entry) {
	switch e.Type {
	case protocol.TypeAgentStreamStart, protocol.TypeAgentUsageUpdate, protocol.TypeAgentAction, protocol.TypeAgentHistoryUpdated:
		w.modelWaits.endWaitAt(e.WallTime)
		w.modelCalls.time.goOn(e.WallTime)
	}
	switch e.Type {
	case protocol.TypeAgentStreamBlock:
		var frame protocol.StreamFrame
		if json.Unmarshal(e.Body, &frame) == nil {
			w.agentReports.modelActivity = modelActivityOf(frame)
		}
	case protocol.TypeAgentStreamComplete, protocol.TypeAgentHistoryUpdated, protocol.TypeAgentStatus, protocol.TypeAgentEvent:
		w.agentReports.modelActivity = ""
	}
}

// modelActivityOf returns a text for people about what a model does after it has sent this
// block_start frame, such as "the model thinks".
func modelActivityOf(frame protocol.StreamFrame) string {
	switch frame.BlockType {
	case "thinking":
		return "the model thinks"
	case "tool_use":
		return "the model writes " + frame.BlockName
	default:
		return "the model writes"
	}
}
