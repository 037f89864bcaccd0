package jupyter

import (
	"context"

	"github.com/go-zeromq/zmq4"
)

// Message lets tests see the fields of a decoded Jupyter message (message).
type Message struct {
	Kind, ParentID string
	Content        []byte
}

// Signer lets tests use the type that signs and verifies Jupyter messages (signer).
type Signer struct{ s signer }

// NewSigner returns a Signer that signs with key.
func NewSigner(key string) Signer { return Signer{signer{key: []byte(key), session: "s"}} }

// Decode checks the signature of the frames and decodes the message. It fails for a wrong
// signature and malformed frames.
func (s Signer) Decode(frames [][]byte) (Message, error) {
	m, err := s.s.decode(frames)
	return Message{m.kind, m.parentID, m.content}, err
}

// Encode returns the signed frames of a message of this kind with the id "id".
func (s Signer) Encode(kind string, content []byte) ([][]byte, error) {
	return s.s.encode(message{kind: kind, id: "id", content: content})
}

// Sign returns the HMAC-SHA256 of frames in hexadecimal.
func (s Signer) Sign(frames [][]byte) []byte { return s.s.sign(frames) }

// ParseSpec parses the content of a kernel.json file and returns its argv.
func ParseSpec(body []byte) ([]string, error) {
	spec, err := parseSpec(body)
	return spec.argv, err
}

// ErrorTracebackText returns the traceback text that is sent for an error with this name, value and
// traceback.
func ErrorTracebackText(name, value string, traceback []string) string {
	return newRaisedError(name, value, traceback).tracebackText()
}

// ConvertToNotebookOutput converts the content of a kernel's message of this kind to a notebook output.
func ConvertToNotebookOutput(kind string, content []byte) any {
	return newNotebookOutput(kind, parseLenientObject(content))
}

// ParseExecuteReply decodes an execute_reply and returns its status, error name and traceback.
func ParseExecuteReply(content []byte) (status, ename string, traceback []string) {
	r := parseExecuteReply(content)
	return r.Status, r.EName, r.Traceback
}

// TruncateMiddle returns text with its middle replaced by a note if it has more than maxBytes
// bytes.
func TruncateMiddle(text string, maxBytes int) string { return truncateMiddle(text, maxBytes) }

// CompleteUTF8PrefixLen returns the number of bytes of text without an incomplete UTF-8 character
// at its end.
func CompleteUTF8PrefixLen(text []byte) int { return completeUTF8PrefixLen(text) }

// EventQueue lets tests use the bounded queue of events from the kernel (eventQueue).
type EventQueue struct{ i *eventQueue }

// NewEventQueue returns an empty EventQueue.
func NewEventQueue() EventQueue { return EventQueue{newEventQueue()} }

// Add queues a message of this kind and content, or drops it if the queue is full.
func (i EventQueue) Add(kind string, content []byte) {
	i.i.add(kernelEvent{message: message{kind: kind, content: content}})
}

// TakeAll empties the queue and returns the kinds of its messages, and how many bytes were
// dropped.
func (i EventQueue) TakeAll() (kinds []string, lost int) {
	for _, e := range i.i.takeAll() {
		kinds = append(kinds, e.message.kind)
	}
	return kinds, i.i.takeDroppedBytes()
}

// DialAndExchange connects to the Unix socket with this port number of a kernel whose socket paths begin
// with pathPrefix, sends a message and returns the answer's frames.
func DialAndExchange(ctx context.Context, pathPrefix string, port int, frames [][]byte) ([][]byte, error) {
	c := &connectionFile{Transport: transportIPC, IP: pathPrefix}
	ch, err := dialChannel(ctx, "shell", zmq4.Dealer, "me", c.socketAddresses(port))
	if err != nil {
		return nil, err
	}
	defer ch.close()
	if err := ch.send(frames); err != nil {
		return nil, err
	}
	return ch.receive()
}
