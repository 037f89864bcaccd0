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

// MaxViewLagBytes is how far a view may be behind the trace, in bytes of entries,
// before its connection is closed. Entries that a view has not been shown stay in
// memory, once for all views.
const MaxViewLagBytes = 64 << 20

// viewLagInterval is how often the lag of a view that does not read is looked at.
const viewLagInterval = time.Second

// tooFarBehindReason is the reason with which a view is closed that is too far
// behind the trace.
const tooFarBehindReason = "too slow: more than 64 MiB were waiting"

// AttachView adds a console's /agent connection that shows the server's own
// document, and owns conn from then on. snapshot makes the first message to it, the
// state so far, and a follower that stands where this state ends; it is called while
// no kernel frame passes. After that the view is sent the document's events, the
// frames of runs and those of the agent, in the order of the trace. id is the
// console's number, which no other console has. runID is the number of the same
// console's connection at /run, which then is sent no frames of runs; 0: it has
// named none.
//
// What a view is sent is not recorded in the trace, as the trace has it already.
// AttachView returns ErrClosed if the router is closed.
func (r *Router) AttachView(conn protocol.Conn, id, runID int, snapshot func() ([]byte, *trace.Follower)) (*Peer, error) {
	r.kernelOrder.Lock()
	defer r.kernelOrder.Unlock()
	state, follower := snapshot()
	view := &viewRole{defaultRole: defaultRole{r}, answers: newQueue(), follower: follower}
	view.peer = newPeer(r, conn, peerConfig{
		role: view, name: "view", consoleID: id, pairedConsole: runID, hopIn: trace.ConsoleToServer,
	})
	return r.attach(view.peer, func() {
		r.views = append(r.views, view)
		r.updatePairedConsolesLocked()
		view.peer.send(frame{envelope: protocol.Envelope{Type: protocol.TypeNotebookState}, body: state})
	})
}

// viewRole is the [role] of a console at /agent that shows the server's own
// document. Its feed shows it the trace at the view's pace: entries for which its
// queue has no room wait in the journal.
type viewRole struct {
	defaultRole
	peer     *Peer
	answers  *queue // to its requests; each waits until what came before it was shown
	follower *trace.Follower

	// What the feed has taken and not yet shown; used by the feed's goroutine alone.
	nextEntry   *trace.Entry // nil: none
	nextAnswer  frame
	hasAnswer   bool  // there is a nextAnswer
	answerAfter int64 // the last entry that must be shown before nextAnswer
	isBehind    bool  // an entry had to wait for room since the feed last caught up
}

// route routes a person's actions on the notebook, and what any console at /agent
// may send.
func (v *viewRole) route(p *Peer, f frame) {
	if f.envelope.Type != protocol.TypeNotebookAction {
		v.router.routeFromAgentConsole(p, f)
		return
	}
	if f, allowed := v.router.recordInIfOwner(p, f); allowed {
		v.routeNotebookAction(f)
	}
}

// reportMalformed sends the console an agent_error.
func (v *viewRole) reportMalformed(p *Peer, problem string) { p.sendAgentError(problem) }

// onEnded removes the view.
func (v *viewRole) onEnded(*Peer, []frame) {
	r := v.router
	r.mu.Lock()
	defer r.mu.Unlock()
	r.views = slices.DeleteFunc(r.views, func(other *viewRole) bool { return other == v })
	r.updatePairedConsolesLocked()
}

// updatePairedConsolesLocked notes which consoles have a view, after views have
// come or gone. The caller holds mu.
func (r *Router) updatePairedConsolesLocked() {
	r.pairedConsoles = map[int]bool{}
	for _, view := range r.views {
		r.pairedConsoles[view.peer.pairedConsole] = true
	}
}

// routeNotebookAction asks for what a person wants done to the notebook. The answer
// has the id of the person's request.
func (v *viewRole) routeNotebookAction(f frame) {
	r, action := v.router, f.envelope.Action
	reply := func(a answer) {
		v.sendAnswer(newResponse(protocol.TypeNotebookActionResponse, f.envelope.TxID, action, a))
	}
	var message struct {
		Params map[string]any `json:"params"`
	}
	r.mu.Lock()
	refusal := r.actionRefusal
	r.mu.Unlock()
	err := json.Unmarshal(f.body, &message)
	switch {
	case err != nil:
		reply(answer{failure: err.Error()})
	case routeOf(action) == routeUnknown:
		reply(answer{failure: fmt.Sprintf("unknown action %q", action)})
	case refusal != "" && action != "get_context":
		reply(answer{failure: refusal})
	default:
		r.ask(protocol.NewServerTxID(), action, message.Params, f.bodySeq, reply)
	}
}

// sendAnswer sends the view a frame after everything that the trace has by now. A
// view with too many waiting answers is closed.
func (v *viewRole) sendAnswer(f frame) {
	if full, _ := v.answers.push(f, func() {}); full {
		v.peer.closeAsTooSlow(f)
	}
}

// SendToAgentConsoles sends every console at /agent one of the server's own
// messages.
func (r *Router) SendToAgentConsoles(message any) {
	f := newFrame(message)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.holder != nil && !r.serverHolds {
		r.holder.send(f)
	}
	for _, view := range r.views {
		view.sendAnswer(f)
	}
}

// feed shows the view what the trace brings, and sends it answers, until the view
// ends. It closes the view's connection if it is too far behind.
func (v *viewRole) feed(ctx context.Context, p *Peer, stop <-chan struct{}) {
	for stopping := false; ctx.Err() == nil; {
		newEntries, lookAgain := v.follower.Ready(), (<-chan time.Time)(nil)
		caughtUp := v.showAvailable()
		switch {
		case caughtUp && stopping:
			p.outgoing.close()
			return
		case v.follower.UnreadBytes() > MaxViewLagBytes:
			p.end(protocol.ClosePolicyViolation, tooFarBehindReason, errors.New(tooFarBehindReason))
			return
		case !caughtUp:
			newEntries, lookAgain = nil, time.After(viewLagInterval)
		case v.follower.IsJournalClosed():
			newEntries = nil
		}
		select {
		case <-newEntries:
		case <-v.answers.pushed:
		case <-p.outgoing.popped:
		case <-lookAgain:
		case <-stop:
			stopping, stop = true, nil
		case <-ctx.Done():
		}
	}
}

// showAvailable shows the view the entries that there are, and sends it each answer
// after the entries that came before it: an answer that says that a cell was made
// comes after the cell. It returns false if the view's queue has no room for all of
// it.
func (v *viewRole) showAvailable() (caughtUp bool) {
	for {
		if v.nextEntry == nil && !v.hasAnswer {
			v.nextAnswer, v.hasAnswer, _ = v.answers.pop()
			v.answerAfter, _ = v.router.journal.LastEntry()
		}
		switch {
		case v.nextEntry == nil && v.hasAnswer && v.follower.LastSeq() >= v.answerAfter:
			if v.peer.outgoing.isHalfFull() {
				return false
			}
			v.hasAnswer = false
			v.peer.send(v.nextAnswer)
			continue
		case v.nextEntry == nil:
			v.nextEntry = v.follower.TryNext()
		}
		if v.nextEntry == nil {
			v.isBehind = false
			return true
		}
		if !v.showNextEntry() {
			return false
		}
	}
}

// showNextEntry sends the view its next entry if it is one that views are shown. It
// returns false if there is no room. While the view is behind, pieces of a stream
// are left out: the whole reply follows them.
func (v *viewRole) showNextEntry() bool {
	entry := v.nextEntry
	noRoom := v.peer.outgoing.isHalfFull()
	switch {
	case !isShownToViews(entry), isStreamFrame(entry.Type) && (noRoom || v.isBehind):
	case noRoom:
		v.isBehind = true
		return false
	default:
		v.sendEntry(entry)
	}
	v.nextEntry = nil
	return true
}

func (v *viewRole) sendEntry(entry *trace.Entry) {
	body, err := bodyWithSeq(entry)
	if err != nil {
		v.router.log.Warn("a frame cannot be shown", "seq", entry.Seq, "error", err)
		return
	}
	v.peer.send(frame{envelope: entry.Envelope, body: body})
}

// isShownToViews reports whether views are sent an entry of the trace.
func isShownToViews(e *trace.Entry) bool {
	switch e.Hop {
	case trace.HopNotebook:
		return true
	case trace.KernelToServer:
		return isRunFrame(e.Type)
	case trace.AgentToServer:
		return isForwarded(e.Type) && e.Note != trace.NoteMalformed
	default:
		return false
	}
}

// bodyWithSeq returns the body of an entry with the entry's number as its last
// member, "seq". If the body has a member of this name, the last one counts.
func bodyWithSeq(e *trace.Entry) ([]byte, error) {
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
