package router

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"assay/internal/protocol"
	"assay/internal/trace"
)

// AttachView adds a console's /agent connection that shows the server's own
// document. first makes what it is told first, and a follower that stands where
// that ends; it is called while no kernel frame passes. From there on the view
// is sent the document's events, the frames of runs and those of the agent, in
// the order of the trace. id is its number, which no other console has; run is
// that of the console's /run connection, to which frames of runs then no longer
// go, 0: it has named none.
//
// What a view is sent is not entered in the trace, which has it.
func (r *Router) AttachView(conn protocol.Conn, id, run int, first func() ([]byte, *trace.Follower)) (*Peer, error) {
	r.kernelOrder.Lock()
	defer r.kernelOrder.Unlock()
	state, follow := first()
	return r.attach(conn, id, "view", trace.ConsoleToServer, "", func(p *Peer) {
		p.tie, p.complain = run, p.sendAgentError
		p.handle, p.before, p.overflow, p.ended = r.fromView, r.journal.WaitForRoom, p.tooSlow, r.viewEnded
		p.behind = newQueue()
		p.feed = func(ctx context.Context, last <-chan struct{}) { p.show(ctx, last, follow) }
		r.views = append(r.views, p)
		r.tie()
		p.send(item{env: protocol.Envelope{Type: protocol.TypeNotebookState}, body: state})
	})
}

// MaxViewLagBytes is how far a view may be behind the trace, in bytes of entries. What it
// has not been shown stays in memory, once for all views; beyond that it is sent
// away.
const MaxViewLagBytes = 64 << 20

// lagLook is how often it is looked how far behind a view is that does not read.
const lagLook = time.Second

// feed is what shows a view the trace, at the view's own pace: what does not fit
// into its queue waits in the journal.
type feed struct {
	peer   *Peer
	follow *trace.Follower

	next     *trace.Entry // it has been read, and there was no room for it
	answer   item         // it waits until the view has been shown what came before it
	answered bool         // there is such an answer
	until    int64        // the entry that came last before it
}

// show sends a view what the trace brings and the answers to what it has asked,
// until the view ends; when last is closed, what there is then, and no more.
func (p *Peer) show(ctx context.Context, last <-chan struct{}, follow *trace.Follower) {
	f := &feed{peer: p, follow: follow}
	for ending := false; ctx.Err() == nil; {
		more, look := follow.Ready(), (<-chan time.Time)(nil)
		caughtUp := f.on()
		switch {
		case caughtUp && ending:
			p.queue.close()
			return
		case follow.UnreadBytes() > MaxViewLagBytes:
			p.end(protocol.ClosePolicyViolation, tooFarBehind, errors.New(tooFarBehind))
			return
		case !caughtUp:
			more, look = nil, time.After(lagLook)
		case follow.IsJournalClosed():
			more = nil
		}
		select {
		case <-more:
		case <-p.behind.wake:
		case <-p.queue.freed:
		case <-look:
		case <-last:
			ending, last = true, nil
		case <-ctx.Done():
		}
	}
}

// tooFarBehind is why a view is sent away.
const tooFarBehind = "too slow: more than 64 MiB were waiting"

// on shows what there is, each answer behind what the trace has had until it
// came: who reads that a cell was made has been shown it. false: the view's queue
// has no room for all of it.
func (f *feed) on() (caughtUp bool) {
	for {
		if f.next == nil && !f.answered {
			f.answer, f.answered, _ = f.peer.behind.pop()
			f.until, _ = f.peer.router.journal.LastEntry()
		}
		switch {
		case f.next == nil && f.answered && f.follow.LastSeq() >= f.until:
			if f.peer.queue.busy() {
				return false
			}
			f.answered = false
			f.peer.send(f.answer)
			continue
		case f.next == nil:
			f.next = f.follow.TryNext()
		}
		if f.next == nil {
			return true
		}
		if !f.showNext() {
			return false
		}
	}
}

// showNext shows an entry, if it is one that views get. false: there is no room.
func (f *feed) showNext() bool {
	p, entry := f.peer, f.next
	busy := p.queue.busy()
	switch {
	case !isShown(entry), isStream(entry.Type) && busy:
	case busy:
		return false
	default:
		p.showOne(entry)
	}
	f.next = nil
	return true
}

func (p *Peer) showOne(entry *trace.Entry) {
	body, err := numbered(entry)
	if err != nil {
		p.router.log.Warn("a frame cannot be shown", "seq", entry.Seq, "error", err)
		return
	}
	p.send(item{env: entry.Envelope, body: body})
}

// sendBehind sends a view an answer, behind what the trace has until now.
func (p *Peer) sendBehind(it item) {
	if full, _ := p.behind.push(it, func() {}); full {
		p.tooSlow(it)
	}
}

// isShown tells whether a view gets an entry.
func isShown(e *trace.Entry) bool {
	switch e.Hop {
	case trace.HopNotebook:
		return true
	case trace.KernelToServer:
		return isOfRun(e.Type)
	case trace.AgentToServer:
		return isTold(e.Type) && e.Note != trace.NoteMalformed
	default:
		return false
	}
}

// isStream tells whether a frame shows a reply while it arrives: the reply
// follows whole, so these may be left out.
func isStream(kind string) bool {
	switch kind {
	case protocol.TypeAgentStreamStart, protocol.TypeAgentStreamBlock, protocol.TypeAgentStreamDelta,
		protocol.TypeAgentStreamStop, protocol.TypeAgentStreamComplete:
		return true
	default:
		return false
	}
}

// numbered is the body of an entry with its place in the trace, "seq", as the
// last member: that one counts.
func numbered(e *trace.Entry) ([]byte, error) {
	body, err := protocol.ToJSON(e.Body)
	if err != nil {
		return nil, err
	}
	end := bytes.LastIndexByte(body, '}')
	if end < 0 {
		return nil, protocol.ErrMalformed
	}
	out := make([]byte, 0, end+32)
	out = append(out, bytes.TrimRight(body[:end], " \t\r\n")...)
	if out[len(out)-1] != '{' {
		out = append(out, ',')
	}
	out = append(out, `"seq":`...)
	return append(strconv.AppendInt(out, e.Seq, 10), '}'), nil
}

// fromView routes what a console sends that shows the document.
func (r *Router) fromView(p *Peer, it item) {
	if it.env.Type != protocol.TypeNotebookAction {
		r.fromAgentConsole(p, it)
		return
	}
	if it, may := r.enterOwned(p, it); may {
		r.askForView(p, it)
	}
}

// askForView asks what a person asks at a view. The id in the answer is the
// view's own.
func (r *Router) askForView(p *Peer, it item) {
	reply := func(a answer) {
		p.sendBehind(respond(protocol.TypeNotebookActionResponse, it.env.TxID, it.env.Action, a))
	}
	var message struct {
		Params map[string]any `json:"params"`
	}
	r.mu.Lock()
	refusal := r.refusal
	r.mu.Unlock()
	kernel, document, _ := place(it.env.Action)
	err := json.Unmarshal(it.body, &message)
	switch {
	case err != nil:
		reply(answer{failed: err.Error()})
	case !kernel && !document:
		reply(answer{failed: fmt.Sprintf("unknown action %q", it.env.Action)})
	case refusal != "" && it.env.Action != "get_context":
		reply(answer{failed: refusal})
	default:
		r.ask(protocol.NewServerTxID(), it.env.Action, message.Params, it.ref, reply)
	}
}

// respond makes the response of this kind to a request out of its answer, or of
// the kernel's reply.
func respond(kind, tx, action string, a answer) item {
	failed := func(text string) item {
		response := protocol.ActionError(tx, text)
		response.Type = kind
		it := message(response)
		it.note = a.note
		return it
	}
	if a.failed != "" {
		return failed(a.failed)
	}
	fields := []protocol.Field{{Name: "type", Value: kind}, {Name: "tx_id", Value: tx}, {Name: "agent_tx_id"}}
	switch a.it.env.Status {
	case "", protocol.StatusOK, protocol.StatusSuccess:
		fields = append(fields, protocol.Field{Name: "status", Value: protocol.StatusSuccess})
	case protocol.StatusInterrupted:
		fields = append(fields, protocol.Field{Name: "status", Value: protocol.StatusError},
			protocol.Field{Name: "error", Value: action + " was interrupted"})
	}
	body, err := protocol.ReplaceFields(a.it.body, fields...)
	if err != nil {
		return failed(err.Error())
	}
	it := frame(body)
	it.cause = a.it.ref
	return it
}

func (r *Router) viewEnded(p *Peer, _ []item) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.views = slices.DeleteFunc(r.views, func(v *Peer) bool { return v == p })
	r.tie()
}

// tie notes which consoles have a view. The caller holds mu.
func (r *Router) tie() {
	r.tied = map[int]bool{}
	for _, view := range r.views {
		r.tied[view.tie] = true
	}
}

// SendToAgentConsoles sends every console at /agent a message of the server's own.
func (r *Router) SendToAgentConsoles(msg any) {
	it := message(msg)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.holder != nil && !r.ownDoc {
		r.holder.send(it)
	}
	for _, view := range r.views {
		view.sendBehind(it)
	}
}
