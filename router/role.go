package router

import "context"

// peerRole is how the router treats one kind of peer. The implementations are agentRole,
// kernelRole, documentRole, holderRole, runConsoleRole and viewRole. The peer's goroutines call
// the methods, except for onQueueFull and onSentWhileEnding, which are called by the goroutine
// that sends the peer a frame.
type peerRole interface {
	// routeFrame routes a frame that the peer has sent.
	routeFrame(p *Peer, f frame)

	// waitToRead is called before each read and returns when the next frame may be
	// read. An error ends the peer.
	waitToRead(ctx context.Context, p *Peer) error

	// reportMalformed tells the peer what is wrong with a message that it has sent
	// and that cannot be read.
	reportMalformed(p *Peer, problem string)

	// onQueueFull deals with a frame that the peer's queue has no room for.
	onQueueFull(p *Peer, f frame)

	// onSentWhileEnding deals with a frame that was sent to the peer while it was ending.
	onSentWhileEnding(p *Peer, f frame)

	// onEnded is called once, when the peer has ended. unsent are the frames that
	// were queued and not written.
	onEnded(p *Peer, unsent []frame)
}

// traceFedRole is a role whose peer is sent entries of the trace by its own goroutine: a
// view.
type traceFedRole interface {
	// sendTraceUntilDone sends the peer what there is to send, until ctx ends. When stop is
	// closed it sends what there is by then, closes the peer's queue and returns.
	sendTraceUntilDone(ctx context.Context, p *Peer, stop <-chan struct{})
}

// defaultPeerRole has the default implementations of the methods of [peerRole]; the roles embed it.
type defaultPeerRole struct{ router *Router }

// waitToRead blocks while too many trace entries wait to be written to the trace file. It fails
// as [trace.Journal.WaitForRoom] does.
func (d defaultPeerRole) waitToRead(ctx context.Context, _ *Peer) error {
	return d.router.journal.WaitForRoom(ctx)
}

// reportMalformed does nothing: by default a peer is not told that its message could not be
// read.
func (d defaultPeerRole) reportMalformed(*Peer, string) {}

// onQueueFull closes the connection of a console for whose frames there is no room because it
// reads too slowly, and records f as dropped.
func (d defaultPeerRole) onQueueFull(p *Peer, f frame) { p.closeAsTooSlow(f) }

// onSentWhileEnding ignores a frame that was sent to a console which is disconnecting; it is
// not recorded either.
func (d defaultPeerRole) onSentWhileEnding(*Peer, frame) {}
