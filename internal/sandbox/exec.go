package sandbox

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Exec carries a plan out, which is the JSON of a [Plan], and becomes the command
// argv, with the environment env. It returns only if that failed; the process is
// then good for nothing but to say so and exit. Without argv it carries the plan
// out and returns, which tells whether that can be done.
func Exec(plan string, argv, env []string) error {
	decoder := json.NewDecoder(strings.NewReader(plan))
	decoder.DisallowUnknownFields()
	var p Plan
	if err := decoder.Decode(&p); err != nil {
		return fmt.Errorf("fence: the plan: %w", err)
	}
	var path string
	if len(argv) > 0 {
		found, err := exec.LookPath(argv[0])
		if err != nil {
			return fmt.Errorf("fence: %w", err)
		}
		path = found
	}
	// What follows is done to this thread, and is the process's when the thread
	// executes the command, with which all other threads end.
	runtime.LockOSThread()
	if err := p.carryOut(); err != nil {
		return fmt.Errorf("fence: %w", err)
	}
	if len(argv) == 0 {
		return nil
	}
	if err := syscall.Exec(path, argv, env); err != nil {
		return fmt.Errorf("fence: execute %s: %w", path, err)
	}
	return nil
}

// carryOut puts the calling thread behind the fence.
func (p Plan) carryOut() error {
	if err := p.separate(); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up new privileges: %w", err)
	}
	if p.Landlock != nil {
		if err := p.Landlock.enforce(); err != nil {
			return err
		}
	}
	if err := dropCapabilities(p.DroppedCapabilities); err != nil {
		return err
	}
	// A file that grows too large is then an error, as it is in Python anyway.
	signal.Ignore(syscall.SIGXFSZ)
	if err := install(p.SeccompFilter); err != nil {
		return err
	}
	for _, limit := range p.Rlimits {
		if err := limit.set(); err != nil {
			return err
		}
	}
	return nil
}

func (l Rlimit) set() error {
	var now unix.Rlimit
	if err := unix.Getrlimit(l.Resource, &now); err != nil {
		return fmt.Errorf("read limit %d: %w", l.Resource, err)
	}
	value := min(l.Value, now.Max)
	if err := unix.Setrlimit(l.Resource, &unix.Rlimit{Cur: value, Max: value}); err != nil {
		return fmt.Errorf("set limit %d: %w", l.Resource, err)
	}
	return nil
}

// dropCapabilities gives up all capabilities, and takes the first so many out of
// what can be had again.
func dropCapabilities(bounding int) error {
	for capability := range bounding {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(capability), 0, 0, 0); err != nil {
			return fmt.Errorf("drop capability %d: %w", capability, err)
		}
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil { // the ambient set goes with the inheritable one
		return fmt.Errorf("drop capabilities: %w", err)
	}
	return nil
}

// install makes the kernel run a seccomp program at each system call; none, if it
// is empty.
func install(code []byte) error {
	if len(code) == 0 {
		return nil
	}
	if len(code)%instruction != 0 || len(code) > instruction*unix.BPF_MAXINSNS {
		return fmt.Errorf("install the seccomp filter: %d bytes are no program", len(code))
	}
	var filters []unix.SockFilter
	for i := range slices.Chunk(code, instruction) {
		filters = append(filters, unix.SockFilter{
			Code: binary.NativeEndian.Uint16(i), Jt: i[2], Jf: i[3], K: binary.NativeEndian.Uint32(i[4:]),
		})
	}
	program := unix.SockFprog{Len: uint16(len(filters)), Filter: &filters[0]} //nolint:gosec // no more than BPF_MAXINSNS
	//nolint:gosec // the kernel wants an address
	err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
	runtime.KeepAlive(filters)
	if err != nil {
		return fmt.Errorf("install the seccomp filter: %w", err)
	}
	return nil
}
