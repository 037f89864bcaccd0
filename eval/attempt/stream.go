package attempt

import (
	"encoding/json"
	"time"

	"assay/internal/protocol"
	"assay/internal/trace"
)

// historyEntryGrace is how long the watcher waits, after a streamed message is finished and if
// no other frame follows, for the history entry with the same message.
const historyEntryGrace = time.Second

// messageAssembler assembles assistant messages from the frames of a streamed reply. Its
// messages are used only for agents that send no history entries: most agents that stream send
// an entry right after the stream, so a finished message waits for the next frame.
//
//	      start           complete, start,              start, update without
//	                  update without entry, done       entry, status, action …, 1 s
//	none ───────▶ open ─────────────────────▶ finished ─────────────────────▶ used
//	                │ complete with an error      │ an entry, now or ever before
//	                └─────────────────────────────┴──────────────────────▶ dropped
type messageAssembler struct {
	isOff    bool             // the agent sends history entries: streams are ignored
	current  *streamedMessage // open or finished; nil: none
	lastUsed countedMessage
}

// countedMessage says what the watcher has counted for the last streamed message that it used,
// in case a history entry with the same message comes later.
type countedMessage struct {
	awaitsUpdate  bool // no agent_history_updated has come after it
	hasSubmission bool
	tamperSignals int // how many of them it has added
}

// readStreamFrame updates the message that is being streamed from a frame of the agent. If the
// frame shows that the message is complete, it returns the verdict that follows from the
// message; otherwise nil.
func (w *completionWatcher) readStreamFrame(e *trace.Entry) *watcherVerdict {
	s := &w.stream
	if s.isOff {
		return nil
	}
	switch e.Type {
	case protocol.TypeAgentStreamStart:
		s.finishCurrent(e.WallTime)
		v := w.useStreamedMessage()
		w.freezeSubmission() // the agent goes on to its next message
		s.current, s.lastUsed = newStreamedMessage(), countedMessage{}
		return v
	case protocol.TypeAgentStreamBlock, protocol.TypeAgentStreamDelta:
		s.addToCurrent(e.Body)
	case protocol.TypeAgentStreamComplete:
		s.completeCurrent(e)
		if s.current != nil && s.current.hasMarkedSubmission() {
			return w.useStreamedMessage() // an action that follows may come too late
		}
	case protocol.TypeAgentStatus:
		if e.Status == protocol.AgentDone {
			s.finishCurrent(e.WallTime)
		}
		return w.useStreamedMessage()
	case protocol.TypeAgentAction, protocol.TypeAgentResult, protocol.TypeAgentError:
		return w.useStreamedMessage()
	}
	return nil
}

// useStreamedMessage processes the streamed message, if it is finished, as if the agent had
// sent it in a history entry, and returns the verdict that follows from it. It returns nil if
// no message is finished.
func (w *completionWatcher) useStreamedMessage() *watcherVerdict {
	m := w.stream.current
	if m == nil || m.finishedAt.IsZero() {
		return nil
	}
	w.stream.current = nil
	if m.fault != "" {
		w.agentReports.lastError = "a streamed message was discarded: " + m.fault
		return nil
	}
	before := w.counts.tamperSignals
	v, hasSubmission := w.readAssistantMessage(m.asHistoryMessage(), m.finishedAt)
	w.stream.lastUsed = countedMessage{awaitsUpdate: true, hasSubmission: hasSubmission, tamperSignals: w.counts.tamperSignals - before}
	return v
}

// readHistoryUpdateWithoutEntry processes an agent_history_updated without an entry, at the time at.
// If it belongs to the streamed message that was used last it does nothing; otherwise it
// finishes the message that is being streamed and returns the verdict that follows from it.
func (w *completionWatcher) readHistoryUpdateWithoutEntry(at time.Time) *watcherVerdict {
	s := &w.stream
	if s.lastUsed.awaitsUpdate {
		s.lastUsed.awaitsUpdate = false
		return nil
	}
	w.agentReports.finalMessageAt = time.Time{}
	s.finishCurrent(at)
	v := w.useStreamedMessage()
	s.lastUsed.awaitsUpdate = false
	return v
}

// ignoreStreams makes the watcher ignore streamed messages from now on, because the agent sends
// history entries. It returns what was counted for a streamed message that the current entry
// may repeat.
func (s *messageAssembler) ignoreStreams() countedMessage {
	last := s.lastUsed
	*s = messageAssembler{isOff: true}
	if !last.awaitsUpdate {
		return countedMessage{}
	}
	return last
}

// checkStreamedMessage processes the finished streamed message, and returns its verdict, if
// nothing has followed it for historyEntryGrace. If it is too early for that, due is when to
// check again.
func (w *completionWatcher) checkStreamedMessage(now time.Time) (v *watcherVerdict, due time.Time) {
	m := w.stream.current
	if m == nil || m.finishedAt.IsZero() {
		return nil, due
	}
	if until := m.finishedAt.Add(historyEntryGrace); now.Before(until) {
		return nil, until
	}
	return w.useStreamedMessage(), due
}

// finishCurrent marks the message that is being streamed as complete at the time at. It does
// nothing if there is no open message.
func (s *messageAssembler) finishCurrent(at time.Time) {
	if s.current != nil && s.current.finishedAt.IsZero() {
		s.current.finishedAt = at
	}
}

// completeCurrent processes an agent_stream_complete: it marks the open message as complete, or
// drops it if the frame reports an error or cannot be decoded.
func (s *messageAssembler) completeCurrent(e *trace.Entry) {
	var frame protocol.StreamFrame
	if json.Unmarshal(e.Body, &frame) != nil || frame.Error != "" {
		s.current = nil
		return
	}
	s.finishCurrent(e.WallTime)
}

// addToCurrent adds the content of a block_start or delta frame to the message that is being
// streamed. It does nothing if there is no open message.
func (s *messageAssembler) addToCurrent(body []byte) {
	if s.current != nil && s.current.finishedAt.IsZero() && s.current.fault == "" {
		s.current.addFrame(body)
	}
}
