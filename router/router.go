// Package router connects the peers of one session: it takes frames from the
// agent, the kernel and the consoles and sends each to the peer it is meant for.
//
//	agent ──agent_action──▶ ┌────────┐ ──agent_action──▶ holder of the document
//	      ◀──its answer──── │        │ ◀──its answer────
//	                        │ Router │ ◀──run_cell … ─── consoles at /run
//	      ◀─kernel_message─ │        │ ──kernel frames─▶
//	                        └──▲──┬──┘
//	             kernel frames │  ▼ run_cell, summaries, execute_code
//	                          kernel
//
// The holder of the document is the peer that answers the agent's actions on cells: the
// server's own document, or a console at /agent. If the server holds it, consoles
// at /agent are views: they are shown what the trace brings.
//
// An action that only the kernel can answer is sent to it under an id of the
// router, and answered when the kernel's reply comes, so a busy kernel delays no
// other action. The type inFlightRequests holds these requests and draws their states.
//
// # Goroutines
//
// Routing never blocks: a frame is routed by the goroutine that has read it, which
// only puts it into queues. Every goroutine below is waited for by [Router.Close].
//
//	what                          how many             ends when
//	read, write, close            3 per connection     the connection ends or the router ends it
//	feed of a view from the trace 1 per view           the view ends
//	watch over a stalled agent    0 or 1 per agent     the agent ends
//	finishing a peer              0 or 1 per peer      its queue is written, or after 1 s
//	restarting a child            1 per request        the child is ready, or cannot be started
//
// The deadlines of requests are [time.AfterFunc] timers, stopped when the request
// ends.
//
// # When a peer fails
//
//	a console reads too slowly    it is disconnected with a reason; it may come back
//	the holder goes               actions wait for its return, each until its deadline
//	the agent stops reading       it has 10 s, during which nothing more is read from it; then it is ended
//	the kernel's queue is full    the request is answered with an error
//	the kernel ends               what waits for it fails at once, with the reason; so do open runs
//	a message cannot be routed    a panic costs this message and is logged
//	the trace cannot keep up      peers are not read; they are ended after trace.RoomTimeout without progress
//
// Frames that are dropped are noted in the trace. Two kinds are not, as they have
// no receiver: those for a console at /run that is closing, and answers for an
// agent that has ended.
package router

import (
	"context"
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

// Timeouts and delays that a [Config] may replace.
const (
	// DefaultRequestTimeout is for actions that the server's own document answers,
	// and for requests to the kernel.
	DefaultRequestTimeout = 8 * time.Second

	// DefaultHolderTimeout is for actions that a console answers. It is shorter than
	// the 10 s that the agent waits, so that the agent gets an error which names the
	// console.
	DefaultHolderTimeout = 9500 * time.Millisecond

	// DefaultCellTimeout is how long an execute_code may take, also at most.
	DefaultCellTimeout = 5 * time.Minute

	// DefaultStaleDelay is how long a globals summary may take before an older one
	// is given in its place, if there is one.
	DefaultStaleDelay = 250 * time.Millisecond

	// DefaultAgentStallTimeout is how long an agent may leave a full queue unread
	// before it is ended.
	DefaultAgentStallTimeout = 10 * time.Second
)

// Executions tracks the runs of cells from the kernel's frames and makes the messages that tell
// the agent about them. notebook.Executions implements it. It must be safe for concurrent use.
type Executions interface {
	// ApplyFrame takes in a frame of the kernel; seq is its number in the trace. An
	// error says that the frame does not fit; it has no other consequence.
	ApplyFrame(seq int64, env protocol.Envelope, body []byte) error
	// KernelMessage returns the content of the kernel_message to the agent about a
	// start_cell or cell_result that was just applied; false for other frames.
	KernelMessage(env protocol.Envelope, body []byte) (json.RawMessage, bool)
	// MarkRunSent records that the kernel was sent a run_cell.
	MarkRunSent(cellID string)
	// MarkCellDisposed records that the kernel was sent a dispose_cell.
	MarkCellDisposed(cellID string)
	// CellsWithOpenRuns returns the cells that run or wait for the kernel.
	CellsWithOpenRuns() []string
	// MarkKernelEnded records that the kernel has ended.
	MarkKernelEnded()
}

// Config configures a [Router]: timeouts, who may do what, and limits. The zero value works.
type Config struct {
	// RequestTimeout, HolderTimeout, CellTimeout, StaleDelay and AgentStallTimeout
	// replace the constants Default…; 0 means the constant.
	RequestTimeout, HolderTimeout, CellTimeout, StaleDelay, AgentStallTimeout time.Duration

	// Shared lets every console do what otherwise only the session's owner may:
	// run, edit and talk to the agent. ReadOnly lets none do so, and overrides
	// Shared.
	Shared, ReadOnly bool

	// CellRunLimit is how long a run of a cell may take; then it is interrupted. The agent learns
	// that, and the trace has it as [EntryTypeCellLimit]. 0 means no limit.
	CellRunLimit time.Duration

	// AfterAgentFrame, if set, is called with the number of the trace entry of each frame from the
	// agent, before the next frame is read; except for parts of a streamed reply, and for actions
	// other than submit_response. It may wait, until ctx ends, for a decision on the frame, such as
	// to call [Router.RefuseActions]; then its error ends the agent's connection.
	AfterAgentFrame func(ctx context.Context, seq int64) error

	// RestartChild restarts a child, "kernel" or "agent". It may block, and must return
	// when the session ends. nil: requests to restart are answered with an error.
	RestartChild func(name string) error

	// MaxFrameBytes is the largest message that kernel and agent take; 0 means
	// [protocol.DefaultMaxFrameBytes]. A larger one is answered with an error.
	MaxFrameBytes int64

	// Log gets a warning for each oddity of a peer; nil discards.
	Log *slog.Logger
}

// Router connects the peers of one session and forwards frames between them. Attach the peers
// in any order; Close ends the router and closes all connections. It is safe for concurrent
// use.
type Router struct {
	cfg        Config
	journal    *trace.Journal
	executions Executions
	log        *slog.Logger
	inFlight   *inFlightRequests
	cellRuns   *cellLimiter
	goroutines sync.WaitGroup // goroutines of peers, and of what they have asked for

	// kernelOrder is held while a kernel frame is applied and sent to the consoles,
	// and while a console is added to them: the state in a console's first message
	// and the frames that follow neither overlap nor leave a gap. It is taken
	// before mu.
	kernelOrder sync.Mutex

	mu                 sync.Mutex
	agent              *Peer
	kernel             *Peer
	holder             *Peer             // of the document; nil: a console is waited for
	serverHolds        bool              // holder is the server's own document
	backlog            []frame           // actions for a holder that is not there
	runConsoles        []*runConsoleRole // consoles at /run
	views              []*viewRole       // consoles at /agent that do not hold the document
	pairedConsoles     map[int]bool      // numbers of the consoles at /run that have a view
	owner              *runConsoleRole   // see owner.go; nil in a shared or read-only session
	actionRefusal      string            // why actions of the agent and of consoles are refused; empty: they are not
	kernelReady        protocol.Ready    // of the last kernel
	kernelEndReason    string            // why the kernel has ended; empty: it has not
	lastGlobalsSummary globalsSummary
	closed             bool
}

// New returns a router without peers. It appends every frame to journal and passes frames about
// runs to executions. It starts no goroutine.
func New(journal *trace.Journal, executions Executions, cfg Config) *Router {
	setDefault := func(d *time.Duration, value time.Duration) {
		if *d <= 0 {
			*d = value
		}
	}
	setDefault(&cfg.RequestTimeout, DefaultRequestTimeout)
	setDefault(&cfg.HolderTimeout, DefaultHolderTimeout)
	setDefault(&cfg.CellTimeout, DefaultCellTimeout)
	setDefault(&cfg.StaleDelay, DefaultStaleDelay)
	setDefault(&cfg.AgentStallTimeout, DefaultAgentStallTimeout)
	if cfg.MaxFrameBytes <= 0 {
		cfg.MaxFrameBytes = protocol.DefaultMaxFrameBytes
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.RestartChild == nil {
		cfg.RestartChild = func(name string) error { return fmt.Errorf("%q cannot be restarted here", name) }
	}
	r := &Router{
		cfg: cfg, journal: journal, executions: executions, log: cfg.Log,
		inFlight: newInFlightRequests(),
	}
	r.cellRuns = newCellLimiter(cfg.CellRunLimit, r.stopCellAtLimit)
	return r
}

// EntryTypePeerEnded is the type of the trace entry which says that a peer's connection has ended,
// and why. It is on the hop "session" and comes before the entries for the requests that fail
// because of it.
const EntryTypePeerEnded = "peer_ended"

// EntryTypeHolderChanged is the type of the trace entry which says who holds the document from then on: the
// server, or a console. It is on the hop "session".
const EntryTypeHolderChanged = "holder"

// recordSessionEvent appends an entry with this type and content to the trace, on the hop
// "session". consoleID is the number of the console that it is about; 0 means none.
func (r *Router) recordSessionEvent(eventType string, consoleID int, content map[string]any) {
	f := newFrame(content)
	r.journal.Append(trace.Entry{
		Hop: trace.HopSession, ConsoleID: consoleID, Envelope: protocol.Envelope{Type: eventType}, Body: f.body,
	})
}

// recordPeerEnded appends an entry of type peer_ended to the trace, with the reason for which
// the peer's connection ended.
func (r *Router) recordPeerEnded(p *Peer) {
	reason := p.closeReason
	if p.endErr != nil {
		reason = p.endErr.Error()
	}
	f := newFrame(map[string]any{"type": EntryTypePeerEnded, "peer": p.name, "conn": p.consoleID, "reason": reason})
	f.envelope.Action = p.name
	r.journal.Append(trace.Entry{Hop: trace.HopSession, ConsoleID: p.consoleID, Envelope: f.envelope, Body: f.body})
}

// ErrClosed is returned by the Attach methods of a Router that was closed.
var ErrClosed = errors.New("the session has ended")

// replacedCloseReason is the close reason for a console's connection when the same console has
// connected again.
const replacedCloseReason = "the same console has connected again"

// attachPeer adds the peer p to the session: it calls register while mu is held, and starts p's
// goroutines. If the router is closed it closes p's connection and returns ErrClosed.
func (r *Router) attachPeer(p *Peer, register func()) (*Peer, error) {
	r.mu.Lock()
	closed := r.closed
	if !closed {
		register()
		r.goroutines.Go(p.run)
	}
	r.mu.Unlock()
	if closed {
		_ = p.conn.Close(protocol.CloseGoingAway, ErrClosed.Error())
		return nil, ErrClosed
	}
	return p, nil
}

// Close fails the requests in flight, gives each peer 1 s to read the frames queued for it,
// closes every connection with this code and reason and waits until all goroutines have ended.
// Views are closed last, after they were sent all entries of the trace.
func (r *Router) Close(code protocol.CloseCode, reason string) {
	r.mu.Lock()
	r.closed = true
	views, others := slices.Clone(r.views), r.peersExceptViewsLocked()
	r.mu.Unlock()
	r.inFlight.close(reason)
	for _, p := range others {
		p.closeAfterQueueIsWritten(code, reason)
	}
	for _, p := range others {
		<-p.done
	}
	r.cellRuns.endAll()          // no kernel is left to start a run
	for _, view := range views { // they are shown what the others have said until now
		view.peer.closeAfterQueueIsWritten(code, reason)
	}
	r.goroutines.Wait()
}

// peersExceptViewsLocked returns all attached peers except for views. The caller holds mu.
func (r *Router) peersExceptViewsLocked() []*Peer {
	var peers []*Peer
	for _, console := range r.runConsoles {
		peers = append(peers, console.peer)
	}
	for _, p := range []*Peer{r.agent, r.kernel, r.holder} {
		if p != nil {
			peers = append(peers, p)
		}
	}
	return peers
}

// QueueDepth is how many frames and bytes wait to be written to one peer.
type QueueDepth struct {
	PeerName      string // agent, kernel, notebook, console (a holder), view or run
	ConsoleID     int    // number of the console; 0: not a console
	Frames, Bytes int
}

// QueueDepths returns how many frames and bytes wait to be written to each peer.
func (r *Router) QueueDepths() []QueueDepth {
	r.mu.Lock()
	defer r.mu.Unlock()
	peers := r.peersExceptViewsLocked()
	for _, view := range r.views {
		peers = append(peers, view.peer)
	}
	depths := make([]QueueDepth, len(peers))
	for i, p := range peers {
		frames, bytes := p.outgoing.depth()
		depths[i] = QueueDepth{PeerName: p.name, ConsoleID: p.consoleID, Frames: frames, Bytes: bytes}
	}
	return depths
}
