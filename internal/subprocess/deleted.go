package subprocess

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// statBlockBytes is the unit of st_blocks.
const statBlockBytes = 512

// deletedMark ends the path of a file that has no name any more, as /proc shows it.
const deletedMark = " (deleted)"

// DeletedBytes returns how many bytes files occupy, on the disk of the folder dir, that have no name any more
// and that the process, or what it has started, holds open or mapped. Processes that end meanwhile, and
// files in the queue of a socket, are missed.
func (p *Process) DeletedBytes(dir string) (sum int64) {
	var folder unix.Stat_t
	if unix.Stat(dir, &folder) != nil {
		return 0 // it has been removed
	}
	counted := map[uint64]bool{} // inodes
	count := func(link string) {
		var info unix.Stat_t
		if unix.Stat(link, &info) == nil && info.Dev == folder.Dev && info.Mode&unix.S_IFMT == unix.S_IFREG && info.Nlink == 0 && !counted[info.Ino] {
			counted[info.Ino] = true
			sum += info.Blocks * statBlockBytes
		}
	}
	for _, pid := range p.allProcesses() {
		root := filepath.Join("/proc", strconv.Itoa(pid))
		links, _ := filepath.Glob(filepath.Join(root, "fd", "*")) // the pattern is well formed
		for _, link := range append(links, deletedMappings(root)...) {
			if path, err := os.Readlink(link); err == nil && strings.HasSuffix(path, deletedMark) {
				count(link)
			}
		}
	}
	return sum
}

// deletedMappings returns the paths of links to files that a process, whose folder in /proc is root, has mapped
// and that have no name any more.
func deletedMappings(root string) (links []string) {
	file, err := os.Open(filepath.Join(root, "maps"))
	if err != nil {
		return nil // it has ended
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if line := lines.Text(); strings.HasSuffix(line, deletedMark) {
			addresses, _, _ := strings.Cut(line, " ")
			links = append(links, filepath.Join(root, "map_files", addresses))
		}
	}
	return links
}

// allProcesses returns the ids of the process and of those that it has started, if its cgroups or its
// namespace show them.
func (p *Process) allProcesses() []int {
	pids := p.visibleProcesses()
	if p.cgroupDir != "" {
		pids = append(pids, processesIn(p.cgroupDir)...)
	}
	if len(pids) == 0 {
		pids = []int{p.PID()}
	}
	return pids
}
