package sandbox

import (
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// UsableMemoryBytes returns how much memory this process and all that it starts may use: that of the machine, or
// less, if a cgroup limits it, as in a container. It returns 0 if that is not known.
func UsableMemoryBytes() int64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0
	}
	usable := int64(info.Totalram) * int64(info.Unit) //nolint:gosec // no machine has 2^63 bytes
	own, err := findOwnCgroupDirs()
	if err != nil {
		return usable
	}
	if limit := own.memoryBytes(); limit > 0 {
		return min(usable, limit)
	}
	return usable
}

// memoryBytes returns the lowest limit of memory of this process's cgroups and those above them, or 0 if there is
// none.
func (o ownCgroupDirs) memoryBytes() int64 {
	if dir := o.v1[memoryController.name]; dir != "" {
		text, _ := os.ReadFile(filepath.Join(dir, "memory.stat")) // without it there is no line
		for line := range strings.Lines(string(text)) {
			if limit, found := strings.CutPrefix(line, "hierarchical_memory_limit "); found {
				return parseNumber(limit)
			}
		}
		return 0
	}
	lowest := int64(0)
	for dir := o.unified; dir != "" && dir != "/"; dir = filepath.Dir(dir) {
		text, err := os.ReadFile(filepath.Join(dir, memoryController.maxV2))
		if err != nil {
			break // the root cgroup has no limit, and above it are no cgroups
		}
		if limit := parseNumber(string(text)); limit > 0 && (lowest == 0 || limit < lowest) {
			lowest = limit
		}
	}
	return lowest
}
