package router

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"assay/internal/protocol"
	"assay/internal/trace"
)

// finishGrace is how long a peer may take to read what is queued for it when
// the session ends.
const finishGrace = time.Second

// Peer is one connection of a session. It lives until its connection ends, or
// its router ends it.
type Peer struct {
	router  *Router
	conn    protocol.Conn
	name    string
	id      int       // which console; 0: not one
	in, out trace.Hop // empty: not traced
	queue   *queue

	tie   int                                             // at /agent: the number of the console's /run; 0: it has named none
	greet func(owner bool) item                           // of a console at /run: what it is told first
	feed  func(ctx context.Context, last <-chan struct{}) // sends it more than others do, and closes its queue behind what there is when last is closed; nil: nothing does

	behind *queue // of a view: answers that wait for their place

	handle   func(p *Peer, it item)          // routes what it sends
	before   func(ctx context.Context) error // called before each read; nil: nothing to wait for
	overflow func(it item)                   // it found the queue full
	complain func(text string)               // says that what it has sent cannot be read; nil: nothing does
	missed   func(it item)                   // it came when the peer was ending; nil: nobody minds
	ended    func(p *Peer, unsent []item)    // it has ended

	stall    sync.Once     // starts the watch over an agent that does not read
	finished sync.Once     // closes last
	last     chan struct{} // closed when nothing more is to come than there is

	once   sync.Once // guards code, reason and err
	ending chan struct{}
	code   protocol.CloseCode
	reason string
	err    error
	done   chan struct{}
}

func newPeer(r *Router, conn protocol.Conn, name string, in, out trace.Hop) *Peer {
	return &Peer{
		router: r, conn: conn, name: name, in: in, out: out, queue: newQueue(),
		last: make(chan struct{}), ending: make(chan struct{}), done: make(chan struct{}),
	}
}

// ConsoleID numbers the consoles of a session, from 1 on; it is 0 for others.
func (p *Peer) ConsoleID() int { return p.id }

// Done is closed when the peer has ended and is no longer part of the session.
func (p *Peer) Done() <-chan struct{} { return p.done }

// Err tells, after Done, why the peer ended: io.EOF when it has closed its
// connection, a *child.ExitError when it was a process that died, and nil when
// the router closed it.
func (p *Peer) Err() error { return p.err }

// Disconnect closes the peer's connection without waiting for it to end.
func (p *Peer) Disconnect(code protocol.CloseCode, reason string) { p.end(code, reason, nil) }

func (p *Peer) run() {
	ctx, cancel := context.WithCancel(context.Background())
	var loops sync.WaitGroup
	loops.Go(p.write)
	if p.feed != nil {
		loops.Go(func() { p.feed(ctx, p.last) })
	}
	loops.Go(func() {
		<-p.ending
		cancel()
		_ = p.conn.Close(p.code, p.reason) // may say goodbye for seconds
	})
	err := p.read(ctx)
	p.end(protocol.CloseNormal, "", err)
	loops.Wait()
	p.router.noteEnd(p)
	p.ended(p, p.queue.rest())
	close(p.done)
}

// end makes the peer end, for the first reason given.
func (p *Peer) end(code protocol.CloseCode, reason string, err error) {
	p.once.Do(func() {
		p.code, p.reason, p.err = code, reason, err
		p.queue.close()
		close(p.ending)
	})
}

// finish ends the peer when it has been sent what is queued, or after
// finishGrace.
func (p *Peer) finish(code protocol.CloseCode, reason string) {
	if p.feed == nil {
		p.queue.close()
	}
	p.finished.Do(func() { close(p.last) })
	p.router.peers.Go(func() {
		late := time.NewTimer(finishGrace)
		defer late.Stop()
		select {
		case <-p.queue.drained:
		case <-p.ending:
		case <-late.C:
		}
		p.end(code, reason, nil)
	})
}

func (p *Peer) read(ctx context.Context) error {
	decoder := protocol.NewEnvelopeDecoder()
	for {
		if p.before != nil {
			if err := p.before(ctx); err != nil {
				return err
			}
		}
		body, err := p.conn.Read()
		if err != nil {
			return err
		}
		env, err := decoder.Decode(body)
		if err == nil && tooDeep(body) {
			err = fmt.Errorf("it is nested more than %d levels deep", depthLimit)
		}
		if err != nil {
			p.router.log.Warn("malformed message", "peer", p.name, "error", err)
			p.enter(item{body: body}, trace.NoteMalformed)
			if p.complain != nil {
				p.complain(err.Error())
			}
			continue
		}
		p.dispatch(item{env: env, body: body})
	}
}

// dispatch routes one message. A fault of ours in doing so costs that message,
// not the session.
func (p *Peer) dispatch(it item) {
	defer func() {
		if fault := recover(); fault != nil {
			p.router.log.Error("a message could not be routed", "peer", p.name, "type", it.env.Type,
				"panic", fmt.Sprint(fault), "stack", string(debug.Stack()))
		}
	}()
	p.handle(p, it)
}

func (p *Peer) write() {
	for {
		it, ok, closed := p.queue.pop()
		switch {
		case ok:
			if !p.writeOne(it) {
				return
			}
		case closed:
			close(p.queue.drained)
			return
		default:
			select {
			case <-p.queue.wake:
			case <-p.ending:
				return
			}
		}
	}
}

func (p *Peer) writeOne(it item) bool {
	err := p.conn.Write(it.body)
	var tooLarge *protocol.FrameLengthError
	switch {
	case err == nil:
		return true
	case errors.As(err, &tooLarge):
		p.router.log.Warn("a message was not sent", "peer", p.name, "type", it.env.Type, "error", err)
		p.drop(it)
		return true
	default:
		p.end(protocol.CloseNormal, "", err)
		return false
	}
}

// enter appends a frame that came from the peer to the trace, and returns it as
// one that can leave again.
func (p *Peer) enter(it item, note trace.Note) item {
	if p.in != "" {
		it.ref = p.router.journal.Append(trace.Entry{
			Hop: p.in, ConsoleID: p.id, Envelope: it.env, Note: note, Body: it.body,
		})
	}
	return it
}

// send queues a frame for the peer and appends it to the trace. false: its
// queue is full, and its overflow has dealt with the frame.
func (p *Peer) send(it item) bool {
	full, _ := p.sendThen(it, func() {})
	return !full
}

// sendThen is send, and calls taken when the frame is in the queue and not
// written yet. closed: the peer is on its way out and has not taken it.
func (p *Peer) sendThen(it item, taken func()) (full, closed bool) {
	full, closed = p.queue.push(it, func() {
		p.leave(it, it.note)
		taken()
	})
	switch {
	case full:
		p.overflow(it)
	case closed && p.missed != nil:
		p.missed(it)
	}
	return full, closed
}

// drop appends to the trace that the peer does not get a frame.
func (p *Peer) drop(it item) { p.leave(it, trace.NoteDropped) }

func (p *Peer) leave(it item, note trace.Note) {
	if p.out == "" {
		return
	}
	entry := trace.Entry{Hop: p.out, ConsoleID: p.id, Envelope: it.env, Note: note, BodyBytes: len(it.body), RefSeq: it.ref, CauseSeq: it.cause}
	switch {
	case it.ref != 0:
	case it.recorded != nil:
		entry.Body = it.recorded
	default:
		entry.Body = it.body
	}
	p.router.journal.Append(entry)
}

// tooSlow is the overflow of a console: it is closed, and may come back.
func (p *Peer) tooSlow(it item) {
	p.drop(it)
	text := fmt.Sprintf("too slow: more than %d MiB or %d messages were waiting", MaxQueueBytes>>20, MaxQueueFrames)
	p.end(protocol.ClosePolicyViolation, text, errors.New(text))
}
