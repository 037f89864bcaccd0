package protocol

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
)

const (
	headerSize = 8

	// A frame up to this size is copied behind its header and sent by one
	// write; a larger one is sent as two buffers.
	smallFrame = 16 << 10

	// readBuffer holds headers and small bodies; larger ones are read past it.
	readBuffer = 4 << 10

	// Memory for a body is taken in steps, so that a header alone costs little:
	// the first is at most this large, or twice the largest body that the peer
	// has sent.
	firstStep = 256 << 10
)

// FrameLengthError is a frame header that cannot be followed.
type FrameLengthError struct {
	Length int64 // as announced, or, for a gzip body, the size it grew past
	Limit  int64
}

func (e *FrameLengthError) Error() string {
	if e.Length <= 0 {
		return fmt.Sprintf("frame length %d: a frame has at least 1 byte", e.Length)
	}
	return fmt.Sprintf("frame length %d: over the limit of %d bytes", e.Length, e.Limit)
}

// stream is the Conn of the Unix sockets: each body behind its length, eight
// bytes signed little-endian.
type stream struct {
	conn   io.ReadWriteCloser
	in     *bufio.Reader
	limit  int64
	closed atomic.Bool

	largest int         // body read so far
	first   bool        // no frame was read yet
	gzipped atomic.Bool // the peer's first frame was gzip, and so is everything
	packer  *gzip.Writer
	packed  bytes.Buffer
	frame   []byte // a small frame being written, header and body
}

// NewStream returns a Conn over conn, which it owns from then on. limit is the
// largest body in bytes, before and after gunzip; 0 is [DefaultMaxFrameBytes].
// When the first body that is read is gzip, every body written from then on is.
func NewStream(conn io.ReadWriteCloser, limit int64) Conn {
	if limit <= 0 {
		limit = DefaultMaxFrameBytes
	}
	return &stream{conn: conn, in: bufio.NewReaderSize(conn, readBuffer), limit: limit, first: true}
}

func (s *stream) Read() ([]byte, error) {
	body, err := s.read()
	switch {
	case err == nil:
		return body, nil
	case s.closed.Load():
		return nil, ErrClosed
	case errors.Is(err, io.EOF):
		return nil, io.EOF
	default:
		return nil, &ChannelError{Operation: "read", Err: err}
	}
}

func (s *stream) read() ([]byte, error) {
	var header [headerSize]byte
	// A cut header yields ErrUnexpectedEOF, a clean end io.EOF.
	if _, err := io.ReadFull(s.in, header[:]); err != nil {
		return nil, err
	}
	length := int64(binary.LittleEndian.Uint64(header[:])) //nolint:gosec // the wire's length is signed
	if length <= 0 || length > s.limit {
		return nil, &FrameLengthError{Length: length, Limit: s.limit}
	}
	body, err := readBody(s.in, int(length), max(firstStep, 2*s.largest))
	if err != nil {
		return nil, err
	}
	s.largest = max(s.largest, len(body))
	if s.first {
		s.first = false
		s.gzipped.Store(isGzip(body))
	}
	if !isGzip(body) {
		return body, nil
	}
	return gunzip(body, s.limit)
}

// readBody reads n bytes. It takes memory for so many first, and then never
// holds more than twice what arrived.
func readBody(in io.Reader, n, first int) ([]byte, error) {
	body := make([]byte, min(n, first))
	for read := 0; ; {
		m, err := io.ReadFull(in, body[read:])
		if err != nil {
			return nil, fmt.Errorf("%d of %d bytes of a frame: %w", read+m, n, noEOF(err))
		}
		if read = len(body); read == n {
			return body, nil
		}
		grown := make([]byte, min(n, 2*read))
		copy(grown, body)
		body = grown
	}
}

func isGzip(body []byte) bool {
	return len(body) >= 2 && body[0] == 0x1f && body[1] == 0x8b
}

func gunzip(body []byte, limit int64) ([]byte, error) {
	unpacker, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("gzip frame: %w", noEOF(err))
	}
	plain, err := io.ReadAll(io.LimitReader(unpacker, limit+1))
	if err != nil {
		return nil, fmt.Errorf("gzip frame: %w", noEOF(err))
	}
	if int64(len(plain)) > limit {
		return nil, &FrameLengthError{Length: int64(len(plain)), Limit: limit}
	}
	return plain, nil
}

func (s *stream) Write(body []byte) error {
	if s.gzipped.Load() {
		packed, err := s.pack(body)
		if err != nil {
			return &ChannelError{Operation: "write", Err: err}
		}
		body = packed
	}
	if len(body) == 0 || int64(len(body)) > s.limit {
		// Refused whole, so the channel stays good.
		return &FrameLengthError{Length: int64(len(body)), Limit: s.limit}
	}
	if err := s.write(body); err != nil {
		if s.closed.Load() {
			return ErrClosed
		}
		return &ChannelError{Operation: "write", Err: err}
	}
	return nil
}

func (s *stream) write(body []byte) error {
	var header [headerSize]byte
	binary.LittleEndian.PutUint64(header[:], uint64(len(body)))
	if len(body) > smallFrame {
		_, err := (&net.Buffers{header[:], body}).WriteTo(s.conn)
		return err
	}
	s.frame = append(append(s.frame[:0], header[:]...), body...)
	_, err := s.conn.Write(s.frame)
	return err
}

func (s *stream) pack(body []byte) ([]byte, error) {
	s.packed.Reset()
	if s.packer == nil {
		s.packer = gzip.NewWriter(&s.packed)
	} else {
		s.packer.Reset(&s.packed)
	}
	if _, err := s.packer.Write(body); err != nil {
		return nil, err
	}
	if err := s.packer.Close(); err != nil {
		return nil, err
	}
	return s.packed.Bytes(), nil
}

func (s *stream) Close(CloseCode, string) error {
	if s.closed.Swap(true) {
		return nil
	}
	return s.conn.Close()
}
