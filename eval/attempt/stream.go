package attempt

import (
	"encoding/json"
	"time"

	"assay/internal/protocol"
	"assay/internal/trace"
)

// historyEntryGrace is how long a finished message waits for an entry that is the same
// message, when nothing else follows.
const historyEntryGrace = time.Second

// streamFrames makes whole messages of the frames by which an agent shows a reply
// while it arrives. They count only with an agent that sends no entries of its
// history. Most that do send one right behind the stream, and so a finished
// message waits for what follows it.
//
//	      start           complete, start,              start, update without
//	                  update without entry, done       entry, status, action …, 1 s
//	none ───────▶ open ─────────────────────▶ finished ─────────────────────▶ used
//	                │ complete with an error      │ an entry, now or ever before
//	                └─────────────────────────────┴──────────────────────▶ dropped
type messageStream struct {
	isOff    bool             // the agent sends entries
	current  *streamedMessage // open or finished; nil: none
	lastUsed usedMessage
}

// usedMessage is what the last message that was used has already counted for.
type usedMessage struct {
	awaitsUpdate  bool // no update has come behind it
	hasSubmission bool
	tamperSignals int
}

// readStreamFrame takes in what a frame means to the message that is streamed.
func (w *watch) readStreamFrame(e *trace.Entry) *verdict {
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

// useStreamedMessage takes the streamed message, when it is finished, for one that the
// agent has sent whole.
func (w *watch) useStreamedMessage() *verdict {
	m := w.stream.current
	if m == nil || m.finishedAt.IsZero() {
		return nil
	}
	w.stream.current = nil
	if m.fault != "" {
		w.agentComplaint = "a streamed message was given up: " + m.fault
		return nil
	}
	entry, before := m.historyEntry(), w.tamperSignals
	v := w.readAssistantMessage(entry, m.finishedAt)
	w.stream.lastUsed = usedMessage{awaitsUpdate: true, hasSubmission: len(submissionsIn(contentBlocks(entry))) > 0, tamperSignals: w.tamperSignals - before}
	return v
}

// readUpdateWithoutEntry takes in an update without an entry: it ends the message that is
// streamed, or is behind one that was used; else the agent goes on.
func (w *watch) readUpdateWithoutEntry(at time.Time) *verdict {
	s := &w.stream
	if s.lastUsed.awaitsUpdate {
		s.lastUsed.awaitsUpdate = false
		return nil
	}
	w.finalMessageAt = time.Time{}
	s.finishCurrent(at)
	v := w.useStreamedMessage()
	s.lastUsed.awaitsUpdate = false
	return v
}

// turnOff notes that an entry has come: what is streamed is for show from
// now on. It returns what the same message may have counted for as a stream.
func (s *messageStream) turnOff() usedMessage {
	last := s.lastUsed
	*s = messageStream{isOff: true}
	if !last.awaitsUpdate {
		return usedMessage{}
	}
	return last
}

// checkStreamedMessage uses a finished message behind which nothing comes.
func (w *watch) checkStreamedMessage(now time.Time) (v *verdict, due time.Time) {
	m := w.stream.current
	if m == nil || m.finishedAt.IsZero() {
		return nil, due
	}
	if until := m.finishedAt.Add(historyEntryGrace); now.Before(until) {
		return nil, until
	}
	return w.useStreamedMessage(), due
}

// finishCurrent ends the message that is open, if one is.
func (s *messageStream) finishCurrent(at time.Time) {
	if s.current != nil && s.current.finishedAt.IsZero() {
		s.current.finishedAt = at
	}
}

// completeCurrent ends the message as its agent says: one that broke off is no message.
func (s *messageStream) completeCurrent(e *trace.Entry) {
	var frame protocol.StreamFrame
	if json.Unmarshal(e.Body, &frame) != nil || frame.Error != "" {
		s.current = nil
		return
	}
	s.finishCurrent(e.WallTime)
}

// addToCurrent takes in a part of the message that is open; others are passed over.
func (s *messageStream) addToCurrent(body []byte) {
	if s.current != nil && s.current.finishedAt.IsZero() && s.current.fault == "" {
		s.current.addFrame(body)
	}
}
