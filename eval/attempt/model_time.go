package attempt

import "time"

// modelTime sums up how long an agent has waited for its models, in which it could do nothing else, and how long its
// models were silent. The methods with a time must be called in the order of the times.
type modelTime struct {
	inFlight map[int64]modelCall

	// waited is how long, until waitedSince, the agent has waited: all its calls in flight waited for others,
	// or its last call was refused for now.
	waited      time.Duration
	waitedSince time.Time

	refusedUntil  time.Time // until when, at most, the agent may wait before it repeats a call
	refusalReason string    // for Progress

	// silent is how long, until silentSince, calls were being answered and nothing came of any, if that was for longer
	// than the delay.
	silent      time.Duration
	silentSince time.Time
}

// modelCall is a call of a model in flight.
type modelCall struct {
	isStreamed  bool
	isWaiting   bool      // for others
	silentSince time.Time // since when nothing has come; zero: it is not silent
}

// restart forgets what was counted before now.
func (m *modelTime) restart(now time.Time) {
	m.waited, m.waitedSince, m.silent, m.silentSince = 0, now, 0, now
}

// begin notes a call that begins.
func (m *modelTime) begin(number int64, isStreamed bool, now time.Time) {
	m.goOn(now)
	m.count(now)
	if m.inFlight == nil {
		m.inFlight = map[int64]modelCall{}
	}
	m.inFlight[number] = modelCall{isStreamed: isStreamed}
}

// end notes the end of a call. A reply that came in one piece was not silent: the model has written it meanwhile.
func (m *modelTime) end(number int64, isComplete bool, now time.Time) {
	if call := m.inFlight[number]; isComplete && !call.isStreamed {
		call.silentSince = time.Time{}
		m.inFlight[number] = call
	}
	m.count(now)
	m.silentSince = now
	delete(m.inFlight, number)
}

// setWaiting notes whether a call waits for others.
func (m *modelTime) setWaiting(number int64, isWaiting bool, now time.Time) {
	m.change(number, now, func(c *modelCall) { c.isWaiting = isWaiting })
}

// beginSilence notes that nothing of a reply has come since a time.
func (m *modelTime) beginSilence(number int64, since, now time.Time) {
	m.change(number, now, func(c *modelCall) { c.silentSince = since })
}

// endSilence notes that something of a reply has come.
func (m *modelTime) endSilence(number int64, now time.Time) {
	m.change(number, now, func(c *modelCall) { c.silentSince = time.Time{} })
	m.silentSince = now
}

// change counts the time until now and then changes a call, if it is in flight.
func (m *modelTime) change(number int64, now time.Time, f func(*modelCall)) {
	call, isInFlight := m.inFlight[number]
	if !isInFlight {
		return
	}
	m.count(now)
	f(&call)
	m.inFlight[number] = call
}

// refuse notes that a call was refused for now. The agent need not repeat it before until.
func (m *modelTime) refuse(until time.Time, reason string) {
	m.refusedUntil, m.refusalReason = until, reason
}

// goOn notes that the agent does something, so that it no longer waits to repeat a call.
func (m *modelTime) goOn(now time.Time) {
	if now.Before(m.refusedUntil) {
		m.refusedUntil = now
	}
}

// count counts the waits and the silence until now.
func (m *modelTime) count(now time.Time) {
	m.waited, m.waitedSince = m.waitedUntil(now), now
	if silent := m.silentUntil(now); silent > m.silent {
		m.silent, m.silentSince = silent, now
	}
}

// isAnswering reports whether a call in flight does not wait for others.
func (m *modelTime) isAnswering() bool {
	for _, call := range m.inFlight {
		if !call.isWaiting {
			return true
		}
	}
	return false
}

// waitedUntil returns how long the agent has waited up to the time now.
func (m *modelTime) waitedUntil(now time.Time) time.Duration {
	if m.isAnswering() {
		return m.waited
	}
	until := now
	if len(m.inFlight) == 0 && m.refusedUntil.Before(now) {
		until = m.refusedUntil
	}
	return m.waited + max(0, until.Sub(m.waitedSince))
}

// isWaitingAt reports whether the agent waits, at the time now, for its models, and until when at the latest: zero if
// that is not known.
func (m *modelTime) isWaitingAt(now time.Time) (isWaiting bool, until time.Time) {
	if len(m.inFlight) > 0 {
		return !m.isAnswering(), until
	}
	return now.Before(m.refusedUntil), m.refusedUntil
}

// descriptionAt returns a text for people about what the agent is waiting for, before its models reply, at the
// time now; empty: nothing.
func (m *modelTime) descriptionAt(now time.Time) string {
	switch isWaiting, until := m.isWaitingAt(now); {
	case !isWaiting:
		return ""
	case until.IsZero():
		return "waits for its turn to call its model"
	default:
		return m.refusalReason
	}
}

// silentUntil returns how long, until now, calls were being answered and nothing came of any.
func (m *modelTime) silentUntil(now time.Time) time.Duration {
	since := m.silentSince
	for _, call := range m.inFlight {
		switch {
		case call.isWaiting:
		case call.silentSince.IsZero():
			return m.silent
		case call.silentSince.After(since):
			since = call.silentSince
		}
	}
	if !m.isAnswering() {
		return m.silent
	}
	return m.silent + max(0, now.Sub(since))
}
