package jupyter

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"
	"unsafe"

	"golang.org/x/sys/unix"

	"assay/internal/protocol"
)

// stopGrace is how long a kernel that was asked to shut down may take before it is killed.
const stopGrace = 500 * time.Millisecond

// process is the operating system process of a Jupyter kernel. It is in the process group of
// the adapter, so that a signal to the group reaches both. The caller of startProcess must
// call stop.
type process struct {
	cmd     *exec.Cmd
	pipes   [2]*outputPipe
	readers sync.WaitGroup
	exited  chan struct{} // closed when exit is set
	exit    *ExitError
}

// startProcess starts the program of a kernelspec, which finds its sockets in connectionFile.
// sink gets the text that the program writes to stdout and stderr; it is called on any
// goroutine, but never twice at a time for the same stream. It fails if the program cannot be
// started.
func startProcess(spec Spec, environ []string, connectionFile string, sink func(string, []byte)) (*process, error) {
	p := &process{exited: make(chan struct{})}
	p.cmd = exec.Command(spec.Executable, spec.expandedArguments(connectionFile)...) //nolint:noctx // it is stopped by stop
	p.cmd.Env = append(spec.expandedEnvironment(environ), "JPY_PARENT_PID="+strconv.Itoa(os.Getpid()))
	if err := p.startCommand(sink); err != nil {
		return nil, errors.Join(fmt.Errorf("start the kernel %s: %w", spec.Name, err), p.closePipes())
	}
	for _, pipe := range p.pipes {
		p.readers.Go(pipe.readUntilEnd)
	}
	p.readers.Go(func() {
		_ = p.cmd.Wait() // ProcessState has the result
		p.exit = newExitError(spec.Name, p.cmd)
		close(p.exited)
	})
	return p, nil
}

// startCommand makes the pipes for stdout and stderr and starts the command.
func (p *process) startCommand(sink func(string, []byte)) error {
	var ends [2]*os.File // for the kernel
	for i, stream := range []string{protocol.Stdout, protocol.Stderr} {
		var err error
		if p.pipes[i], ends[i], err = newOutputPipe(stream, sink); err != nil {
			return err
		}
		defer ends[i].Close()
	}
	p.cmd.Stdout, p.cmd.Stderr = ends[0], ends[1]
	return p.cmd.Start()
}

// pid returns the process id of the kernel.
func (p *process) pid() int { return p.cmd.Process.Pid }

// interrupt sends SIGINT to the kernel: as a terminal would to the whole process group if this
// process leads it, so that subprocesses of a cell get it too, otherwise to the kernel's
// process alone.
func (p *process) interrupt() error {
	if unix.Getpgrp() == unix.Getpid() {
		return unix.Kill(0, unix.SIGINT)
	}
	return p.cmd.Process.Signal(unix.SIGINT)
}

// readAvailable passes the text that is in the stdout and stderr pipes now to the sink,
// without waiting for more.
func (p *process) readAvailable() {
	for _, pipe := range p.pipes {
		pipe.readAvailable()
	}
}

// stop waits at most stopGrace for the process to exit, kills it if it has not, passes on the
// rest of its output, and closes the pipes. It does not ask the process to exit.
func (p *process) stop() error {
	select {
	case <-p.exited:
	case <-time.After(stopGrace):
		_ = p.cmd.Process.Kill() // fails only if it has ended
		<-p.exited
	}
	p.readAvailable()
	err := p.closePipes()
	p.readers.Wait()
	return err
}

// closePipes closes the read ends of the stdout and stderr pipes.
func (p *process) closePipes() error {
	var errs []error
	for _, pipe := range p.pipes {
		if pipe != nil {
			errs = append(errs, pipe.close())
		}
	}
	return errors.Join(errs...)
}

// maxChunkBytes is how many bytes are read from a pipe at once at most, and how many bytes of
// text a frame to the server has at most.
const maxChunkBytes = 64 << 10

// outputPipe reads the stdout or stderr pipe of the kernel process, to which C code and
// subprocesses of a cell write, unless the kernel captures it.
type outputPipe struct {
	stream string
	file   *os.File
	sink   func(stream string, text []byte) // text is valid UTF-8

	mu               sync.Mutex // held while reading and in sink, which keeps text in order
	partialCharacter []byte     // the beginning of a character
	buffer           []byte
}

// newOutputPipe makes a pipe. It returns the reader, which passes text to sink, and the write
// end for the kernel process.
func newOutputPipe(stream string, sink func(string, []byte)) (*outputPipe, *os.File, error) {
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	return &outputPipe{stream: stream, file: reader, sink: sink, buffer: make([]byte, maxChunkBytes)}, writer, nil
}

// readUntilEnd reads the pipe and passes its text to sink until the other side has closed it
// or close is called. An incomplete character at the end becomes U+FFFD.
func (p *outputPipe) readUntilEnd() {
	raw, err := p.file.SyscallConn()
	if err != nil {
		return // closed already
	}
	for ended := false; !ended && err == nil; {
		err = raw.Read(func(fd uintptr) bool {
			var wouldBlock bool
			wouldBlock, ended = p.readOnce(fd)
			return !wouldBlock
		})
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.partialCharacter) > 0 {
		p.sink(p.stream, []byte("\uFFFD"))
	}
}

// readAvailable passes the text that is in the pipe now to sink, without waiting for more.
func (p *outputPipe) readAvailable() {
	raw, err := p.file.SyscallConn()
	if err != nil {
		return // closed, and so drained
	}
	// Control, unlike Read, does not wait until readUntilEnd lets go.
	_ = raw.Control(func(fd uintptr) {
		for wouldBlock, ended := false, false; !wouldBlock && !ended; {
			wouldBlock, ended = p.readOnce(fd)
		}
	})
}

// readOnce reads once from the pipe's descriptor and passes the text to sink. It reports
// wouldBlock if the pipe is empty now, and ended if there will be no more text.
func (p *outputPipe) readOnce(fd uintptr) (wouldBlock, ended bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, err := unix.Read(int(fd), p.buffer)
	switch {
	case errors.Is(err, unix.EAGAIN):
		return true, false
	case errors.Is(err, unix.EINTR):
		return false, false
	case n <= 0:
		return false, true
	}
	text := append(p.partialCharacter, p.buffer[:n]...)
	end := completeUTF8PrefixLen(text)
	p.partialCharacter = bytes.Clone(text[end:])
	if end > 0 {
		p.sink(p.stream, bytes.ToValidUTF8(text[:end], []byte("\uFFFD"))) // a copy, since buffer is reused
	}
	return false, false
}

// close closes the read end of the pipe.
func (p *outputPipe) close() error { return p.file.Close() }

// completeUTF8PrefixLen returns the number of bytes of text without an incomplete UTF-8 character
// at its end.
func completeUTF8PrefixLen(text []byte) int {
	for back := 1; back <= min(utf8.UTFMax-1, len(text)); back++ {
		if at := len(text) - back; utf8.RuneStart(text[at]) {
			if !utf8.FullRune(text[at:]) {
				return at
			}
			break
		}
	}
	return len(text)
}

// ExitError says that the Jupyter kernel's process has ended by itself, with its exit status
// or signal.
type ExitError struct {
	Kernel string         // name of its kernelspec
	Status int            // exit status; -1 if a signal ended it
	Signal syscall.Signal // 0 if it exited
}

// Error returns a sentence such as "the Jupyter kernel python3 exited with status 1" or "...
// was killed by SIGKILL".
func (e *ExitError) Error() string {
	if e.Signal != 0 {
		return fmt.Sprintf("the Jupyter kernel %s was killed by %s", e.Kernel, unix.SignalName(e.Signal))
	}
	return fmt.Sprintf("the Jupyter kernel %s exited with status %d", e.Kernel, e.Status)
}

// ReraiseSignal ends the current process by the signal that ended the kernel, so that its
// parent sees the same end. It returns, and does nothing, if the kernel exited without a
// signal.
func (e *ExitError) ReraiseSignal() {
	if e.Signal == 0 {
		return
	}
	// Go's runtime handles all signals, and the handlers of those for crashes can only be
	// removed by the system call. All zero is the default action.
	var defaultAction [8]uint64
	_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(e.Signal), uintptr(unsafe.Pointer(&defaultAction)), 0, 8, 0, 0) //nolint:gosec // the call takes an address
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})                                                                      // the core would be of this process, not of the kernel
	_ = unix.Kill(unix.Getpid(), e.Signal)
	select {} // until it arrives
}

// newExitError returns an ExitError with the exit status or signal of cmd, whose Wait must
// have returned. kernel is the name of the kernelspec.
func newExitError(kernel string, cmd *exec.Cmd) *ExitError {
	e := &ExitError{Kernel: kernel, Status: cmd.ProcessState.ExitCode()}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		e.Signal = status.Signal()
	}
	return e
}
