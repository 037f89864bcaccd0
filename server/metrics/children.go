package metrics

import (
	"encoding/json"
	"time"

	"assay/eval/session"
	"assay/internal/protocol"
	"assay/internal/trace"
)

// restartGrace is how long after a console's restart request the exit of that
// child counts as requested. It is longer than stopping a child takes.
const restartGrace = 5 * time.Second

// childCounter counts the kernels and agents of one session. It is not safe for
// concurrent use.
type childCounter struct {
	metrics          *Registry
	sessionEnding    bool                     // from now on exits are expected
	running          map[string]bool          // by name
	restartRequested map[string]time.Duration // by name: trace time of the newest request
}

func newChildCounter(m *Registry) *childCounter {
	return &childCounter{metrics: m, running: map[string]bool{}, restartRequested: map[string]time.Duration{}}
}

// countEntry counts an entry if it is about a child or about the session's state.
func (c *childCounter) countEntry(e *trace.Entry) {
	switch {
	case e.Type == protocol.TypeReady && e.Hop == trace.KernelToServer:
		c.countStart(childKernel)
	case e.Type == protocol.TypeReady && e.Hop == trace.AgentToServer:
		c.countStart(childAgent)
	case e.Type == protocol.TypeManagedProcessRestart && e.Hop == trace.ConsoleToServer:
		c.restartRequested[childLabel(parseChildEvent(e).Name)] = e.Elapsed
	case e.Type == protocol.TypeManagedProcessExit && e.Hop == trace.HopSession:
		c.countExit(childLabel(parseChildEvent(e).Name), e.Elapsed)
	case e.Type == entryTypeState && e.Hop == trace.HopSession:
		state := session.State(parseChildEvent(e).State)
		c.sessionEnding = state == session.StateCollecting || state == session.StateEnded
	}
}

// childEvent has the fields that countEntry reads of an entry's body.
type childEvent struct {
	Name  string `json:"name"`
	State string `json:"state"`
}

// parseChildEvent decodes the body of an entry about a child process. It returns the zero
// value if the body does not have that form, as a console's message may not.
func parseChildEvent(e *trace.Entry) (event childEvent) {
	_ = json.Unmarshal(e.Body, &event)
	return event
}

// countStart counts a child as started, unless it is counted as running already:
// a child may send ready twice.
func (c *childCounter) countStart(name string) {
	if c.running[name] {
		return
	}
	c.running[name] = true
	c.metrics.children.started.WithLabelValues(name).Inc()
	c.metrics.children.running.WithLabelValues(name).Inc()
}

// countExit counts a child's exit at trace time exited: as died, unless the
// session is ending or a console requested a restart within restartGrace.
func (c *childCounter) countExit(name string, exited time.Duration) {
	if !c.running[name] {
		return
	}
	c.running[name] = false
	c.metrics.children.running.WithLabelValues(name).Dec()
	requested, ok := c.restartRequested[name]
	if !c.sessionEnding && (!ok || exited-requested > restartGrace) {
		c.metrics.children.died.WithLabelValues(name).Inc()
	}
}

// close removes all children from the count of running ones.
func (c *childCounter) close() {
	for name, running := range c.running {
		if running {
			c.metrics.children.running.WithLabelValues(name).Dec()
		}
	}
}
