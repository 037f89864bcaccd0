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

// RawFrame is text that a run of a cell has printed, in a binary form that is cheaper than
// JSON. On the wire it is a zero byte, the stream (1 stdout, 2 stderr), the length of the cell
// id as two bytes little-endian, the cell id, and the text up to the end of the frame.
type RawFrame struct {
	Stream string // Stdout or Stderr
	CellID string // empty: the text is of no cell
	Text   []byte // UTF-8; shares memory with the body it was parsed from
}

// Bytes of a raw frame.
const (
	rawMark        = 0 // the first byte
	rawHeaderBytes = 4 // rawMark, stream, length of the cell id
	rawStdout      = 1 // the stream
	rawStderr      = 2
)

// IsRawFrame reports whether the body of a message is a raw frame, which begins with a zero
// byte; JSON cannot.
func IsRawFrame(body []byte) bool { return len(body) > 0 && body[0] == rawMark }

// ParseRawFrame parses the body of a raw frame. It fails with [ErrMalformed] if the frame is
// cut, names an unknown stream, or is not UTF-8.
func ParseRawFrame(body []byte) (RawFrame, error) {
	if !IsRawFrame(body) || len(body) < rawHeaderBytes {
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
	idBytes := int(binary.LittleEndian.Uint16(body[2:rawHeaderBytes]))
	rest := body[rawHeaderBytes:]
	if idBytes > len(rest) {
		return RawFrame{}, fmt.Errorf("%w: raw frame with a cell id of %d bytes in %d", ErrMalformed, idBytes, len(rest))
	}
	id, text := rest[:idBytes], rest[idBytes:]
	if !utf8.Valid(id) || !utf8.Valid(text) {
		return RawFrame{}, fmt.Errorf("%w: raw frame is not UTF-8", ErrMalformed)
	}
	return RawFrame{Stream: stream, CellID: string(id), Text: text}, nil
}

// AppendRawFrame appends the raw frame r in its wire form to dst. A cell id longer than 65,535
// bytes is cut.
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

// KernelStdio returns the raw frame as the kernel_stdio message that it stands for.
func (r RawFrame) KernelStdio() KernelStdio {
	m := KernelStdio{Type: TypeKernelStdio, Stream: r.Stream, Data: string(r.Text)}
	if r.CellID != "" {
		m.ActiveCell = &r.CellID
	}
	return m
}

// BodyToJSON returns a message's body unchanged if it is JSON; a raw frame is converted to the
// kernel_stdio message in JSON. It fails with [ErrMalformed] for a malformed raw frame.
func BodyToJSON(body []byte) ([]byte, error) {
	if !IsRawFrame(body) {
		return body, nil
	}
	raw, err := ParseRawFrame(body)
	if err != nil {
		return nil, err
	}
	return Marshal(raw.KernelStdio())
}
