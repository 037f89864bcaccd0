// Package kernel starts kernels, the subprocesses that run cells, and presents each as
// one connection with everything that a run produces, in order.
//
// A Python kernel sends most of that over its socket. What C code and subprocesses of a
// cell write goes to its stdout and stderr, which the server reads. A [Kernel] turns
// these bytes into kernel_stdio frames of the run during which they were written, and
// emits all of them before the run's cell_result.
//
// A Python kernel is started cold, or forked by a [Pool] that has made slow imports in
// advance. Both are the same to their users.
//
// # Stopping a run
//
//	stop_cell sent ──RepeatStopDelay (1 s)──▶ sent again ──StuckTimeout (5 s)──▶ stuck
//
// A stuck kernel is killed if [Config.OnStuck] says so. An Emacs Lisp kernel cannot read
// while it runs code; it is interrupted by a signal at once and then every second.
//
// # Failures
//
//   - The kernel dies: Read returns a [*subprocess.ExitError] with its status or signal
//     and what it printed last.
//   - It prints more than [Config.MaxStdioBytes] in one run: the middle is dropped, and a
//     line says how many bytes.
//   - It sends no ready message in time: Start fails and stops it.
//   - A fork of the pool fails: the kernel is started cold, and the failure is logged.
//   - The pool's parent process dies or hangs (5 s for an answer): its kernels live on,
//     another parent is started, and kernels start cold until it is ready.
//
// # Goroutines
//
// Each kernel has one that moves frames from its socket to Read; it ends when the socket
// does, and Stop waits for it. Timers of stops and of early output run besides. Each
// pool has one that replaces a parent which has died; Close waits for it. The goroutines
// of the processes are those of package subprocess.
package kernel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"assay/internal/protocol"
	"assay/internal/sandbox"
	"assay/internal/subprocess"
)

// DefaultReadyTimeout is how long a kernel may take until it sends its ready message.
const DefaultReadyTimeout = 30 * time.Second

// Config says which kernel to start and where. Exactly one of Python, Emacs and Command
// is used: Command if it is set, otherwise Emacs if it is set, otherwise Python.
type Config struct {
	Python  *Python  // interpreter of the Python kernel, from [ResolvePython]
	Emacs   *Emacs   // Emacs of the Emacs Lisp kernel, from [ResolveEmacs]
	Command []string // command of a kernel that does not come with Assay

	// Pool, if set, forks Python kernels as long as it has a free place. nil: every
	// kernel starts cold.
	Pool *Pool

	// Sandbox, if set, confines the kernel to its Workdir and to what its interpreter
	// must read. ReadPaths are more files and folders that it may read.
	Sandbox   *sandbox.Template
	ReadPaths []string

	Workdir string   // working folder; it must contain .assay/home, .assay/tmp and .assay/mpl
	Session string   // id of the session
	Environ []string // the server's environment, of which the kernel gets a few variables

	// MaxStdioBytes is how much text one run may write. If it writes more, the middle is
	// dropped. 0: DefaultMaxStdioBytes. Negative: no limit.
	MaxStdioBytes int

	// MaxFrameBytes is the largest frame that may be read. 0: the protocol's default.
	MaxFrameBytes int64

	// ReadyTimeout bounds the wait for the ready message. 0: DefaultReadyTimeout.
	ReadyTimeout time.Duration

	// OnStuck, if set, is called when a run has not stopped within StuckTimeout of an
	// order to stop. The kernel is killed if it returns true.
	OnStuck func(reason string) (kill bool)

	// Output, if set, gets what the kernel prints while no run is on.
	Output func(stream string, chunk []byte)
}

// Kernel is a running kernel and the [protocol.Conn] to it. The caller must Stop it. Its
// methods may be called concurrently.
type Kernel struct {
	// ReadyMessage is the kernel's ready message, ReadyFrame the bytes of it.
	ReadyMessage protocol.Ready
	ReadyFrame   []byte

	proc        *subprocess.Process
	stops       *stopTracker
	interrupter *interrupter // nil: the kernel reads while it runs code, and interrupts itself
	merger      *outputMerger
	onStuck     func(reason string) bool // may be nil

	frames    chan []byte   // to Read
	readEnded chan struct{} // closed when readErr is set and no more frames come
	readErr   error
	closed    chan struct{} // closed by Close
	closeOnce sync.Once

	writeMu sync.Mutex // held while a message is written

	stuckMu     sync.Mutex
	stuckReason string // why it was killed as stuck; empty: it was not
}

// Start starts a kernel and waits for its ready message. It takes a kernel from the pool
// if there is one, and starts it cold if there is none or the fork fails.
func Start(ctx context.Context, sup *subprocess.Supervisor, cfg Config) (*Kernel, error) {
	fork := cfg.Pool.reserveFork(cfg)
	if fork == nil {
		return startWith(ctx, sup, cfg, nil)
	}
	k, err := startWith(ctx, sup, cfg, fork)
	if err == nil {
		return k, nil
	}
	cfg.Pool.noteForkFailure(ctx, fork, err)
	if ctx.Err() != nil {
		return nil, err
	}
	return startWith(ctx, sup, cfg, nil)
}

// startWith starts a kernel with the fork or, if that is nil, with a command.
func startWith(ctx context.Context, sup *subprocess.Supervisor, cfg Config, fork *poolFork) (*Kernel, error) {
	k := &Kernel{
		frames: make(chan []byte), readEnded: make(chan struct{}), closed: make(chan struct{}),
		onStuck: cfg.OnStuck,
	}
	k.merger = newOutputMerger(cfg, k.emitFrame)
	k.stops = newStopTracker(k.repeatStop, k.killStuck)
	spec, err := k.processSpec(cfg, fork)
	if err != nil {
		return nil, err
	}
	proc, err := sup.Start(spec)
	if err != nil {
		return nil, err
	}
	k.proc = proc
	if cfg.Emacs != nil {
		k.interrupter = newInterrupter(proc.PID(), proc.Signal)
	}
	err = k.awaitReady(ctx, cfg.ReadyTimeout)
	if err == nil && fork != nil {
		err = checkForkIsClean(k.ReadyMessage.Pool)
	}
	if err != nil {
		return nil, errors.Join(err, proc.Stop(ctx))
	}
	go k.readSocket()
	return k, nil
}

func (k *Kernel) awaitReady(ctx context.Context, timeout time.Duration) error {
	if timeout <= 0 {
		timeout = DefaultReadyTimeout
	}
	frame, err := k.proc.AwaitReady(ctx, timeout)
	if err != nil {
		return err
	}
	k.ReadyFrame = frame
	if err := json.Unmarshal(frame, &k.ReadyMessage); err != nil {
		return fmt.Errorf("kernel: decode its ready message: %w", err)
	}
	return nil
}

// PID returns the kernel's process id.
func (k *Kernel) PID() int { return k.proc.PID() }

// Exited returns a channel that is closed when the process has exited.
func (k *Kernel) Exited() <-chan struct{} { return k.proc.Exited() }

// Exit returns how the process ended. Call it only after Exited is closed.
func (k *Kernel) Exit() subprocess.Exit { return k.proc.Exit() }

// Enforced returns what was in fact enforced for this kernel; see
// [subprocess.Process.Enforced].
func (k *Kernel) Enforced() map[string]bool { return k.proc.Enforced() }

// Read returns the kernel's next frame, from its socket or made of what it printed. If
// the kernel has died the error is a [*subprocess.ExitError].
func (k *Kernel) Read() ([]byte, error) {
	select {
	case frame := <-k.frames:
		return frame, nil
	case <-k.readEnded:
		return nil, k.readErr
	}
}

// Write sends a message to the kernel.
func (k *Kernel) Write(body []byte) error {
	k.stops.messageSent(body)
	return k.write(body)
}

// write is Write without the tracker of stops, which uses it to repeat a stop.
func (k *Kernel) write(body []byte) error {
	k.writeMu.Lock()
	defer k.writeMu.Unlock()
	err := k.proc.Write(body)
	if err == nil && k.interrupter != nil {
		k.interrupter.messageSent(body)
	}
	return err
}

// Kill sends SIGKILL to the kernel and everything that it has started. It must still be
// stopped.
func (k *Kernel) Kill() { k.proc.Kill() }

// Close closes the kernel's socket, whereupon it exits.
func (k *Kernel) Close(code protocol.CloseCode, reason string) error {
	k.closeOnce.Do(func() { close(k.closed) })
	return k.proc.Close(code, reason)
}

// Stop ends the kernel as [subprocess.Process.Stop] does, and returns when nothing of it
// is left.
func (k *Kernel) Stop(ctx context.Context) error {
	k.stops.close() // a run that does not stop is about to be killed anyway
	err := k.Close(protocol.CloseGoingAway, "")
	err = errors.Join(err, k.proc.Stop(ctx))
	<-k.readEnded
	if k.interrupter != nil {
		k.interrupter.close()
	}
	k.merger.close()
	return err
}

// readSocket moves frames from the socket to Read until the socket ends.
func (k *Kernel) readSocket() {
	defer close(k.readEnded)
	for {
		frame, err := k.proc.Read()
		if err != nil {
			k.proc.DrainOutput()
			k.readErr = k.explainEnd(err)
			return
		}
		k.handleFrame(frame)
	}
}

// handleFrame passes a frame on and follows the run that is on. The start_cell and
// cell_result of a cell that was stopped while it was queued come in the middle of
// another cell's run, and do not belong to that run.
func (k *Kernel) handleFrame(frame []byte) {
	if k.interrupter != nil {
		k.interrupter.messageReceived(frame)
	}
	switch frameType(frame) {
	case protocol.TypeExecuteCodeResponse:
		k.stops.targetEnded(stopTarget{agentTxID: agentTxIDOf(frame)})
		k.merger.passFrame(frame)
	case protocol.TypeCellResult:
		cell := cellIDOf(frame)
		if k.merger.isRunOf(cell) {
			k.proc.DrainOutput() // hands the rest to the merger
		}
		k.stops.targetEnded(stopTarget{cellID: cell})
		k.merger.endRun(cell, frame)
	case protocol.TypeKernelStdio:
		k.merger.addText(frame)
	case protocol.TypeStartCell:
		cell := cellIDOf(frame)
		if cell != "" && !k.merger.isRunOn() {
			k.stops.cellStarted(cell)
		}
		k.merger.startRun(cell, frame)
	default:
		k.merger.passFrame(frame)
	}
}

// emitFrame hands a frame to Read. It gives up when the kernel is closed or its socket has
// ended, because a process that outlives the kernel may still print.
func (k *Kernel) emitFrame(frame []byte) {
	select {
	case k.frames <- frame:
	case <-k.closed:
	case <-k.readEnded:
	}
}

// explainEnd returns the error of a kernel whose connection ended with err. It adds what
// a cell printed last, unless the process has printed something itself, as in a crash.
func (k *Kernel) explainEnd(err error) error {
	k.stuckMu.Lock()
	defer k.stuckMu.Unlock()
	if k.stuckReason != "" {
		return fmt.Errorf("it was killed: %s; another kernel takes its place, without its variables", k.stuckReason)
	}
	var died *subprocess.ExitError
	if errors.As(err, &died) && strings.TrimSpace(died.Exit.LastOutput) == "" {
		died.Exit.LastOutput = k.merger.lastText()
	}
	return err
}

// repeatStop sends an order to stop again, and says so in the text of the cell's run.
func (k *Kernel) repeatStop(order stopOrder) {
	k.merger.addLine(order.target.cellID, fmt.Sprintf("[it has not stopped for %v, and is interrupted again]\n", RepeatStopDelay))
	_ = k.write(order.message) // fails if the kernel has died
}

// killStuck kills the kernel, if OnStuck wants that.
func (k *Kernel) killStuck(order stopOrder) {
	reason := fmt.Sprintf("%v has not stopped for %v, and cannot be interrupted", order.target, StuckTimeout)
	if k.onStuck == nil || !k.onStuck(reason) {
		return
	}
	k.merger.addLine(order.target.cellID, fmt.Sprintf("[it has not stopped for %v: its kernel is killed]\n", StuckTimeout))
	k.stuckMu.Lock()
	k.stuckReason = reason
	k.stuckMu.Unlock()
	k.proc.Kill()
}
