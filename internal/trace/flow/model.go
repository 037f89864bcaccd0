package flow

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"assay/internal/model"
	"assay/internal/model/calllog"
	"assay/internal/trace"
)

// ModelCall is what the entries about a call of an agent's model say of it. Times are in
// milliseconds.
type ModelCall struct {
	Call  int64  `json:"call"`  // number of the call
	API   string `json:"api"`   // messages, chat or responses
	Model string `json:"model"` // that was called, or else the one that the agent named

	Outcome calllog.Outcome `json:"outcome,omitempty"` // absent: it has not ended
	Status  int             `json:"status"`            // of HTTP; 0: it has not ended, or the agent had gone

	Usage   *model.Usage `json:"usage,omitempty"` // absent: nothing came of the reply
	CostUSD *float64     `json:"cost_usd"`        // null: not known

	IsWaiting   bool    `json:"waiting,omitempty"`       // until other calls have ended
	FirstByteMS float64 `json:"first_byte_ms,omitempty"` // from when it waited no longer to the first byte of the reply; absent: none came
	RetryWaitMS float64 `json:"retry_wait_ms,omitempty"` // since the model's API had refused the call before; absent: it had not
}

// isModelHop reports whether entries on this hop are about calls of models.
func isModelHop(hop trace.Hop) bool { return hop == trace.AgentToModel || hop == trace.ModelToAgent }

// joinRecordOfModel processes a record about a call of a model, and returns the request that it
// is part of; nil if it is part of none.
func (j *Joiner) joinRecordOfModel(r trace.Record) *Request {
	if r.Type == calllog.TypeCall {
		return j.beginModelCall(r)
	}
	q := j.modelCalls[r.TxID]
	if q == nil {
		return nil
	}
	switch r.Type {
	case calllog.TypeWait:
		var wait calllog.Wait
		_ = json.Unmarshal(r.Message, &wait) // which the session has written
		if q.Call.IsWaiting = !wait.IsOver; wait.IsOver {
			q.Sent = entryTime(r)
		}
	case calllog.TypeReply:
		j.endModelCall(q, r)
	}
	return q
}

// beginModelCall begins a request for a call of a model, and returns it.
func (j *Joiner) beginModelCall(r trace.Record) *Request {
	call := calllog.ReadCallHead(r.Message)
	q := j.beginRequest(r, Request{Kind: KindModelCall, Answerer: hopModel})
	q.Action = call.Model
	q.Call = &ModelCall{Call: call.Call, API: call.API, Model: call.Model}
	if j.modelRefused.IsSet() {
		q.Call.RetryWaitMS = inMilliseconds(q.Asked.Elapsed - j.modelRefused.Elapsed)
		j.modelRefused = EntryTime{}
	}
	j.modelCalls[r.TxID] = q
	return q
}

// endModelCall ends the request for a call of a model with its reply r.
func (j *Joiner) endModelCall(q *Request, r trace.Record) {
	var reply calllog.Reply
	_ = json.Unmarshal(r.Message, &reply) // as above
	delete(j.modelCalls, r.TxID)
	q.Action = cmp.Or(reply.Model, q.Action)
	c := q.Call
	c.Model, c.IsWaiting = q.Action, false
	c.Outcome, c.Status = reply.Outcome(), reply.Status
	c.CostUSD, c.FirstByteMS = reply.CostUSD, reply.FirstByteMS
	state := StateFailed
	if c.Outcome == calllog.OutcomeOK {
		state = StateAnswered
	}
	if reply.Response != nil {
		c.Usage = &reply.Response.Usage
	}
	if reply.IsRefusedByVendor && len(j.modelCalls) == 0 {
		j.modelRefused = entryTime(r)
	}
	j.endRequest(q, state, r)
}

// modelHopTimes returns how long a call of a model waited until others had ended, how long it
// took to the first byte of the reply, and how long to the end of the reply.
func (r *Request) modelHopTimes() []HopTime {
	var times []HopTime
	admitted := r.Asked
	if r.Sent.IsSet() {
		admitted = r.Sent
		times = append(times, HopTime{Hop: hopWait, Took: r.Sent.Elapsed - r.Asked.Elapsed})
	}
	if !r.Answered.IsSet() {
		return times
	}
	took := r.Answered.Elapsed - admitted.Elapsed
	first := time.Duration(r.Call.FirstByteMS * float64(time.Millisecond))
	if first <= 0 || first >= took {
		return append(times, HopTime{Hop: hopModel, Took: took})
	}
	return append(times, HopTime{Hop: hopModel, Took: first}, HopTime{Hop: hopReply, Took: took - first})
}

// modelText returns one line for people about a call of a model that has ended after total.
func (r *Request) modelText(total time.Duration) string {
	c, used := r.Call, ""
	if c.Usage != nil {
		used = ", " + FormatTokens(*c.Usage) + ", " + FormatCost(c.CostUSD)
	}
	if r.State == StateAnswered {
		return "answered in " + FormatDelay(total) + used + ": " + r.hopTimesText()
	}
	text := fmt.Sprintf("failed after %s: %s", FormatDelay(total), c.Outcome)
	if c.Status != 0 {
		text += fmt.Sprintf(", status %d", c.Status)
	}
	return text + used
}

// FormatTokens formats the tokens of calls for people, such as "900 tokens in (512 cached), 40 out".
func FormatTokens(u model.Usage) string {
	cached := ""
	if u.CacheReadInputTokens > 0 {
		cached = fmt.Sprintf(" (%d cached)", u.CacheReadInputTokens)
	}
	return fmt.Sprintf("%d tokens in%s, %d out", u.PromptTokens(), cached, u.OutputTokens)
}

// FormatCost formats a cost in US dollars for people; nil is a cost that is not known.
func FormatCost(usd *float64) string {
	if usd == nil {
		return "cost unknown"
	}
	return fmt.Sprintf("$%.4f", *usd)
}

// modelEntryText returns what is shown as the action of an entry about a call of a model: its API
// and model, its outcome with the tokens in and out, or how it waits. It is empty for other entries.
func modelEntryText(entryType string, message []byte) string {
	switch entryType {
	case calllog.TypeCall:
		call := calllog.ReadCallHead(message)
		return call.API + " " + call.Model
	case calllog.TypeWait:
		var wait calllog.Wait
		if _ = json.Unmarshal(message, &wait); wait.IsOver {
			return "waits no longer"
		}
		return "waits for other calls"
	case calllog.TypeSilence:
		var silence calllog.Silence
		_ = json.Unmarshal(message, &silence)
		text := "nothing for "
		if silence.IsOver {
			text = "goes on after "
		}
		return text + FormatDelay(time.Duration(silence.SilentMS)*time.Millisecond)
	case calllog.TypeReply:
		var reply calllog.Reply
		_ = json.Unmarshal(message, &reply)
		text := fmt.Sprintf("%s %d", reply.Outcome(), reply.Status)
		if reply.Response != nil {
			text += fmt.Sprintf(", %d+%d tokens", reply.Response.Usage.PromptTokens(), reply.Response.Usage.OutputTokens)
		}
		return text
	case calllog.TypeRejected:
		var rejected calllog.Rejected
		_ = json.Unmarshal(message, &rejected)
		return fmt.Sprintf("%d %s", rejected.Status, rejected.Path)
	default:
		return ""
	}
}
