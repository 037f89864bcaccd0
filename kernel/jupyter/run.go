package jupyter

import (
	"context"
	"fmt"
	"time"

	"assay/internal/protocol"
)

// currentRun is the state of the task that the kernel runs. In the zero value nothing runs.
type currentRun struct {
	task      task
	requestID string // msg_id of its execute_request
	reply     *executeReply
	isIdle    bool // the kernel has said that it is idle again

	isStopping     bool
	nextInterrupt  <-chan time.Time // when to interrupt the run again; nil: never
	timeLimitOver  <-chan time.Time // when to stop the run; nil: never
	endTimeoutOver <-chan time.Time // when to finish the run without the second message; nil: never
}

// startNextTask starts the next queued task if nothing runs. It does nothing if the queue is
// empty.
func (a *adapter) startNextTask(ctx context.Context) {
	for a.current.task == nil {
		next := a.tasks.startNext()
		if next == nil {
			return
		}
		a.current, a.lastText = currentRun{task: next}, nil
		if _, ok := next.(*resetTask); ok {
			a.startRestart(ctx)
			return
		}
		a.sendExecuteRequest()
	}
}

// sendExecuteRequest sends the kernel the execute_request of the current task and starts the
// task's time limit. A failure to send is stored in channelErr.
func (a *adapter) sendExecuteRequest() {
	request := a.current.task.newExecuteRequest(a.kernel.language)
	id, err := a.kernel.sendRequest(a.kernel.shell, "execute_request", request)
	a.current.requestID = id
	if err != nil {
		a.channelErr = err // the reader of the channel will find it too
	}
	if limit := a.current.task.timeLimit(); limit > 0 {
		a.current.timeLimitOver = time.After(limit)
	}
}

// handleEvents handles all events that have come from the kernel so far, and then finishes the
// current run if it is over.
func (a *adapter) handleEvents() {
	for _, e := range a.kernel.events.takeAll() {
		a.handleEvent(e)
	}
	a.finishRunIfDone()
}

// finishRunIfDone finishes the current run if its execute_reply has come and the kernel has
// said that it is idle. Before that it reads the text that the run wrote to the pipes, and
// adds a line about output that was dropped. If only one of the two messages has come, it starts
// endTimeout.
func (a *adapter) finishRunIfDone() {
	switch hasReply := a.current.reply != nil; {
	case !hasReply && !a.current.isIdle:
		return
	case !hasReply || !a.current.isIdle:
		a.current.endTimeoutOver = time.After(endTimeout)
		return
	}
	a.kernel.process.readAvailable()
	for _, e := range a.kernel.events.takeAll() {
		a.handleEvent(e)
	}
	if lost := a.kernel.events.takeDroppedBytes(); lost > 0 {
		a.deliverText(protocol.Stderr, fmt.Appendf(nil, "\n[… %d bytes of output are left out: they came faster than they could be passed on …]\n", lost))
	}
	a.finishRun()
}

// finishRunWithoutSecondMessage finishes a run for which only one of the two messages that end it
// has come within endTimeout, with a notice. If the kernel still sends messages on the other's
// channel, it waits another endTimeout instead.
func (a *adapter) finishRunWithoutSecondMessage() {
	missing, channel := "say that it was idle after a run: some output may be lost", a.kernel.iopub
	if a.current.reply == nil {
		missing, channel = "reply to a run: it counts as interrupted", a.kernel.shell
	}
	if channel.hasReceivedWithin(endTimeout) {
		a.current.endTimeoutOver = time.After(endTimeout)
		return
	}
	printNotice(a.cfg.Stderr, "the kernel %s did not %s", a.spec.Name, missing)
	a.finishRunAsItIs()
}

// finishRunAsItIs finishes the current run as if both messages that end it had come. Without an
// execute_reply the kernel counts as having aborted it.
func (a *adapter) finishRunAsItIs() {
	a.current.isIdle = true
	if a.current.reply == nil {
		a.current.reply = &executeReply{Status: "aborted"}
	}
	a.finishRunIfDone()
}

// finishRun ends the current run and has its task send the answer to the server.
func (a *adapter) finishRun() {
	ended := a.current
	a.current = currentRun{}
	if ended.reply == nil {
		ended.reply = &executeReply{Status: "ok"}
	}
	ended.task.finish(*ended.reply, ended.isStopping)
}

// stopRun interrupts the current run, at once and then every interruptInterval until it ends.
// It does nothing if nothing runs or the run is being stopped already.
func (a *adapter) stopRun() {
	if a.current.task == nil || a.current.isStopping {
		return
	}
	a.current.isStopping = true
	a.interruptRun()
}

// interruptRun interrupts the current run once and sets the timer for the next interrupt. If
// the kernel is being restarted it only sets the timer. If the kernel is idle already it finishes
// the run, whose reply will not come.
func (a *adapter) interruptRun() {
	a.current.nextInterrupt = time.After(interruptInterval)
	if a.kernel == nil {
		return // a restart cannot be interrupted
	}
	if a.current.isIdle {
		a.finishRunAsItIs()
		return
	}
	if err := a.kernel.interrupt(); err != nil {
		printNotice(a.cfg.Stderr, "interrupt the kernel %s: %v", a.spec.Name, err)
	}
}
