package sandbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Commands of one byte to the first process of a PID namespace. It answers each with the same byte when
// the signals are sent.
const (
	commandStop     = 'S' // SIGSTOP to all other processes of the namespace
	commandContinue = 'C' // SIGCONT
)

// reportFD is the descriptor on which the launcher reports the ids of processes, as 32-bit numbers of this machine's
// byte order: of the first process, and of the program (0 if argv was empty).
func (p Plan) reportFD() int { return p.PIDControl + 1 }

// enterPIDNamespace makes a PID namespace for what the calling thread starts, and its first process, and waits until
// that has mounted the namespace's /proc.
//
// The first process ends when the server closes its end of the control socket, or has ended itself. Linux then kills
// every process of the namespace, whatever it does, and lets the first process end only after all the others.
func (p Plan) enterPIDNamespace() error {
	unix.CloseOnExec(p.PIDControl)
	unix.CloseOnExec(p.reportFD())
	if err := unix.Unshare(unix.CLONE_NEWPID); err != nil {
		return fmt.Errorf("make a PID namespace: %w", err)
	}
	mounted, result, err := os.Pipe()
	if err != nil {
		return err
	}
	defer mounted.Close()
	first := newFirstProcess(p.PIDControl, int(result.Fd()))
	pid, err := withSignalsBlocked(first.clone)
	if err = errors.Join(err, result.Close()); err != nil {
		return fmt.Errorf("start the first process of a PID namespace: %w", err)
	}
	if err := p.reportProcess(pid); err != nil {
		return err
	}
	answer := make([]byte, 1)
	if _, err := mounted.Read(answer); err != nil {
		return fmt.Errorf("the first process of a PID namespace has ended: %w", err)
	}
	if answer[0] != 0 {
		return fmt.Errorf("mount /proc of a PID namespace: %w", syscall.Errno(answer[0]))
	}
	return nil
}

// reportProcess sends the id of a process to the server.
func (p Plan) reportProcess(pid uintptr) error {
	number := binary.NativeEndian.AppendUint32(nil, uint32(pid)) //nolint:gosec // process ids have 22 bits
	if _, err := unix.Write(p.reportFD(), number); err != nil {
		return fmt.Errorf("report a process: %w", err)
	}
	return nil
}

// reportNoProgram tells the server that a plan works. It does nothing without a PIDControl.
func (p Plan) reportNoProgram() error {
	if p.PIDControl == 0 {
		return nil
	}
	return p.reportProcess(0)
}

// withSignalsBlocked calls clone while the calling thread gets no signals: the new process would handle them with the
// functions of this one.
func withSignalsBlocked(clone func(mask *unix.Sigset_t) (pid, errno uintptr)) (pid uintptr, err error) {
	var all, before unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^all.Val[i]
	}
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &all, &before); err != nil {
		return 0, err
	}
	pid, errno := clone(&before)
	_ = unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil) // it worked above
	if errno != 0 {
		return 0, syscall.Errno(errno)
	}
	return pid, nil
}

// cloneFlags make the new process a child of the server, which can then wait for it.
const cloneFlags = unix.CLONE_PARENT | uintptr(unix.SIGCHLD)

// signalAction is struct sigaction of Linux, whose first word is the handler.
type signalAction [8]uintptr

// Handlers of a signalAction.
const (
	signalDefault = 0
	signalIgnored = 1
)

const (
	signalSetBytes = 8  // size of Linux's sigset_t
	lastSignal     = 64 // number of the last signal
)

// firstProcess has what the first process of a PID namespace needs. It is made by cloning this process with all its
// memory but without its other threads, so that Go code that allocates, grows the stack or waits would hang there.
type firstProcess struct {
	control, result                     uintptr
	source, target, fileSystem, options *byte
	ignored                             signalAction
	command                             [1]byte
}

func newFirstProcess(control, result int) *firstProcess {
	text := func(s string) *byte { return &append([]byte(s), 0)[0] }
	return &firstProcess{
		control: uintptr(control), result: uintptr(result), ignored: signalAction{signalIgnored},
		source: text("proc"), target: text("/proc"), fileSystem: text("proc"), options: text(hiddenProcOptions),
	}
}

// call makes a system call. In a clone of this process, nothing else may be called.
//
//go:norace
//go:nosplit
func call(number, a, b, c, d, e uintptr) (result, errno uintptr) {
	result, _, failure := syscall.RawSyscall6(number, a, b, c, d, e, 0)
	return result, uintptr(failure)
}

// clone starts the first process, which never returns.
//
//go:norace
//go:nosplit
func (f *firstProcess) clone(*unix.Sigset_t) (pid, errno uintptr) {
	pid, errno = call(unix.SYS_CLONE, cloneFlags, 0, 0, 0, 0)
	if errno != 0 || pid != 0 {
		return pid, errno
	}
	call(unix.SYS_SETSID, 0, 0, 0, 0, 0)
	call(unix.SYS_PRCTL, unix.PR_SET_DUMPABLE, 0, 0, 0, 0) // so that no process of the sandbox can reach into it
	// Linux then frees processes that have lost their parents as soon as they end.
	call(unix.SYS_RT_SIGACTION, uintptr(unix.SIGCHLD), uintptr(unsafe.Pointer(&f.ignored)), 0, signalSetBytes, 0) //nolint:gosec // Linux wants an address
	call(unix.SYS_DUP3, f.control, 0, 0, 0, 0)
	call(unix.SYS_DUP3, f.result, 1, 0, 0, 0)
	_, errno = call(unix.SYS_CLOSE_RANGE, 2, ^uintptr(0)>>32, 0, 0, 0) // the program's output must end with the program
	if errno == 0 {
		_, errno = call(unix.SYS_MOUNT, uintptr(unsafe.Pointer(f.source)), uintptr(unsafe.Pointer(f.target)), //nolint:gosec // Linux wants an address
			uintptr(unsafe.Pointer(f.fileSystem)), hiddenProcFlags, uintptr(unsafe.Pointer(f.options))) //nolint:gosec // Linux wants an address
	}
	f.command[0] = byte(errno & 0xff)              // all numbers are below
	command := uintptr(unsafe.Pointer(&f.command)) //nolint:gosec // Linux wants an address
	call(unix.SYS_WRITE, 1, command, 1, 0, 0)
	call(unix.SYS_CLOSE, 1, 0, 0, 0, 0)
	for {
		if n, _ := call(unix.SYS_READ, 0, command, 1, 0, 0); n != 1 {
			call(unix.SYS_EXIT_GROUP, 0, 0, 0, 0, 0)
		}
		signal := uintptr(unix.SIGCONT)
		if f.command[0] == commandStop {
			signal = uintptr(unix.SIGSTOP)
		}
		call(unix.SYS_KILL, ^uintptr(0), signal, 0, 0, 0) // to all but this one, also to those that are being forked
		call(unix.SYS_WRITE, 0, command, 1, 0, 0)
	}
}

// sandboxedProgram has what a clone of this process needs to become the program; see firstProcess.
type sandboxedProgram struct {
	path       *byte
	argv, env  []*byte
	filter     *unix.SockFprog // nil: none
	limits     []Rlimit
	values     []unix.Rlimit // of the limits
	refused    []byte        // printed if the program cannot be executed
	action     signalAction
	defaultAct signalAction
}

// startProgram executes the program in the PID namespace and reports its id. The seccomp filter, which refuses to
// start a process as a child of the server, and the limits are only applied to the program.
func (p Plan) startProgram(path string, argv, env []string) error {
	program := sandboxedProgram{limits: p.Rlimits, refused: []byte("sandbox: execute " + path + ": Linux refuses it: not a program, or not allowed\n")}
	var err error
	if program.path, err = syscall.BytePtrFromString(path); err != nil {
		return err
	}
	if program.argv, err = syscall.SlicePtrFromStrings(argv); err != nil {
		return err
	}
	if program.env, err = syscall.SlicePtrFromStrings(env); err != nil {
		return err
	}
	if program.filter, err = seccompProgram(p.SeccompFilter); err != nil {
		return err
	}
	for _, limit := range p.Rlimits {
		value, err := limit.lowered()
		if err != nil {
			return err
		}
		program.values = append(program.values, value)
	}
	pid, err := withSignalsBlocked(program.clone)
	if err != nil {
		return fmt.Errorf("start %s: %w", path, err)
	}
	return p.reportProcess(pid)
}

// clone starts the process that becomes the program.
//
//go:norace
//go:nosplit
func (s *sandboxedProgram) clone(mask *unix.Sigset_t) (pid, errno uintptr) {
	pid, errno = call(unix.SYS_CLONE, cloneFlags, 0, 0, 0, 0)
	if errno != 0 || pid != 0 {
		return pid, errno
	}
	call(unix.SYS_SETSID, 0, 0, 0, 0, 0)
	for signal := uintptr(1); signal <= lastSignal; signal++ {
		call(unix.SYS_RT_SIGACTION, signal, 0, uintptr(unsafe.Pointer(&s.action)), signalSetBytes, 0) //nolint:gosec // Linux wants an address
		if s.action[0] != signalIgnored {
			call(unix.SYS_RT_SIGACTION, signal, uintptr(unsafe.Pointer(&s.defaultAct)), 0, signalSetBytes, 0) //nolint:gosec // Linux wants an address
		}
	}
	call(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(mask)), 0, signalSetBytes, 0) //nolint:gosec // Linux wants an address
	if s.filter != nil {
		_, errno = call(unix.SYS_PRCTL, unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(s.filter)), 0, 0) //nolint:gosec // Linux wants an address
	}
	for i := 0; i < len(s.limits) && errno == 0; i++ {
		_, errno = call(unix.SYS_PRLIMIT64, 0, uintptr(s.limits[i].Resource), uintptr(unsafe.Pointer(&s.values[i])), 0, 0) //nolint:gosec // Linux wants an address
	}
	if errno == 0 {
		call(unix.SYS_EXECVE, uintptr(unsafe.Pointer(s.path)), uintptr(unsafe.Pointer(&s.argv[0])), uintptr(unsafe.Pointer(&s.env[0])), 0, 0) //nolint:gosec // Linux wants an address
	}
	call(unix.SYS_WRITE, 2, uintptr(unsafe.Pointer(&s.refused[0])), uintptr(len(s.refused)), 0, 0) //nolint:gosec // Linux wants an address
	for {
		call(unix.SYS_EXIT_GROUP, launcherFailed, 0, 0, 0, 0)
	}
}

// launcherFailed is the exit status of a program that cannot be executed, as a shell has it.
const launcherFailed = 126
