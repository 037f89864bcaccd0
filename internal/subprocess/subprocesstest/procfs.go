package subprocesstest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ListeningSockets returns the paths of the Unix sockets on which a process listens: those below the
// folder dir, and those that the process pid has open. A socket without a path is returned as its inode.
func ListeningSockets(dir string, pid int) ([]string, error) {
	text, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		return nil, err
	}
	var found []string
	for line := range strings.Lines(string(text)) {
		// "Num RefCount Protocol Flags Type St Inode Path": the flag 0x10000 is SO_ACCEPTCON.
		fields := strings.Fields(line)
		if len(fields) < 7 || fields[3] != "00010000" {
			continue
		}
		path := fields[6]
		if len(fields) > 7 {
			path = fields[7]
		}
		if strings.HasPrefix(path, dir+"/") || hasOpen(pid, "socket:["+fields[6]+"]") {
			found = append(found, path)
		}
	}
	return found, nil
}

// hasOpen reports whether a process has a file of this name open.
func hasOpen(pid int, name string) bool {
	links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid)) // the pattern is well formed
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && target == name {
			return true
		}
	}
	return false
}

// CommandLine returns the arguments of a running process.
func CommandLine(pid int) ([]string, error) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	return strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00"), err
}

// HasEnded reports whether the process with this id is gone or a zombie.
func HasEnded(pid string) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	return err != nil || strings.Contains(string(stat), ") Z ")
}
