package builtin

import (
	"sync"
	"time"

	"assay/internal/model"
	"assay/internal/protocol"
)

// stage is where replies are shown while they arrive, one at a time: the frames
// do not say to which conversation they belong. A reply that comes while another
// is shown is not shown before it is committed. It is safe for concurrent use.
type stage struct {
	wire  *wire
	clock func() time.Time
	taken sync.Mutex
}

// streaming shows one reply. What it sends may be dropped on the way to whoever
// watches. A nil one shows nothing.
type streaming struct {
	*stage
	started bool
}

// enter takes the stage, if it is free. [streaming.leave] follows.
func (s *stage) enter() *streaming {
	if !s.taken.TryLock() {
		return nil
	}
	return &streaming{stage: s}
}

func (s *streaming) delta(d model.Delta) {
	if s == nil {
		return
	}
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

// leave closes what was shown, and frees the stage; err is why the reply broke
// off, nil if it did not.
func (s *streaming) leave(err error) {
	if s == nil {
		return
	}
	defer s.taken.Unlock()
	if !s.started {
		return
	}
	frame := protocol.StreamFrame{Type: protocol.TypeAgentStreamComplete}
	if err != nil {
		frame.Error = err.Error()
	}
	s.wire.tell(frame)
}
