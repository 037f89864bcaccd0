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

// LandlockRules is what Landlock is told. Its numbers are the kernel's own.
type LandlockRules struct {
	HandledFileAccess uint64     `json:"files"`  // what may be done to files only where Paths say so
	HandledPortAccess uint64     `json:"ports"`  // what may not be done with ports
	ScopedAccess      uint64     `json:"scoped"` // what ends at the fence
	RestrictFlags     uint32     `json:"flags"`
	Paths             []PathRule `json:"paths"`
}

// PathRule is a file or a folder, with all below it, and what may be done there. One
// that is missing when the plan is carried out is passed over.
type PathRule struct {
	Path          string `json:"path"`
	AllowedAccess uint64 `json:"access"`
}

// What may be done to a file or a folder. No device can be made, and no command
// given to one, but for those that are named.
const (
	reading = ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSReadDir
	making  = ll.AccessFSRemoveDir | ll.AccessFSRemoveFile | ll.AccessFSMakeDir | ll.AccessFSMakeReg |
		ll.AccessFSMakeSock | ll.AccessFSMakeFifo | ll.AccessFSMakeSym | ll.AccessFSRefer
	changing = ll.AccessFSWriteFile | ll.AccessFSTruncate
	writing  = reading | making | changing | ll.AccessFSResolveUnix

	using = ll.AccessFSReadFile | ll.AccessFSReadDir | changing | ll.AccessFSIoctlDev // of devices

	// Shared memory that is everybody's: its names are not told.
	sharing = ll.AccessFSReadFile | changing | ll.AccessFSMakeReg | ll.AccessFSRemoveFile

	toFiles = ll.AccessFSExecute | ll.AccessFSReadFile | changing | ll.AccessFSIoctlDev | ll.AccessFSResolveUnix
)

// known is what the version of Landlock on this machine can restrict.
func (m Machine) known() landlock.Config {
	versions := []landlock.Config{
		{},
		landlock.V1, landlock.V2, landlock.V3, landlock.V4, landlock.V5, landlock.V6,
		landlock.V7, landlock.V8, landlock.V9, landlock.V10, landlock.V11,
	}
	return versions[min(m.LandlockVersion, len(versions)-1)]
}

func (m Machine) ruleset(r Rules) (*LandlockRules, error) {
	known := m.known()
	set := &LandlockRules{HandledFileAccess: uint64(known.HandledAccessFS), ScopedAccess: uint64(known.Scoped)}
	if r.Network == NetworkOff {
		set.HandledPortAccess = uint64(known.HandledAccessNet)
	}
	if m.LandlockVersion >= 7 {
		set.RestrictFlags = ll.FlagRestrictSelfLogSameExecOff // what is refused is the user's to see, not the system's
	}
	if err := set.allow(writing, r.Workdir); err != nil {
		return nil, fmt.Errorf("fence: %w", err)
	}
	for _, grant := range m.grants(r) {
		for _, path := range grant.paths {
			err := set.allow(grant.access, path)
			if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
				return nil, fmt.Errorf("fence: %w", err)
			}
		}
	}
	return set, nil
}

type grant struct {
	access uint64
	paths  []string
}

// grants is what may be done where, beside the root.
func (m Machine) grants(r Rules) []grant {
	all := []grant{{reading, r.ReadPaths}, {writing, r.WritePaths}, {using, devices()}}
	shm := []string{sharedMemory}
	if !m.MountNamespaces {
		return append(all, grant{sharing, shm})
	}
	return append(all, grant{writing, shm}, grant{using, []string{"/dev/ptmx", "/dev/pts"}})
}

// allow adds a path, which must exist: what can be done to a folder only is not
// to be asked for a file.
func (s *LandlockRules) allow(access uint64, path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		access &= toFiles
	}
	s.Paths = append(s.Paths, PathRule{Path: path, AllowedAccess: access & s.HandledFileAccess})
	return nil
}

// enforce puts the calling thread behind the rules. It must have given up the
// way to new privileges.
func (s *LandlockRules) enforce() error {
	fd, err := ll.LandlockCreateRuleset(&ll.RulesetAttr{HandledAccessFS: s.HandledFileAccess, HandledAccessNet: s.HandledPortAccess, Scoped: s.ScopedAccess}, 0)
	if err != nil {
		return fmt.Errorf("make a landlock ruleset: %w", err)
	}
	defer unix.Close(fd)
	for _, path := range s.Paths {
		if err := path.add(fd); err != nil {
			return fmt.Errorf("allow %s: %w", path.Path, err)
		}
	}
	if err := ll.LandlockRestrictSelf(fd, s.RestrictFlags); err != nil {
		return fmt.Errorf("restrict by landlock: %w", err)
	}
	return nil
}

func (p PathRule) add(ruleset int) error {
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
