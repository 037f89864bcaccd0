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
	// interruptInterval is the time between two interrupts of a run that goes on.
	interruptInterval = time.Second

	// interruptsBeforeKill is how many interrupts a run gets before its subprocesses are
	// killed, in case it waits for one.
	interruptsBeforeKill = 2
)

// interrupter interrupts a kernel that cannot read messages while it runs code. If the
// server has stopped the run that is on, it sends SIGUSR2 at once and then every second until
// the run ends. From the third time on it also kills all descendants of the kernel,
// because Emacs waits for a program that it has called, whatever the signals.
//
// A signal may arrive late, when the kernel runs the next thing already. The kernel then
// finds no order to stop that among its messages, and goes on. So messageSent must be
// called after the order was written.
//
// It is safe for concurrent use. Close it when the kernel has ended.
type interrupter struct {
	pid    int
	signal func(syscall.Signal) error // to the kernel alone; its error is ignored

	mu                sync.Mutex
	closed            bool
	runningCell       string       // empty: no cell runs
	unfinishedTargets []stopTarget // sent and not ended, in this order
	stopOrdered       []stopTarget // of these, the ones with an order to stop
	interruptCount    int          // of the run that is on
	timer             *time.Timer  // of the next interrupt; nil: none is due
}

func newInterrupter(pid int, signal func(syscall.Signal) error) *interrupter {
	return &interrupter{pid: pid, signal: signal}
}

// messageSent follows a message that was written to the kernel.
func (i *interrupter) messageSent(body []byte) {
	switch kind := frameType(body); kind {
	case protocol.TypeRunCell, protocol.TypeExecuteCode:
		i.updateState(body, func(t stopTarget) { i.unfinishedTargets = append(i.unfinishedTargets, t) })
	case protocol.TypeStopCell, protocol.TypeDisposeCell:
		i.updateState(body, func(t stopTarget) {
			if slices.Contains(i.unfinishedTargets, t) && !slices.Contains(i.stopOrdered, t) {
				i.stopOrdered = append(i.stopOrdered, t)
			}
		})
	}
}

// messageReceived follows a message from the kernel.
func (i *interrupter) messageReceived(body []byte) {
	switch frameType(body) {
	case protocol.TypeStartCell:
		i.updateState(body, func(t stopTarget) { i.runningCell = t.cellID })
	case protocol.TypeCellResult:
		i.updateState(body, func(t stopTarget) {
			i.forget(t)
			i.runningCell = ""
		})
	case protocol.TypeExecuteCodeResponse:
		i.updateState(body, i.forget)
	}
}

// close ends all interrupting.
func (i *interrupter) close() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.closed = true
	i.cancelInterrupts()
}

// updateState changes the state for the target of a message, and then starts or cancels
// interrupts. It ignores a malformed message.
func (i *interrupter) updateState(body []byte, change func(stopTarget)) {
	env, err := protocol.NewEnvelopeDecoder().Decode(body)
	if err != nil {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	before := i.currentTarget()
	change(stopTargetOf(env))
	running := i.currentTarget()
	if running != before || running == (stopTarget{}) {
		i.cancelInterrupts()
	}
	if i.interruptCount == 0 && slices.Contains(i.stopOrdered, running) {
		i.interrupt()
	}
}

// forget removes one run of t, and the order to stop it.
func (i *interrupter) forget(t stopTarget) {
	if at := slices.Index(i.unfinishedTargets, t); at >= 0 {
		i.unfinishedTargets = slices.Delete(i.unfinishedTargets, at, at+1)
	}
	if at := slices.Index(i.stopOrdered, t); at >= 0 {
		i.stopOrdered = slices.Delete(i.stopOrdered, at, at+1)
	}
}

// currentTarget returns what the kernel runs: the cell whose start it announced, or an
// execute_code, which has no such message, if that is first in the queue. Returns the
// zero value if nothing runs, or if that is not known yet.
func (i *interrupter) currentTarget() stopTarget {
	switch {
	case i.runningCell != "":
		return stopTarget{cellID: i.runningCell}
	case len(i.unfinishedTargets) > 0 && i.unfinishedTargets[0].agentTxID != "":
		return i.unfinishedTargets[0]
	default:
		return stopTarget{}
	}
}

// cancelInterrupts stops interrupting the run that was on. The caller holds mu.
func (i *interrupter) cancelInterrupts() {
	i.interruptCount = 0
	if i.timer != nil {
		i.timer.Stop()
		i.timer = nil
	}
}

// interrupt interrupts the run that is on, now and every interruptInterval until
// cancelInterrupts. The caller holds mu.
func (i *interrupter) interrupt() {
	if i.closed {
		return
	}
	i.interruptCount++
	_ = i.signal(syscall.SIGUSR2) // fails if the kernel has died
	if i.interruptCount > interruptsBeforeKill {
		for _, pid := range descendants(i.pid) {
			_ = syscall.Kill(pid, syscall.SIGKILL) // fails if it has ended meanwhile
		}
	}
	var timer *time.Timer
	timer = time.AfterFunc(interruptInterval, func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		if i.timer == timer { // otherwise that run has ended
			i.interrupt()
		}
	})
	i.timer = timer
}

// descendants returns the ids of all processes that pid has started, directly or through
// others. Returns none if Linux does not list children in /proc.
func descendants(pid int) []int {
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
			found = append(found, descendants(child)...)
		}
	}
	return found
}
