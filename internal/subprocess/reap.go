package subprocess

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
)

// RunCleanupHelper is the whole of the helper process. It reads lines from in, the pipe
// from the server:
//
//	group PGID    a child has started, its process group is PGID
//	gone PGID     it has ended and nothing of its group is left
//	cgroup PATH   the cgroup below which every child's cgroup lies
//	dir PATH      a folder that is to go with the server
//	nodir PATH    it has gone already
//
// When in ends, which it does however the server ends, Reap kills every group
// that is left, removes the folders and returns. It ignores the signals that a
// terminal or a service manager sends to everybody.
func RunCleanupHelper(in io.Reader) error {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	left := belongings{groups: map[int]bool{}, dirs: map[string]bool{}}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		if err := left.note(lines.Text()); err != nil {
			return err
		}
	}
	left.destroy()
	return lines.Err()
}

type belongings struct {
	groups map[int]bool
	dirs   map[string]bool
	cgroup string
}

func (b *belongings) note(line string) error {
	what, thing, _ := strings.Cut(line, " ")
	switch what {
	case "cgroup":
		b.cgroup = thing
		return nil
	case "dir":
		b.dirs[thing] = true
		return nil
	case "nodir":
		delete(b.dirs, thing)
		return nil
	}
	group, err := strconv.Atoi(thing)
	if err != nil || group <= 1 { // kill(-1) would be everybody
		return fmt.Errorf("bad line %q", line)
	}
	if what == "group" {
		b.groups[group] = true
	} else {
		delete(b.groups, group)
	}
	return nil
}

func (b *belongings) destroy() {
	for group := range maps.Keys(b.groups) {
		// ESRCH: it went by itself, as a child does when its socket closes.
		_ = syscall.Kill(-group, syscall.SIGKILL)
	}
	if b.cgroup != "" {
		_ = (&cgroups{root: b.cgroup}).remove()
	}
	for dir := range maps.Keys(b.dirs) {
		_ = os.RemoveAll(dir)
	}
}
