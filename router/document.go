package router

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"assay/internal/protocol"
)

// AttachDocument makes the server's own document, which is at the other end of conn, the holder
// of the document, and owns conn from then on. Frames between the two are not recorded in the
// trace, because they cross no wire. It fails with ErrClosed if the router is closed.
func (r *Router) AttachDocument(conn protocol.Conn) (*Peer, error) {
	p := newPeer(r, conn, peerConfig{role: documentRole{defaultPeerRole{r}}, name: "notebook"})
	return r.attachPeer(p, func() {
		r.serverHolds = true
		r.recordSessionEvent(EntryTypeHolderChanged, 0, map[string]any{"type": EntryTypeHolderChanged, "by": "server"})
		r.setHolderLocked(p)
	})
}

// documentRole implements [peerRole] for the server's own document.
type documentRole struct{ defaultPeerRole }

// routeFrame routes a frame from the server's own document: an answer goes to the peer that asked, a
// command such as run_cell goes to the kernel.
func (d documentRole) routeFrame(p *Peer, f frame) {
	if f.envelope.Type == protocol.TypeActionResponse {
		d.router.routeHolderAnswer(p, f)
		return
	}
	f = p.recordReceived(f, "")
	if f.envelope.Type == protocol.TypeSetWidgetValue && f.envelope.AgentTxID != "" {
		d.router.askKernelToSetWidget(f)
		return
	}
	d.router.sendPeerCommandToKernel(p, f)
}

// waitToRead returns nil at once: the server's own document only answers requests, so its
// frames need not be slowed down.
func (documentRole) waitToRead(context.Context, *Peer) error { return nil }

// onQueueFull replies with an error to a request for which the queue of the server's own
// document has no room. The caller holds mu.
func (d documentRole) onQueueFull(_ *Peer, f frame) {
	d.router.failHolderRequestLocked(f.envelope.TxID, "the notebook has too many requests waiting")
}

// onEnded puts the actions that were not yet written to the server's own document into the
// backlog for the next holder.
func (d documentRole) onEnded(p *Peer, unsent []frame) { d.router.keepUnsentActions(p, unsent) }

// askKernelToSetWidget sends the kernel a set_widget_value that the server's own document made
// for a set_widget action. The kernel's reply, or its failure, becomes the answer to that
// action, whose own deadline is stopped.
func (r *Router) askKernelToSetWidget(f frame) {
	actionID := f.envelope.AgentTxID
	request := &pendingRequest{id: protocol.NewServerTxID(), action: "set_widget", answerer: answeredByKernel, timeout: r.cfg.RequestTimeout}
	request.reply = func(a answer) {
		action, _ := r.inFlight.takeByID(actionID)
		if action == nil {
			return // it has ended meanwhile
		}
		action.reply(toSetWidgetAnswer(actionID, f.body, a))
	}
	r.inFlight.stopDeadline(actionID)
	body, err := protocol.ReplaceFields(f.body, protocol.Field{Name: "agent_tx_id", Value: request.id})
	if err != nil {
		request.reply(answer{failure: err.Error()})
		return
	}
	toKernel := newFrameFromBody(body)
	toKernel.causeSeq = f.bodySeq
	if r.inFlight.add(request, r.replyWithKernelTimeoutError) {
		r.sendToKernelOrFail(request, toKernel)
	}
}

// toSetWidgetAnswer converts the kernel's answer to a set_widget_value into the answer to the
// set_widget action with the id actionID. body is the set_widget_value that the kernel was
// sent. If the kernel reports an error the result is a failure.
func toSetWidgetAnswer(actionID string, body []byte, a answer) answer {
	if a.failure != "" {
		return a
	}
	if err := errorOfSetWidgetValue(a.frame.body); err != nil {
		return answer{failure: "set_widget: " + err.Error()}
	}
	f := newFrame(setWidgetResponse{
		ActionResponse: protocol.ActionResponse{Type: protocol.TypeActionResponse, TxID: actionID, Status: protocol.StatusSuccess},
		Key:            widgetKeyInCommand(body),
	})
	f.causeSeq = a.frame.bodySeq
	return answer{frame: f}
}

// setWidgetResponse is the JSON of the agent_action_response to a successful set_widget.
type setWidgetResponse struct {
	protocol.ActionResponse
	Key string `json:"key"` // of the widget
}

// errorOfSetWidgetValue returns the error in the kernel's answer to a set_widget_value, or nil if the
// widget was set. It also fails if body is not valid JSON.
func errorOfSetWidgetValue(body []byte) error {
	var response struct {
		Status string            `json:"status"`
		Errors map[string]string `json:"errors"` // by the widget's key; one widget was to be set
	}
	if err := json.Unmarshal(body, &response); err != nil {
		return fmt.Errorf("the kernel's answer: %w", err)
	}
	for key, text := range response.Errors {
		return fmt.Errorf("%s: %s", key, text)
	}
	if response.Status == protocol.StatusError {
		return errors.New("the kernel has not set it, and does not say why")
	}
	return nil
}

// widgetKeyInCommand returns the widget key in a set_widget_value message for one widget, or "" if
// it has none.
func widgetKeyInCommand(body []byte) string {
	var message struct {
		Data map[string]json.RawMessage `json:"data"`
	}
	_ = json.Unmarshal(body, &message) // the document's own message is well formed
	for key := range message.Data {
		return key
	}
	return ""
}
