package server

import (
	"encoding/json"
	"time"

	"assay/eval/session"
	"assay/internal/protocol"
	"assay/internal/trace"
)

// The children, as the trace names them.
const (
	childKernel = "kernel"
	childAgent  = "agent"
)

// restartWithin is how long after a console has asked for a child to be started
// anew its end is taken for that: longer than stopping one takes.
const restartWithin = 5 * time.Second

// childMetrics counts the kernels and agents of a session. It is for one
// goroutine.
type childMetrics struct {
	metrics *metrics
	ending  bool                     // the session is, and so children end
	running map[string]bool          // by name
	restart map[string]time.Duration // when somebody last asked for it
}

func newChildMetrics(m *metrics) *childMetrics {
	return &childMetrics{metrics: m, running: map[string]bool{}, restart: map[string]time.Duration{}}
}

// saw takes note of an entry that is about a child.
func (c *childMetrics) saw(e *trace.Entry) {
	switch {
	case e.Type == protocol.TypeReady && e.Hop == trace.KernelToServer:
		c.started(childKernel)
	case e.Type == protocol.TypeReady && e.Hop == trace.AgentToServer:
		c.started(childAgent)
	case e.Type == protocol.TypeRestart && e.Hop == trace.ConsoleToServer:
		c.restart[childLabel(told(e).Name)] = e.T
	case e.Type == protocol.TypeManagedProcessExit && e.Hop == trace.Session:
		c.ended(childLabel(told(e).Name), e.T)
	case e.Type == typeState && e.Hop == trace.Session:
		state := session.State(told(e).State)
		c.ending = state == session.StateCollecting || state == session.StateEnded
	}
}

// about is what an entry about a child, or the session, tells.
type about struct {
	Name  string `json:"name"`
	State string `json:"state"`
}

func told(e *trace.Entry) (a about) {
	_ = json.Unmarshal(e.Body, &a) // what a console sends may be anything: then it names nothing
	return a
}

// started counts a child by its ready; one that says it again is no second one.
func (c *childMetrics) started(name string) {
	if c.running[name] {
		return
	}
	c.running[name] = true
	c.metrics.children.started.WithLabelValues(name).Inc()
	c.metrics.children.running.WithLabelValues(name).Inc()
}

func (c *childMetrics) ended(name string, at time.Duration) {
	if !c.running[name] {
		return
	}
	c.running[name] = false
	c.metrics.children.running.WithLabelValues(name).Dec()
	asked, ok := c.restart[name]
	if !c.ending && (!ok || at-asked > restartWithin) {
		c.metrics.children.died.WithLabelValues(name).Inc()
	}
}

// close counts nothing as running any more.
func (c *childMetrics) close() {
	for name, running := range c.running {
		if running {
			c.metrics.children.running.WithLabelValues(name).Dec()
		}
	}
}
