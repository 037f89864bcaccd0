package jupyter

import (
	"fmt"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ExitError says that the Jupyter kernel has ended by itself.
type ExitError struct {
	Kernel string         // name of its kernelspec
	Status int            // exit status; -1 when a signal ended it
	Signal syscall.Signal // 0 when it exited
}

func (e *ExitError) Error() string {
	if e.Signal != 0 {
		return fmt.Sprintf("the Jupyter kernel %s was killed by %s", e.Kernel, unix.SignalName(e.Signal))
	}
	return fmt.Sprintf("the Jupyter kernel %s exited with status %d", e.Kernel, e.Status)
}

// ExitLikeKernel ends this process by the signal that ended the kernel, so that whoever
// waits for this process learns of it; without a signal it does nothing.
func (e *ExitError) ExitLikeKernel() {
	if e.Signal == 0 {
		return
	}
	// Go's runtime handles every signal, also those that stand for a crash, and
	// gives none of them back but by the system call. All zero is the default.
	var standard [8]uint64
	_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(e.Signal), uintptr(unsafe.Pointer(&standard)), 0, 8, 0, 0) //nolint:gosec // the call takes an address
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})                                                                 // the crash is not ours
	_ = unix.Kill(unix.Getpid(), e.Signal)
	select {} // until it arrives
}

// newExitError reads how a process ended from what Wait returned.
func newExitError(kernel string, cmd *exec.Cmd) *ExitError {
	e := &ExitError{Kernel: kernel, Status: cmd.ProcessState.ExitCode()}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		e.Signal = status.Signal()
	}
	return e
}
