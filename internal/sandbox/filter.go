package sandbox

import (
	"encoding/binary"
	"runtime"
	"slices"

	"golang.org/x/sys/unix"
)

// Where a seccomp program finds what is asked for: the first bytes of the
// kernel's struct seccomp_data. Of an argument it sees the low half, which is
// all that the arguments we look at have.
const (
	offsetNumber    = 0
	offsetArch      = 4
	offsetArguments = 16
)

// instruction is how many bytes an instruction of the program has.
const instruction = 8

// refusal is the error of what is refused: a PermissionError in Python.
const refusal = unix.EPERM

// foreignCalls is the bit of the numbers of the calls that amd64 has twice.
const foreignCalls = 0x40000000

// namespaces are the flags of clone and unshare that make a process a world of
// its own, in which it may have capabilities again.
const namespaces = unix.CLONE_NEWCGROUP | unix.CLONE_NEWIPC | unix.CLONE_NEWNET | unix.CLONE_NEWNS |
	unix.CLONE_NEWPID | unix.CLONE_NEWTIME | unix.CLONE_NEWUSER | unix.CLONE_NEWUTS

// filter is the seccomp program for the rules: which system calls are refused.
func filter(r Rules) []byte {
	p := program{}
	p.load(offsetArch)
	p.refuseUnless(architecture())
	p.load(offsetNumber)
	if runtime.GOARCH == "amd64" {
		p.refuseIf(unix.BPF_JSET, foreignCalls)
	}
	for _, condition := range conditions(r) {
		p.refuseOn(condition)
	}
	numbers := refused()
	if r.Network == NetworkOff && !r.AllowUnixSockets {
		numbers = append(numbers, unix.SYS_SOCKET)
	}
	for _, span := range spans(numbers) {
		p.refuseIn(span)
	}
	return p.end()
}

func architecture() uint32 {
	if runtime.GOARCH == "arm64" {
		return unix.AUDIT_ARCH_AARCH64
	}
	return unix.AUDIT_ARCH_X86_64
}

// condition is when a call is refused for one of its arguments.
type condition struct {
	number   uint32
	argument uint32
	test     uint16 // BPF_JSET: it has a bit of value; BPF_JEQ: it is value
	value    uint32
	negated  bool // when the test fails
}

func conditions(r Rules) []condition {
	other := func(number, argument uint32) condition { // than the calling process
		return condition{number: number, argument: argument, test: unix.BPF_JEQ, value: 0, negated: true}
	}
	all := []condition{
		{number: unix.SYS_CLONE, argument: 0, test: unix.BPF_JSET, value: namespaces},
		{number: unix.SYS_UNSHARE, argument: 0, test: unix.BPF_JSET, value: namespaces},
		// to type into a terminal
		{number: unix.SYS_IOCTL, argument: 1, test: unix.BPF_JEQ, value: unix.TIOCSTI},
		{number: unix.SYS_IOCTL, argument: 1, test: unix.BPF_JEQ, value: unix.TIOCLINUX},
		other(unix.SYS_PRLIMIT64, 0),
		other(unix.SYS_SETPRIORITY, 1), other(unix.SYS_IOPRIO_SET, 1),
		other(unix.SYS_SCHED_SETAFFINITY, 0),
		// By its policy, not whose it is: ZeroMQ sets the usual one for threads by
		// their ids, and gives up where it may not.
		{number: unix.SYS_SCHED_SETSCHEDULER, argument: 1, test: unix.BPF_JEQ, value: 0, negated: true},
		other(unix.SYS_SCHED_SETPARAM, 0), other(unix.SYS_SCHED_SETATTR, 0),
	}
	if r.Network == NetworkOff {
		all = append(all, condition{number: unix.SYS_SOCKET, test: unix.BPF_JEQ, value: unix.AF_UNIX, negated: true})
	}
	return all
}

// span is a row of numbers without a gap.
type span struct{ first, last uint32 }

func spans(numbers []uint32) []span {
	slices.Sort(numbers)
	var all []span
	for _, number := range numbers {
		if last := len(all) - 1; last >= 0 && all[last].last+1 == number {
			all[last].last = number
			continue
		}
		all = append(all, span{number, number})
	}
	return all
}

// program assembles what the kernel runs at each system call. Tests come first,
// with the call's number in the accumulator at the beginning of each; then what
// they jump to. There may be no more than 250 instructions in all.
type program []unix.SockFilter

// refuse stands, in a test's two distances, for the instruction at the end that
// refuses, until it is known how far that is.
const refuse = 255

func (p *program) load(offset uint32) {
	*p = append(*p, unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset})
}

// test goes on then instructions further if the accumulator passes, else
// otherwise instructions further.
func (p *program) test(test uint16, value uint32, then, otherwise uint8) {
	*p = append(*p, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_K | test, Jt: then, Jf: otherwise, K: value})
}

func (p *program) refuseIf(test uint16, value uint32) { p.test(test, value, refuse, 0) }

func (p *program) refuseUnless(value uint32) { p.test(unix.BPF_JEQ, value, 0, refuse) }

func (p *program) refuseIn(s span) {
	if s.first == s.last {
		p.refuseIf(unix.BPF_JEQ, s.first)
		return
	}
	p.test(unix.BPF_JGE, s.first, 0, 1)
	p.test(unix.BPF_JGT, s.last, 0, refuse)
}

func (p *program) refuseOn(c condition) {
	p.test(unix.BPF_JEQ, c.number, 0, 3)
	p.load(offsetArguments + 8*c.argument)
	if c.negated {
		p.test(c.test, c.value, 0, refuse)
	} else {
		p.test(c.test, c.value, refuse, 0)
	}
	p.load(offsetNumber)
}

// end adds the answers, and returns the program as the kernel reads it.
func (p *program) end() []byte {
	// Its flags cannot be seen: told that it is missing, the C library takes clone.
	p.test(unix.BPF_JEQ, unix.SYS_CLONE3, 1, 0)
	p.answer(unix.SECCOMP_RET_ALLOW)
	p.answer(unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS))
	p.answer(unix.SECCOMP_RET_ERRNO | uint32(refusal))
	var code []byte
	for at, i := range *p {
		code = binary.NativeEndian.AppendUint16(code, i.Code)
		code = append(code, p.distance(at, i.Jt), p.distance(at, i.Jf))
		code = binary.NativeEndian.AppendUint32(code, i.K)
	}
	return code
}

func (p *program) answer(value uint32) {
	*p = append(*p, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: value})
}

// distance resolves a jump from the instruction at.
func (p *program) distance(at int, jump uint8) uint8 {
	if jump != refuse {
		return jump
	}
	return uint8(len(*p) - 2 - at) //nolint:gosec // there are too few instructions for more
}
