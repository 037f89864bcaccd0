package attempt

import (
	"encoding/json"
	"time"

	"assay/internal/protocol"
	"assay/internal/trace"
)

// entryGrace is how long a finished message waits for an entry that is the same
// message, when nothing else follows.
const entryGrace = time.Second

// streams makes whole messages of the frames by which an agent shows a reply
// while it arrives. They count only with an agent that sends no entries of its
// history. Most that do send one right behind the stream, and so a finished
// message waits for what follows it.
//
//	      start           complete, start,              start, update without
//	                  update without entry, done       entry, status, action …, 1 s
//	none ───────▶ open ─────────────────────▶ finished ─────────────────────▶ used
//	                │ complete with an error      │ an entry, now or ever before
//	                └─────────────────────────────┴──────────────────────▶ dropped
type streams struct {
	off     bool      // the agent sends entries
	message *streamed // open or finished; nil: none
	last    used
}

// used is what the last message that was used has already counted for.
type used struct {
	uncommitted bool // no update has come behind it
	submits     bool
	tamper      int
}

// fromStream takes in what a frame means to the message that is streamed.
func (w *watch) fromStream(e *trace.Entry) *verdict {
	s := &w.streams
	if s.off {
		return nil
	}
	switch e.Type {
	case protocol.TypeAgentStreamStart:
		s.finish(e.WallTime)
		v := w.useStream()
		s.message, s.last = newStreamed(), used{}
		return v
	case protocol.TypeAgentStreamBlock, protocol.TypeAgentStreamDelta:
		s.add(e.Body)
	case protocol.TypeAgentStreamComplete:
		s.complete(e)
	case protocol.TypeAgentStatus:
		if e.Status == protocol.AgentDone {
			s.finish(e.WallTime)
		}
		return w.useStream()
	case protocol.TypeAgentAction, protocol.TypeAgentResult, protocol.TypeAgentError:
		return w.useStream()
	}
	return nil
}

// useStream takes the streamed message, when it is finished, for one that the
// agent has sent whole.
func (w *watch) useStream() *verdict {
	m := w.streams.message
	if m == nil || m.finished.IsZero() {
		return nil
	}
	w.streams.message = nil
	if m.fault != "" {
		w.complaint = "a streamed message was given up: " + m.fault
		return nil
	}
	entry, before := m.entry(), w.tamper
	v := w.said(entry, m.finished)
	w.streams.last = used{uncommitted: true, submits: len(submissionsOf(blocksOf(entry))) > 0, tamper: w.tamper - before}
	return v
}

// committed takes in an update without an entry: it ends the message that is
// streamed, or is behind one that was used; else the agent goes on.
func (w *watch) committed(at time.Time) *verdict {
	s := &w.streams
	if s.last.uncommitted {
		s.last.uncommitted = false
		return nil
	}
	w.lastWord = time.Time{}
	s.finish(at)
	v := w.useStream()
	s.last.uncommitted = false
	return v
}

// sendsEntries notes that an entry has come: what is streamed is for show from
// now on. It returns what the same message may have counted for as a stream.
func (s *streams) sendsEntries() used {
	last := s.last
	*s = streams{off: true}
	if !last.uncommitted {
		return used{}
	}
	return last
}

// onStream uses a finished message behind which nothing comes.
func (w *watch) onStream(now time.Time) (v *verdict, due time.Time) {
	m := w.streams.message
	if m == nil || m.finished.IsZero() {
		return nil, due
	}
	if until := m.finished.Add(entryGrace); now.Before(until) {
		return nil, until
	}
	return w.useStream(), due
}

// finish ends the message that is open, if one is.
func (s *streams) finish(at time.Time) {
	if s.message != nil && s.message.finished.IsZero() {
		s.message.finished = at
	}
}

// complete ends the message as its agent says: one that broke off is no message.
func (s *streams) complete(e *trace.Entry) {
	var frame protocol.StreamFrame
	if json.Unmarshal(e.Body, &frame) != nil || frame.Error != "" {
		s.message = nil
		return
	}
	s.finish(e.WallTime)
}

// add takes in a part of the message that is open; others are passed over.
func (s *streams) add(body []byte) {
	if s.message != nil && s.message.finished.IsZero() && s.message.fault == "" {
		s.message.add(body)
	}
}
