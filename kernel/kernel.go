// Package kernel starts kernels, the subprocesses that run cells, and makes of
// each one connection that says everything about its runs.
//
// A Python kernel says most of that on its socket. What C code and subprocesses
// of a cell write goes to its stdout and stderr, which the server drains; a
// [Kernel] puts it where it belongs, as kernel_stdio of the run that is on, and
// all of it before the run's cell_result.
package kernel

import (
	"bytes"
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

// earlyFor is how long text that was written while no run was on waits for a
// start_cell: the two come on different ways, and the text may be faster.
const earlyFor = 50 * time.Millisecond

// DefaultReadyTimeout is how long a kernel may take until it says ready.
const DefaultReadyTimeout = 30 * time.Second

// Config says what kernel to start and where.
type Config struct {
	// Python is the interpreter, from [ResolvePython]. Required without Elisp and Command.
	Python *Python

	// Elisp is the Emacs of an Emacs Lisp kernel, from [ResolveEmacs]; nil: the
	// kernel is another.
	Emacs *Emacs
	// Command is a foreign kernel's command; nil: the kernel is one of ours.
	Command []string
	// Pool, if set, is where Python kernels come from as long as it has any.
	Pool *Pool

	// Fence, if set, confines the kernel to its sandbox, to what its interpreter
	// needs, and to Read, files and folders that it may read too.
	Sandbox   *sandbox.Template
	ReadPaths []string

	Workdir string   // its working folder; it must hold .assay/home, tmp and mpl
	Session string   // id of the session
	Environ []string // the server's environment, of which it gets a little

	// MaxStdioBytes is how many bytes of text a run may write, the middle being
	// dropped; 0 is DefaultMaxStdioBytes, negative is no limit.
	MaxStdioBytes int

	// MaxFrameBytes is the largest frame in bytes; 0 is the protocol's default.
	MaxFrameBytes int64

	// Ready is how long it may take to say ready; 0 is DefaultReadyTimeout.
	ReadyTimeout time.Duration

	// Stuck, if set, is called when something runs on [StuckTimeout] after it was
	// told to stop, and says whether the kernel is to be killed for that.
	OnStuck func(what string) (kill bool)

	// Output, if set, gets what it prints while no run is on.
	Output func(stream string, chunk []byte)
}

// Kernel is a running kernel and the [protocol.Conn] to it. Whoever started it
// must Stop it.
type Kernel struct {
	// Ready is what it said of itself, and ReadyFrame how.
	ReadyMessage protocol.Ready
	ReadyFrame   []byte

	proc    *subprocess.Process
	stops   *stops
	strikes *interrupter // nil: the kernel reads while it runs code, and interrupts itself
	isStuck func(what string) bool
	output  func(string, []byte)
	frames  chan []byte   // to Read
	ended   chan struct{} // closed when pump has ended and err is set
	err     error
	closed  chan struct{} // closed by Close
	once    sync.Once

	writing sync.Mutex // held to write to the kernel

	mu    sync.Mutex // held while frames are sent, so that they keep their order
	run   run
	early *time.Timer // gives up on the early text of run; nil: there was none
	stuck string      // why it was killed; empty: it was not
}

// Start starts a kernel and waits until it is ready.
func Start(ctx context.Context, sup *subprocess.Supervisor, cfg Config) (*Kernel, error) {
	warm := cfg.Pool.take(cfg)
	if warm == nil {
		return start(ctx, sup, cfg, nil)
	}
	k, err := start(ctx, sup, cfg, warm)
	if err == nil {
		return k, nil
	}
	cfg.Pool.fails(ctx, warm, err)
	if ctx.Err() != nil {
		return nil, err
	}
	return start(ctx, sup, cfg, nil)
}

// start starts a kernel: a fork of the pool, if there is one, else a new process.
func start(ctx context.Context, sup *subprocess.Supervisor, cfg Config, warm *fork) (*Kernel, error) {
	k := &Kernel{
		output: cfg.Output, frames: make(chan []byte),
		ended: make(chan struct{}), closed: make(chan struct{}),
		run: newRun(cfg.MaxStdioBytes),
	}
	if k.output == nil {
		k.output = func(string, []byte) {}
	}
	k.isStuck = cfg.OnStuck
	k.stops = newStops(k.stopAgain, k.killStuck)
	spec, err := k.spec(cfg, warm)
	if err != nil {
		return nil, err
	}
	proc, err := sup.Start(spec)
	if err != nil {
		return nil, err
	}
	k.proc = proc
	if cfg.Emacs != nil {
		k.strikes = newInterrupter(proc.PID(), proc.Signal)
	}
	err = k.awaitReady(ctx, cfg.ReadyTimeout)
	if err == nil && warm != nil {
		err = clean(k.ReadyMessage.Pool)
	}
	if err != nil {
		return nil, errors.Join(err, proc.Stop(ctx))
	}
	go k.pump()
	return k, nil
}

func (k *Kernel) awaitReady(ctx context.Context, within time.Duration) error {
	if within <= 0 {
		within = DefaultReadyTimeout
	}
	frame, err := k.proc.AwaitReady(ctx, within)
	if err != nil {
		return err
	}
	k.ReadyFrame = frame
	if err := json.Unmarshal(frame, &k.ReadyMessage); err != nil {
		return fmt.Errorf("kernel: its ready: %w", err)
	}
	return nil
}

// PID is the kernel's process id.
func (k *Kernel) PID() int { return k.proc.PID() }

// Exited is closed when the process has ended.
func (k *Kernel) Exited() <-chan struct{} { return k.proc.Exited() }

// Exit tells how it ended, after Exited is closed.
func (k *Kernel) Exit() subprocess.Exit { return k.proc.Exit() }

// Enforced returns what was in fact enforced for this kernel; see
// [subprocess.Process.Enforced].
func (k *Kernel) Enforced() map[string]bool { return k.proc.Enforced() }

// Read returns the kernel's next frame, of its socket or made of its output.
// When the kernel has died the error is a [*child.ExitError].
func (k *Kernel) Read() ([]byte, error) {
	select {
	case frame := <-k.frames:
		return frame, nil
	case <-k.ended:
		return nil, k.err
	}
}

// Write sends the kernel a message.
func (k *Kernel) Write(body []byte) error {
	k.stops.sent(body)
	return k.write(body)
}

func (k *Kernel) write(body []byte) error {
	k.writing.Lock()
	defer k.writing.Unlock()
	err := k.proc.Write(body)
	if err == nil && k.strikes != nil {
		k.strikes.Sent(body)
	}
	return err
}

// Kill ends the kernel at once, and all that it has started. It is still to be
// stopped.
func (k *Kernel) Kill() { k.proc.Kill() }

// Close closes the kernel's socket, at which it exits.
func (k *Kernel) Close(code protocol.CloseCode, reason string) error {
	k.once.Do(func() { close(k.closed) })
	return k.proc.Close(code, reason)
}

// Stop ends the kernel and waits until nothing of it is left.
func (k *Kernel) Stop(ctx context.Context) error {
	k.stops.close() // whatever does not stop is about to
	err := k.Close(protocol.CloseGoingAway, "")
	err = errors.Join(err, k.proc.Stop(ctx))
	<-k.ended
	if k.strikes != nil {
		k.strikes.Close()
	}
	if k.early != nil {
		k.early.Stop()
		k.tooEarly()
	}
	return err
}

// pump moves the socket's frames to Read until the socket ends.
func (k *Kernel) pump() {
	defer close(k.ended)
	for {
		frame, err := k.proc.Read()
		if err != nil {
			k.proc.DrainOutput()
			k.err = k.withLastOutput(err)
			return
		}
		k.fromSocket(frame)
	}
}

// fromSocket passes a frame on and follows the run that is on. A cell that was
// stopped while it waited has its start_cell and cell_result in the middle of
// another's run, and they are not that run's.
func (k *Kernel) fromSocket(frame []byte) {
	if k.strikes != nil {
		k.strikes.Received(frame)
	}
	kind, cell := frameType(frame), ""
	switch kind {
	case protocol.TypeStartCell, protocol.TypeCellResult:
		cell = cellOf(frame)
	case protocol.TypeExecuteCodeResponse:
		k.stops.ends(stop{AgentTxID: requestOf(frame)})
	}
	ends := kind == protocol.TypeCellResult && k.run.isOf(cell) // only this goroutine starts and ends runs
	if ends {
		k.proc.DrainOutput() // calls fromPipe
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case ends:
		k.run.end(k.emit)
	case kind == protocol.TypeKernelStdio:
		k.run.add(frame, k.emit)
		return
	}
	if kind == protocol.TypeCellResult {
		k.stops.ends(stop{CellID: cell})
	}
	k.emit(frame)
	if kind == protocol.TypeStartCell && cell != "" && !k.run.on {
		k.stops.begins(cell)
		k.run.start(cell, k.emit)
	}
}

// fromPipe takes what was written to the process's stdout or stderr.
func (k *Kernel) fromPipe(stream string, chunk []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.run.on {
		k.run.write(stream, chunk, k.emit)
		return
	}
	if len(k.run.early) == 0 {
		k.early = time.AfterFunc(earlyFor, k.tooEarly)
	}
	k.run.early = append(k.run.early, written{stream, bytes.Clone(chunk)})
}

// tooEarly gives up waiting for the run that the early text could belong to.
func (k *Kernel) tooEarly() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, w := range k.run.early {
		k.output(w.stream, w.chunk)
	}
	k.run.early = nil
}

// emit hands a frame to Read. The caller holds mu.
func (k *Kernel) emit(frame []byte) {
	select {
	case k.frames <- frame:
	case <-k.closed:
	case <-k.ended: // a process that outlives the kernel still prints
	}
}

// withLastOutput adds what a cell printed last to the news of the kernel's
// death, unless the process has printed something itself, as a crash does.
func (k *Kernel) withLastOutput(err error) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.stuck != "" {
		return fmt.Errorf("it was killed: %s; another takes its place, without any of its variables", k.stuck)
	}
	var died *subprocess.ExitError
	if errors.As(err, &died) && strings.TrimSpace(died.Exit.LastOutput) == "" {
		died.Exit.LastOutput = string(k.run.last)
	}
	return err
}
