package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"assay/internal/protocol"
)

// maxLate is how many operations that were given up are remembered.
const maxLate = 16

// operations sends actions to the notebook and matches their answers by tx_id.
// It is safe for concurrent use.
type operations struct {
	wire  *wire
	newID func() string

	mu      sync.Mutex
	pending map[string]chan result // each has room for the one answer
	late    []late                 // the latest, at most maxLate
	sent    int
}

// late is an operation that was given up before its answer came.
type late struct {
	txID string
	undo func(result) // is given the answer that comes after all; must not wait
}

func newOperations(w *wire, newID func() string) *operations {
	return &operations{wire: w, newID: newID, pending: map[string]chan result{}}
}

// result is how an operation ended. Whatever happened to it, there is one: an
// operation that got no answer has ended with an error of ours.
type result struct {
	txID string
	err  string          // what went wrong, "" for success
	body json.RawMessage // the whole response, nil when none came
}

// do carries out an action and waits for its answer, at most limit. Params are
// written as JSON.
func (o *operations) do(ctx context.Context, action string, params any, limit time.Duration) result {
	return o.doOrUndo(ctx, action, params, limit, nil)
}

// doOrUndo is do for an action that must not be left alone: when ctx ends before
// the answer is there, undo is given it when it comes. It is called by whoever
// reads the connection and must not wait. nil ignores the answer.
func (o *operations) doOrUndo(ctx context.Context, action string, params any, limit time.Duration, undo func(result)) result {
	txID := o.newID()
	answer := make(chan result, 1)
	o.expect(txID, answer)
	defer o.forget(txID)

	timer := time.NewTimer(limit)
	defer timer.Stop()
	if err := o.send(action, params, txID); err != nil {
		return failed(txID, "OPERATION FAILED: '%s' could not be sent: %v. The operation did not complete.", action, err)
	}
	select {
	case r := <-answer:
		return r
	case <-timer.C:
		return failed(txID, "OPERATION FAILED: '%s' timed out after %s seconds. No answer came: the operation did not complete.", action, inSeconds(limit))
	case <-ctx.Done():
		o.giveUp(late{txID, undo}, answer)
		return failed(txID, "OPERATION FAILED: '%s' was given up: %v. The operation did not complete.", action, context.Cause(ctx))
	}
}

func failed(txID, format string, args ...any) result {
	return result{txID: txID, err: fmt.Sprintf(format, args...)}
}

// inSeconds writes a duration as plainly as it can be: 10, 0.5.
func inSeconds(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64)
}

// send writes the request. Whoever wants the answer expects it before.
func (o *operations) send(action string, params any, txID string) error {
	raw, err := protocol.Marshal(params)
	if err != nil {
		return err
	}
	o.mu.Lock()
	o.sent++
	o.mu.Unlock()
	o.wire.note("[agent] -> " + action + " " + txID)
	return o.wire.send(protocol.AgentAction{Type: protocol.TypeAgentAction, Action: action, Params: raw, TxID: txID})
}

// answered takes a response to whoever waits for it. One that nobody waits for,
// because it is late, a second one or not ours, is ignored.
func (o *operations) answered(env protocol.Envelope, body []byte) {
	r := result{txID: env.TxID, body: body}
	if env.Status == protocol.StatusError {
		var response protocol.ActionResponse
		if json.Unmarshal(body, &response) != nil || response.Error == "" {
			response.Error = "the operation failed and gave no reason"
		}
		r.err = response.Error
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if waiting, ok := o.pending[env.TxID]; ok {
		delete(o.pending, env.TxID)
		waiting <- r
	}
	if i := slices.IndexFunc(o.late, func(l late) bool { return l.txID == env.TxID }); i >= 0 {
		o.late[i].undo(r)
		o.late = slices.Delete(o.late, i, i+1)
	}
}

// giveUp has an operation undone when its answer comes, which may just have
// happened.
func (o *operations) giveUp(l late, answer chan result) {
	if l.undo == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case r := <-answer:
		l.undo(r)
		return
	default:
	}
	delete(o.pending, l.txID)
	o.late = append(o.late, l)
	o.late = o.late[max(0, len(o.late)-maxLate):]
}

func (o *operations) expect(txID string, answer chan result) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.pending[txID] = answer
}

func (o *operations) forget(txID string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.pending, txID)
}

// count is how many actions were sent.
func (o *operations) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.sent
}
