package sandbox

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Offsets in the kernel's struct seccomp_data, which a seccomp program reads. Of an
// argument, a program reads the lower 32 bits, which is all that the arguments tested
// here have.
const (
	offsetSyscall   = 0
	offsetArch      = 4
	offsetArguments = 16
)

// ioprioWhoProcess is IOPRIO_WHO_PROCESS of linux/ioprio.h.
const ioprioWhoProcess = 1

// bpfInstructionBytes is the size in bytes of one instruction of a seccomp program.
const bpfInstructionBytes = 8

// errSyscallRefused is the errno that a refused system call returns: in Python, a
// PermissionError.
const errSyscallRefused = unix.EPERM

// x32SyscallBit is set in the numbers of amd64's second set of system calls (x32),
// which code could otherwise use to get around a filter for the first set.
const x32SyscallBit = 0x40000000

// namespaceFlags is the set of flags of clone(2) and unshare(2) that make namespaces,
// in which a process may have capabilities again.
const namespaceFlags = unix.CLONE_NEWCGROUP | unix.CLONE_NEWIPC | unix.CLONE_NEWNET | unix.CLONE_NEWNS |
	unix.CLONE_NEWPID | unix.CLONE_NEWTIME | unix.CLONE_NEWUSER | unix.CLONE_NEWUTS

// refusedSyscalls returns the system calls that no sandboxed process may make, whatever
// the arguments. Each reaches outside the sandbox, gets around it, or leaves something
// behind that does not end with the sandbox's processes.
func refusedSyscalls() []uint32 {
	return []uint32{
		// they reach into other processes
		unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE,
		unix.SYS_PROCESS_MRELEASE, unix.SYS_PIDFD_OPEN, unix.SYS_PIDFD_GETFD, unix.SYS_KCMP, unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES,

		// they get around this filter or the rules for files
		unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
		unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_FANOTIFY_INIT,

		// they enter namespaces or change mounts
		unix.SYS_SETNS, unix.SYS_CHROOT, unix.SYS_PIVOT_ROOT, unix.SYS_MOUNT, unix.SYS_UMOUNT2,
		unix.SYS_MOUNT_SETATTR, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR,
		unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK,

		// they change the kernel or the machine
		unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
		unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
		unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_REBOOT,
		unix.SYS_SYSLOG, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_SWAPON, unix.SYS_SWAPOFF,
		unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_VHANGUP,

		// what they make belongs to the user and stays: keys, queues, semaphores and memory
		// by number or name
		unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
		unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMDT, unix.SYS_SHMCTL, unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL,
		unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
	}
}

// refusedSyscallArgument says which value, or bits, of one argument make a system call
// refused.
type refusedSyscallArgument struct {
	syscall  uint32
	argument uint32 // from 0
	test     uint16 // BPF_JSET: the argument has a bit of value; BPF_JEQ: it equals value
	value    uint32
	negated  bool // refuse if the test fails
}

func refusedSyscallArguments() []refusedSyscallArgument {
	// Only 0, which stands for the calling process, is allowed for a process id.
	otherProcess := func(syscall, argument uint32) refusedSyscallArgument {
		return refusedSyscallArgument{syscall: syscall, argument: argument, test: unix.BPF_JEQ, value: 0, negated: true}
	}
	return []refusedSyscallArgument{
		{syscall: unix.SYS_CLONE, argument: 0, test: unix.BPF_JSET, value: namespaceFlags},
		// its process would be a child of the server, which does not expect it: a zombie once it has ended
		{syscall: unix.SYS_CLONE, argument: 0, test: unix.BPF_JSET, value: unix.CLONE_PARENT},
		{syscall: unix.SYS_UNSHARE, argument: 0, test: unix.BPF_JSET, value: namespaceFlags},
		// sockets that no network namespace contains
		{syscall: unix.SYS_SOCKET, argument: 0, test: unix.BPF_JEQ, value: unix.AF_VSOCK},
		{syscall: unix.SYS_SOCKET, argument: 0, test: unix.BPF_JEQ, value: unix.AF_BLUETOOTH},
		{syscall: unix.SYS_SOCKET, argument: 0, test: unix.BPF_JEQ, value: unix.AF_NFC},
		// it tells of every process that begins or ends
		{syscall: unix.SYS_SOCKET, argument: 2, test: unix.BPF_JEQ, value: unix.NETLINK_CONNECTOR},
		// they type into a terminal
		{syscall: unix.SYS_IOCTL, argument: 1, test: unix.BPF_JEQ, value: unix.TIOCSTI},
		{syscall: unix.SYS_IOCTL, argument: 1, test: unix.BPF_JEQ, value: unix.TIOCLINUX},
		// they make others wait who open a file, and tell of what others do in a folder
		{syscall: unix.SYS_FCNTL, argument: 1, test: unix.BPF_JEQ, value: unix.F_SETLEASE},
		{syscall: unix.SYS_FCNTL, argument: 1, test: unix.BPF_JEQ, value: unix.F_NOTIFY},
		otherProcess(unix.SYS_PRLIMIT64, 0),
		// also not of all processes in its group, or of its user
		otherProcess(unix.SYS_SETPRIORITY, 1),
		{syscall: unix.SYS_SETPRIORITY, argument: 0, test: unix.BPF_JEQ, value: unix.PRIO_PROCESS, negated: true},
		otherProcess(unix.SYS_IOPRIO_SET, 1),
		{syscall: unix.SYS_IOPRIO_SET, argument: 0, test: unix.BPF_JEQ, value: ioprioWhoProcess, negated: true},
		otherProcess(unix.SYS_SCHED_SETAFFINITY, 0),
		// By policy, not by process: ZeroMQ sets the normal policy for threads by their ids,
		// and aborts if that fails.
		{syscall: unix.SYS_SCHED_SETSCHEDULER, argument: 1, test: unix.BPF_JEQ, value: 0, negated: true},
		otherProcess(unix.SYS_SCHED_SETPARAM, 0), otherProcess(unix.SYS_SCHED_SETATTR, 0),
	}
}

// refusedByNetworkOff returns the system calls, whatever their arguments or with some arguments, that a process with
// NetworkOff may not make.
func refusedByNetworkOff(r Rules, hasPrivateNetwork bool) (syscalls []uint32, arguments []refusedSyscallArgument) {
	socket := func(argument uint32, test uint16, value uint32, negated bool) refusedSyscallArgument {
		return refusedSyscallArgument{syscall: unix.SYS_SOCKET, argument: argument, test: test, value: value, negated: negated}
	}
	if !r.AllowUnixSockets {
		// A pair of datagram sockets, which alone have this bit, could be connected to other sockets.
		arguments = append(arguments, refusedSyscallArgument{syscall: unix.SYS_SOCKETPAIR, argument: 1, test: unix.BPF_JSET, value: unix.SOCK_DGRAM})
	}
	switch {
	case hasPrivateNetwork && r.AllowUnixSockets:
		return nil, nil
	case hasPrivateNetwork:
		return nil, append(arguments, socket(0, unix.BPF_JEQ, unix.AF_UNIX, false))
	case r.ListenerPort == 0 && r.AllowUnixSockets:
		return nil, append(arguments, socket(0, unix.BPF_JEQ, unix.AF_UNIX, true))
	case r.ListenerPort == 0:
		return []uint32{unix.SYS_SOCKET}, arguments
	}
	family := socket(0, unix.BPF_JEQ, unix.AF_INET, true)
	if r.AllowUnixSockets {
		family = socket(0, unix.BPF_JGT, unix.AF_INET, false) // AF_UNIX is the only family below
	} else {
		syscalls = []uint32{unix.SYS_LISTEN} // which Landlock allows on a port that Linux chooses
	}
	return syscalls, append(arguments,
		family,
		// Only the type SOCK_STREAM has none of these bits. Other bits are flags.
		socket(1, unix.BPF_JSET, (unix.SOCK_DGRAM|unix.SOCK_RAW|unix.SOCK_RDM|unix.SOCK_SEQPACKET)&^unix.SOCK_STREAM, false),
		// Landlock does not know multipath TCP, and other protocols than 0 and TCP are not needed.
		socket(2, unix.BPF_JSET, ^uint32(unix.IPPROTO_TCP), false),
		// They connect, which Landlock does not see.
		refusedSyscallArgument{syscall: unix.SYS_SENDTO, argument: 3, test: unix.BPF_JSET, value: unix.MSG_FASTOPEN},
		refusedSyscallArgument{syscall: unix.SYS_SENDMSG, argument: 2, test: unix.BPF_JSET, value: unix.MSG_FASTOPEN},
		refusedSyscallArgument{syscall: unix.SYS_SENDMMSG, argument: 3, test: unix.BPF_JSET, value: unix.MSG_FASTOPEN},
	)
}

// buildSeccompFilter returns the seccomp program, in bytes, that refuses the system
// calls that the sandbox rules forbid.
func buildSeccompFilter(r Rules, hasPrivateNetwork bool) []byte {
	numbers, arguments := refusedSyscalls(), refusedSyscallArguments()
	if r.Network == NetworkOff {
		moreNumbers, moreArguments := refusedByNetworkOff(r, hasPrivateNetwork)
		numbers, arguments = append(numbers, moreNumbers...), append(arguments, moreArguments...)
	}
	p := bpfProgram{}
	p.loadField(offsetArch)
	p.refuseUnless(auditArchitecture())
	p.loadField(offsetSyscall)
	if runtime.GOARCH == "amd64" {
		p.refuseIfEqual(unix.BPF_JSET, x32SyscallBit)
	}
	for _, argument := range arguments {
		p.refuseArgument(argument)
	}
	for _, run := range groupIntoRanges(numbers) {
		p.refuseRange(run)
	}
	return p.assemble()
}

func auditArchitecture() uint32 {
	if runtime.GOARCH == "arm64" {
		return unix.AUDIT_ARCH_AARCH64
	}
	return unix.AUDIT_ARCH_X86_64
}

// syscallRange is a range of consecutive system call numbers.
type syscallRange struct{ first, last uint32 }

// groupIntoRanges sorts numbers and joins consecutive ones into ranges.
func groupIntoRanges(numbers []uint32) []syscallRange {
	slices.Sort(numbers)
	var runs []syscallRange
	for _, number := range numbers {
		if last := len(runs) - 1; last >= 0 && runs[last].last+1 == number {
			runs[last].last = number
			continue
		}
		runs = append(runs, syscallRange{number, number})
	}
	return runs
}

// bpfProgram assembles the seccomp program that the Linux kernel runs at each system
// call. Tests come first; each begins with the number of the system call in the
// accumulator. The return instructions that they jump to come last. There may be at
// most 250 instructions, because a jump has 256 distances, one of which is
// jumpToRefusal.
type bpfProgram []unix.SockFilter

// jumpToRefusal is a placeholder for the distance of a jump to the return instruction
// that refuses the system call. assemble replaces it.
const jumpToRefusal = 255

// loadField appends an instruction that loads a field of struct seccomp_data into the
// accumulator.
func (p *bpfProgram) loadField(offset uint32) {
	*p = append(*p, unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset})
}

// jumpIf appends an instruction that skips skipIfTrue instructions if the accumulator
// passes the test against value, and skipIfFalse instructions otherwise.
func (p *bpfProgram) jumpIf(test uint16, value uint32, skipIfTrue, skipIfFalse uint8) {
	*p = append(*p, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_K | test, Jt: skipIfTrue, Jf: skipIfFalse, K: value})
}

func (p *bpfProgram) refuseIfEqual(test uint16, value uint32) {
	p.jumpIf(test, value, jumpToRefusal, 0)
}

func (p *bpfProgram) refuseUnless(value uint32) { p.jumpIf(unix.BPF_JEQ, value, 0, jumpToRefusal) }

func (p *bpfProgram) refuseRange(r syscallRange) {
	if r.first == r.last {
		p.refuseIfEqual(unix.BPF_JEQ, r.first)
		return
	}
	p.jumpIf(unix.BPF_JGE, r.first, 0, 1)
	p.jumpIf(unix.BPF_JGT, r.last, 0, jumpToRefusal)
}

func (p *bpfProgram) refuseArgument(a refusedSyscallArgument) {
	p.jumpIf(unix.BPF_JEQ, a.syscall, 0, 3)
	p.loadField(offsetArguments + 8*a.argument)
	if a.negated {
		p.jumpIf(a.test, a.value, 0, jumpToRefusal)
	} else {
		p.jumpIf(a.test, a.value, jumpToRefusal, 0)
	}
	p.loadField(offsetSyscall)
}

// assemble appends the return instructions and returns the program's bytes, with all
// jumps resolved.
func (p *bpfProgram) assemble() []byte {
	// The flags of clone3 are behind a pointer, which a filter cannot follow. If clone3
	// fails with ENOSYS the C library uses clone instead.
	p.jumpIf(unix.BPF_JEQ, unix.SYS_CLONE3, 2, 0)
	// Reserving gigabytes takes a moment, in which no one measures them. Programs write them instead.
	p.jumpIf(unix.BPF_JEQ, unix.SYS_FALLOCATE, 2, 0)
	p.appendReturn(unix.SECCOMP_RET_ALLOW)
	p.appendReturn(unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS))
	p.appendReturn(unix.SECCOMP_RET_ERRNO | uint32(unix.EOPNOTSUPP))
	p.appendReturn(unix.SECCOMP_RET_ERRNO | uint32(errSyscallRefused))
	var code []byte
	for at, i := range *p {
		code = binary.NativeEndian.AppendUint16(code, i.Code)
		code = append(code, p.resolveJump(at, i.Jt), p.resolveJump(at, i.Jf))
		code = binary.NativeEndian.AppendUint32(code, i.K)
	}
	return code
}

func (p *bpfProgram) appendReturn(action uint32) {
	*p = append(*p, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action})
}

// resolveJump returns the distance of a jump from the instruction at index at. For
// jumpToRefusal that is the distance to the last instruction.
func (p *bpfProgram) resolveJump(at int, distance uint8) uint8 {
	if distance != jumpToRefusal {
		return distance
	}
	return uint8(len(*p) - 2 - at) //nolint:gosec // there are too few instructions for more
}

// installSeccompFilter makes the Linux kernel run a seccomp program at each system call
// of the calling thread. It does nothing if the program is empty.
func installSeccompFilter(program []byte) error {
	described, err := seccompProgram(program)
	if described == nil || err != nil {
		return err
	}
	//nolint:gosec // the kernel wants an address
	err = unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(described)), 0, 0)
	runtime.KeepAlive(described)
	if err != nil {
		return fmt.Errorf("install the seccomp filter: %w", err)
	}
	return nil
}

// seccompProgram returns a seccomp program as the operating system's kernel wants it, or nil if it is empty.
func seccompProgram(program []byte) (*unix.SockFprog, error) {
	if len(program) == 0 {
		return nil, nil //nolint:nilnil // there is none to install
	}
	if len(program)%bpfInstructionBytes != 0 || len(program) > bpfInstructionBytes*unix.BPF_MAXINSNS {
		return nil, fmt.Errorf("install the seccomp filter: %d bytes are no program", len(program))
	}
	var filters []unix.SockFilter
	for i := range slices.Chunk(program, bpfInstructionBytes) {
		filters = append(filters, unix.SockFilter{
			Code: binary.NativeEndian.Uint16(i), Jt: i[2], Jf: i[3], K: binary.NativeEndian.Uint32(i[4:]),
		})
	}
	return &unix.SockFprog{Len: uint16(len(filters)), Filter: &filters[0]}, nil //nolint:gosec // no more than BPF_MAXINSNS
}
