package gateway

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"assay/internal/model"
	"assay/internal/model/endpoint"
	"assay/internal/model/replay"
	"assay/internal/model/wire"
)

// ReplayVariable is the environment variable of an agent whose calls are answered from a recording: when
// the first of them had ended, RFC 3339, or empty if the recording has no times. Each reply has its time
// in the header [endpoint.TimeHeader].
const ReplayVariable = "ASSAY_REPLAY_TIME"

// formatTime returns a time as RFC 3339, and "" for the zero time.
func formatTime(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.Format(time.RFC3339Nano)
}

// replyFromRecording answers a call from the recording. A call that was not recorded gets a final error. A reply
// that broke off does so again.
func (c *call) replyFromRecording(w *replyWriter, r *http.Request) {
	answer, err := c.endpoint.cfg.Replayer.Play(string(c.api), c.body)
	if err != nil {
		w.Header().Set("X-Should-Retry", "false")
		c.fail(w, http.StatusBadRequest, "invalid_request_error", err.Error())
		return
	}
	c.answer = answer
	c.reply.Model = strings.TrimPrefix(answer.Model, model.ProviderOf(answer.Model)+"/")
	if at := formatTime(answer.At); at != "" {
		w.Header().Set(endpoint.TimeHeader, at)
	}
	if answer.Err == nil {
		c.writeReply(w, answer.Response)
		return
	}
	out := c.beginReply(w, answer.Response)
	if errors.Is(answer.Err, model.ErrCutStream) && w.status == 0 {
		wire.SetStreamHeaders(w.Header())
		w.WriteHeader(http.StatusOK) // so that the connection breaks, as it did
	}
	c.failByClient(w, r, out, answer.Err)
}

// writeReply answers the call with a whole reply.
func (c *call) writeReply(w *replyWriter, response *model.Response) {
	out := c.beginReply(w, response)
	c.reply.IsComplete = true
	if err := out.Finish(response); err != nil {
		c.giveUp()
	}
}

// beginReply writes the content of a reply, which may be nil. The reply must then be finished or failed.
func (c *call) beginReply(w *replyWriter, response *model.Response) *wire.ReplyWriter {
	c.noteTraffic()
	out := wire.NewReplyWriter(w, c.api, c.envelope, "call_"+strconv.FormatInt(c.number, 10))
	if response != nil {
		for i, b := range response.Content {
			model.EmitBlockDeltas(out.WriteDelta, i, b)
		}
	}
	c.reply.Response = response
	return out
}

// record writes the call to the recording, if there is one. A call that was refused before it was made, and one
// that the agent gave up, are left out: a replay could not repeat them.
func (c *call) record() {
	recorder := c.endpoint.cfg.Recorder
	if recorder == nil {
		return
	}
	failure := c.failure()
	var done *replay.Call
	if !c.admittedAt.IsZero() && (c.answer != nil || failure != nil || c.reply.IsComplete) {
		done = &replay.Call{
			API: string(c.api), Request: c.body, Model: c.modelName(), At: time.Now(), Response: c.reply.Response, Err: failure, Answer: c.answer,
		}
	}
	c.endpoint.recorded.add(c.number, done, func(number int64, done *replay.Call) {
		if err := recorder.Record(*done); err != nil {
			c.endpoint.cfg.Log.Error("a call of a model could not be written to the recording", "call", number, "error", err)
		}
	})
}

// callQueue puts the calls of an endpoint in the order of their requests. A reply may be at the agent, which
// then makes the next call, before the end of its call is noticed.
type callQueue struct {
	mu      sync.Mutex
	written int64 // calls with numbers up to this one have left the queue
	ended   map[int64]*replay.Call
}

// add adds a call that has ended, nil if it is left out, and calls write for all calls whose predecessors have
// ended.
func (q *callQueue) add(number int64, done *replay.Call, write func(number int64, done *replay.Call)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ended == nil {
		q.ended = map[int64]*replay.Call{}
	}
	q.ended[number] = done
	for {
		next, hasEnded := q.ended[q.written+1]
		if !hasEnded {
			return
		}
		q.written++
		delete(q.ended, q.written)
		if next != nil {
			write(q.written, next)
		}
	}
}

// failure returns the error that the agent got, or nil if it got a reply or had gone.
func (c *call) failure() error {
	switch r := &c.reply; {
	case r.APIError != nil:
		refused := *r.APIError
		refused.RetryAfter = r.RetryAfter
		return &refused
	case r.Status >= http.StatusMultipleChoices:
		return &model.APIError{Provider: c.api.Provider(), Status: r.Status, Type: model.ErrorTypeOfStatus(r.Status), Message: r.Error, RetryAfter: r.RetryAfter}
	case !r.IsComplete && r.IsRefusedByVendor:
		return fmt.Errorf("%s: %w", c.api.Provider(), model.ErrCutStream)
	default:
		return nil
	}
}

// modelName returns the name of the model that was called, as for [model.ParseName], or with a suffix if its price is not
// known although that name has one. It is "" if none was called.
func (c *call) modelName() string {
	if c.reply.Model == "" {
		if m := c.endpoint.cfg.Model; m != nil && m.Provider == "" && c.envelope.Model == ModelName {
			return m.Name
		}
		return ""
	}
	name := c.provider() + "/" + c.reply.Model
	if c.card() == nil && model.FindModelCard(name) != nil {
		name += replay.UnknownPriceSuffix
	}
	return name
}
