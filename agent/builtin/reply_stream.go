package builtin

import (
	"sync"
	"time"

	"assay/internal/model"
	"assay/internal/protocol"
)

// replyStreamer sends model replies to the server while they arrive, one reply at a time,
// because stream frames do not name their conversation. A reply that begins while another is
// being streamed is not streamed; the server gets it when it is added to its conversation.
// It is safe for concurrent use.
type replyStreamer struct {
	server *serverConn
	clock  func() time.Time
	busy   sync.Mutex
}

// ReplyStream sends one model reply to the server piece by piece. The server may drop these
// frames for slow watchers. A nil ReplyStream sends nothing.
type ReplyStream struct {
	streamer *replyStreamer
	started  bool
}

// tryStart returns a stream for a model reply, or nil if another reply is being streamed.
// The caller must call Finish on the stream.
func (s *replyStreamer) tryStart() *ReplyStream {
	if !s.busy.TryLock() {
		return nil
	}
	return &ReplyStream{streamer: s}
}

// SendDelta sends one piece of a model reply: the start of a block, a part of its text, or
// its end. A write error is only logged.
func (s *ReplyStream) SendDelta(d model.Delta) {
	if s == nil {
		return
	}
	if !s.started {
		s.started = true
		s.streamer.server.sendOrLog(protocol.StreamFrame{Type: protocol.TypeAgentStreamStart, Timestamp: formatTimestamp(s.streamer.clock())})
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
	s.streamer.server.sendOrLog(frame)
}

// Finish sends the end of a streamed model reply and lets the next reply be streamed. err
// says why the reply broke off; nil means that it is complete.
func (s *ReplyStream) Finish(err error) {
	if s == nil {
		return
	}
	defer s.streamer.busy.Unlock()
	if !s.started {
		return
	}
	frame := protocol.StreamFrame{Type: protocol.TypeAgentStreamComplete}
	if err != nil {
		frame.Error = err.Error()
	}
	s.streamer.server.sendOrLog(frame)
}
