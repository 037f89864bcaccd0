package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// LandlockRules is a Landlock ruleset: which access is restricted, and the exceptions.
// Its numbers are bits of the Linux kernel's interface.
type LandlockRules struct {
	HandledFileAccess uint64     `json:"files"`   // kinds of access to files that only Paths allow
	HandledPortAccess uint64     `json:"ports"`   // kinds of access to ports that are forbidden
	ConnectPort       uint16     `json:"connect"` // TCP port that may be connected to all the same; 0: none
	ScopedAccess      uint64     `json:"scoped"`  // signals and sockets that may not cross the border
	RestrictFlags     uint32     `json:"flags"`   // flags of landlock_restrict_self(2)
	Paths             []PathRule `json:"paths"`
}

// PathRule allows kinds of access to a file, or to a folder and everything below it. A
// path that is missing when the plan is applied is skipped.
type PathRule struct {
	Path          string `json:"path"`
	AllowedAccess uint64 `json:"access"`
}

// Sets of access rights. No process may make devices, or use ioctl on devices other than
// the named ones.
const (
	readAccess   = ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSReadDir
	createAccess = ll.AccessFSRemoveDir | ll.AccessFSRemoveFile | ll.AccessFSMakeDir | ll.AccessFSMakeReg |
		ll.AccessFSMakeSock | ll.AccessFSMakeFifo | ll.AccessFSMakeSym | ll.AccessFSRefer
	changeAccess = ll.AccessFSWriteFile | ll.AccessFSTruncate
	fullAccess   = readAccess | createAccess | changeAccess | ll.AccessFSResolveUnix

	deviceAccess = ll.AccessFSReadFile | ll.AccessFSReadDir | changeAccess | ll.AccessFSIoctlDev

	// For /dev/shm of the whole machine: its files may be used, but not listed.
	sharedMemoryAccess = ll.AccessFSReadFile | changeAccess | ll.AccessFSMakeReg | ll.AccessFSRemoveFile

	// The rights that the kernel accepts for a path that is not a folder.
	fileAccess = ll.AccessFSExecute | ll.AccessFSReadFile | changeAccess | ll.AccessFSIoctlDev | ll.AccessFSResolveUnix
)

// landlockConfig returns everything that this machine's version of Landlock can
// restrict.
func (m Machine) landlockConfig() landlock.Config {
	versions := []landlock.Config{
		{},
		landlock.V1, landlock.V2, landlock.V3, landlock.V4, landlock.V5, landlock.V6,
		landlock.V7, landlock.V8, landlock.V9, landlock.V10, landlock.V11,
	}
	return versions[min(m.LandlockVersion, len(versions)-1)]
}

// landlockRules returns the Landlock ruleset that enforces the rules, without what this
// machine's version cannot enforce. It fails if the Workdir does not exist.
func (m Machine) landlockRules(r Rules) (*LandlockRules, error) {
	config := m.landlockConfig()
	rules := &LandlockRules{HandledFileAccess: uint64(config.HandledAccessFS), ScopedAccess: uint64(config.Scoped)}
	if r.Network == NetworkOff && !m.HasPrivateNetwork(r) {
		rules.HandledPortAccess = uint64(config.HandledAccessNet)
		if rules.HandledPortAccess != 0 {
			rules.ConnectPort = r.ListenerPort
		}
	}
	if m.LandlockVersion >= 7 {
		rules.RestrictFlags = ll.FlagRestrictSelfLogSameExecOff // refusals are no matter for the system's audit log
	}
	if err := rules.allowPath(fullAccess, r.Workdir); err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	for _, path := range r.ReadPaths {
		if err := rules.allowReading(path, r.HiddenPaths); err != nil {
			return nil, fmt.Errorf("sandbox: %w", err)
		}
	}
	for _, grant := range m.allowedPaths(r) {
		for _, path := range grant.paths {
			if err := ignoreUnusable(rules.allowPath(grant.access, path)); err != nil {
				return nil, fmt.Errorf("sandbox: %w", err)
			}
		}
	}
	return rules, nil
}

// pathAccess is the access that a sandbox has to some paths.
type pathAccess struct {
	access uint64
	paths  []string
}

// allowedPaths returns the paths besides the Workdir and those of r.ReadPaths that a sandbox may
// access, and how.
func (m Machine) allowedPaths(r Rules) []pathAccess {
	all := []pathAccess{{fullAccess, r.WritePaths}, {deviceAccess, allowedDevicePaths()}}
	sharedMemory := []string{sharedMemoryDir}
	if !m.MountNamespaces {
		return append(all, pathAccess{sharedMemoryAccess, sharedMemory})
	}
	return append(all, pathAccess{fullAccess, sharedMemory}, pathAccess{deviceAccess, []string{"/dev/ptmx", "/dev/pts"}})
}

// allowedDevicePaths returns the devices that every sandbox may read and write.
// Terminals and the machine's pseudo terminals are not among them, because other
// programs of the user are behind them.
func allowedDevicePaths() []string {
	return []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}
}

// allowPath adds a rule for a path to the ruleset. It fails if the path does not exist.
// Rights that apply only to folders are left out for a file, since the kernel rejects
// them.
func (l *LandlockRules) allowPath(access uint64, path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		access &= fileAccess
	}
	l.Paths = append(l.Paths, PathRule{Path: path, AllowedAccess: access & l.HandledFileAccess})
	return nil
}

// restrictThread enforces the Landlock ruleset on the calling thread, which must have
// set PR_SET_NO_NEW_PRIVS.
func (l *LandlockRules) restrictThread() error {
	fd, err := ll.LandlockCreateRuleset(&ll.RulesetAttr{
		HandledAccessFS: l.HandledFileAccess, HandledAccessNet: l.HandledPortAccess, Scoped: l.ScopedAccess,
	}, 0)
	if err != nil {
		return fmt.Errorf("make a landlock ruleset: %w", err)
	}
	defer unix.Close(fd)
	for _, path := range l.Paths {
		if err := path.addToRuleset(fd); err != nil {
			return fmt.Errorf("allow %s: %w", path.Path, err)
		}
	}
	if l.ConnectPort != 0 {
		if err := ll.LandlockAddNetPortRule(fd, &ll.NetPortAttr{AllowedAccess: ll.AccessNetConnectTCP, Port: uint64(l.ConnectPort)}, 0); err != nil {
			return fmt.Errorf("allow port %d: %w", l.ConnectPort, err)
		}
	}
	if err := ll.LandlockRestrictSelf(fd, l.RestrictFlags); err != nil {
		return fmt.Errorf("restrict by landlock: %w", err)
	}
	return nil
}

// addToRuleset adds the rule for one path to an open Landlock ruleset. A missing path is
// skipped.
func (p PathRule) addToRuleset(ruleset int) error {
	fd, err := unix.Open(p.Path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return ll.LandlockAddPathBeneathRule(ruleset, &ll.PathBeneathAttr{AllowedAccess: p.AllowedAccess, ParentFd: fd}, 0)
}
