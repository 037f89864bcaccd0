package attempt

import (
	"encoding/json"
	"fmt"
	"time"

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
	inFlight  map[int64]modelCall

	// waits are the times in which the agent could do nothing but wait: for other calls of the run, or
	// after its model's API had refused a call for now.
	waits modelWaits

	// silence is how long, until silenceCountedUntil, calls were in flight and nothing came of any, if
	// that was for longer than the delay.
	silence             time.Duration
	silenceCountedUntil time.Time

	isRefused      bool // the last call was refused for now: the next one repeats it
	usage          runs.Usage
	isPriceUnknown bool // the price of a call is not known
}

// modelCall is a call of a model in flight.
type modelCall struct {
	waitsSince  time.Time // since when it waits for others; zero: it does not
	silentSince time.Time // since when nothing has come; zero: it is not silent
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
	m.waits.endWaitAt(e.WallTime)
	m.countSilence(e.WallTime)
	if m.isRefused {
		m.usage.Retries++
	}
	m.haveBegun, m.isRefused = true, false
	if m.inFlight == nil {
		m.inFlight = map[int64]modelCall{}
	}
	m.inFlight[call.Call] = modelCall{}
}

// readModelWait notes that a call waits for others, or that it waits no longer. The wait counts if no other
// call of the agent was being answered meanwhile.
func (w *completionWatcher) readModelWait(e *trace.Entry) {
	var wait calllog.Wait
	if json.Unmarshal(e.Body, &wait) != nil {
		return // as above
	}
	m := &w.modelCalls
	call := m.inFlight[wait.Call]
	if wait.IsOver && !call.waitsSince.IsZero() && !m.isAnswering() {
		m.waits.addWait(call.waitsSince, e.WallTime)
	}
	call.waitsSince = time.Time{}
	if !wait.IsOver {
		call.waitsSince = e.WallTime
	}
	m.inFlight[wait.Call] = call
}

// isAnswering reports whether a call in flight does not wait for others.
func (m *modelCalls) isAnswering() bool {
	for _, call := range m.inFlight {
		if call.waitsSince.IsZero() {
			return true
		}
	}
	return false
}

// readModelSilence notes that nothing of a reply has come for some time, or that something has come again.
func (w *completionWatcher) readModelSilence(e *trace.Entry) {
	var silence calllog.Silence
	if json.Unmarshal(e.Body, &silence) != nil {
		return // as above
	}
	m := &w.modelCalls
	call := m.inFlight[silence.Call]
	if silence.IsOver {
		m.endSilence(e.WallTime)
		call.silentSince = time.Time{}
	} else {
		call.silentSince = e.WallTime.Add(-time.Duration(silence.SilentMS) * time.Millisecond)
	}
	m.inFlight[silence.Call] = call
}

// silenceAt returns how long, until now, calls were in flight and nothing came of any.
func (m *modelCalls) silenceAt(now time.Time) time.Duration {
	since := m.silenceCountedUntil
	for _, call := range m.inFlight {
		switch {
		case !call.waitsSince.IsZero():
		case call.silentSince.IsZero():
			return m.silence
		default:
			if call.silentSince.After(since) {
				since = call.silentSince
			}
		}
	}
	if !m.isAnswering() || now.Before(since) {
		return m.silence
	}
	return m.silence + now.Sub(since)
}

// countSilence counts the present silence up to the time now, if there is one.
func (m *modelCalls) countSilence(now time.Time) {
	if total := m.silenceAt(now); total > m.silence {
		m.silence, m.silenceCountedUntil = total, now
	}
}

// endSilence counts the silence until the time now, at which something of a reply has come.
func (m *modelCalls) endSilence(now time.Time) {
	m.silence, m.silenceCountedUntil = m.silenceAt(now), now
}

// readModelReply counts what a call has used. It returns a limit verdict if a limit was the reason for its refusal,
// unless the answer was submitted.
func (w *completionWatcher) readModelReply(e *trace.Entry) *watcherVerdict {
	var reply calllog.Reply
	if err := json.Unmarshal(e.Body, &reply); err != nil {
		return nil // as above
	}
	m := &w.modelCalls
	m.endSilence(e.WallTime)
	delete(m.inFlight, reply.Call)
	m.countUsage(reply)
	if m.isRefused = reply.IsRefusedByVendor; m.isRefused && len(m.inFlight) == 0 {
		delay := time.Duration(reply.RetryAfterMS) * time.Millisecond
		if delay == 0 {
			delay = defaultRefusalDelay
		}
		m.waits.addWait(e.WallTime, e.WallTime.Add(delay))
		m.waits.reason = "waits for its model: " + withoutVendorPrefix(reply.Error)
		w.noteAgentActiveAt(m.waits.countedUntil)
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
	if reply.IsComplete {
		m.usage.ModelCalls++
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
	counted.Actions, counted.CellsRun = used.Actions, used.CellsRun
	if reported != (runs.ReportedUsage{}) {
		counted.Reported = &reported
	}
	return counted
}

// waitedUntil returns how long the agent has waited for its models up to the time now, by its own account
// if none of its calls went through the server.
func (w *completionWatcher) waitedUntil(now time.Time) time.Duration {
	if !w.modelCalls.haveBegun {
		return w.modelWaits.totalAt(now)
	}
	return w.modelCalls.waitsUntil(now)
}

// waitsUntil returns how long the agent has waited for its models, by the server's account, up to the time now.
func (m *modelCalls) waitsUntil(now time.Time) time.Duration {
	total := m.waits.totalAt(now)
	if m.isAnswering() {
		return total
	}
	longest := time.Duration(0)
	for _, call := range m.inFlight {
		since := call.waitsSince
		if since.Before(m.waits.countedUntil) {
			since = m.waits.countedUntil
		}
		longest = max(longest, now.Sub(since))
	}
	return total + longest
}

// isWaitingAt reports whether the agent waits, at the time now, for its models, and until when at the latest: zero if
// that is not known.
func (m *modelCalls) isWaitingAt(now time.Time) (isWaiting bool, until time.Time) {
	if now.Before(m.waits.countedUntil) {
		return true, m.waits.countedUntil
	}
	return len(m.inFlight) > 0 && !m.isAnswering(), until
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
	took, waited := now.Sub(w.taskSentAt), w.modelCalls.waitsUntil(now)
	if took-waited < wall && took < maxWallFactor*wall {
		ceiling := w.taskSentAt.Add(maxWallFactor * wall)
		isWaiting, until := w.modelCalls.isWaitingAt(now)
		switch left := wall - (took - waited); {
		case !isWaiting:
			return nil, now.Add(left)
		case until.IsZero():
			return nil, ceiling
		default:
			return nil, earlierTime(ceiling, until.Add(left))
		}
	}
	worked, silent := took-waited, w.modelCalls.silenceAt(now)
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

// waitDescriptionAt returns a text for people about what the agent is waiting for, before its models reply, at the
// time now; empty: nothing.
func (m *modelCalls) waitDescriptionAt(now time.Time) string {
	if wait := m.waits.descriptionAt(now); wait != "" {
		return wait
	}
	if len(m.inFlight) > 0 && !m.isAnswering() {
		return "waits for its turn to call its model"
	}
	return ""
}
