package attempt

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/tidwall/gjson"

	"assay/eval/runs"
	"assay/internal/model/calllog"
	"assay/internal/trace"
)

const (
	// maxSilenceDelay is how long nothing of a reply must come, at most, until that counts as silence.
	maxSilenceDelay = time.Minute

	// defaultRefusalDelay is how long the agent may wait at most, after its model's API has refused a call
	// for now without saying for how long, so that the wait is not counted against it.
	defaultRefusalDelay = time.Minute

	// maxWallFactor times the wall limit is how long an attempt may take, with all waits that do not count.
	maxWallFactor = 3
)

// modelCalls is what the watcher knows of the agent's calls of models that go through the server.
type modelCalls struct {
	haveBegun bool // there was one
	time      modelTime

	isRefused      bool // the last call was refused for now: the next one repeats it
	usage          runs.Usage
	isPriceUnknown bool // the price of a call is not known
	problems       modelProblems
}

// readModelEntry processes a trace entry about a call of a model. It returns a limit verdict if the call
// was refused because of a limit.
func (w *completionWatcher) readModelEntry(e *trace.Entry) *watcherVerdict {
	w.noteAgentActive(e)
	switch e.Type {
	case calllog.TypeCall:
		w.beginModelCall(e)
	case calllog.TypeWait:
		w.readModelWait(e)
	case calllog.TypeSilence:
		w.readModelSilence(e)
	case calllog.TypeReply:
		return w.readModelReply(e)
	case calllog.TypeRejected:
		w.modelCalls.problems.addRejection(e, w.modelCalls.usage.ModelCalls > 0)
	}
	return nil
}

// beginModelCall notes a call as in flight. It ends the wait for repeating a call that was refused.
func (w *completionWatcher) beginModelCall(e *trace.Entry) {
	var call calllog.Call
	if json.Unmarshal(e.Body, &call) != nil {
		return // never: the session has written it
	}
	m := &w.modelCalls
	if m.isRefused {
		m.usage.Retries++
	}
	m.haveBegun, m.isRefused = true, false
	m.time.begin(call.Call, gjson.GetBytes(call.Request, "stream").Bool(), e.WallTime)
}

// readModelWait notes that a call waits for others, or that it waits no longer.
func (w *completionWatcher) readModelWait(e *trace.Entry) {
	var wait calllog.Wait
	if json.Unmarshal(e.Body, &wait) == nil {
		w.modelCalls.time.setWaiting(wait.Call, !wait.IsOver, e.WallTime)
	}
}

// readModelSilence notes that nothing of a reply has come for some time, or that something has come again.
func (w *completionWatcher) readModelSilence(e *trace.Entry) {
	var silence calllog.Silence
	switch {
	case json.Unmarshal(e.Body, &silence) != nil:
	case silence.IsOver:
		w.modelCalls.time.endSilence(silence.Call, e.WallTime)
	default:
		since := e.WallTime.Add(-time.Duration(silence.SilentMS) * time.Millisecond)
		w.modelCalls.time.beginSilence(silence.Call, since, e.WallTime)
	}
}

// readModelReply counts what a call has used. It returns a limit verdict if a limit was the reason for its refusal,
// unless the answer was submitted.
func (w *completionWatcher) readModelReply(e *trace.Entry) *watcherVerdict {
	var reply calllog.Reply
	if err := json.Unmarshal(e.Body, &reply); err != nil {
		return nil // as above
	}
	m := &w.modelCalls
	m.time.end(reply.Call, reply.IsComplete, e.WallTime)
	m.countUsage(reply)
	m.problems.addReply(reply)
	if m.isRefused = reply.IsRefusedByVendor; m.isRefused {
		delay := time.Duration(reply.RetryAfterMS) * time.Millisecond
		if delay == 0 {
			delay = defaultRefusalDelay
		}
		m.time.refuse(e.WallTime.Add(delay), "waits for its model: "+withoutVendorPrefix(reply.Error))
	}
	if reply.Limit != "" && !w.submitted.isMarked() {
		return &watcherVerdict{outcome: runs.OutcomeLimit, detail: reply.Error}
	}
	return nil
}

// countUsage adds what a call has used.
func (m *modelCalls) countUsage(reply calllog.Reply) {
	if reply.Response == nil {
		return
	}
	used := reply.Response.Usage
	if reply.IsComplete || reply.IsLeft {
		m.usage.ModelCalls++
	}
	if reply.IsCached {
		m.usage.CachedCalls++
	}
	m.usage.InputTokens += used.PromptTokens()
	m.usage.OutputTokens += used.OutputTokens
	m.usage.CacheReadInputTokens += used.CacheReadInputTokens
	m.usage.CacheCreationInputTokens += used.CacheCreationInputTokens
	if m.isPriceUnknown = m.isPriceUnknown || reply.CostUSD == nil; m.isPriceUnknown {
		m.usage.CostUSD = nil
		return
	}
	total := *reply.CostUSD
	if m.usage.CostUSD != nil {
		total += *m.usage.CostUSD
	}
	m.usage.CostUSD = &total
}

// usage returns what the attempt has used. Tokens, cost and calls of models are those that went through the
// server, if there were any, and the agent's reports are beside them.
func (w *completionWatcher) usage() runs.Usage {
	used := w.counts.usage
	m := &w.modelCalls
	if !m.haveBegun {
		return used
	}
	reported := runs.ReportedUsage{InputTokens: used.InputTokens, OutputTokens: used.OutputTokens, CostUSD: used.CostUSD}
	counted := m.usage
	if counted.CostUSD == nil && !m.isPriceUnknown {
		counted.CostUSD = new(float64) // no call has got a reply
	}
	counted.Actions, counted.CellsRun = used.Actions, used.CellsRun
	if reported != (runs.ReportedUsage{}) {
		counted.Reported = &reported
	}
	return counted
}

// usage returns what the attempt has used. An agent that can reach nothing but the models that the server serves, and
// has called none, has cost nothing.
func (a *attempt) usage() runs.Usage {
	used := a.watcher.usage()
	if a.cfg.OpenModels != nil && a.agentHasNoNetwork && used.CostUSD == nil && used.InputTokens+used.OutputTokens == 0 {
		used.CostUSD = new(float64)
	}
	return used
}

// waitedUntil returns how long the agent has waited for its models up to the time now, by its own account
// if none of its calls went through the server.
func (w *completionWatcher) waitedUntil(now time.Time) time.Duration {
	if !w.modelCalls.haveBegun {
		return w.modelWaits.totalAt(now)
	}
	return w.modelCalls.time.waitedUntil(now)
}

// checkWallLimit returns a verdict if the time since the task was sent has reached the wall limit, without the time
// in which the agent waited for its models; or with it three times the limit. That is not the agent's failure, nor is it
// if its model's API was silent for most of the time. Otherwise due is when to check again; zero
// means no limit.
func (w *completionWatcher) checkWallLimit(now time.Time) (v *watcherVerdict, due time.Time) {
	wall := secondsToDuration(w.limits.WallTimeoutS)
	if wall <= 0 || w.taskSentAt.IsZero() {
		return nil, due
	}
	took, waited := now.Sub(w.taskSentAt), w.modelCalls.time.waitedUntil(now)
	if took-waited < wall && took < maxWallFactor*wall {
		ceiling := w.taskSentAt.Add(maxWallFactor * wall)
		isWaiting, until := w.modelCalls.time.isWaitingAt(now)
		switch left := wall - (took - waited); {
		case !isWaiting:
			return nil, now.Add(left)
		case until.IsZero():
			return nil, ceiling
		default:
			return nil, earlierTime(ceiling, until.Add(left))
		}
	}
	worked, silent := took-waited, w.modelCalls.time.silentUntil(now)
	switch {
	case w.submitted.isMarked():
		return limitVerdict("wall", wall, worked), due
	case worked < wall:
		return modelWaitVerdict("the model refused calls, or others were made first,", waited, took, wall), due
	case silent > worked/2:
		return modelWaitVerdict("the model was silent", silent, took, wall), due
	default:
		return limitVerdict("wall", wall, worked), due
	}
}

// modelWaitVerdict returns the verdict that the agent's models, which did what for most of the time that the attempt
// took, are the reason why it has no result.
func modelWaitVerdict(what string, duration, took, wall time.Duration) *watcherVerdict {
	return &watcherVerdict{outcome: runs.OutcomeAgentError, isTimeLimit: true, detail: fmt.Sprintf(
		"%s for %v of %v, until the time of the attempt was over (wall: configured %v)", what, duration.Round(time.Second), took.Round(time.Second), wall)}
}
