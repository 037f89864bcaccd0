package runs

import (
	"errors"
	"os"
	"syscall"
)

// A run that goes on holds a lock on its attempts.jsonl. The system takes it back
// however the program ends, so that one that was killed is told from one that is
// silent.

// hold takes the lock, and keeps it until the file is closed. Where a file system
// has no locks the run goes on without, and is taken for an interrupted one.
func hold(file *os.File) error {
	return withLock(file, syscall.LOCK_EX, func(error) {})
}

// held tells whether somebody makes the run that the lines are of.
func (l *LineFile) held() (held bool) {
	err := withLock(l.file, syscall.LOCK_SH|syscall.LOCK_NB, func(err error) {
		held = errors.Is(err, syscall.EWOULDBLOCK)
	})
	if err == nil && !held {
		_ = withLock(l.file, syscall.LOCK_UN, func(error) {})
	}
	return held
}

// withLock asks for a lock and passes on what came of it. The error is of a file
// that is closed.
func withLock(file *os.File, how int, then func(error)) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	return raw.Control(func(fd uintptr) { then(syscall.Flock(int(fd), how)) })
}
