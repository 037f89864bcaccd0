package jupyter

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"assay/internal/protocol"
)

// stopGrace is how long a kernel that was asked to shut down may take.
const stopGrace = 500 * time.Millisecond

// process is the kernel's process. It is in our process group, so that whoever
// ends that ends both. Whoever started it must stop it.
type process struct {
	cmd    *exec.Cmd
	pipes  [2]*pipe
	pumps  sync.WaitGroup
	exited chan struct{} // closed when exit is set
	exit   *ExitError
}

// startProcess starts the kernel that spec describes. sink gets what it writes
// to its stdout and stderr, on any goroutine, never two chunks of a stream at once.
func startProcess(spec Spec, environ []string, connectionFile string, sink func(string, []byte)) (*process, error) {
	p := &process{exited: make(chan struct{})}
	p.cmd = exec.Command(spec.Executable, spec.arguments(connectionFile)...) //nolint:noctx // it is stopped by stop
	p.cmd.Env = append(spec.environment(environ), "JPY_PARENT_PID="+strconv.Itoa(os.Getpid()))
	if err := p.start(sink); err != nil {
		return nil, errors.Join(fmt.Errorf("start the kernel %s: %w", spec.Name, err), p.closePipes())
	}
	for _, pipe := range p.pipes {
		p.pumps.Go(pipe.pump)
	}
	p.pumps.Go(func() {
		_ = p.cmd.Wait() // the state says it all
		p.exit = newExitError(spec.Name, p.cmd)
		close(p.exited)
	})
	return p, nil
}

func (p *process) start(sink func(string, []byte)) error {
	var ends [2]*os.File // that the kernel gets
	for i, stream := range []string{protocol.Stdout, protocol.Stderr} {
		var err error
		if p.pipes[i], ends[i], err = newPipe(stream, sink); err != nil {
			return err
		}
		defer ends[i].Close()
	}
	p.cmd.Stdout, p.cmd.Stderr = ends[0], ends[1]
	return p.cmd.Start()
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// interrupt sends SIGINT as a terminal would: to the whole group where it is
// ours, so that the subprocesses of a cell get it too.
func (p *process) interrupt() error {
	if unix.Getpgrp() == unix.Getpid() {
		return unix.Kill(0, unix.SIGINT)
	}
	return p.cmd.Process.Signal(unix.SIGINT)
}

// drain hands on what the kernel has written, without waiting for more.
func (p *process) drain() {
	for _, pipe := range p.pipes {
		pipe.drain()
	}
}

// stop waits a little for the process, which was asked to end, kills it and
// lets go of it. It may have ended.
func (p *process) stop() error {
	select {
	case <-p.exited:
	case <-time.After(stopGrace):
		_ = p.cmd.Process.Kill() // the only error is that it has ended
		<-p.exited
	}
	p.drain()
	err := p.closePipes()
	p.pumps.Wait()
	return err
}

func (p *process) closePipes() error {
	var errs []error
	for _, pipe := range p.pipes {
		if pipe != nil {
			errs = append(errs, pipe.close())
		}
	}
	return errors.Join(errs...)
}
