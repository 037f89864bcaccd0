package jupyter

import (
	"context"

	"github.com/go-zeromq/zmq4"
)

// What tests look at from outside.

// Message is a message's kind, its parent's id and its content.
type Message struct {
	Kind, Parent string
	Content      []byte
}

// Signer signs with a key.
type Signer struct{ s signer }

func NewSigner(key string) Signer { return Signer{signer{key: []byte(key), session: "s"}} }

func (s Signer) Decode(frames [][]byte) (Message, error) {
	m, err := s.s.decode(frames)
	return Message{m.kind, m.parent, m.content}, err
}

func (s Signer) Encode(kind string, content []byte) ([][]byte, error) {
	return s.s.encode(message{kind: kind, id: "id", content: content})
}

// Sign signs the four frames of a message as another would.
func (s Signer) Sign(frames [][]byte) []byte { return s.s.sign(frames) }

// ParseSpec reads the content of a kernel.json and tells its argv.
func ParseSpec(body []byte) ([]string, error) {
	spec, err := parseSpec(body)
	return spec.argv, err
}

// Failure is the text of an error.
func Failure(name, value string, traceback []string) string {
	return newFailure(name, value, traceback).text()
}

// Shown is the output that a message's content becomes.
func Shown(kind string, content []byte) any { return newOutput(kind, parseLoose(content)) }

// Reply is the status, the error and the traceback of an execute_reply.
func Reply(content []byte) (status, ename string, traceback []string) {
	r := parseReply(content)
	return r.Status, r.EName, r.Traceback
}

// Clip cuts the middle out of text; LastWhole is where its last character
// begins that has no end.
func Clip(text string, most int) string { return clip(text, most) }
func LastWhole(text []byte) int         { return lastWhole(text) }

// Inbox is the queue of events.
type Inbox struct{ i *inbox }

func NewInbox() Inbox { return Inbox{newInbox()} }

func (i Inbox) Put(kind string, content []byte) {
	i.i.put(event{message: message{kind: kind, content: content}})
}

// Take returns the kinds of what is there, and the bytes that were dropped.
func (i Inbox) Take() (kinds []string, lost int) {
	for _, e := range i.i.take() {
		kinds = append(kinds, e.message.kind)
	}
	return kinds, i.i.lost()
}

// Dial opens a channel to the socket with a number, of a kernel whose sockets'
// paths begin with a text, and sends and receives one message.
func Dial(ctx context.Context, begin string, port int, frames [][]byte) ([][]byte, error) {
	c := &connection{Transport: ipc, IP: begin}
	ch, err := dial(ctx, "shell", zmq4.Dealer, "me", c.at(port))
	if err != nil {
		return nil, err
	}
	defer ch.close()
	if err := ch.send(frames); err != nil {
		return nil, err
	}
	return ch.receive()
}
