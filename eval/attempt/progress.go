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
	mu    sync.Mutex
	text  string
	since time.Time
	used  runs.Usage
}

func (d *Progress) set(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.text != text {
		d.text, d.since = text, time.Now()
	}
}

func (d *Progress) use(used runs.Usage) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.used = used
}

// Activity returns it in a few words for people, and for how long it has been so.
func (d *Progress) Activity() (text string, lasting time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.text == "" {
		return "beginning", 0
	}
	return d.text, time.Since(d.since)
}

// Usage returns what has been used so far.
func (d *Progress) Usage() runs.Usage {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.used
}

// tell says what the attempt does or waits for, and what it has used, as of now.
func (w *watch) tell(now time.Time) {
	w.doing.set(w.activity(now))
	w.doing.use(w.counts)
}

// activity is what goes on, the innermost thing first: what keeps the agent from
// going on is not the agent.
func (w *watch) activity(now time.Time) string {
	waits, waiting := w.waits.doing(now)
	switch {
	case !w.holder.away.IsZero():
		return "waiting for the console to come back"
	case len(w.cells) > 0:
		return w.running()
	case len(w.actions) > 0:
		return strings.Join(w.inFlight(), ", ")
	case waiting:
		return waits
	case w.writing != "":
		return w.writing
	case w.saying != "":
		return "the agent is " + w.saying
	default:
		return "waiting for the agent"
	}
}

// running says what runs, and which action has run it.
func (w *watch) running() string {
	what := fmt.Sprintf("%d cells", len(w.cells))
	if len(w.cells) == 1 {
		what = "a cell"
	}
	if w.ran == "" {
		return "running " + what // which a person has begun
	}
	return w.ran + " runs " + what
}

// inFlight names the agent's actions that have no answer yet, each name once.
func (w *watch) inFlight() []string {
	names := map[string]bool{}
	for _, a := range w.actions {
		names[a.name] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// fromReply follows a reply that arrives, and what the agent does with it.
func (w *watch) fromReply(e *trace.Entry) {
	switch e.Type {
	case protocol.TypeAgentStreamStart, protocol.TypeAgentUsageUpdate, protocol.TypeAgentAction, protocol.TypeAgentHistoryUpdated:
		w.waits.worked(e.WallTime)
	}
	switch e.Type {
	case protocol.TypeAgentStreamBlock:
		var frame protocol.StreamFrame
		if json.Unmarshal(e.Body, &frame) == nil {
			w.writing = writing(frame)
		}
	case protocol.TypeAgentStreamComplete, protocol.TypeAgentHistoryUpdated, protocol.TypeAgentStatus, protocol.TypeAgentEvent:
		w.writing = ""
	}
}

// writing is what a model does that has begun a block.
func writing(frame protocol.StreamFrame) string {
	switch frame.BlockType {
	case "thinking":
		return "the model thinks"
	case "tool_use":
		return "the model writes " + frame.BlockName
	default:
		return "the model writes"
	}
}
