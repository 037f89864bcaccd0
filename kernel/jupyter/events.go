package jupyter

import (
	"sync"

	"assay/internal/protocol"
)

// maxQueuedBytes is how much text and output may wait in an eventQueue. More is dropped
// and counted. The queue must not block its writers: if a channel were not read, the
// kernel's ZeroMQ would drop messages itself without a notice, including the one that
// says that a run is over.
const maxQueuedBytes = 256 << 20

// kernelEvent is something from the kernel: a message, text written to its stdout or
// stderr, or the end of a channel.
type kernelEvent struct {
	message      message
	stream       string // of text; empty: the event is no text
	text         []byte
	err          error // why a channel ended, or why a message is malformed
	channelEnded bool  // err is the end of a channel
}

func (e kernelEvent) sizeBytes() int { return len(e.text) + len(e.message.content) }

// isDroppable reports whether a run would still be seen to end without this event.
func (e kernelEvent) isDroppable() bool {
	switch e.message.kind {
	case "stream", "display_data", "update_display_data", "execute_result", "":
		return e.err == nil
	default:
		return false
	}
}

// eventQueue is a queue of events with several writers, which never block, and one
// reader.
type eventQueue struct {
	ready chan struct{} // holds an item if there are new events

	mu           sync.Mutex
	events       []kernelEvent
	queuedBytes  int
	droppedBytes int // since the last takeDroppedBytes
}

func newEventQueue() *eventQueue { return &eventQueue{ready: make(chan struct{}, 1)} }

// add appends an event, or drops it if it is droppable and the queue is full.
func (i *eventQueue) add(e kernelEvent) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if e.isDroppable() && i.queuedBytes+e.sizeBytes() > maxQueuedBytes {
		i.droppedBytes += e.sizeBytes()
		return
	}
	i.events = append(i.events, e)
	i.queuedBytes += e.sizeBytes()
	select {
	case i.ready <- struct{}{}:
	default: // it holds an item already
	}
}

// takeAll removes and returns all events, without waiting.
func (q *eventQueue) takeAll() []kernelEvent {
	q.mu.Lock()
	defer q.mu.Unlock()
	events := q.events
	q.events, q.queuedBytes = nil, 0
	return events
}

// takeDroppedBytes returns how many bytes were dropped since its last call.
func (q *eventQueue) takeDroppedBytes() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := q.droppedBytes
	q.droppedBytes = 0
	return n
}

// maxLastTextBytes is how much of a run's newest text is kept for the report of a
// crash.
const maxLastTextBytes = 4 << 10

// handleEvent handles one event from the kernel.
func (a *adapter) handleEvent(e kernelEvent) {
	switch {
	case e.channelEnded:
		a.channelErr = e.err
	case e.err != nil:
		printNotice(a.cfg.Stderr, "%v", e.err)
	case e.stream != "":
		a.handlePrinted(e.stream, e.text)
	default:
		a.handleMessage(e.message)
	}
}

// handleMessage handles a message from the kernel. It ignores kinds that have no use
// here, such as those of widgets.
func (a *adapter) handleMessage(m message) {
	isOwn := a.current.requestID != "" && m.parentID == a.current.requestID
	switch m.kind {
	case "status":
		a.current.isIdle = a.current.isIdle || isOwn && isIdleStatus(m)
	case "execute_reply":
		if isOwn {
			r := parseExecuteReply(m.content)
			a.current.reply = &r
		}
	case "stream":
		a.handleStream(isOwn, parseLooseObject(m.content))
	case "execute_result", "display_data", "update_display_data", "clear_output", "error":
		a.addOutput(isOwn, m)
	case "input_request":
		// IRkernel asks although the request said that stdin is not available.
		if _, err := a.kernel.sendRequest(a.kernel.stdin, "input_reply", map[string]string{"value": ""}); err != nil {
			a.channelErr = err
		}
	}
}

// handleStream handles text that code printed, as the kernel reports it. isOwn says
// that it belongs to the current run.
func (a *adapter) handleStream(isOwn bool, fields looseObject) {
	name := protocol.Stdout
	if fields.stringField("name") == protocol.Stderr {
		name = protocol.Stderr
	}
	if text := fields.stringField("text"); isOwn || a.isCellRunning() {
		a.addText(name, []byte(text))
	} else if text != "" {
		a.server.sendText(name, "", []byte(text)) // of a thread whose cell has ended
	}
}

// handlePrinted handles what was written to the kernel's stdout and stderr. A kernel
// that also reports it in messages has it only kept as the last text, which may be the
// report of a crash.
func (a *adapter) handlePrinted(stream string, text []byte) {
	if a.current.task != nil && a.kernel.language.echoesDescriptors {
		a.keepLastText(text)
		return
	}
	a.addText(stream, text)
}

// keepLastText appends to lastText.
func (a *adapter) keepLastText(text []byte) {
	a.lastText = append(a.lastText, text[max(0, len(text)-maxLastTextBytes):]...)
	a.lastText = a.lastText[max(0, len(a.lastText)-maxLastTextBytes):]
}

// addText gives text to the current run. Which run wrote text to a descriptor is not
// known; text of an earlier cell's thread is shown with the cell that runs meanwhile.
// Between runs it goes to Config.Stderr.
func (a *adapter) addText(stream string, text []byte) {
	if a.current.task == nil {
		_, _ = a.cfg.Stderr.Write(text) // there is no other place for an error
		return
	}
	a.keepLastText(text)
	a.current.task.addText(stream, text)
}

// addOutput gives an output to its run or, if that has ended, to the cell that runs
// now. Without one it is dropped with a notice.
func (a *adapter) addOutput(isOwn bool, m message) {
	if !isOwn && !a.isCellRunning() {
		printNotice(a.cfg.Stderr, "an output (%s) that came after its cell had ended is not shown", m.kind)
		return
	}
	a.current.task.addOutput(m)
}

func (a *adapter) isCellRunning() bool {
	_, ok := a.current.task.(*cellTask)
	return ok
}
