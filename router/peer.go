package router

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"assay/internal/protocol"
	"assay/internal/trace"
)

// peerFinishTimeout is how long a peer may take to read the frames queued for it when the
// session ends, before its connection is closed.
const peerFinishTimeout = time.Second

// Peer is one connection of a session: the agent's, the kernel's, a console's or that of the
// server's own document. It lives until its connection ends or the router ends it. Its exported
// methods are safe for concurrent use.
type Peer struct {
	router    *Router
	conn      protocol.Conn
	role      peerRole
	name      string // agent, kernel, notebook, console (a holder), view or run
	consoleID int    // number of the console; 0: not a console
	outgoing  *frameQueue

	// hopIn and hopOut are the trace's hops for frames from and to the peer; empty:
	// these frames are not recorded.
	hopIn, hopOut trace.Hop

	// pairedConsole is, of a connection at /agent, the number of the same console's
	// connection at /run; 0: it has named none.
	pairedConsole int

	finishOnce sync.Once
	stopFeed   chan struct{} // closed by finish: the feeder sends what there is and ends

	endOnce     sync.Once     // guards closeCode, closeReason and endErr
	ending      chan struct{} // closed by end
	closeCode   protocol.CloseCode
	closeReason string
	endErr      error
	done        chan struct{} // closed when the peer has ended
}

// peerConfig has the fields of a new [Peer] that depend on its kind.
type peerConfig struct {
	role          peerRole
	name          string
	consoleID     int
	hopIn, hopOut trace.Hop
	pairedConsole int
}

// newPeer returns a peer on conn with an empty queue. It starts no goroutine; see
// Router.attachPeer.
func newPeer(r *Router, conn protocol.Conn, cfg peerConfig) *Peer {
	return &Peer{
		router: r, conn: conn, role: cfg.role, name: cfg.name, consoleID: cfg.consoleID, outgoing: newFrameQueue(),
		hopIn: cfg.hopIn, hopOut: cfg.hopOut, pairedConsole: cfg.pairedConsole,
		stopFeed: make(chan struct{}), ending: make(chan struct{}), done: make(chan struct{}),
	}
}

// ConsoleID returns the number of the console, from 1 on; 0 if the peer is not a console.
func (p *Peer) ConsoleID() int { return p.consoleID }

// Done returns a channel that is closed when the peer's connection has ended and the peer was
// removed from the session.
func (p *Peer) Done() <-chan struct{} { return p.done }

// Err returns why the peer's connection ended. Call it only after the channel of Done is
// closed. It is io.EOF if the peer closed the connection, a *subprocess.ExitError if the peer
// was a process that died, and nil if the router closed the connection.
func (p *Peer) Err() error { return p.endErr }

// Disconnect starts closing the peer's connection with this close code and reason. It does not
// wait until the connection is closed; see Done.
func (p *Peer) Disconnect(code protocol.CloseCode, reason string) { p.beginClose(code, reason, nil) }

// run reads and writes the peer's frames until its connection has ended, then records the end
// in the trace, calls the role's onEnded and closes the channel of Done.
func (p *Peer) run() {
	ctx, cancel := context.WithCancel(context.Background())
	var loops sync.WaitGroup
	loops.Go(p.writeLoop)
	if feeder, ok := p.role.(traceFedRole); ok {
		loops.Go(func() { feeder.sendTraceUntilDone(ctx, p, p.stopFeed) })
	}
	loops.Go(func() {
		<-p.ending
		cancel()
		_ = p.conn.Close(p.closeCode, p.closeReason) // a WebSocket's closing handshake may take seconds
	})
	err := p.readLoop(ctx)
	p.beginClose(protocol.CloseNormal, "", err)
	loops.Wait()
	p.router.recordPeerEnded(p)
	p.role.onEnded(p, p.outgoing.closeAndEmpty())
	close(p.done)
}

// beginClose starts closing the peer's connection. Only the first call has an effect: it sets the
// close code and reason, and the error that Err returns.
func (p *Peer) beginClose(code protocol.CloseCode, reason string, err error) {
	p.endOnce.Do(func() {
		p.closeCode, p.closeReason, p.endErr = code, reason, err
		p.outgoing.close()
		close(p.ending)
	})
}

// closeAfterQueueIsWritten closes the peer's connection once all queued frames are written, or after
// peerFinishTimeout. It does not wait for that.
func (p *Peer) closeAfterQueueIsWritten(code protocol.CloseCode, reason string) {
	if _, ok := p.role.(traceFedRole); !ok { // which closes the queue itself
		p.outgoing.close()
	}
	p.finishOnce.Do(func() { close(p.stopFeed) })
	p.router.goroutines.Go(func() {
		timeout := time.NewTimer(peerFinishTimeout)
		defer timeout.Stop()
		select {
		case <-p.outgoing.drained:
		case <-p.ending:
		case <-timeout.C:
		}
		p.beginClose(code, reason, nil)
	})
}

// readLoop reads frames from the peer and routes them until the connection fails, and returns
// the error. A message that is malformed or nested too deeply is recorded, logged, reported to
// the peer and otherwise ignored.
func (p *Peer) readLoop(ctx context.Context) error {
	decoder := protocol.NewEnvelopeDecoder()
	for {
		if err := p.role.waitToRead(ctx, p); err != nil {
			return err
		}
		body, err := p.conn.Read()
		if err != nil {
			return err
		}
		env, err := decoder.Decode(body)
		if err == nil && isNestedTooDeep(body) {
			err = fmt.Errorf("it is nested more than %d levels deep", maxNestingDepth)
		}
		if err == nil && !protocol.IsRawFrame(body) && protocol.HasNumberLongerThan(body, maxNumberDigits) {
			err = fmt.Errorf("it has a number of more than %d characters", maxNumberDigits)
		}
		if err != nil {
			p.router.log.Warn("malformed message", "peer", p.name, "error", err)
			p.recordReceived(frame{body: body}, trace.NoteMalformed)
			p.role.reportMalformed(p, err.Error())
			continue
		}
		p.dispatchFrame(frame{envelope: env, body: body})
	}
}

// maxNestingDepth is how many levels deep the JSON of a message may be nested. Encoders give up
// at 10,000 levels and Python's reader at less than 1,000, and the limit is lower because parts
// of a message become parts of others: an output goes into the message about its run that the
// agent gets, and into the hello message of every later console.
const maxNestingDepth = 500

// maxNumberDigits is how long a number in a message may be. Python's reader fails at an integer of more than
// 4,300 digits.
const maxNumberDigits = 4000

// isNestedTooDeep reports whether the JSON of a well-formed message is nested more than
// maxNestingDepth levels deep.
func isNestedTooDeep(body []byte) bool {
	if protocol.IsRawFrame(body) || bytes.Count(body, []byte("["))+bytes.Count(body, []byte("{")) <= maxNestingDepth {
		return false
	}
	return protocol.IsDeeperThan(body, maxNestingDepth)
}

// dispatchFrame passes one frame that the peer has sent to its role. If routing panics, the panic is
// logged as an error and only this frame is lost.
func (p *Peer) dispatchFrame(f frame) {
	defer func() {
		if fault := recover(); fault != nil {
			p.router.log.Error("a message could not be routed", "peer", p.name, "type", f.envelope.Type,
				"panic", fmt.Sprint(fault), "stack", string(debug.Stack()))
		}
	}()
	p.role.routeFrame(p, f)
}

// writeLoop writes the queued frames to the peer's connection until the queue is closed and
// empty, or the connection fails.
func (p *Peer) writeLoop() {
	for {
		f, ok, closed := p.outgoing.pop()
		switch {
		case ok:
			if !p.writeFrame(f) {
				return
			}
		case closed:
			close(p.outgoing.drained)
			return
		default:
			select {
			case <-p.outgoing.pushed:
			case <-p.ending:
				return
			}
		}
	}
}

// writeFrame writes one frame to the peer's connection. It returns false if the connection has
// failed. A frame larger than the connection allows is logged, recorded as dropped and skipped.
func (p *Peer) writeFrame(f frame) bool {
	err := p.conn.Write(f.body)
	var tooLarge *protocol.FrameLengthError
	switch {
	case err == nil:
		return true
	case errors.As(err, &tooLarge):
		p.router.log.Warn("a message was not sent", "peer", p.name, "type", f.envelope.Type, "error", err)
		p.recordDroppedFrame(f)
		return true
	default:
		p.beginClose(protocol.CloseNormal, "", err)
		return false
	}
}

// recordReceived appends a frame that came from the peer to the trace, with a note. It returns the
// frame with the entry's number, so that forwarding it does not record its body again.
func (p *Peer) recordReceived(f frame, note trace.Note) frame {
	if p.hopIn != "" {
		f.bodySeq = p.router.journal.Append(trace.Entry{
			Hop: p.hopIn, ConsoleID: p.consoleID, Envelope: f.envelope, Note: note, Body: f.body,
		})
	}
	return f
}

// send queues a frame for the peer and appends it to the trace. It returns false if the queue
// is full; the role's onQueueFull has then handled the frame.
func (p *Peer) send(f frame) bool {
	full, _ := p.sendWithCallback(f, func() {})
	return !full
}

// sendWithCallback queues a frame for the peer, appends it to the trace and calls accepted
// before the frame can be written. It returns full if the queue had no room, and closed if the
// peer is disconnecting; the role's onQueueFull or onSentWhileEnding has then handled the
// frame, and accepted is not called.
func (p *Peer) sendWithCallback(f frame, accepted func()) (full, closed bool) {
	full, closed = p.outgoing.push(f, func() {
		p.recordSent(f, f.note)
		accepted()
	})
	switch {
	case full:
		p.role.onQueueFull(p, f)
	case closed:
		p.role.onSentWhileEnding(p, f)
	}
	return full, closed
}

// recordDroppedFrame appends an entry to the trace which says that a frame for the peer was dropped.
func (p *Peer) recordDroppedFrame(f frame) { p.recordSent(f, trace.NoteDropped) }

// recordSent appends a frame for the peer to the trace, with a note. The entry has the body only
// if no earlier entry has it. It does nothing for peers whose frames are not recorded.
func (p *Peer) recordSent(f frame, note trace.Note) {
	if p.hopOut == "" {
		return
	}
	entry := trace.Entry{
		Hop: p.hopOut, ConsoleID: p.consoleID, Envelope: f.envelope, Note: note, BodyBytes: len(f.body), RefSeq: f.bodySeq, CauseSeq: f.causeSeq,
	}
	switch {
	case f.bodySeq != 0:
	case f.traceBody != nil:
		entry.Body = f.traceBody
	default:
		entry.Body = f.body
	}
	p.router.journal.Append(entry)
}

// closeAsTooSlow records the frame f as dropped and closes the connection of a console that
// does not read fast enough.
func (p *Peer) closeAsTooSlow(f frame) {
	p.recordDroppedFrame(f)
	text := fmt.Sprintf("too slow: more than %d MiB or %d messages were waiting", MaxQueueBytes>>20, MaxQueueFrames)
	p.beginClose(protocol.ClosePolicyViolation, text, errors.New(text))
}
