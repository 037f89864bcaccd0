package jupyter

import (
	"context"

	"github.com/go-zeromq/zmq4"
)

// Message is a message.
type Message struct {
	Kind, ParentID string
	Content        []byte
}

// Signer is signer.
type Signer struct{ s signer }

// NewSigner returns a signer with a key.
func NewSigner(key string) Signer { return Signer{signer{key: []byte(key), session: "s"}} }

// Decode is signer.decode.
func (s Signer) Decode(frames [][]byte) (Message, error) {
	m, err := s.s.decode(frames)
	return Message{m.kind, m.parentID, m.content}, err
}

// Encode is signer.encode, for a message with the id "id".
func (s Signer) Encode(kind string, content []byte) ([][]byte, error) {
	return s.s.encode(message{kind: kind, id: "id", content: content})
}

// Sign is signer.sign.
func (s Signer) Sign(frames [][]byte) []byte { return s.s.sign(frames) }

// ParseSpec is parseSpec; it returns the argv.
func ParseSpec(body []byte) ([]string, error) {
	spec, err := parseSpec(body)
	return spec.argv, err
}

// ErrorText returns the text of a raisedError.
func ErrorText(name, value string, traceback []string) string {
	return newRaisedError(name, value, traceback).text()
}

// NotebookOutput is newNotebookOutput.
func NotebookOutput(kind string, content []byte) any {
	return newNotebookOutput(kind, parseLooseObject(content))
}

// ParseExecuteReply is parseExecuteReply; it returns three of the fields.
func ParseExecuteReply(content []byte) (status, ename string, traceback []string) {
	r := parseExecuteReply(content)
	return r.Status, r.EName, r.Traceback
}

// TruncateMiddle is truncateMiddle.
func TruncateMiddle(text string, maxBytes int) string { return truncateMiddle(text, maxBytes) }
func CompletePrefixLen(text []byte) int               { return completePrefixLen(text) }

// EventQueue is eventQueue.
type EventQueue struct{ i *eventQueue }

// NewEventQueue is newEventQueue.
func NewEventQueue() EventQueue { return EventQueue{newEventQueue()} }

// Add adds a message.
func (i EventQueue) Add(kind string, content []byte) {
	i.i.add(kernelEvent{message: message{kind: kind, content: content}})
}

// TakeAll removes all messages and returns their kinds, and how many bytes were dropped.
func (i EventQueue) TakeAll() (kinds []string, lost int) {
	for _, e := range i.i.takeAll() {
		kinds = append(kinds, e.message.kind)
	}
	return kinds, i.i.takeDroppedBytes()
}

// Dial connects to the socket with a port number of a kernel whose socket paths begin with
// pathPrefix, sends a message and returns the answer.
func Dial(ctx context.Context, pathPrefix string, port int, frames [][]byte) ([][]byte, error) {
	c := &connectionFile{Transport: transportIPC, IP: pathPrefix}
	ch, err := dialChannel(ctx, "shell", zmq4.Dealer, "me", c.addressesOf(port))
	if err != nil {
		return nil, err
	}
	defer ch.close()
	if err := ch.send(frames); err != nil {
		return nil, err
	}
	return ch.receive()
}
