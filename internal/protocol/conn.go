package protocol

import (
	"errors"
	"fmt"
)

// Conn carries messages in both directions. It has three makes, [NewStream],
// [NewWebSocket] and [Pipe], and nobody above this package can tell them apart.
//
// Read and Write may run at the same time, each by one goroutine; Close may be
// called by any, more than once, and unblocks both. Whoever opened a Conn
// closes it, whatever its Read or Write has returned.
type Conn interface {
	// Read returns the next body, which is the caller's to keep but, as others
	// may hold it too, not to change. It returns io.EOF when the peer has
	// closed between frames, and a [*ChannelError] when the channel broke or
	// the peer did not keep to the framing. After an error every Read fails.
	Read() ([]byte, error)

	// Write sends one body, whole. It blocks while the peer does not read. It
	// keeps no reference to body after it returns, but for a Pipe, whose reader
	// gets that very slice. After an error every Write fails.
	Write(body []byte) error

	// Close ends the connection. Code and reason reach the peer where the
	// transport carries them, which only a WebSocket does.
	Close(code CloseCode, reason string) error
}

// CloseCode says why a connection was closed, in WebSocket's numbers.
type CloseCode int

// The close codes in use.
const (
	CloseNormal          CloseCode = 1000
	CloseGoingAway       CloseCode = 1001 // the session or the server ends
	ClosePolicyViolation CloseCode = 1008 // wrong token, or too slow a reader
	CloseReplaced        CloseCode = 4001 // the same holder has connected again
	CloseAlreadyHeld     CloseCode = 4009 // another console holds the notebook
)

// ErrClosed is returned by Read and Write after Close.
var ErrClosed = errors.New("connection closed")

// ChannelError is a fatal fault of a channel: the peer broke the framing, or
// the transport failed. Nothing can be read or written after it.
type ChannelError struct {
	Operation string // "read" or "write"
	Err       error
}

func (e *ChannelError) Error() string {
	return fmt.Sprintf("channel broken on %s: %v", e.Operation, e.Err)
}

// Unwrap returns the cause.
func (e *ChannelError) Unwrap() error { return e.Err }
