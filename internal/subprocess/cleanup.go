package subprocess

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"assay/internal/sandbox"
)

// First words of the lines that the server writes to its cleanup helper.
const (
	noteGroupStarted = "group"  // a subprocess has started; the value is its process group
	noteGroupGone    = "gone"   // its process group has ended
	noteCgroupRoot   = "cgroup" // the cgroup below which each subprocess gets one
	noteLimitCgroup  = "limit"  // a cgroup that limits something; those below it have notes, too
	noteTempFolder   = "dir"    // a temporary folder
	noteRemoved      = "nodir"  // a folder or a limit's cgroup has been removed

	noteNamespace     = "namespace"   // a process without such a cgroup is in the mount namespace of its sandbox
	noteNamespaceGone = "nonamespace" // nothing is left in it
)

// openedBy returns the words of the notes that a note takes back; isClosing is false if it takes back none.
func openedBy(note string) (words []string, isClosing bool) {
	switch note {
	case noteGroupGone:
		return []string{noteGroupStarted}, true
	case noteRemoved:
		return []string{noteTempFolder, noteLimitCgroup}, true
	case noteNamespaceGone:
		return []string{noteNamespace}, true
	default:
		return nil, false
	}
}

// RunCleanupHelper is the whole program of the cleanup helper, a process that outlives
// the server and removes what the server leaves behind. It reads lines "WORD VALUE"
// from in, a pipe from the server:
//
//	group PGID    a subprocess has started with this process group
//	gone PGID     it has ended, and nothing of its group is left
//	cgroup PATH   the cgroup below which every subprocess has one
//	limit PATH    a cgroup, which limits a number of processes or memory
//	dir PATH      a temporary folder
//	nodir PATH    the folder, or the cgroup of "limit", has been removed
//	namespace PID    this process is in the mount namespace of its sandbox
//	nonamespace PID  nothing is left in that namespace
//
// When in ends, which it does however the server ends, it kills every process group, namespace
// and cgroup that is left, removes the cgroups and folders, and returns. It ignores SIGINT,
// SIGTERM, SIGHUP and SIGQUIT, which a terminal or a service manager sends to
// everything at once. A line that is not of this form is an error, and nothing is
// cleaned up.
func RunCleanupHelper(in io.Reader) error {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	left := trackedResources{processGroups: map[int]bool{}, tempFolders: map[string]bool{}, limitCgroups: map[string]bool{}, namespaces: map[int]*mountNamespace{}}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		if err := left.applyLine(lines.Text()); err != nil {
			return err
		}
	}
	left.destroyAll()
	return lines.Err()
}

// trackedResources lists everything of the server's that exists outside its process:
// process groups, cgroups and temporary folders.
type trackedResources struct {
	processGroups map[int]bool
	tempFolders   map[string]bool
	limitCgroups  map[string]bool
	namespaces    map[int]*mountNamespace // by process id
	cgroupRoot    string
}

// applyLine updates the tracked resources by one line "WORD VALUE" from the server. A
// malformed line is an error.
func (t *trackedResources) applyLine(line string) error {
	word, value, _ := strings.Cut(line, " ")
	switch word {
	case noteCgroupRoot:
		t.cgroupRoot = value
	case noteLimitCgroup:
		t.limitCgroups[value] = true
	case noteNamespace, noteNamespaceGone:
		return t.applyNamespaceLine(word, value)
	case noteTempFolder:
		t.tempFolders[value] = true
	case noteRemoved:
		delete(t.tempFolders, value)
		delete(t.limitCgroups, value)
	case noteGroupStarted, noteGroupGone:
		group, err := strconv.Atoi(value)
		if err != nil || group <= 1 { // kill(-1) would reach every process
			return fmt.Errorf("cleanup helper: bad line %q", line)
		}
		if word == noteGroupStarted {
			t.processGroups[group] = true
		} else {
			delete(t.processGroups, group)
		}
	default:
		return fmt.Errorf("cleanup helper: bad line %q", line)
	}
	return nil
}

// applyNamespaceLine opens or closes the namespace of a process. It does nothing if the process has
// ended. A malformed line is an error.
func (t *trackedResources) applyNamespaceLine(word, value string) error {
	pid, err := strconv.Atoi(value)
	if err != nil || pid <= 1 {
		return fmt.Errorf("cleanup helper: bad line %q", word+" "+value)
	}
	if earlier := t.namespaces[pid]; earlier != nil {
		earlier.close()
		delete(t.namespaces, pid)
	}
	if word == noteNamespace {
		if namespace, err := openSeparateNamespace(pid); err == nil {
			t.namespaces[pid] = namespace
		}
	}
	return nil
}

// destroyAll kills every tracked process group and cgroup and removes the cgroups and
// folders. It ignores errors, since the server that could log them has ended.
func (t *trackedResources) destroyAll() {
	for group := range t.processGroups {
		// ESRCH: it has ended already, as most do when their socket closes.
		_ = syscall.Kill(-group, syscall.SIGKILL)
	}
	for _, namespace := range t.namespaces {
		namespace.kill()
	}
	if t.cgroupRoot != "" {
		_ = removeCgroupTree(t.cgroupRoot)
	}
	deadline := time.Now().Add(cgroupRemoveTimeout)
	limits := slices.Sorted(maps.Keys(t.limitCgroups))
	for _, path := range limits {
		killProcessesIn(path)
	}
	for _, path := range slices.Backward(limits) { // those below another come after it
		_ = sandbox.RemoveCgroup(path, deadline)
	}
	for folder := range t.tempFolders {
		_ = removeTree(folder)
	}
}
