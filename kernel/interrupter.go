package kernel

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"assay/internal/protocol"
)

const (
	// interruptInterval is the time between two interrupts of a stopped run that goes on.
	interruptInterval = time.Second

	// interruptsBeforeKill is how many interrupts a stopped run gets before its
	// subprocesses are killed, in case it waits for one.
	interruptsBeforeKill = 2
)

// interrupter sends signals to a kernel that cannot read messages while it runs code. When the
// server stops the current run, it sends SIGUSR2 at once and then every second until the run
// ends. From the third signal on it also kills all descendants of the kernel, because Emacs
// waits for a program that it has called even if it is signalled.
//
// A signal may arrive late, when the kernel already runs the next cell. The kernel then finds
// no stop_cell for that cell among its messages, and goes on. Therefore noteSentMessage must be
// called after the stop_cell was written.
//
// It is safe for concurrent use. Close it when the kernel has ended.
type interrupter struct {
	pid    int
	signal func(syscall.Signal) error // sends a signal to the kernel process alone; its error is ignored

	mu                sync.Mutex
	closed            bool
	runningCell       string       // empty: no cell runs
	unfinishedTargets []stopTarget // requested runs that have not ended, in order
	targetsToStop     []stopTarget // those of unfinishedTargets for which a stop_cell was sent
	interruptCount    int          // how often the current run was interrupted
	timer             *time.Timer  // fires at the next interrupt; nil: none is due
}

// newInterrupter returns an interrupter for the kernel with this process id; signal sends a
// signal to that process.
func newInterrupter(pid int, signal func(syscall.Signal) error) *interrupter {
	return &interrupter{pid: pid, signal: signal}
}

// noteSentMessage updates the state after a message was written to the kernel: it adds a requested
// run, or starts interrupting a run that was stopped.
func (i *interrupter) noteSentMessage(body []byte) {
	switch kind := frameTypeOf(body); kind {
	case protocol.TypeRunCell, protocol.TypeExecuteCode:
		i.updateStateByMessage(body, func(t stopTarget) { i.unfinishedTargets = append(i.unfinishedTargets, t) })
	case protocol.TypeStopCell, protocol.TypeDisposeCell:
		i.updateStateByMessage(body, func(t stopTarget) {
			if slices.Contains(i.unfinishedTargets, t) && !slices.Contains(i.targetsToStop, t) {
				i.targetsToStop = append(i.targetsToStop, t)
			}
		})
	}
}

// noteReceivedMessage updates the state after a message came from the kernel: it notes the start
// of a cell, or stops interrupting a run that has ended.
func (i *interrupter) noteReceivedMessage(body []byte) {
	switch frameTypeOf(body) {
	case protocol.TypeStartCell:
		i.updateStateByMessage(body, func(t stopTarget) { i.runningCell = t.cellID })
	case protocol.TypeCellResult:
		i.updateStateByMessage(body, func(t stopTarget) {
			i.removeRequestedRun(t)
			i.runningCell = ""
		})
	case protocol.TypeExecuteCodeResponse:
		i.updateStateByMessage(body, i.removeRequestedRun)
	}
}

// close stops all signals. Later messages start none.
func (i *interrupter) close() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.closed = true
	i.cancelInterrupts()
}

// updateStateByMessage calls change with the run that a message is about, and then starts or cancels
// the interrupts of the current run. It ignores a malformed message.
func (i *interrupter) updateStateByMessage(body []byte, change func(stopTarget)) {
	env, err := protocol.NewEnvelopeDecoder().Decode(body)
	if err != nil {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	before := i.currentRun()
	change(stopTargetOfMessage(env))
	running := i.currentRun()
	if running != before || running == (stopTarget{}) {
		i.cancelInterrupts()
	}
	if i.interruptCount == 0 && slices.Contains(i.targetsToStop, running) {
		i.interruptRepeatedly()
	}
}

// removeRequestedRun removes one requested run of t, and the request to stop it.
func (i *interrupter) removeRequestedRun(t stopTarget) {
	if at := slices.Index(i.unfinishedTargets, t); at >= 0 {
		i.unfinishedTargets = slices.Delete(i.unfinishedTargets, at, at+1)
	}
	if at := slices.Index(i.targetsToStop, t); at >= 0 {
		i.targetsToStop = slices.Delete(i.targetsToStop, at, at+1)
	}
}

// currentRun returns the run that the kernel executes now: the cell whose start_cell has
// come, or an execute_code, which has no such message, if it is first among the unfinished
// requests. It returns the zero value if nothing runs or it is not known yet.
func (i *interrupter) currentRun() stopTarget {
	switch {
	case i.runningCell != "":
		return stopTarget{cellID: i.runningCell}
	case len(i.unfinishedTargets) > 0 && i.unfinishedTargets[0].agentTxID != "":
		return i.unfinishedTargets[0]
	default:
		return stopTarget{}
	}
}

// cancelInterrupts stops the timer that interrupts the current run, and resets the count. The
// caller holds mu.
func (i *interrupter) cancelInterrupts() {
	i.interruptCount = 0
	if i.timer != nil {
		i.timer.Stop()
		i.timer = nil
	}
}

// interruptRepeatedly interrupts the current run now and then every interruptInterval until
// cancelInterrupts is called. After interruptsBeforeKill interrupts it also kills the kernel's
// descendants. The caller holds mu.
func (i *interrupter) interruptRepeatedly() {
	if i.closed {
		return
	}
	i.interruptCount++
	_ = i.signal(syscall.SIGUSR2) // fails if the kernel has died
	if i.interruptCount > interruptsBeforeKill {
		for _, pid := range descendantPIDs(i.pid) {
			_ = syscall.Kill(pid, syscall.SIGKILL) // fails if it has ended meanwhile
		}
	}
	var timer *time.Timer
	timer = time.AfterFunc(interruptInterval, func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		if i.timer == timer { // otherwise that run has ended
			i.interruptRepeatedly()
		}
	})
	i.timer = timer
}

// descendantPIDs returns the process ids of all descendants of a process: its children, their
// children and so on. It returns none if Linux does not list children in /proc.
func descendantPIDs(pid int) []int {
	var found []int
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // the pattern is valid
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			continue // the thread has ended
		}
		for word := range strings.FieldsSeq(string(text)) {
			child, err := strconv.Atoi(word)
			if err != nil {
				continue
			}
			found = append(found, child)
			found = append(found, descendantPIDs(child)...)
		}
	}
	return found
}
