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
	// strikeInterval is the time between two interrupts of a run that goes on.
	strikeInterval = time.Second

	// strikesBeforeKill is how often a run is interrupted before what it has
	// started is killed, in case it waits for that.
	strikesBeforeKill = 2
)

// interrupter sends a kernel that cannot read while it runs code the signal
// that makes it: SIGUSR2, whenever what runs was told to stop, at once and then
// every second until it ends. From the third time on, all its descendants are
// killed besides, because Emacs waits for a program that it calls whatever the
// signals.
//
// The signal may come late, when the kernel runs the next thing already. Then
// the kernel, which finds no order to stop that among its messages, goes on. The
// order must therefore be written before Sent is told of it.
//
// It is safe for concurrent use. Whoever made it must Close it.
type interrupter struct {
	pid    int
	signal func(syscall.Signal) error // to the kernel alone

	mu      sync.Mutex
	closed  bool
	cell    string   // that runs; empty: none
	open    []target // all that was sent and has not ended, in order
	told    []target // those of them that were told to stop
	strikes int      // at what runs
	timer   *time.Timer
}

// target is what can be stopped: the run of a cell, or an execute_code.
type target struct{ cell, tx string }

// newInterrupter returns the interrupter of the kernel with this process id.
// signal sends a signal to it; that it cannot be is none of its business.
func newInterrupter(pid int, signal func(syscall.Signal) error) *interrupter {
	return &interrupter{pid: pid, signal: signal}
}

// Sent takes note of a message that was written to the kernel.
func (i *interrupter) Sent(body []byte) {
	switch kind := frameType(body); kind {
	case protocol.TypeRunCell, protocol.TypeExecuteCode:
		i.change(body, func(t target) { i.open = append(i.open, t) })
	case protocol.TypeStopCell, protocol.TypeDisposeCell:
		i.change(body, func(t target) {
			if slices.Contains(i.open, t) && !slices.Contains(i.told, t) {
				i.told = append(i.told, t)
			}
		})
	}
}

// Received takes note of a message of the kernel's.
func (i *interrupter) Received(body []byte) {
	switch frameType(body) {
	case protocol.TypeStartCell:
		i.change(body, func(t target) { i.cell = t.cell })
	case protocol.TypeCellResult:
		i.change(body, func(t target) {
			i.over(t)
			i.cell = ""
		})
	case protocol.TypeExecuteCodeResponse:
		i.change(body, i.over)
	}
}

// Close ends all interrupting.
func (i *interrupter) Close() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.closed = true
	i.rest()
}

// change lets do take note of what body is about, and sees what follows.
func (i *interrupter) change(body []byte, do func(target)) {
	env, err := protocol.NewEnvelopeDecoder().Decode(body)
	if err != nil {
		return // what is no message stops nothing
	}
	t := target{cell: env.CellID}
	if t.cell == "" {
		t.tx = env.AgentTxID
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	before := i.running()
	do(t)
	running := i.running()
	if running != before || running == (target{}) {
		i.rest()
	}
	if i.strikes == 0 && slices.Contains(i.told, running) {
		i.strike()
	}
}

// over forgets one run of t, and that it was to stop.
func (i *interrupter) over(t target) {
	if at := slices.Index(i.open, t); at >= 0 {
		i.open = slices.Delete(i.open, at, at+1)
	}
	if at := slices.Index(i.told, t); at >= 0 {
		i.told = slices.Delete(i.told, at, at+1)
	}
}

// running is what the kernel runs, as far as can be known: the start of a cell
// is told, code without one comes when it is its turn.
func (i *interrupter) running() target {
	switch {
	case i.cell != "":
		return target{cell: i.cell}
	case len(i.open) > 0 && i.open[0].tx != "":
		return i.open[0]
	default:
		return target{}
	}
}

// rest ends the strikes at what has run. The caller holds mu.
func (i *interrupter) rest() {
	i.strikes = 0
	if i.timer != nil {
		i.timer.Stop()
		i.timer = nil
	}
}

// strike interrupts what runs, now and until rest. The caller holds mu.
func (i *interrupter) strike() {
	if i.closed {
		return
	}
	i.strikes++
	_ = i.signal(syscall.SIGUSR2) // a dead one has stopped
	if i.strikes > strikesBeforeKill {
		for _, pid := range descendants(i.pid) {
			_ = syscall.Kill(pid, syscall.SIGKILL) // or it has ended meanwhile
		}
	}
	var timer *time.Timer
	timer = time.AfterFunc(strikeInterval, func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		if i.timer == timer { // else it was for what is over
			i.strike()
		}
	})
	i.timer = timer
}

// descendants lists the processes that pid has started, and those that they have
// and so on. Where the system does not tell there are none.
func descendants(pid int) []int {
	var found []int
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // the pattern is good
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
