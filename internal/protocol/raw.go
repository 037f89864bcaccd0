package protocol

import (
	"encoding/binary"
	"fmt"
	"unicode/utf8"
)

// Names of the two output streams.
const (
	Stdout = "stdout"
	Stderr = "stderr"
)

// RawFrame is a raw frame: stream text of a kernel without the cost of ToJSON. On the
// wire it is a zero byte, the stream (1 stdout, 2 stderr), the length of the
// cell id as two bytes little-endian, the cell id, and the text up to the end
// of the frame.
type RawFrame struct {
	Stream string
	CellID string // empty: no cell
	Text   []byte // UTF-8; shares memory with the body it was parsed from
}

const (
	rawMark   = 0
	rawHeader = 4 // mark, stream, length of the cell id
	rawStdout = 1
	rawStderr = 2
)

// IsRawFrame tells whether body is a raw frame; a ToJSON body begins with a brace.
func IsRawFrame(body []byte) bool { return len(body) > 0 && body[0] == rawMark }

// ParseRawFrame reads a raw frame.
func ParseRawFrame(body []byte) (RawFrame, error) {
	if !IsRawFrame(body) || len(body) < rawHeader {
		return RawFrame{}, fmt.Errorf("%w: raw frame of %d bytes", ErrMalformed, len(body))
	}
	var stream string
	switch body[1] {
	case rawStdout:
		stream = Stdout
	case rawStderr:
		stream = Stderr
	default:
		return RawFrame{}, fmt.Errorf("%w: raw frame for stream %d", ErrMalformed, body[1])
	}
	id := int(binary.LittleEndian.Uint16(body[2:rawHeader]))
	rest := body[rawHeader:]
	if id > len(rest) {
		return RawFrame{}, fmt.Errorf("%w: raw frame with a cell id of %d bytes in %d", ErrMalformed, id, len(rest))
	}
	if !utf8.Valid(rest) {
		return RawFrame{}, fmt.Errorf("%w: raw frame is not UTF-8", ErrMalformed)
	}
	return RawFrame{Stream: stream, CellID: string(rest[:id]), Text: rest[id:]}, nil
}

// AppendRawFrame appends r as a raw frame. A cell id longer than 65,535 bytes is cut.
func AppendRawFrame(dst []byte, r RawFrame) []byte {
	stream := byte(rawStdout)
	if r.Stream == Stderr {
		stream = rawStderr
	}
	id := r.CellID[:min(len(r.CellID), 1<<16-1)]
	dst = append(dst, rawMark, stream)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(id))) //nolint:gosec // bounded above
	dst = append(dst, id...)
	return append(dst, r.Text...)
}

// KernelStdio returns the message that r stands for.
func (r RawFrame) KernelStdio() KernelStdio {
	m := KernelStdio{Type: TypeKernelStdio, Stream: r.Stream, Data: string(r.Text)}
	if r.CellID != "" {
		m.ActiveCell = &r.CellID
	}
	return m
}

// ToJSON returns body as ToJSON: itself, or, where it is a raw frame, the
// kernel_stdio message that it stands for.
func ToJSON(body []byte) ([]byte, error) {
	if !IsRawFrame(body) {
		return body, nil
	}
	raw, err := ParseRawFrame(body)
	if err != nil {
		return nil, err
	}
	return Marshal(raw.KernelStdio())
}
