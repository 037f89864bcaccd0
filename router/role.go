package router

import "context"

// role is what the router does for one kind of peer. There is a type for each:
// agentRole, kernelRole, documentRole, holderRole, runConsoleRole and viewRole.
// The goroutines of its peer call these methods, but onQueueFull and
// onSentWhileEnding, which the sender of the frame calls.
type role interface {
	// route routes a frame that the peer has sent.
	route(p *Peer, f frame)

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

// feeder is a role that fills its peer's queue from the trace.
type feeder interface {
	// feed sends the peer what there is to send, until ctx ends. When stop is
	// closed it sends what there is by then, closes the peer's queue and returns.
	feed(ctx context.Context, p *Peer, stop <-chan struct{})
}

// defaultRole has the methods that most roles share.
type defaultRole struct{ router *Router }

// waitToRead waits while the trace cannot keep up.
func (d defaultRole) waitToRead(ctx context.Context, _ *Peer) error {
	return d.router.journal.WaitForRoom(ctx)
}

// reportMalformed does nothing.
func (d defaultRole) reportMalformed(*Peer, string) {}

// onQueueFull closes the connection of a console that reads too slowly.
func (d defaultRole) onQueueFull(p *Peer, f frame) { p.closeAsTooSlow(f) }

// onSentWhileEnding does nothing: a console that is closing gets nothing more.
func (d defaultRole) onSentWhileEnding(*Peer, frame) {}
