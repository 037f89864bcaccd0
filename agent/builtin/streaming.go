package builtin

import (
	"time"

	"assay/agent/model"
	"assay/internal/protocol"
)

// streaming shows a reply while it arrives. What it sends may be dropped on the
// way to whoever watches.
type streaming struct {
	wire    *wire
	clock   func() time.Time
	started bool
}

func (s *streaming) delta(d model.Delta) {
	if !s.started {
		s.started = true
		s.wire.tell(protocol.StreamFrame{Type: protocol.TypeAgentStreamStart, Timestamp: stamp(s.clock())})
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
	s.wire.tell(frame)
}

// end closes what was shown; err is why the reply broke off, nil if it did not.
func (s *streaming) end(err error) {
	if !s.started {
		return
	}
	frame := protocol.StreamFrame{Type: protocol.TypeAgentStreamComplete}
	if err != nil {
		frame.Error = err.Error()
	}
	s.wire.tell(frame)
}
