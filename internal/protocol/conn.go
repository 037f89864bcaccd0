package protocol

import (
	"errors"
	"fmt"
)

// Conn is a connection that carries messages in both directions. There are three kinds, made by
// [NewStream], [NewWebSocket] and [Pipe]; users need not know which one they have.
//
// One goroutine may call Read while another one calls Write. Any goroutine may call Close, more
// than once; it unblocks both. The caller must close a Conn, even if Read or Write has
// failed.
type Conn interface {
	// Read returns the next body. The caller may keep it but not change it, as
	// others may hold it too. Read returns io.EOF if the peer has closed the
	// connection between two frames, ErrClosed after Close, and a [*ConnError] if
	// the transport failed or the peer broke the framing. After an error every Read
	// fails.
	Read() ([]byte, error)

	// Write sends one body. It blocks while the peer does not read. It keeps no
	// reference to body after it returns, except on a Pipe, whose reader gets the
	// same slice. It returns ErrClosed after Close. After an error every Write fails,
	// but for a [*FrameLengthError]: that body was not sent, the next one may be.
	Write(body []byte) error

	// Close ends the connection. Only a WebSocket sends code and reason to the peer.
	Close(code CloseCode, reason string) error
}

// CloseCode is the WebSocket close code that says why a connection is closed.
type CloseCode int

// The close codes in use.
const (
	CloseNormal          CloseCode = 1000
	CloseGoingAway       CloseCode = 1001 // the session or the server ends
	ClosePolicyViolation CloseCode = 1008 // wrong token, or the peer reads too slowly
	CloseReplaced        CloseCode = 4001 // the same console has connected again
	CloseAlreadyHeld     CloseCode = 4009 // another console holds the notebook
)

// ErrClosed is returned by Read and Write of a [Conn] after its own Close was called.
var ErrClosed = errors.New("connection closed")

// ConnError is a fatal error of a [Conn]: the peer broke the framing, or the transport
// failed. Nothing can be read or written after it.
type ConnError struct {
	Operation string // "read" or "write"
	Err       error
}

// Error returns the failed operation ("read" or "write") and the cause as text.
func (e *ConnError) Error() string {
	return fmt.Sprintf("channel broken on %s: %v", e.Operation, e.Err)
}

// Unwrap returns the error of the transport or of the framing.
func (e *ConnError) Unwrap() error { return e.Err }
