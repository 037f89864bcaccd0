package attempt

import (
	"encoding/json"
	"time"

	"assay/internal/protocol"
	"assay/internal/trace"
)

// historyEntryGrace is how long a finished streamed message waits for a history entry with the same
// message, if no other frame follows.
const historyEntryGrace = time.Second

// messageStream assembles assistant messages from the frames by which an agent shows a reply while
// it arrives. It is used only for agents that send no entries of their history: most agents that
// stream also send an entry right after the stream, so a finished message waits for the next frame.
//
//	      start           complete, start,              start, update without
//	                  update without entry, done       entry, status, action …, 1 s
//	none ───────▶ open ─────────────────────▶ finished ─────────────────────▶ used
//	                │ complete with an error      │ an entry, now or ever before
//	                └─────────────────────────────┴──────────────────────▶ dropped
type messageStream struct {
	isOff    bool             // the agent sends history entries: streams are ignored
	current  *streamedMessage // open or finished; nil: none
	lastUsed usedMessage
}

// usedMessage says what has been counted for the last streamed message that was used, in case its
// history entry comes later.
type usedMessage struct {
	awaitsUpdate  bool // no agent_history_updated has come after it
	hasSubmission bool
	tamperSignals int // how many of them it has added
}

// readStreamFrame reads a frame of the agent with regard to the message that is being streamed. It
// returns the verdict if the frame shows that the message is complete, and the message ends the
// attempt.
func (w *completionWatcher) readStreamFrame(e *trace.Entry) *verdict {
	s := &w.stream
	if s.isOff {
		return nil
	}
	switch e.Type {
	case protocol.TypeAgentStreamStart:
		s.finishCurrent(e.WallTime)
		v := w.useStreamedMessage()
		s.current, s.lastUsed = newStreamedMessage(), usedMessage{}
		return v
	case protocol.TypeAgentStreamBlock, protocol.TypeAgentStreamDelta:
		s.addToCurrent(e.Body)
	case protocol.TypeAgentStreamComplete:
		s.completeCurrent(e)
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

// useStreamedMessage reads the streamed message, if it is finished, as if the agent had sent it in
// a history entry.
func (w *completionWatcher) useStreamedMessage() *verdict {
	m := w.stream.current
	if m == nil || m.finishedAt.IsZero() {
		return nil
	}
	w.stream.current = nil
	if m.fault != "" {
		w.agentReports.lastError = "a streamed message was discarded: " + m.fault
		return nil
	}
	entry, before := m.historyEntry(), w.counts.tamperSignals
	v := w.readAssistantMessage(entry, m.finishedAt)
	w.stream.lastUsed = usedMessage{awaitsUpdate: true, hasSubmission: len(submissionsIn(contentBlocks(entry))) > 0, tamperSignals: w.counts.tamperSignals - before}
	return v
}

// readUpdateWithoutEntry reads an agent_history_updated without an entry. It is the update for a
// message that was used, or else it finishes the message that is being streamed.
func (w *completionWatcher) readUpdateWithoutEntry(at time.Time) *verdict {
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

// turnOff makes the watcher ignore streamed messages from now on, because the agent sends history
// entries. It returns what the message in that entry may have counted for already.
func (s *messageStream) turnOff() usedMessage {
	last := s.lastUsed
	*s = messageStream{isOff: true}
	if !last.awaitsUpdate {
		return usedMessage{}
	}
	return last
}

// checkStreamedMessage uses the finished message if nothing has followed it for historyEntryGrace.
func (w *completionWatcher) checkStreamedMessage(now time.Time) (v *verdict, due time.Time) {
	m := w.stream.current
	if m == nil || m.finishedAt.IsZero() {
		return nil, due
	}
	if until := m.finishedAt.Add(historyEntryGrace); now.Before(until) {
		return nil, until
	}
	return w.useStreamedMessage(), due
}

// finishCurrent finishes the open message, if there is one.
func (s *messageStream) finishCurrent(at time.Time) {
	if s.current != nil && s.current.finishedAt.IsZero() {
		s.current.finishedAt = at
	}
}

// completeCurrent reads agent_stream_complete: it finishes the open message, or drops it if the
// stream has failed.
func (s *messageStream) completeCurrent(e *trace.Entry) {
	var frame protocol.StreamFrame
	if json.Unmarshal(e.Body, &frame) != nil || frame.Error != "" {
		s.current = nil
		return
	}
	s.finishCurrent(e.WallTime)
}

// addToCurrent adds a part to the open message, if there is one.
func (s *messageStream) addToCurrent(body []byte) {
	if s.current != nil && s.current.finishedAt.IsZero() && s.current.fault == "" {
		s.current.addFrame(body)
	}
}
