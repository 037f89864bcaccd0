package builtin

import (
	"sync"
	"time"

	"assay/internal/model"
	"assay/internal/protocol"
)

// replyStreamer sends replies to the server while they arrive, one at a time, because
// the stream frames do not name their conversation. A reply that begins while another
// is being streamed is not streamed; the server gets it when it is added to its
// conversation. It is safe for concurrent use.
type replyStreamer struct {
	server *serverConn
	clock  func() time.Time
	busy   sync.Mutex
}

// replyStream sends one reply piece by piece. The server may drop its frames on the way
// to slow watchers. A nil replyStream sends nothing.
type replyStream struct {
	*replyStreamer
	started bool
}

// tryStart returns a stream, or nil if another one is open. The caller must call finish
// on a stream.
func (s *replyStreamer) tryStart() *replyStream {
	if !s.busy.TryLock() {
		return nil
	}
	return &replyStream{replyStreamer: s}
}

// sendDelta sends one piece of a reply: the start, a part of the text, or the end of a block.
func (s *replyStream) sendDelta(d model.Delta) {
	if s == nil {
		return
	}
	if !s.started {
		s.started = true
		s.server.sendOrLog(protocol.StreamFrame{Type: protocol.TypeAgentStreamStart, Timestamp: formatTimestamp(s.clock())})
	}
	frame := protocol.StreamFrame{BlockIndex: &d.Index}
	switch d.Kind {
	case model.DeltaStart:
		frame.Type, frame.BlockType, frame.BlockID, frame.BlockName = protocol.TypeAgentStreamBlock, d.Type, d.ID, d.Name
	case model.DeltaText:
		frame.Type, frame.BlockType, frame.Delta = protocol.TypeAgentStreamDelta, d.Type, d.Text
	case model.DeltaStop:
		frame.Type = protocol.TypeAgentStreamStop
	}
	s.server.sendOrLog(frame)
}

// finish ends the stream. err says why the reply broke off; nil means that it is
// complete.
func (s *replyStream) finish(err error) {
	if s == nil {
		return
	}
	defer s.busy.Unlock()
	if !s.started {
		return
	}
	frame := protocol.StreamFrame{Type: protocol.TypeAgentStreamComplete}
	if err != nil {
		frame.Error = err.Error()
	}
	s.server.sendOrLog(frame)
}
