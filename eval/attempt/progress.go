package attempt

import (
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

// Progress is what an attempt is doing, or waiting for, at the moment, and what it
// has used so far. It is safe for concurrent use; the zero value is an attempt
// that has not begun.
type Progress struct {
	mu            sync.Mutex
	activity      string
	activitySince time.Time
	usage         runs.Usage
}

func (d *Progress) setActivity(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.activity != text {
		d.activity, d.activitySince = text, time.Now()
	}
}

func (d *Progress) setUsage(used runs.Usage) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.usage = used
}

// Activity returns it in a few words for people, and for how long it has been so.
func (d *Progress) Activity() (text string, lasting time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.activity == "" {
		return "beginning", 0
	}
	return d.activity, time.Since(d.activitySince)
}

// Usage returns what has been used so far.
func (d *Progress) Usage() runs.Usage {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.usage
}

// updateProgress says what the attempt does or waits for, and what it has used, as of now.
func (w *watch) updateProgress(now time.Time) {
	w.progress.setActivity(w.describeActivity(now))
	w.progress.setUsage(w.usage)
}

// describeActivity is what goes on, the innermost thing first: what keeps the agent from
// going on is not the agent.
func (w *watch) describeActivity(now time.Time) string {
	waits, waiting := w.modelWaits.descriptionAt(now)
	switch {
	case !w.holder.awaySince.IsZero():
		return "waiting for the console to come back"
	case len(w.cells) > 0:
		return w.describeRunningCells()
	case len(w.actions) > 0:
		return strings.Join(w.actionNames(), ", ")
	case waiting:
		return waits
	case w.modelActivity != "":
		return w.modelActivity
	case w.agentStatus != "":
		return "the agent is " + w.agentStatus
	default:
		return "waiting for the agent"
	}
}

// describeRunningCells says what runs, and which action has run it.
func (w *watch) describeRunningCells() string {
	what := fmt.Sprintf("%d cells", len(w.cells))
	if len(w.cells) == 1 {
		what = "a cell"
	}
	if w.lastRunAction == "" {
		return "running " + what // which a person has begun
	}
	return w.lastRunAction + " runs " + what
}

// actionNames names the agent's actions that have no answer yet, each name once.
func (w *watch) actionNames() []string {
	names := map[string]bool{}
	for _, a := range w.actions {
		names[a.name] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// trackModelActivity follows a reply that arrives, and what the agent does with it.
func (w *watch) trackModelActivity(e *trace.Entry) {
	switch e.Type {
	case protocol.TypeAgentStreamStart, protocol.TypeAgentUsageUpdate, protocol.TypeAgentAction, protocol.TypeAgentHistoryUpdated:
		w.modelWaits.endWaitAt(e.WallTime)
	}
	switch e.Type {
	case protocol.TypeAgentStreamBlock:
		var frame protocol.StreamFrame
		if json.Unmarshal(e.Body, &frame) == nil {
			w.modelActivity = modelActivityOf(frame)
		}
	case protocol.TypeAgentStreamComplete, protocol.TypeAgentHistoryUpdated, protocol.TypeAgentStatus, protocol.TypeAgentEvent:
		w.modelActivity = ""
	}
}

// modelActivityOf is what a model does that has begun a block.
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
