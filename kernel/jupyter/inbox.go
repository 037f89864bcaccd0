package jupyter

import "sync"

// inboxSize is how many bytes may wait, of what is text or an output. What
// comes past it is dropped and counted: a channel that is not read is one on
// which the kernel's ZeroMQ drops messages itself, without a word, the one that
// says that a run is over among them.
const inboxSize = 256 << 20

// event is something that came from the kernel: a message, text that it wrote to
// its stdout or stderr, or the end of a channel.
type event struct {
	message message
	stream  string // of text
	text    []byte
	err     error // with which a channel ended, or why a message is none
	ended   bool  // the channel
}

func (e event) size() int { return len(e.text) + len(e.message.content) }

// droppable tells whether a run still ends without it.
func (e event) droppable() bool {
	switch e.message.kind {
	case "stream", "display_data", "update_display_data", "execute_result", "":
		return e.err == nil
	default:
		return false
	}
}

// inbox is a queue of events, filled by several goroutines that never wait and
// emptied by one.
type inbox struct {
	bell chan struct{} // holds an item when there is something new

	mu      sync.Mutex
	events  []event
	size    int
	dropped int // bytes, since the last lost
}

func newInbox() *inbox { return &inbox{bell: make(chan struct{}, 1)} }

func (i *inbox) put(e event) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if e.droppable() && i.size+e.size() > inboxSize {
		i.dropped += e.size()
		return
	}
	i.events = append(i.events, e)
	i.size += e.size()
	select {
	case i.bell <- struct{}{}:
	default: // it was rung already
	}
}

// take returns all that is there, without waiting.
func (i *inbox) take() []event {
	i.mu.Lock()
	defer i.mu.Unlock()
	events := i.events
	i.events, i.size = nil, 0
	return events
}

// lost returns how many bytes were dropped since it was last asked.
func (i *inbox) lost() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	n := i.dropped
	i.dropped = 0
	return n
}
