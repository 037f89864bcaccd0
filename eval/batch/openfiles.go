package batch

import (
	"fmt"
	"syscall"
)

// What a run may have open at most, as measured with the examples and rounded up: 20 files, and 12
// for each attempt.
const (
	openFilesOfRun     = 48
	openFilesOfAttempt = 16
)

// CheckOpenFiles returns an error if so many attempts at the same time may need more open files than
// this process can have (ulimit -n).
func CheckOpenFiles(jobs int) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return nil //nolint:nilerr // unknown: the attempts will show
	}
	needed := uint64(openFilesOfRun + openFilesOfAttempt*max(jobs, 1))
	if limit.Cur >= needed {
		return nil
	}
	return fmt.Errorf("attempts at once: %d, which need %d open files, and %d are allowed: raise the limit (ulimit -n %d), or lower --jobs", jobs, needed, limit.Cur, needed)
}
