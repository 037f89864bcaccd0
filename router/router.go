// Package router is the switchboard of one session: it takes frames from the
// agent, the kernel and the consoles, and gives each to whom it is for.
//
//	agent ──agent_action──▶ ┌────────┐ ──agent_action──▶ holder of the document
//	      ◀──its answer──── │        │ ◀──its answer────
//	                        │ Router │ ◀──run_cell … ─── consoles at /run
//	      ◀─kernel_message─ │        │ ──kernel frames─▶
//	                        └──▲──┬──┘
//	             kernel frames │  ▼ run_cell, summaries, execute_code
//	                          kernel
//
// Nothing in it waits. Each connection has one goroutine that reads and one
// that writes behind a bounded queue; a frame is routed in its reader's
// goroutine, which puts it into queues and takes the next. An action of the
// agent that only the kernel can answer is passed on under an id of the
// router's own, and answered when the kernel's reply comes: how busy the kernel
// is has no effect on any other action. What is in flight stands in one table,
// with who asked, whom, and until when; see [table].
package router

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"assay/internal/protocol"
	"assay/internal/trace"
)

// The deadlines, unless the [Config] has others.
const (
	// DefaultDocumentTimeout is for actions that the server's own document answers,
	// and for requests to the kernel.
	DefaultDocumentTimeout = 8 * time.Second

	// DefaultHolderTimeout is for actions that a console answers. It is shorter than
	// the 10 s of the agent, which so learns whom it has waited for.
	DefaultHolderTimeout = 9500 * time.Millisecond

	// DefaultCellTimeout is the default and the most for an execute_code.
	DefaultCellTimeout = 5 * time.Minute

	// DefaultStaleDelay is how long a summary waits for the kernel when there is an
	// older one that can be given instead.
	DefaultStaleDelay = 250 * time.Millisecond

	// DefaultAgentStallTimeout is how long an agent may leave a full queue unread.
	DefaultAgentStallTimeout = 10 * time.Second
)

// Executions is the fold over the kernel's frames, which the router keeps up to date
// and asks what the agent is told of a run. internal/notebook has it.
type Executions interface {
	// Apply takes in a frame of the kernel; seq is its place in the trace.
	ApplyFrame(seq int64, env protocol.Envelope, body []byte) error
	// KernelMessage is what the agent is told of a start_cell or cell_result
	// that was applied, as the content of a kernel_message; false: nothing.
	KernelMessage(env protocol.Envelope, body []byte) (json.RawMessage, bool)
	// Sent and Disposed note that the kernel was told to run or drop a cell.
	MarkSent(cellID string)
	MarkDisposed(cellID string)
	// Open names the cells that run or wait to.
	OpenCells() []string
	// Ended notes that the kernel is gone.
	MarkKernelEnded()
}

// Config is what a [Router] may be told. The zero value works.
type Config struct {
	// Document, Holder, Cell, Stale and Agent are deadlines; 0 means the
	// constants of this package.
	DocumentTimeout, HolderTimeout, CellTimeout, StaleDelay, AgentStallTimeout time.Duration

	// Shared lets every console do everything; otherwise only the session's
	// owner may run, edit and talk to the agent. ReadOnly, which goes before
	// it, lets nobody.
	Shared, ReadOnly bool

	// Restart starts a child, "kernel" or "agent", anew; nil refuses it. It may
	// take its time, and must end when the session does.
	RestartChild func(name string) error

	// MaxFrameBytes is the largest message that kernel and agent take, in bytes;
	// 0 is the protocol's default. What is larger is answered with an error.
	MaxFrameBytes int64

	// Log gets a warning for each oddity of a peer; nil discards.
	Log *slog.Logger
}

// Router connects the peers of one session. It is safe for concurrent use.
// Peers are attached as they come; Close ends it and all that is attached.
type Router struct {
	cfg     Config
	journal *trace.Journal
	runs    Executions
	log     *slog.Logger
	table   *table
	peers   sync.WaitGroup

	// kernelOrder is held while a kernel frame is applied and sent to the
	// consoles, and while a console is added to them, so that what a console is
	// told first and the frames that follow neither overlap nor leave a gap.
	// It is taken before mu.
	kernelOrder sync.Mutex

	mu       sync.Mutex
	agent    *Peer
	kernel   *Peer
	holder   *Peer
	ownDoc   bool         // the holder is the server's own document
	backlog  []item       // actions for a holder that is not there
	consoles []*Peer      // at /run
	views    []*Peer      // at /agent, without the holder
	tied     map[int]bool // numbers at /run that views have named
	owner    *Peer        // of consoles; unused when the session is shared
	refusal  string       // why agent actions are refused; empty: they are not
	older    bool         // the kernel takes summaries as agent_action
	gone     string       // how the kernel ended; empty: it has not
	summary  lastSummary
	closed   bool
}

// New returns a router without peers. It appends every frame to journal.
func New(journal *trace.Journal, runs Executions, cfg Config) *Router {
	set := func(d *time.Duration, value time.Duration) {
		if *d <= 0 {
			*d = value
		}
	}
	set(&cfg.DocumentTimeout, DefaultDocumentTimeout)
	set(&cfg.HolderTimeout, DefaultHolderTimeout)
	set(&cfg.CellTimeout, DefaultCellTimeout)
	set(&cfg.StaleDelay, DefaultStaleDelay)
	set(&cfg.AgentStallTimeout, DefaultAgentStallTimeout)
	if cfg.MaxFrameBytes <= 0 {
		cfg.MaxFrameBytes = protocol.DefaultMaxFrameBytes
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.RestartChild == nil {
		cfg.RestartChild = func(name string) error { return fmt.Errorf("%q cannot be started anew here", name) }
	}
	return &Router{
		cfg: cfg, journal: journal, runs: runs, log: cfg.Log,
		table: newTable(),
	}
}

// TypePeerEnded is the type of the trace's entries, on the hop "session", that
// say when a peer's connection has ended and why. What waited for the peer is
// failed behind it.
const TypePeerEnded = "peer_ended"

// TypeHolder is the type of the trace's entries, on the hop "session", that say
// who holds the document from here on: the server, or a console that has come.
const TypeHolder = "holder"

// note puts something that happened to the session into the trace. conn is the
// console that it is about; 0: none.
func (r *Router) note(kind string, conn int, what map[string]any) {
	it := message(what)
	r.journal.Append(trace.Entry{Hop: trace.HopSession, ConsoleID: conn, Envelope: protocol.Envelope{Type: kind}, Body: it.body})
}

// noteEnd puts the end of a peer into the trace.
func (r *Router) noteEnd(p *Peer) {
	reason := p.reason
	if p.err != nil {
		reason = p.err.Error()
	}
	it := message(map[string]any{"type": TypePeerEnded, "peer": p.name, "conn": p.id, "reason": reason})
	it.env.Action = p.name
	r.journal.Append(trace.Entry{Hop: trace.HopSession, ConsoleID: p.id, Envelope: it.env, Body: it.body})
}

// ErrClosed is what an attachment to a closed Router fails with.
var ErrClosed = errors.New("the session has ended")

// AttachAgent makes conn the session's agent; it owns conn from then on.
func (r *Router) AttachAgent(conn protocol.Conn) (*Peer, error) {
	return r.attach(conn, 0, "agent", trace.AgentToServer, trace.ServerToAgent, func(p *Peer) {
		r.agent = p
		p.handle, p.overflow, p.ended = r.fromAgent, r.agentOverflow(p), r.agentEnded
		p.before = r.agentBefore(p)
	})
}

// AttachKernel makes conn the session's kernel; it owns conn from then on.
// older says that its ready announced that it takes actions.
func (r *Router) AttachKernel(conn protocol.Conn, older bool) (*Peer, error) {
	return r.attach(conn, 0, "kernel", trace.KernelToServer, trace.ServerToKernel, func(p *Peer) {
		r.kernel, r.older, r.gone, r.summary = p, older, "", lastSummary{}
		p.handle, p.overflow, p.ended = r.fromKernel, p.drop, r.kernelEnded
		p.before = r.journal.WaitForRoom
	})
}

// AttachDocument makes the server's own document, at the other end of conn, the
// holder. The frames between the two are no hop of the wire and not traced.
func (r *Router) AttachDocument(conn protocol.Conn) (*Peer, error) {
	return r.attach(conn, 0, "notebook", "", "", func(p *Peer) {
		r.ownDoc = true
		r.note(TypeHolder, 0, map[string]any{"type": TypeHolder, "by": "server"})
		p.handle, p.overflow, p.ended = r.fromDocument, r.documentOverflow, r.holderEnded
		r.hold(p)
	})
}

// AttachHolder makes a console's /agent connection the holder of the document.
// Actions that came before it are sent to it now, as far as they still wait. It
// replaces a holder that is attached, which is closed. id is its number, which no
// other console has; session is what the console calls itself, for the trace; run
// is the number of its /run connection, 0: it has named none.
func (r *Router) AttachHolder(conn protocol.Conn, id int, session string, run int) (*Peer, error) {
	return r.attach(conn, id, "console", trace.ConsoleToServer, trace.ServerToConsole, func(p *Peer) {
		p.handle, p.overflow, p.ended = r.fromHolder, r.holderOverflow(p), r.holderEnded
		p.missed, p.before, p.tie, p.complain = r.holderMissed, r.journal.WaitForRoom, run, p.sendAgentError
		r.note(TypeHolder, p.id, map[string]any{"type": TypeHolder, "by": "console", "conn": p.id, "session_id": session})
		r.hold(p)
	})
}

// replaced is what a connection is told that another of the same console takes
// the place of.
const replaced = "the same console has connected again"

// hold makes p the holder and gives it what has waited. The caller holds mu.
func (r *Router) hold(p *Peer) {
	if old := r.holder; old != nil {
		old.end(protocol.CloseReplaced, replaced, nil)
	}
	r.holder = p
	waiting := r.backlog
	r.backlog = nil
	for _, it := range waiting {
		if it.env.TxID == "" || r.table.has(it.env.TxID) {
			p.send(it)
		}
	}
}

// attach makes a peer of conn, lets set give it its place, and runs it.
func (r *Router) attach(conn protocol.Conn, id int, name string, in, out trace.Hop, set func(*Peer)) (*Peer, error) {
	p := newPeer(r, conn, name, in, out)
	p.id = id
	r.mu.Lock()
	closed := r.closed
	if !closed {
		set(p)
		r.peers.Go(p.run)
	}
	r.mu.Unlock()
	if closed {
		_ = conn.Close(protocol.CloseGoingAway, ErrClosed.Error())
		return nil, ErrClosed
	}
	return p, nil
}

// Close fails what is in flight, sends what is queued as far as the peers take
// it within a second, closes every connection and waits until all is still. Views
// come last, and are shown all that the trace has by then.
func (r *Router) Close(code protocol.CloseCode, reason string) {
	r.mu.Lock()
	r.closed = true
	views, others := slices.Clone(r.views), r.othersLocked()
	r.mu.Unlock()
	r.table.close(reason)
	for _, p := range others {
		p.finish(code, reason)
	}
	for _, p := range others {
		<-p.done
	}
	for _, p := range views { // of what the others have said
		p.finish(code, reason)
	}
	r.peers.Wait()
}

// othersLocked returns all that are attached but the views. The caller holds mu.
func (r *Router) othersLocked() []*Peer {
	peers := slices.Clone(r.consoles)
	for _, p := range []*Peer{r.agent, r.kernel, r.holder} {
		if p != nil {
			peers = append(peers, p)
		}
	}
	return peers
}

// QueueDepth is what waits to be written to one peer.
type QueueDepth struct {
	PeerName      string // agent, kernel, notebook, console (a holder), view or run
	ConsoleID     int    // which console; 0: not one
	Frames, Bytes int
}

// QueueDepths returns what waits for each peer.
func (r *Router) QueueDepths() []QueueDepth {
	r.mu.Lock()
	defer r.mu.Unlock()
	peers := slices.Concat(r.othersLocked(), r.views)
	depths := make([]QueueDepth, len(peers))
	for i, p := range peers {
		frames, bytes := p.queue.depth()
		depths[i] = QueueDepth{PeerName: p.name, ConsoleID: p.id, Frames: frames, Bytes: bytes}
	}
	return depths
}
