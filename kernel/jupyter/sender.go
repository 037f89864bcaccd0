package jupyter

import (
	"errors"
	"fmt"

	"assay/internal/protocol"
)

// sender writes to the server. One that cannot be reached ends the adapter.
type sender struct {
	conn   protocol.Conn
	failed func(error)
}

// send writes a message. It reports whether it was small enough to be sent.
func (s *sender) send(message any) bool {
	body, err := protocol.Marshal(message)
	if err != nil {
		s.failed(fmt.Errorf("write to the server: %w", err)) // nothing that we send is such
		return false
	}
	return s.write(body)
}

func (s *sender) write(body []byte) bool {
	err := s.conn.Write(body)
	if err == nil {
		return true
	}
	if _, large := errors.AsType[*protocol.FrameLengthError](err); large {
		return false
	}
	s.failed(errServerGone)
	return true
}

// text sends text of a cell, or of none, in pieces.
func (s *sender) text(stream, cell string, text []byte) {
	for len(text) > 0 {
		piece := text[:min(len(text), chunkSize)]
		if len(piece) < len(text) {
			piece = piece[:lastWhole(piece)]
		}
		s.write(protocol.AppendRawFrame(nil, protocol.RawFrame{Stream: stream, CellID: cell, Text: piece}))
		text = text[len(piece):]
	}
}
