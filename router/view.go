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

// MaxViewLagBytes is how many bytes of trace entries a view may have left unread before its
// connection is closed. Unread entries are kept in memory, once for all views.
const MaxViewLagBytes = 64 << 20

// viewLagCheckInterval is the time between two checks of how far a view that does not read is behind
// the trace.
const viewLagCheckInterval = time.Second

// tooFarBehindCloseReason is the close reason for a view that is more than MaxViewLagBytes behind
// the trace.
const tooFarBehindCloseReason = "too slow: more than 64 MiB were waiting"

// AttachView adds a console's /agent connection that shows the server's own document, and owns
// conn from then on. id is the console's number, which no other console has; runID is the
// number of the same console's connection at /run, which is then sent no frames of runs, or 0
// if unknown. snapshot makes the view's first message, with the state so far, and returns a
// follower of the trace that continues after that state. After it the view is sent the
// document's events, the frames of runs and those of the agent, in the order of the trace.
//
// Messages to a view are not recorded in the trace, because their content is in it already.
// AttachView fails with ErrClosed if the router is closed.
func (r *Router) AttachView(conn protocol.Conn, id, runID int, snapshot func() ([]byte, *trace.Follower)) (*Peer, error) {
	r.kernelOrder.Lock()
	defer r.kernelOrder.Unlock()
	state, follower := snapshot()
	view := &viewRole{defaultPeerRole: defaultPeerRole{r}, answers: newFrameQueue(), follower: follower}
	view.peer = newPeer(r, conn, peerConfig{
		role: view, name: "view", consoleID: id, pairedConsole: runID, hopIn: trace.ConsoleToServer,
	})
	return r.attachPeer(view.peer, func() {
		r.views = append(r.views, view)
		r.updateRunConsolesWithViewLocked()
		view.peer.send(frame{envelope: protocol.Envelope{Type: protocol.TypeNotebookState}, body: state})
	})
}

// viewRole implements [peerRole] for a console at /agent that shows the server's own document. It
// sends the console the entries of the trace at the console's pace: entries for which its queue
// has no room wait in the journal.
type viewRole struct {
	defaultPeerRole
	peer     *Peer
	answers  *frameQueue // to its requests; each waits until what came before it was shown
	follower *trace.Follower

	// What the feed has taken and not yet shown; used by the feed's goroutine alone.
	nextEntry   *trace.Entry // nil: none
	nextAnswer  frame
	hasAnswer   bool  // there is a nextAnswer
	answerAfter int64 // the last entry that must be shown before nextAnswer
	isBehind    bool  // an entry had to wait for room since the feed last caught up
}

// routeFrame routes a frame from a view: a person's notebook_action is carried out if the view
// belongs to the session's owner; other frames are routed as from any console at /agent.
func (v *viewRole) routeFrame(p *Peer, f frame) {
	if f.envelope.Type != protocol.TypeNotebookAction {
		v.router.routeFromAgentConsole(p, f)
		return
	}
	if f, allowed := v.router.recordIfFromOwner(p, f); allowed {
		v.routeNotebookAction(f)
	}
}

// reportMalformed sends the view an agent_error with problem, which says why its message could
// not be read.
func (v *viewRole) reportMalformed(p *Peer, problem string) { p.sendErrorToAgentConsole(problem) }

// onEnded removes a view whose connection has ended from the router.
func (v *viewRole) onEnded(*Peer, []frame) {
	r := v.router
	r.mu.Lock()
	defer r.mu.Unlock()
	r.views = slices.DeleteFunc(r.views, func(other *viewRole) bool { return other == v })
	r.updateRunConsolesWithViewLocked()
}

// updateRunConsolesWithViewLocked recomputes which consoles at /run have a view, after a view was
// added or removed. The caller holds mu.
func (r *Router) updateRunConsolesWithViewLocked() {
	r.pairedConsoles = map[int]bool{}
	for _, view := range r.views {
		r.pairedConsoles[view.peer.pairedConsole] = true
	}
}

// routeNotebookAction carries out a person's action on the notebook and sends the view the
// answer under the id of the person's request. An unknown or refused action is answered with an
// error.
func (v *viewRole) routeNotebookAction(f frame) {
	r, action := v.router, f.envelope.Action
	reply := func(a answer) {
		v.queueAnswer(newResponse(protocol.TypeNotebookActionResponse, f.envelope.TxID, action, a))
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
	case routeOfAction(action) == routeUnknown:
		reply(answer{failure: fmt.Sprintf("unknown action %q", action)})
	case refusal != "" && action != "get_context":
		reply(answer{failure: refusal})
	default:
		r.startServerAction(protocol.NewServerTxID(), action, message.Params, f.bodySeq, reply)
	}
}

// queueAnswer queues a frame for the view, to be sent after all entries that the trace has by
// now. If too many frames wait, the view's connection is closed.
func (v *viewRole) queueAnswer(f frame) {
	if full, _ := v.answers.push(f, func() {}); full {
		v.peer.closeAsTooSlow(f)
	}
}

// SendToAgentConsoles sends a message that the server itself made to the holder, if it is a
// console, and to all views; message is encoded as JSON.
func (r *Router) SendToAgentConsoles(message any) {
	f := newFrame(message)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.holder != nil && !r.serverHolds {
		r.holder.send(f)
	}
	for _, view := range r.views {
		view.queueAnswer(f)
	}
}

// sendTraceUntilDone sends the view new entries of the trace and answers to its requests until ctx
// ends, or until stop is closed and everything is sent. It closes the view's connection if more
// than MaxViewLagBytes of entries are unread.
func (v *viewRole) sendTraceUntilDone(ctx context.Context, p *Peer, stop <-chan struct{}) {
	for stopping := false; ctx.Err() == nil; {
		newEntries, lookAgain := v.follower.ReadyChannel(), (<-chan time.Time)(nil)
		caughtUp := v.sendAvailableEntries()
		switch {
		case caughtUp && stopping:
			p.outgoing.close()
			return
		case v.follower.UnreadBytes() > MaxViewLagBytes:
			p.beginClose(protocol.ClosePolicyViolation, tooFarBehindCloseReason, errors.New(tooFarBehindCloseReason))
			return
		case !caughtUp:
			newEntries, lookAgain = nil, time.After(viewLagCheckInterval)
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

// sendAvailableEntries sends the view all entries that the trace has, and each answer after the
// entries that came before it, so that the answer to create_cell comes after the cell. It
// returns false if the view's queue has no room for all of them.
func (v *viewRole) sendAvailableEntries() (caughtUp bool) {
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
		if !v.sendNextEntry() {
			return false
		}
	}
}

// sendNextEntry sends the view its next trace entry, if views are sent entries of this kind. It
// returns false if the view's queue is more than half full. While the view is behind, parts of
// a streamed reply are skipped, because the complete reply follows.
func (v *viewRole) sendNextEntry() bool {
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

// sendEntry sends the view the body of a trace entry with the entry's number added as "seq". It
// logs a warning if the body is malformed.
func (v *viewRole) sendEntry(entry *trace.Entry) {
	body, err := bodyWithSeq(entry)
	if err != nil {
		v.router.log.Warn("a frame cannot be shown", "seq", entry.Seq, "error", err)
		return
	}
	v.peer.send(frame{envelope: entry.Envelope, body: body})
}

// isShownToViews reports whether views are sent this trace entry: events of the document,
// frames of runs, and frames of the agent that consoles may see.
func isShownToViews(e *trace.Entry) bool {
	switch e.Hop {
	case trace.HopNotebook:
		return true
	case trace.KernelToServer:
		return isRunFrame(e.Type)
	case trace.AgentToServer:
		return isForwardedToConsoles(e.Type) && e.Note != trace.NoteMalformed
	default:
		return false
	}
}

// bodyWithSeq returns the JSON body of a trace entry with the entry's number added as the last
// member, "seq". It fails if the body is malformed. If the body has a member "seq" already,
// readers take the last one.
func bodyWithSeq(e *trace.Entry) ([]byte, error) {
	body, err := protocol.BodyToJSON(e.Body)
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
