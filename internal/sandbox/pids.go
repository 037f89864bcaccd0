package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// removeTimeout is how long the last processes of a cgroup may take to disappear after
// they were killed.
const removeTimeout = 2 * time.Second

// PidsLimit limits how many processes a child and all that it starts may be, by a
// cgroup. It is not safe for concurrent use.
type PidsLimit struct {
	folder string
	own    bool // made by NewPidsLimit, to be removed
}

// NewPidsLimit makes the limit, threads counted; processes are put under it with Add,
// before they run what is not trusted. group is the folder of the cgroup,
// version 2, in which the child is alone; "" if it has none. Where the limit
// is one of version 1 it gets a cgroup of its own, else it is set on group. The
// error is that no cgroup of either kind can be written. Whoever made it must
// Remove it.
func NewPidsLimit(limit int, group string) (*PidsLimit, error) {
	if limit <= 0 {
		return nil, fmt.Errorf("limit processes: %d is no limit", limit)
	}
	mounts, err := readCgroups()
	if err != nil {
		return nil, fmt.Errorf("limit processes: %w", err)
	}
	if mounts.pids != "" {
		folder, err := os.MkdirTemp(mounts.pids, "assay-"+strconv.Itoa(os.Getpid())+"-")
		if err != nil {
			return nil, fmt.Errorf("limit processes: %w", err)
		}
		p := &PidsLimit{folder: folder, own: true}
		if err := p.write("pids.max", limit); err != nil {
			return nil, errors.Join(err, p.Remove())
		}
		return p, nil
	}
	return limitUnified(limit, mounts.unified, group)
}

// limitUnified sets the limit on a cgroup of version 2, or on one made for it
// beside us.
func limitUnified(limit int, ours, group string) (*PidsLimit, error) {
	if ours == "" {
		return nil, errors.New("limit processes: no cgroup with pids is mounted")
	}
	p := &PidsLimit{folder: group}
	if group == "" {
		folder, err := os.MkdirTemp(ours, "assay-"+strconv.Itoa(os.Getpid())+"-")
		if err != nil {
			return nil, fmt.Errorf("limit processes: %w", err)
		}
		p = &PidsLimit{folder: folder, own: true}
	}
	err := enable(filepath.Dir(p.folder), ours)
	if err == nil {
		err = p.write("pids.max", limit)
	}
	if err != nil {
		return nil, errors.Join(err, p.Remove())
	}
	return p, nil
}

// enable makes the folders below this one have pids.max, and so up to ours. This
// controller may be given to folders that have processes, too.
func enable(folder, ours string) error {
	has, err := os.ReadFile(filepath.Join(folder, "cgroup.controllers"))
	if err != nil {
		return fmt.Errorf("limit processes: %w", err)
	}
	if !contains(string(has), "pids") {
		if folder == ours || !strings.HasPrefix(folder, ours) {
			return fmt.Errorf("limit processes: %s has no pids controller", folder)
		}
		if err := enable(filepath.Dir(folder), ours); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "cgroup.subtree_control"), []byte("+pids"), 0); err != nil {
		return fmt.Errorf("limit processes: %w", err)
	}
	return nil
}

// Dir is the cgroup's.
func (p *PidsLimit) Dir() string { return p.folder }

// AddProcess puts a process, and what it starts from now on, under the limit.
func (p *PidsLimit) AddProcess(pid int) error { return p.write("cgroup.procs", pid) }

func (p *PidsLimit) write(name string, value int) error {
	if err := os.WriteFile(filepath.Join(p.folder, name), []byte(strconv.Itoa(value)), 0); err != nil {
		return fmt.Errorf("limit processes: %w", err)
	}
	return nil
}

// Remove removes what NewPidsLimit made. The processes must have been killed; it waits
// up to two seconds until the last one is gone.
func (p *PidsLimit) Remove() error {
	if !p.own {
		return nil
	}
	return RemoveCgroup(p.folder, time.Now().Add(removeTimeout))
}

// RemoveCgroup removes the folder of a cgroup, of either version, that has no cgroups
// below it. Its processes must have been killed: while the last ones are still ending
// it tries again every millisecond, since the kernel announces their end only to those
// that poll, and fails at the deadline. A cgroup that does not exist is no error.
func RemoveCgroup(dir string, deadline time.Time) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for ; ; <-tick.C {
		err := os.Remove(dir)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("remove a cgroup: %w", err)
		}
	}
}

// hierarchies are the folders of the cgroups that this process is in; empty: it
// is in none.
type hierarchies struct {
	pids    string // version 1
	unified string // version 2
}

// OwnCgroupDir returns the folder of the cgroup, version 2, that this process is in.
func OwnCgroupDir() (string, error) {
	mounts, err := readCgroups()
	if err == nil && mounts.unified == "" {
		err = errors.New("no cgroup2 is mounted")
	}
	return mounts.unified, err
}

func readCgroups() (hierarchies, error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return hierarchies{}, err
	}
	member, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return hierarchies{}, err
	}
	return findCgroups(string(mounts), string(member)), nil
}

// findCgroups reads the kernel's tables of mounts and of memberships.
func findCgroups(mounts, member string) hierarchies {
	var found hierarchies
	for line := range strings.Lines(mounts) {
		// "36 35 0:31 / /sys/fs/cgroup/pids rw,nosuid - cgroup cgroup rw,pids"
		left, right, _ := strings.Cut(strings.TrimSpace(line), " - ")
		place, kind := strings.Fields(left), strings.Fields(right)
		if len(place) < 5 || len(kind) < 3 {
			continue
		}
		switch {
		case kind[0] == "cgroup" && contains(strings.ReplaceAll(kind[2], ",", " "), "pids"):
			found.pids = below(place[4], member, "pids")
		case kind[0] == "cgroup2":
			found.unified = below(place[4], member, "")
		}
	}
	return found
}

// below is the folder under a mount that we are in, by the line "ID:CONTROLLERS:PATH"
// of the controller.
func below(mount, member, controller string) string {
	for line := range strings.Lines(member) {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, path, _ := strings.Cut(rest, ":")
		if controllers == controller || controller != "" && contains(strings.ReplaceAll(controllers, ",", " "), controller) {
			return filepath.Join(mount, path)
		}
	}
	return ""
}

func contains(list, word string) bool {
	for field := range strings.FieldsSeq(list) {
		if field == word {
			return true
		}
	}
	return false
}
