package protocol

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"unicode"
)

// framingRule is what a peer that frames its messages in another way must do.
const framingRule = "frames begin with an 8-byte little-endian length (docs/protocol.md#framing)"

// tooSmallMistake is the mistake of a peer that sends more bytes than it announces.
const tooSmallMistake = "the length of the frame before seems too small: it counts bytes of UTF-8, not characters"

// FrameLengthError is the error for a frame that is empty or has more bytes than the limit.
type FrameLengthError struct {
	Length  int64  // from the header, in bytes; for a gzip body that is too large, how much was unpacked
	Limit   int64  // in bytes
	Mistake string // what the peer seems to send in place of frames; empty: that is not known
}

// Error returns the peer's mistake, the frame's length and the limit as text.
func (e *FrameLengthError) Error() string {
	text := fmt.Sprintf("frame length %d: over the limit of %d bytes", e.Length, e.Limit)
	if e.Length <= 0 {
		text = fmt.Sprintf("frame length %d: a frame has at least 1 byte", e.Length)
	}
	if e.Mistake != "" {
		text = e.Mistake + "; " + text
	}
	return text
}

// CutFrameError is the error for a frame of which only a part had come when the connection ended or
// was closed.
type CutFrameError struct {
	Received, Length int    // bytes of the body
	Mistake          string // what is wrong with the length, judged by the part that has come; empty: that is not known
	Err              error  // such as [io.ErrUnexpectedEOF] or [ErrClosed]
}

// Error returns how much has come, why no more comes, and the peer's mistake as text.
func (e *CutFrameError) Error() string {
	text := fmt.Sprintf("%d of %d bytes of a frame: %v", e.Received, e.Length, e.Err)
	if e.Mistake != "" {
		text += " (" + e.Mistake + ")"
	}
	return text
}

// Unwrap returns why no more of the frame comes.
func (e *CutFrameError) Unwrap() error { return e.Err }

// headerMistake returns what the peer seems to send, judged by eight bytes that are no valid length:
// lines of JSON or other text, a length in another form, or bytes that the frame before should
// have counted. It returns "" if they are no known mistake.
func (s *stream) headerMistake(header [headerBytes]byte) string {
	little4, big4 := binary.LittleEndian.Uint32(header[:]), binary.BigEndian.Uint32(header[:])
	isLength := func(n uint64) bool { return n >= 1 && n <= uint64(s.limit) } //nolint:gosec // the limit is positive
	start := bytes.TrimLeft(header[:], " \t\r\n")
	switch {
	case bytes.HasPrefix(start, []byte("{")):
		return "it seems to write lines of JSON: " + framingRule
	case isLength(binary.BigEndian.Uint64(header[:])):
		return "its lengths seem to be big-endian: " + framingRule
	case header[4] == '{' && (isLength(uint64(little4)) || isLength(uint64(big4))):
		return "its lengths seem to have 4 bytes: " + framingRule
	case !s.firstFrame && (s.wasCut || isText(header[:1])):
		return tooSmallMistake
	case isText(header[:]):
		return fmt.Sprintf("it seems to write text, %q: %s", header[:], framingRule)
	default:
		return ""
	}
}

// isText reports whether all bytes are printable or white space in ASCII.
func isText(text []byte) bool {
	return !bytes.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsPrint(r) && !unicode.IsSpace(r) })
}

// cutMistake returns what is wrong with the length of a frame, or with the frame before it, judged by the first
// byte of the length and the part of the body that has come. It returns "" if that is not known.
func cutMistake(first byte, received []byte, length int) string {
	rest := bytes.TrimLeft(received, "\x00")
	isShifted := len(rest) < len(received) && bytes.HasPrefix(rest, []byte("{")) // the zeros are the end of the length
	switch {
	case json.Valid(received):
		return fmt.Sprintf("all of its JSON has come: the length seems to be %d too large; it counts the bytes of the body alone", length-len(received))
	case isShifted && (first == '\n' || first == '\r'):
		return "a newline seems to follow the frame before: nothing may be between frames"
	case isShifted:
		return tooSmallMistake
	default:
		return ""
	}
}
