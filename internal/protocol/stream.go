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
	// headerBytes is the size of the length in front of each body.
	headerBytes = 8

	// maxSmallFrameBytes is the largest body that is copied behind its header and sent
	// with one write. A larger one is sent as two buffers.
	maxSmallFrameBytes = 16 << 10

	// readBufferBytes is the size of the buffer for headers and small bodies. Larger
	// bodies are read past it.
	readBufferBytes = 4 << 10

	// maxFirstReadBytes is how much memory is allocated for a body at first, unless the
	// peer has sent large bodies before; the rest follows as bytes arrive, so that a
	// header alone costs little.
	maxFirstReadBytes = 256 << 10
)

// stream implements [Conn] over a Unix socket. In front of each body it sends the body's length
// as a signed little-endian integer of eight bytes.
type stream struct {
	conn   io.ReadWriteCloser
	reader *bufio.Reader
	limit  int64 // of a body, in bytes
	closed atomic.Bool

	largestBody int         // bytes of the largest body that was read
	firstFrame  bool        // no frame was read yet
	wasCut      bool        // the body that was read last does not end as a JSON object does
	gzipped     atomic.Bool // the first body that was read is gzip: all that are written must be
	gzipWriter  *gzip.Writer
	gzipBuffer  bytes.Buffer // what gzipWriter writes
	frameBuffer []byte       // header and body of a small frame, to write both at once
}

// NewStream returns a Conn over the Unix socket conn, and owns conn from then on. limit is the
// size of the largest body in bytes, before and after decompression; 0 means
// [DefaultMaxFrameBytes]. If the first body that is read is compressed with gzip, every body
// written after that is, too.
func NewStream(conn io.ReadWriteCloser, limit int64) Conn {
	if limit <= 0 {
		limit = DefaultMaxFrameBytes
	}
	return &stream{conn: conn, reader: bufio.NewReaderSize(conn, readBufferBytes), limit: limit, firstFrame: true}
}

// Read implements [Conn]. It decompresses bodies that are gzip. After Close the error is a
// [*CutFrameError] if only a part of a frame had come.
func (s *stream) Read() ([]byte, error) {
	body, err := s.readFrame()
	switch {
	case err == nil:
		return body, nil
	case s.closed.Load():
		if cut, ok := errors.AsType[*CutFrameError](err); ok {
			cut.Err = ErrClosed
			return nil, cut
		}
		return nil, ErrClosed
	case errors.Is(err, io.EOF):
		return nil, io.EOF
	default:
		return nil, &ConnError{Operation: "read", Err: err}
	}
}

// readFrame reads one frame from the socket and returns its decompressed body. The end of the
// connection between two frames is io.EOF, the end within a header io.ErrUnexpectedEOF.
func (s *stream) readFrame() ([]byte, error) {
	var header [headerBytes]byte
	if _, err := io.ReadFull(s.reader, header[:]); err != nil {
		return nil, err
	}
	length := int64(binary.LittleEndian.Uint64(header[:])) //nolint:gosec // the length on the wire is signed
	if length <= 0 || length > s.limit {
		return nil, &FrameLengthError{Length: length, Limit: s.limit, Mistake: s.headerMistake(header)}
	}
	body, err := readSizedBody(s.reader, int(length), max(maxFirstReadBytes, 2*s.largestBody))
	if err != nil {
		return nil, &CutFrameError{Received: len(body), Length: int(length), Mistake: cutMistake(header[0], body, int(length)), Err: unexpectedEOF(err)}
	}
	s.largestBody = max(s.largestBody, len(body))
	if s.firstFrame {
		s.firstFrame = false
		s.gzipped.Store(isGzip(body))
	}
	s.wasCut = body[len(body)-1] != '}' && !isGzip(body)
	if !isGzip(body) {
		return body, nil
	}
	return gunzip(body, s.limit)
}

// readSizedBody reads n bytes of a frame's body. It first allocates at most firstBytes, and
// after that never more than twice as much as has arrived, so that a wrong length costs no
// memory. If in fails, it returns what has come.
func readSizedBody(in io.Reader, n, firstBytes int) ([]byte, error) {
	body := make([]byte, min(n, firstBytes))
	for read := 0; ; {
		m, err := io.ReadFull(in, body[read:])
		if err != nil {
			return body[:read+m], err
		}
		if read = len(body); read == n {
			return body, nil
		}
		grown := make([]byte, min(n, 2*read))
		copy(grown, body)
		body = grown
	}
}

// isGzip reports whether a body is compressed with gzip, by its first two bytes.
func isGzip(body []byte) bool {
	return len(body) >= 2 && body[0] == 0x1f && body[1] == 0x8b
}

// gunzip returns the decompressed body. It fails with a [*FrameLengthError] if that has more
// than limit bytes.
func gunzip(body []byte, limit int64) ([]byte, error) {
	unpacker, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("gzip frame: %w", unexpectedEOF(err))
	}
	plain, err := io.ReadAll(io.LimitReader(unpacker, limit+1))
	if err != nil {
		return nil, fmt.Errorf("gzip frame: %w", unexpectedEOF(err))
	}
	if int64(len(plain)) > limit {
		return nil, &FrameLengthError{Length: int64(len(plain)), Limit: limit}
	}
	return plain, nil
}

// Write implements [Conn]. It compresses the body if the peer does so.
func (s *stream) Write(body []byte) error {
	if s.gzipped.Load() {
		packed, err := s.compress(body)
		if err != nil {
			return &ConnError{Operation: "write", Err: err}
		}
		body = packed
	}
	if len(body) == 0 || int64(len(body)) > s.limit {
		// Nothing was written, so the connection can still be used.
		return &FrameLengthError{Length: int64(len(body)), Limit: s.limit}
	}
	if err := s.writeFrame(body); err != nil {
		if s.closed.Load() {
			return ErrClosed
		}
		return &ConnError{Operation: "write", Err: err}
	}
	return nil
}

// writeFrame writes the length of a body and the body to the socket.
func (s *stream) writeFrame(body []byte) error {
	var header [headerBytes]byte
	binary.LittleEndian.PutUint64(header[:], uint64(len(body)))
	if len(body) > maxSmallFrameBytes {
		_, err := (&net.Buffers{header[:], body}).WriteTo(s.conn)
		return err
	}
	s.frameBuffer = append(append(s.frameBuffer[:0], header[:]...), body...)
	_, err := s.conn.Write(s.frameBuffer)
	return err
}

// compress returns body compressed with gzip. The next call overwrites the result.
func (s *stream) compress(body []byte) ([]byte, error) {
	s.gzipBuffer.Reset()
	if s.gzipWriter == nil {
		s.gzipWriter = gzip.NewWriter(&s.gzipBuffer)
	} else {
		s.gzipWriter.Reset(&s.gzipBuffer)
	}
	if _, err := s.gzipWriter.Write(body); err != nil {
		return nil, err
	}
	if err := s.gzipWriter.Close(); err != nil {
		return nil, err
	}
	return s.gzipBuffer.Bytes(), nil
}

// Close implements [Conn]. It closes the socket; code and reason are not sent.
func (s *stream) Close(CloseCode, string) error {
	if s.closed.Swap(true) {
		return nil
	}
	return s.conn.Close()
}
