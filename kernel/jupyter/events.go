package jupyter

import (
	"sync"

	"assay/internal/protocol"
)

// maxQueuedBytes is how many bytes of text and outputs may wait in an eventQueue. What comes
// beyond it is dropped and counted. The writers of the queue must not be blocked instead: if a
// channel were not read, the kernel's ZeroMQ would silently drop messages itself, among them
// the one that says that a run is over.
const maxQueuedBytes = 256 << 20

// kernelEvent is one thing that came from the kernel: a message, text that its process wrote
// to stdout or stderr, an error in a message, or the end of a channel.
type kernelEvent struct {
	message      message
	stream       string // stdout or stderr, if the event is text; otherwise empty
	text         []byte
	err          error // why a channel ended, or why a message is malformed
	channelEnded bool  // err is the end of a channel
}

// sizeBytes returns the size of the event's text and message content, as counted for
// maxQueuedBytes.
func (e kernelEvent) sizeBytes() int { return len(e.text) + len(e.message.content) }

// isDroppable reports whether the event is only text or an output. The end of a run is then
// noticed even if the event is dropped.
func (e kernelEvent) isDroppable() bool {
	switch e.message.kind {
	case "stream", "display_data", "update_display_data", "execute_result", "":
		return e.err == nil
	default:
		return false
	}
}

// eventQueue is a queue of events from the kernel, for several writers, which never block, and
// one reader. It is safe for concurrent use.
type eventQueue struct {
	ready chan struct{} // holds an item if there are new events

	mu           sync.Mutex
	events       []kernelEvent
	queuedBytes  int
	droppedBytes int // since the last takeDroppedBytes
}

// newEventQueue returns an empty eventQueue.
func newEventQueue() *eventQueue { return &eventQueue{ready: make(chan struct{}, 1)} }

// add appends an event to the queue and wakes the reader. It drops and counts an event with
// text or an output if the queue would hold more than maxQueuedBytes.
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

// takeAll removes and returns all queued events. It does not wait; it returns none if the
// queue is empty.
func (q *eventQueue) takeAll() []kernelEvent {
	q.mu.Lock()
	defer q.mu.Unlock()
	events := q.events
	q.events, q.queuedBytes = nil, 0
	return events
}

// takeDroppedBytes returns how many bytes the queue has dropped since the last call of
// takeDroppedBytes.
func (q *eventQueue) takeDroppedBytes() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := q.droppedBytes
	q.droppedBytes = 0
	return n
}

// maxLastTextBytes is how many bytes of the newest text of a run are kept, to be printed if
// the kernel crashes.
const maxLastTextBytes = 4 << 10

// handleEvent handles one event from the kernel: it passes on a message or text, prints an
// error as a notice, or notes that a channel has ended.
func (a *adapter) handleEvent(e kernelEvent) {
	switch {
	case e.channelEnded:
		a.channelErr = e.err
	case e.err != nil:
		printNotice(a.cfg.Stderr, "%v", e.err)
	case e.stream != "":
		a.deliverText(e.stream, e.text)
	default:
		a.handleMessage(e.message)
	}
}

// handleMessage handles a message from the kernel: status, execute_reply, printed text,
// outputs and requests for input, which it answers with an empty line. It ignores all other
// kinds, such as those of widgets.
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
		a.handleStreamMessage(isOwn, parseLenientObject(m.content))
	case "execute_result", "display_data", "update_display_data", "clear_output", "error":
		a.deliverOutput(isOwn, m)
	case "input_request":
		// IRkernel asks although the request said that stdin is not available.
		if _, err := a.kernel.sendRequest(a.kernel.stdin, "input_reply", map[string]string{"value": ""}); err != nil {
			a.channelErr = err
		}
	}
}

// handleStreamMessage handles a stream message, with which the kernel reports text that code
// printed. isOwn says that the message belongs to the current run. Text of a run that has
// ended goes to the running cell or, without one, to the server as text of no cell.
func (a *adapter) handleStreamMessage(isOwn bool, fields lenientObject) {
	name := protocol.Stdout
	if fields.stringField("name") == protocol.Stderr {
		name = protocol.Stderr
	}
	if text := fields.stringField("text"); isOwn || a.isCellRunning() {
		a.deliverText(name, []byte(text))
	} else if text != "" {
		a.server.sendText(name, "", []byte(text)) // of a thread whose cell has ended
	}
}

// appendLastText appends text to lastText and drops all but the newest maxLastTextBytes.
func (a *adapter) appendLastText(text []byte) {
	a.lastText = append(a.lastText, text[max(0, len(text)-maxLastTextBytes):]...)
	a.lastText = a.lastText[max(0, len(a.lastText)-maxLastTextBytes):]
}

// deliverText gives text to the current task. It is not known which run wrote text to a pipe,
// so text from a thread of an earlier cell is shown with the cell that runs meanwhile. If
// nothing runs the text goes to Config.Stderr.
func (a *adapter) deliverText(stream string, text []byte) {
	if a.current.task == nil {
		_, _ = a.cfg.Stderr.Write(text) // there is no other place for an error
		return
	}
	a.appendLastText(text)
	a.current.task.handlePrintedText(stream, text)
}

// deliverOutput gives an output message to the current task. An output of a run that has ended
// goes to the running cell; if no cell runs, it is dropped with a notice.
func (a *adapter) deliverOutput(isOwn bool, m message) {
	if !isOwn && !a.isCellRunning() {
		printNotice(a.cfg.Stderr, "an output (%s) that came after its cell had ended is not shown", m.kind)
		return
	}
	a.current.task.handleOutput(m)
}

// isCellRunning reports whether the current task is the run of a cell.
func (a *adapter) isCellRunning() bool {
	_, ok := a.current.task.(*cellTask)
	return ok
}
