// Package kernel starts kernels, the subprocesses that run cells, and presents each as
// one connection with everything that a run produces, in order.
//
// A Python kernel sends most of that over its socket. What C code and subprocesses of a
// cell write goes to its stdout and stderr, which the server reads. A [Kernel] turns
// these bytes into kernel_stdio frames of the run during which they were written, and
// emits all of them before the run's cell_result.
//
// Within each stream, what a cell prints and what its child processes write stay in order:
//
//   - Before Python starts a process, the kernel sends the text that was printed. The server
//     reads a pipe after the frames that came before it ([subprocess.Spec.OutputAfterFrames]).
//   - The kernel sends printed text when the server has read the pipes, for which it waits
//     1 s at most. The server passes on what it has read before it handles the next frame.
//
// C code in the kernel's process is not announced: what it writes may come before text that
// was printed, without flush, in the 10 ms before.
//
// A Python kernel is started cold, or forked by a [Pool] that has made slow imports in
// advance. Both are the same to their users.
//
// # Stopping a run
//
//	stop_cell sent ──RepeatStopDelay (1 s)──▶ sent again ──StuckTimeout (5 s)──▶ stuck
//	                                          (with SIGINT, if the kernel does not come with Assay)
//
// A stuck kernel is killed if [Config.OnStuck] says so. An Emacs Lisp kernel cannot read
// while it runs code; it is interrupted by a signal at once and then every second.
//
// # Failures
//
//   - The kernel dies: Read returns a [*subprocess.ExitError] with its status or signal
//     and what it printed last, or if it was killed because it was stuck, an error that
//     says so.
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
	"syscall"
	"time"

	"assay/internal/protocol"
	"assay/internal/sandbox"
	"assay/internal/subprocess"
)

// DefaultReadyTimeout is how long [Start] waits for a kernel's ready message, and [NewPool]
// for the imports of a pool's parent, if the config sets no other timeout.
const DefaultReadyTimeout = 30 * time.Second

// Config says which kernel [Start] starts, in which folder, and with which limits. It starts
// Command if that is set, otherwise the Emacs Lisp kernel if Emacs is set, otherwise the
// Python kernel, for which Python is required.
type Config struct {
	Python  *Python  // interpreter of the Python kernel, from [ResolvePython]
	Emacs   *Emacs   // Emacs of the Emacs Lisp kernel, from [ResolveEmacs]
	Command []string // command of a kernel that does not come with Assay

	// Pool, if set, forks Python kernels as long as fewer than its MaxKernels run. nil:
	// every kernel is started as a new process.
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

	// OnStuck, if set, is called with the reason when a run has not stopped within
	// StuckTimeout of a stop_cell. The kernel is killed if it returns true.
	OnStuck func(reason string) (kill bool)

	// Output, if set, gets what the kernel process prints while no cell runs.
	Output func(stream string, chunk []byte)

	// OnForbidden, if set, is called when code in the kernel tried to connect to where it may
	// not; see [subprocess.Spec].
	OnForbidden func(what string)
}

// Kernel is a running kernel process and the [protocol.Conn] to it. The caller must call Stop
// when it is done. All methods are safe for concurrent use.
type Kernel struct {
	// ReadyMessage is the kernel's ready message, ReadyFrame the bytes of it.
	ReadyMessage protocol.Ready
	ReadyFrame   []byte

	proc        *subprocess.Process
	stopTracker *stopTracker
	interrupter *interrupter    // nil: the kernel reads while it runs code, and interrupts itself
	completer   *frameCompleter // nil: the kernel comes with Assay
	merger      *outputMerger
	onStuck     func(reason string) bool // may be nil

	frames    chan []byte   // frames for Read
	readEnded chan struct{} // closed when readErr is set and no more frames come
	readErr   error
	closed    chan struct{} // closed by Close
	closeOnce sync.Once

	writeMu sync.Mutex // held while a message is written

	stuckMu     sync.Mutex
	stuckReason string // why the kernel was killed as stuck; empty: it was not
}

// Start starts a kernel process and waits until it has sent its ready message. If cfg has a
// Pool with a free place, the pool forks the kernel; otherwise, or if the fork fails, a new
// process is started. It fails if the process cannot be started, exits early, sends no valid
// ready message within cfg.ReadyTimeout, or ctx ends; then no process is left.
func Start(ctx context.Context, sup *subprocess.Supervisor, cfg Config) (*Kernel, error) {
	fork := cfg.Pool.reserveFork(cfg)
	if fork == nil {
		return startForkedOrCold(ctx, sup, cfg, nil)
	}
	k, err := startForkedOrCold(ctx, sup, cfg, fork)
	if err == nil {
		return k, nil
	}
	cfg.Pool.recordForkFailure(ctx, fork, err)
	if ctx.Err() != nil {
		return nil, err
	}
	return startForkedOrCold(ctx, sup, cfg, nil)
}

// startForkedOrCold starts one kernel and waits for its ready message. The kernel is forked by
// the pool if fork is not nil, otherwise a new process is started. It fails if a forked kernel
// has inherited state from its parent.
func startForkedOrCold(ctx context.Context, sup *subprocess.Supervisor, cfg Config, fork *poolForker) (*Kernel, error) {
	k := &Kernel{
		frames: make(chan []byte), readEnded: make(chan struct{}), closed: make(chan struct{}),
		onStuck: cfg.OnStuck,
	}
	k.merger = newOutputMerger(cfg, k.emitFrame)
	k.stopTracker = newStopTracker(k.resendStopCell, k.killStuck)
	if cfg.Command != nil {
		k.completer = newFrameCompleter(k.stopTracker.isStopping)
	}
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

// awaitReady waits for the kernel's ready message and stores it in ReadyMessage and
// ReadyFrame. timeout 0 or less means DefaultReadyTimeout. It fails if the process exits, the
// timeout passes, ctx ends, or the message is malformed.
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

// PID returns the process id of the kernel.
func (k *Kernel) PID() int { return k.proc.PID() }

// Exited returns a channel that is closed when the kernel process has exited.
func (k *Kernel) Exited() <-chan struct{} { return k.proc.Exited() }

// ExitStatus returns the exit status or signal of the kernel process. Call it only after the channel
// of Exited is closed.
func (k *Kernel) ExitStatus() subprocess.ExitState { return k.proc.ExitState() }

// EnforcedLimits returns which limits and isolation measures are in force for this kernel process,
// by name, such as "memory" or "process_group"; see [subprocess.Process.Enforced].
func (k *Kernel) EnforcedLimits() map[string]bool { return k.proc.Enforced() }

// Read returns the next frame from the kernel: one from its socket, or one made from text that
// its process wrote to stdout or stderr. It blocks until there is one. If the kernel has died
// the error is a [*subprocess.ExitError], or one that says why the kernel was stuck if it was
// killed for that; after Close it is [protocol.ErrClosed].
func (k *Kernel) Read() ([]byte, error) {
	select {
	case frame := <-k.frames:
		return frame, nil
	case <-k.readEnded:
		return nil, k.readErr
	}
}

// Write sends one message to the kernel. It fails if the kernel has closed its socket. If the
// message is a stop_cell, the kernel is watched until the run ends.
func (k *Kernel) Write(body []byte) error {
	k.stopTracker.noteSentMessage(body)
	return k.writeUntracked(body)
}

// writeUntracked sends one message to the kernel without telling the stop tracker, which
// itself uses it to repeat a stop_cell.
func (k *Kernel) writeUntracked(body []byte) error {
	k.writeMu.Lock()
	defer k.writeMu.Unlock()
	err := k.proc.Write(body)
	if err == nil && k.interrupter != nil {
		k.interrupter.noteSentMessage(body)
	}
	return err
}

// Kill sends SIGKILL to the kernel and to all processes that it has started. The caller must
// still call Stop.
func (k *Kernel) Kill() { k.proc.Kill() }

// DeletedBytes returns how much disk deleted files occupy that the kernel, or what it has started, holds open;
// see [subprocess.Process.DeletedBytes].
func (k *Kernel) DeletedBytes(dir string) int64 { return k.proc.DeletedBytes(dir) }

// Freeze keeps the kernel and everything that it has started from running until thaw is called; see
// [subprocess.Process.Freeze]. Requests to it must wait until then.
func (k *Kernel) Freeze() (thaw func()) { return k.proc.Freeze() }

// HasUsedMemoryShare is [subprocess.Process.HasUsedMemoryShare].
func (k *Kernel) HasUsedMemoryShare() bool { return k.proc.HasUsedMemoryShare() }

// Close closes the kernel's socket, which makes the kernel exit. It does not wait for the
// exit.
func (k *Kernel) Close(code protocol.CloseCode, reason string) error {
	k.closeOnce.Do(func() { close(k.closed) })
	return k.proc.Close(code, reason)
}

// Stop closes the kernel's socket, ends its process as [subprocess.Process.Stop] does, and
// returns when no process, goroutine or timer of the kernel is left.
func (k *Kernel) Stop(ctx context.Context) error {
	k.stopTracker.close() // a run that does not stop is about to be killed anyway
	err := k.Close(protocol.CloseGoingAway, "")
	err = errors.Join(err, k.proc.Stop(ctx))
	<-k.readEnded
	if k.interrupter != nil {
		k.interrupter.close()
	}
	k.merger.close()
	return err
}

// readSocket reads frames from the kernel's socket and handles each, until the socket ends. It
// then stores the error that Read returns from then on.
func (k *Kernel) readSocket() {
	defer close(k.readEnded)
	for {
		frame, err := k.proc.Read()
		if err != nil {
			k.proc.DrainOutput()
			k.readErr = k.connectionEndError(err)
			return
		}
		if k.completer != nil {
			frame = k.completer.complete(frame)
		}
		k.handleFrame(frame)
	}
}

// handleFrame passes one frame from the kernel to Read, and updates the trackers of the
// current run. A cell that was stopped while it was queued gets its start_cell and cell_result
// in the middle of another cell's run; these two do not start or end a run.
func (k *Kernel) handleFrame(frame []byte) {
	if k.interrupter != nil {
		k.interrupter.noteReceivedMessage(frame)
	}
	k.proc.FlushOutput() // what was read from the pipes was written before the frame
	switch frameTypeOf(frame) {
	case protocol.TypeExecuteCodeResponse:
		k.stopTracker.noteRunEnded(stopTarget{agentTxID: agentTxIDOf(frame)})
		k.merger.emitFrameUnchanged(frame)
	case protocol.TypeCellResult:
		cell := cellIDOf(frame)
		if k.merger.isRunningCell(cell) {
			k.proc.DrainOutput() // hands the rest to the merger
		}
		k.stopTracker.noteRunEnded(stopTarget{cellID: cell})
		k.merger.endRun(cell, frame)
	case protocol.TypeKernelStdio:
		k.merger.addTextFrame(frame)
	case protocol.TypeStartCell:
		cell := cellIDOf(frame)
		if cell != "" && !k.merger.hasActiveRun() {
			k.stopTracker.noteCellStarted(cell)
		}
		k.merger.startRun(cell, frame)
	default:
		k.merger.emitFrameUnchanged(frame)
	}
}

// emitFrame blocks until Read takes the frame. It drops the frame if the kernel is closed or
// its socket has ended, because a process that outlives the kernel may still print.
func (k *Kernel) emitFrame(frame []byte) {
	select {
	case k.frames <- frame:
	case <-k.closed:
	case <-k.readEnded:
	}
}

// connectionEndError returns the error that Read reports after the connection to the kernel
// ended with err: a description of the stuck run if killStuck killed the kernel, otherwise
// err. To a [*subprocess.ExitError] without output of the process it adds the last text that
// the current cell printed.
func (k *Kernel) connectionEndError(err error) error {
	k.stuckMu.Lock()
	defer k.stuckMu.Unlock()
	if k.stuckReason != "" {
		return fmt.Errorf("it was killed: %s; another kernel takes its place, without its variables", k.stuckReason)
	}
	var died *subprocess.ExitError
	if errors.As(err, &died) && strings.TrimSpace(died.Exit.LastOutput) == "" {
		died.Exit.LastOutput = k.merger.lastRunText()
	}
	return err
}

// resendStopCell sends a stop_cell to the kernel again, and adds a line that says so to the text
// of the cell's run. A kernel that does not come with Assay gets a SIGINT too, since it may know no
// other interrupt.
func (k *Kernel) resendStopCell(order pendingStop) {
	k.merger.addLineToRun(order.target.cellID, fmt.Sprintf("[the run has not stopped for %v: it is interrupted again]\n", RepeatStopDelay))
	_ = k.writeUntracked(order.message) // fails if the kernel has died
	if k.completer != nil {
		_ = k.proc.Signal(syscall.SIGINT) // as above
	}
}

// killStuck calls Config.OnStuck for a run that did not stop within StuckTimeout, and kills
// the kernel if OnStuck returns true. Without OnStuck it does nothing.
func (k *Kernel) killStuck(order pendingStop) {
	reason := fmt.Sprintf("%v has not stopped for %v, and cannot be interrupted", order.target, StuckTimeout)
	if k.onStuck == nil || !k.onStuck(reason) {
		return
	}
	k.merger.addLineToRun(order.target.cellID, fmt.Sprintf("[the run has not stopped for %v: its kernel is killed]\n", StuckTimeout))
	k.stuckMu.Lock()
	k.stuckReason = reason
	k.stuckMu.Unlock()
	k.proc.Kill()
}
