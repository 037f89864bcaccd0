package sandbox

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Exec applies a sandbox plan, given as the JSON of a [Plan], to this process and then
// replaces it with the command argv and the environment env. If it returns, the caller must
// report the error and exit, since the process may be partly confined. It returns nil
// with an empty argv, which shows that the plan works, and if the plan has a PIDControl: the command then
// runs in another process.
func Exec(plan string, argv, env []string) error {
	decoder := json.NewDecoder(strings.NewReader(plan))
	decoder.DisallowUnknownFields()
	var p Plan
	if err := decoder.Decode(&p); err != nil {
		return fmt.Errorf("sandbox: read the plan: %w", err)
	}
	var path string
	if len(argv) > 0 {
		found, err := exec.LookPath(argv[0])
		if err != nil {
			return fmt.Errorf("sandbox: %w", err)
		}
		path = found
	}
	// The following steps confine only this thread. Executing the command ends all other
	// threads and makes it the process.
	runtime.LockOSThread()
	if err := p.confineThread(); err != nil {
		return fmt.Errorf("sandbox: %w", err)
	}
	if p.PIDControl != 0 && len(argv) > 0 {
		if err := p.startProgram(path, argv, env); err != nil {
			return fmt.Errorf("sandbox: %w", err)
		}
		return nil
	}
	if err := p.restrictCalls(); err != nil {
		return fmt.Errorf("sandbox: %w", err)
	}
	if len(argv) == 0 {
		return p.reportNoProgram()
	}
	if err := syscall.Exec(path, argv, env); err != nil {
		return fmt.Errorf("sandbox: execute %s: %w", path, err)
	}
	return nil
}

// confineThread applies the sandbox plan to the calling thread, except for what restrictCalls does. The
// Python kernel's sandbox module takes the same steps, and refuses a plan with a Listener. An error leaves
// the thread partly confined.
func (p Plan) confineThread() error {
	if err := p.enterNamespaces(); err != nil {
		return err
	}
	if p.Listener != nil {
		if err := p.Listener.handOver(); err != nil {
			return err
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up new privileges: %w", err)
	}
	if p.Landlock != nil {
		if err := p.Landlock.restrictThread(); err != nil {
			return err
		}
	}
	if err := dropCapabilities(p.DroppedCapabilities); err != nil {
		return err
	}
	// A file that grows too large is then an error, as it always is in Python.
	signal.Ignore(syscall.SIGXFSZ)
	return nil
}

// restrictCalls installs the seccomp filter for the calling thread, and sets the limits of this process.
func (p Plan) restrictCalls() error {
	if err := installSeccompFilter(p.SeccompFilter); err != nil {
		return err
	}
	for _, limit := range p.Rlimits {
		if err := limit.lowerLimits(); err != nil {
			return err
		}
	}
	return nil
}

// enterNamespaces makes the plan's namespaces for the calling thread, unless the
// process was started in them, and then makes the plan's mounts and brings up the
// loopback interface.
func (p Plan) enterNamespaces() error {
	if p.Namespaces != 0 && p.Namespaces&unix.CLONE_NEWUSER == 0 {
		if err := unix.Unshare(int(p.Namespaces)); err != nil {
			return fmt.Errorf("make namespaces: %w", err)
		}
	}
	if p.Namespaces&unix.CLONE_NEWNS != 0 {
		if err := unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			return fmt.Errorf("keep mounts private: %w", err)
		}
	}
	if err := makeReadOnlyExcept(p.WritablePaths); err != nil {
		return err
	}
	if err := p.makeMounts(); err != nil {
		return err
	}
	// The current folder is still the one below the new mounts. Another one stays read-only.
	if folder, err := unix.Getwd(); err == nil && slices.Contains(p.WritablePaths, folder) {
		if err := unix.Chdir(folder); err != nil {
			return fmt.Errorf("enter the current folder again: %w", err)
		}
	}
	if p.RaiseLoopback {
		return bringUpLoopback()
	}
	return nil
}

// makeMounts makes the plan's mounts. If it has a PIDControl, the PID namespace with its /proc comes between those for
// which this process needs its own /proc and those that hide files of /proc, after which Linux would refuse it.
func (p Plan) makeMounts() error {
	mountAll := func(mounts []Mount) error {
		for _, mount := range mounts {
			if err := mount.make(); err != nil {
				return fmt.Errorf("mount %s: %w", mount.Target, err)
			}
		}
		return nil
	}
	if p.PIDControl == 0 {
		return mountAll(p.Mounts)
	}
	hiding := slices.IndexFunc(p.Mounts, func(m Mount) bool { return m.Source != "" })
	if hiding < 0 {
		hiding = len(p.Mounts)
	}
	if err := mountAll(p.Mounts[:hiding]); err != nil {
		return err
	}
	if err := p.enterPIDNamespace(); err != nil {
		return err
	}
	return mountAll(p.Mounts[hiding:])
}

func (m Mount) make() error {
	if m.Source != "" {
		return unix.Mount(m.Source, m.Target, "", unix.MS_BIND, "")
	}
	flags := uintptr(unix.MS_NOSUID)
	if m.ReadOnly {
		flags |= readOnlyFileFlags
	}
	if len(m.Kept) > 0 {
		return m.makeAroundKept(flags)
	}
	return unix.Mount(m.Type, m.Target, m.Type, flags, m.Options)
}

// makeAroundKept mounts a file system in which the Kept paths appear, and gives it the flags afterwards.
func (m Mount) makeAroundKept(flags uintptr) error {
	var kept []int
	defer func() {
		for _, fd := range kept {
			_ = unix.Close(fd)
		}
	}()
	for _, path := range m.Kept { // the new file system hides them
		fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("keep %s: %w", path, err)
		}
		kept = append(kept, fd)
	}
	if err := unix.Mount(m.Type, m.Target, m.Type, unix.MS_NOSUID, m.Options); err != nil {
		return err
	}
	for i, path := range m.Kept {
		if err := bindKept(kept[i], path); err != nil {
			return fmt.Errorf("keep %s: %w", path, err)
		}
	}
	return unix.Mount("", m.Target, "", unix.MS_REMOUNT|unix.MS_BIND|flags, "")
}

// bindKept makes an open file or folder appear at its path again, unless it is there already.
func bindKept(fd int, path string) error {
	if _, err := os.Lstat(path); err == nil {
		return nil // below another one that is kept
	}
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return err
	}
	if stat.Mode&unix.S_IFMT == unix.S_IFDIR {
		if err := os.MkdirAll(path, 0o700); err != nil {
			return err
		}
	} else {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			return err
		}
	}
	return unix.Mount(fmt.Sprintf("/proc/self/fd/%d", fd), path, "", unix.MS_BIND|unix.MS_REC, "")
}

// makeReadOnlyExcept makes all file systems of the calling thread's mount namespace read-only, with
// modes, times and attributes, except for these files and folders. It does nothing if there are none.
func makeReadOnlyExcept(writablePaths []string) error {
	if len(writablePaths) == 0 {
		return nil
	}
	for _, path := range writablePaths { // flags can then be set for it alone
		if err := unix.Mount(path, path, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("mount %s: %w", path, err)
		}
	}
	readOnly := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &readOnly); err != nil {
		return fmt.Errorf("make / read-only: %w", err)
	}
	writable := unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY}
	for _, path := range writablePaths {
		// Not for the mounts below it: in a user namespace, one that was read-only before cannot be changed.
		if err := unix.MountSetattr(unix.AT_FDCWD, path, 0, &writable); err != nil {
			return fmt.Errorf("make %s writable: %w", path, err)
		}
	}
	return nil
}

// bringUpLoopback brings up the loopback interface of the calling thread's network
// namespace.
func bringUpLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("make a socket: %w", err)
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request); err != nil {
		return fmt.Errorf("raise the loopback interface: %w", err)
	}
	return nil
}

// dropCapabilities drops all capabilities of the calling thread, and removes the first
// boundingCount of them from its bounding set, so that they cannot be regained.
func dropCapabilities(boundingCount int) error {
	for capability := range boundingCount {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(capability), 0, 0, 0); err != nil {
			return fmt.Errorf("drop capability %d: %w", capability, err)
		}
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil { // emptying the inheritable set empties the ambient one
		return fmt.Errorf("drop capabilities: %w", err)
	}
	return nil
}

// lowerLimits sets the soft and the hard limit of this process to the resource limit,
// or to the present hard limit if that is lower.
func (l Rlimit) lowerLimits() error {
	value, err := l.lowered()
	if err != nil {
		return err
	}
	if err := unix.Setrlimit(l.Resource, &value); err != nil {
		return fmt.Errorf("set limit %d: %w", l.Resource, err)
	}
	return nil
}

// lowered returns the values that lowerLimits sets.
func (l Rlimit) lowered() (unix.Rlimit, error) {
	var now unix.Rlimit
	if err := unix.Getrlimit(l.Resource, &now); err != nil {
		return now, fmt.Errorf("read limit %d: %w", l.Resource, err)
	}
	value := min(l.Value, now.Max)
	return unix.Rlimit{Cur: value, Max: value}, nil
}
