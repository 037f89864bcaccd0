package jupyter

import (
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"assay/internal/protocol"
)

// task is a piece of work in the adapter's queue: a cell, an execute_code, a question about
// globals, or a reset. It gets the text and outputs of its run in order. Then exactly one of
// finish and answerNotRun is called.
type task interface {
	// newExecuteRequest returns the content of the execute_request to be sent to the kernel. The
	// language is the one that the kernel has when the task starts.
	newExecuteRequest(languageSupport) executeRequest

	// timeLimit returns how long the task may run until it is stopped. 0: no limit.
	timeLimit() time.Duration

	// handlePrintedText takes text that the run printed to a stream, handleOutput an output message.
	handlePrintedText(stream string, text []byte)
	handleOutput(message)

	// finish sends the server the answer after the run has ended. wasStopped says that the
	// run was interrupted.
	finish(r executeReply, wasStopped bool)

	// answerNotRun sends the server the answer that the task was stopped before it ran.
	answerNotRun()
}

// resetTask is a request to reset the globals. The adapter restarts the kernel for it, so the
// kernel runs no code and most methods do nothing.
type resetTask struct {
	server  *serverWriter
	request serverRequest
}

// newExecuteRequest is never called, since a restart needs no request to the kernel.
func (*resetTask) newExecuteRequest(languageSupport) executeRequest { return executeRequest{} }

// timeLimit returns 0: a restart has no separate time limit.
func (*resetTask) timeLimit() time.Duration { return 0 }

// handlePrintedText does nothing: a restart prints nothing that the answer could hold.
func (*resetTask) handlePrintedText(string, []byte) {}

// handleOutput does nothing: a restart has no outputs.
func (*resetTask) handleOutput(message) {}

// finish answers the server that the globals were reset.
func (r *resetTask) finish(executeReply, bool) {
	r.server.send(r.request.newAnswer("reset_kernel_globals_complete", messageFields{"threads": []string{}}))
}

// answerNotRun answers the server that the reset was stopped before it ran.
func (r *resetTask) answerNotRun() {
	r.server.send(r.request.newAnswer("reset_kernel_globals_complete", messageFields{"threads": []string{}, "error": "stopped before it ran"}))
}

// truncateMiddle returns text unchanged if it has at most maxBytes bytes. Otherwise it keeps
// the beginning and the end, together at most maxBytes, and puts a line in between that says
// how many bytes are missing. Characters are not split.
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

// taskQueue is the queue of tasks that wait for the kernel. It sends the server the ids of the
// queued cells whenever they change. Cells and execute_code run in the order in which they
// came; questions about globals, which are short, come before them. Only the adapter's
// goroutine uses it.
type taskQueue struct {
	server         *serverWriter
	waiting        []task
	runSequencer   int      // number of the last run of a cell
	announcedQueue []string // the queue as it was last announced
	idleAnnounced  bool     // the server knows that no cell runs
}

// add queues a task: a question about globals before all cells and execute_code, any other
// task at the end. With startsAtOnce the change is not sent to the server, because the task
// leaves the queue immediately.
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

// startNext removes the first task from the queue, announces its start to the server, and
// returns it. If the queue is empty it announces that the kernel is idle and returns nil.
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

// removeMatching removes all queued tasks for which matches returns true, and answers their
// requests as stopped before they ran.
func (q *taskQueue) removeMatching(matches func(task) bool) {
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
		t.answerNotRun()
	}
}

// announceStart sends the start_cell message if the task is a cell. Other tasks have no such
// message.
func (q *taskQueue) announceStart(t task) {
	if c, ok := t.(*cellTask); ok {
		q.runSequencer++
		q.idleAnnounced = false
		c.sendStartCell(q.runSequencer)
	}
}

// queuedCellIDs returns the ids of the cells in the queue, in order.
func (q *taskQueue) queuedCellIDs() []string {
	queue := []string{}
	for _, t := range q.waiting {
		if c, ok := t.(*cellTask); ok {
			queue = append(queue, c.cellID)
		}
	}
	return queue
}

// announceQueue sends the server the ids of the queued cells if they have changed since they
// were last sent.
func (q *taskQueue) announceQueue() {
	if queue := q.queuedCellIDs(); !slices.Equal(queue, q.announcedQueue) {
		q.announcedQueue = queue
		q.server.send(protocol.RunQueue{Type: protocol.TypeRunQueue, Queue: queue})
	}
}

// announceIdle sends the server a start_cell without a cell, which means that no cell runs,
// unless that was the last thing it sent.
func (q *taskQueue) announceIdle() {
	if !q.idleAnnounced {
		q.idleAnnounced = true
		q.server.send(protocol.StartCell{Type: protocol.TypeStartCell, RunSequencer: q.runSequencer})
	}
}
