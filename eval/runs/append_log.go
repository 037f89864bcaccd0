package runs

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
)

// appendLog is a file that lines are appended to durably. Whoever finds nobody
// writing writes for all that have come meanwhile, so that a sync is shared.
type appendLog struct {
	file *os.File

	mu        sync.Mutex
	pending   *lineBatch // lines that nobody is writing yet; nil: none
	isWriting bool
	failure   error // the first failure; nothing is written after it
}

// lineBatch is lines that reach the disk together.
type lineBatch struct {
	text []byte
	done chan struct{}
	err  error
}

func createAppendLog(path string) (*appendLog, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	return &appendLog{file: file}, lockExclusive(file)
}

func (l *appendLog) appendLine(line []byte) error {
	l.mu.Lock()
	if l.pending == nil {
		l.pending = &lineBatch{done: make(chan struct{})}
	}
	mine := l.pending
	mine.text = append(mine.text, line...)
	if l.isWriting {
		l.mu.Unlock()
		<-mine.done
		return mine.err
	}
	l.isWriting = true
	for l.pending != nil {
		next := l.pending
		l.pending = nil
		l.mu.Unlock()
		l.writeBatch(next)
		l.mu.Lock()
	}
	l.isWriting = false
	l.mu.Unlock()
	return mine.err
}

// writeBatch writes a batch; only one goroutine at a time does.
func (l *appendLog) writeBatch(b *lineBatch) {
	defer close(b.done)
	if l.failure == nil {
		_, err := l.file.Write(b.text)
		if err = errors.Join(err, l.file.Sync()); err != nil {
			l.failure = fmt.Errorf("write %s: %w", l.file.Name(), err)
		}
	}
	b.err = l.failure
}

func (l *appendLog) close() error { return l.file.Close() }

// lockExclusive takes the lock, and keeps it until the file is closed. Where a file system
// has no locks the run goes on without, and is taken for an interrupted one.
func lockExclusive(file *os.File) error {
	return flock(file, syscall.LOCK_EX, func(error) {})
}

// isLockedByWriter tells whether somebody makes the run that the lines are of.
func (l *LineFile) isLockedByWriter() (held bool) {
	err := flock(l.file, syscall.LOCK_SH|syscall.LOCK_NB, func(err error) {
		held = errors.Is(err, syscall.EWOULDBLOCK)
	})
	if err == nil && !held {
		_ = flock(l.file, syscall.LOCK_UN, func(error) {})
	}
	return held
}

// flock asks for a lock and passes on what came of it. The error is of a file
// that is closed.
func flock(file *os.File, how int, then func(error)) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	return raw.Control(func(fd uintptr) { then(syscall.Flock(int(fd), how)) })
}
