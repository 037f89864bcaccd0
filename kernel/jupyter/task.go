package jupyter

import (
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"assay/internal/protocol"
)

// task is something that the kernel is asked to run. It gets what its run produces in
// order, and then exactly one of finish and reject is called.
type task interface {
	// executeRequest returns the request for the kernel, in the language that it has when
	// the task starts.
	executeRequest(language) executeRequest

	// timeLimit returns how long the task may run until it is stopped. 0: no limit.
	timeLimit() time.Duration

	// addText and addOutput take what the run produces.
	addText(stream string, text []byte)
	addOutput(message)

	// finish answers the request behind the task. wasStopped says that it was interrupted.
	finish(r executeReply, wasStopped bool)

	// reject answers that the task was stopped before it ran.
	reject()
}

// resetTask resets the globals by restarting the kernel, so the kernel does not run it.
type resetTask struct {
	server  *serverWriter
	request serverRequest
}

func (*resetTask) executeRequest(language) executeRequest { return executeRequest{} }

func (*resetTask) timeLimit() time.Duration { return 0 }

func (*resetTask) addText(string, []byte) {}

func (*resetTask) addOutput(message) {}

func (r *resetTask) finish(executeReply, bool) {
	r.server.send(r.request.newAnswer("reset_kernel_globals_complete", answerFields{"threads": []string{}}))
}

func (r *resetTask) reject() {
	r.server.send(r.request.newAnswer("reset_kernel_globals_complete", answerFields{"threads": []string{}, "error": "stopped before it ran"}))
}

// truncateMiddle returns text with its middle replaced by a line that says how many
// bytes are missing, if it has more than maxBytes. What is kept has at most maxBytes,
// without that line.
func truncateMiddle(text string, maxBytes int) string {
	if len(text) <= maxBytes {
		return text
	}
	head, tail := maxBytes/2, len(text)-maxBytes/2
	for !utf8.RuneStart(text[head]) {
		head--
	}
	for !utf8.RuneStart(text[tail]) {
		tail++
	}
	return fmt.Sprintf("%s\n[… %d bytes …]\n%s", text[:head], tail-head, text[tail:])
}

// taskQueue is the queue of tasks. It announces the queued cells to the server. Cells
// and execute_code run in the order in which they came; questions about globals, which
// are short, come before them. Only the adapter's goroutine uses it.
type taskQueue struct {
	server         *serverWriter
	waiting        []task
	runSequencer   int      // number of the last run of a cell
	announcedQueue []string // the queue as it was last announced
	idleAnnounced  bool     // the server knows that no cell runs
}

// add queues a task. If startsAtOnce is set, the queue is not announced, since it will
// be empty again.
func (q *taskQueue) add(t task, startsAtOnce bool) {
	at := len(q.waiting)
	if isGlobalsTask(t) {
		if at = slices.IndexFunc(q.waiting, func(other task) bool { return !isGlobalsTask(other) }); at < 0 {
			at = len(q.waiting)
		}
	}
	q.waiting = slices.Insert(q.waiting, at, t)
	if !startsAtOnce {
		q.announceQueue()
	}
}

// startNext removes and returns the next task and announces its start. If there is none
// it announces that the kernel is idle and returns nil.
func (q *taskQueue) startNext() task {
	if len(q.waiting) == 0 {
		q.announceIdle()
		return nil
	}
	next := q.waiting[0]
	q.waiting = slices.Delete(q.waiting, 0, 1)
	q.announceQueue()
	q.announceStart(next)
	return next
}

// rejectMatching removes all queued tasks that match and rejects them.
func (q *taskQueue) rejectMatching(matches func(task) bool) {
	var rejected []task
	q.waiting = slices.DeleteFunc(q.waiting, func(t task) bool {
		if matches(t) {
			rejected = append(rejected, t)
		}
		return matches(t)
	})
	q.announceQueue()
	for _, t := range rejected {
		q.announceStart(t)
		t.reject()
	}
}

// announceStart sends the start of a cell. Other tasks have none.
func (q *taskQueue) announceStart(t task) {
	if c, ok := t.(*cellTask); ok {
		q.runSequencer++
		q.idleAnnounced = false
		c.sendStart(q.runSequencer)
	}
}

func (q *taskQueue) queuedCells() []string {
	queue := []string{}
	for _, t := range q.waiting {
		if c, ok := t.(*cellTask); ok {
			queue = append(queue, c.cellID)
		}
	}
	return queue
}

// announceQueue sends the ids of the queued cells if they have changed.
func (q *taskQueue) announceQueue() {
	if queue := q.queuedCells(); !slices.Equal(queue, q.announcedQueue) {
		q.announcedQueue = queue
		q.server.send(protocol.RunQueue{Type: protocol.TypeRunQueue, Queue: queue})
	}
}

// announceIdle sends, once, that no cell runs.
func (q *taskQueue) announceIdle() {
	if !q.idleAnnounced {
		q.idleAnnounced = true
		q.server.send(protocol.StartCell{Type: protocol.TypeStartCell, RunSequencer: q.runSequencer})
	}
}
