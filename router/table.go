package router

import (
	"sync"
	"time"

	"assay/internal/protocol"
	"assay/internal/trace"
)

// remembered is how many ids of ended requests are kept, to tell a late answer
// and a second one from one to nothing.
const remembered = 4096

// answerer is who was asked.
type answerer string

const (
	byNotebook answerer = "notebook" // the server's own document
	byConsole  answerer = "console"  // a holder
	byKernel   answerer = "kernel"
)

// answer is how a request ended: with a frame, or with a failure.
type answer struct {
	it     item
	failed string     // the error's text; empty: it is the answer
	note   trace.Note // of the error: timed_out, or none
}

// pending is a request in flight.
type pending struct {
	id      string   // towards the answerer
	agent   string   // the agent's id for it; empty: it wants no answer, or another asked
	byAgent bool     // the agent asked
	action  string   // what was asked, in the asker's words
	whom    answerer // may change once: nobody holds the document yet
	within  time.Duration
	reply   func(answer) // called once, without any lock

	timer, stale *time.Timer
}

// ended is what is remembered of a request that is no longer in flight.
type ended struct {
	action string
	note   trace.Note // what an answer to it is now: duplicate or late
}

// table holds every request in flight, and is the only place that does.
//
//	add ──▶ open ──take──▶ answered     a second answer is a duplicate
//	          └────expire─▶ timed out   an answer is late
//
// Each request leaves it exactly once, whoever comes first: the answer, the
// deadline, or the end of the one who was asked.
type table struct {
	mu     sync.Mutex
	open   map[string]*pending
	agents map[string]*pending // those that the agent asked, by its id
	ended  map[string]ended
	order  []string // of ended, oldest first
	closed bool
}

func newTable() *table {
	return &table{open: map[string]*pending{}, agents: map[string]*pending{}, ended: map[string]ended{}}
}

// add puts p in and starts its deadline, whose passing calls late. false: its
// id, or the agent's, is in flight already, or the table is closed.
func (t *table) add(p *pending, late func(*pending)) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || t.open[p.id] != nil || p.agent != "" && t.agents[p.agent] != nil {
		return false
	}
	t.open[p.id] = p
	if p.agent != "" {
		t.agents[p.agent] = p
	}
	p.timer = time.AfterFunc(p.within, func() {
		if t.remove(p, trace.NoteLate) {
			late(p)
		}
	})
	return true
}

// passOn leaves a request to the end of another, which has a deadline of its own.
func (t *table) passOn(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.open[id]; p != nil {
		p.timer.Stop()
	}
}

// take removes and returns the request that an answer with this id is for.
// Where there is none, was says what the answer is instead.
func (t *table) take(id string) (p *pending, was ended) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.open[id]; p != nil {
		t.removeLocked(p, trace.NoteDuplicate)
		return p, ended{}
	}
	if was, ok := t.ended[id]; ok {
		return nil, was
	}
	return nil, ended{note: trace.NoteOrphaned}
}

// remove ends p; an answer to it will from now on be noted so. false: it has
// ended already.
func (t *table) remove(p *pending, note trace.Note) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open[p.id] != p {
		return false
	}
	t.removeLocked(p, note)
	return true
}

func (t *table) removeLocked(p *pending, note trace.Note) {
	delete(t.open, p.id)
	delete(t.agents, p.agent)
	p.timer.Stop()
	if p.stale != nil {
		p.stale.Stop()
	}
	if _, again := t.ended[p.id]; !again {
		t.order = append(t.order, p.id)
	}
	t.ended[p.id] = ended{action: p.action, note: note}
	if len(t.order) > remembered {
		delete(t.ended, t.order[0])
		t.order = t.order[1:]
	}
}

// kernelID returns the id under which the kernel was asked for the agent's
// request, while it is in flight.
func (t *table) kernelID(agent string) (id string, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.agents[agent]
	if p == nil || p.whom != byKernel {
		return "", false
	}
	return p.id, true
}

// executing returns the ids of the agent's execute_code requests in flight.
func (t *table) executing() (ids []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.open {
		if p.byAgent && p.action == protocol.TypeExecuteCode {
			ids = append(ids, p.id)
		}
	}
	return ids
}

// has tells whether a request is in flight.
func (t *table) has(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.open[id] != nil
}

// staleAfter calls give after a while, if p is still in flight then.
func (t *table) staleAfter(p *pending, d time.Duration, give func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open[p.id] == p {
		p.stale = time.AfterFunc(d, give)
	}
}

// fail ends every request that which picks, with an error.
func (t *table) fail(text string, which func(*pending) bool) {
	t.mu.Lock()
	var failed []*pending
	for _, p := range t.open {
		if which(p) {
			t.removeLocked(p, trace.NoteLate)
			failed = append(failed, p)
		}
	}
	t.mu.Unlock()
	for _, p := range failed {
		p.reply(answer{failed: text})
	}
}

// close fails everything and lets nothing more in.
func (t *table) close(text string) {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.fail(text, func(*pending) bool { return true })
}
