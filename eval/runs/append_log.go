package runs

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
)

// appendLog appends lines to a file and syncs it. If several goroutines append at once, one of
// them writes and syncs all pending lines while the others wait for it. It is safe for
// concurrent use.
type appendLog struct {
	file *os.File

	mu        sync.Mutex
	pending   *lineBatch // lines that nobody writes yet; nil: none
	isWriting bool       // a goroutine is writing
	failure   error      // the first error; nothing is written after it
}

// lineBatch is a group of pending lines that are written and synced together.
type lineBatch struct {
	text []byte
	done chan struct{} // closed when the lines are on disk, or err is set
	err  error
}

// createAppendLog creates the file at path and locks it, which marks the run as running. It
// fails if the file exists or cannot be created.
func createAppendLog(path string) (*appendLog, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	return &appendLog{file: file}, lockExclusive(file)
}

// appendLine appends a line, which must end with a newline, to the file and returns when it is
// on disk. It fails if this or any earlier line could not be written.
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

// writeBatch writes a batch of lines, syncs the file and closes b.done; a failure is in b.err.
// Only one goroutine at a time calls it.
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

// close closes the file, which also releases its lock.
func (l *appendLog) close() error { return l.file.Close() }

// The Writer of a run holds an exclusive lock (flock) on its attempts.jsonl. The system releases it
// however the process ends, so readers can tell a run that was killed from one that is only silent.

// lockExclusive takes the exclusive lock that marks a run as running; closing the file releases
// it. On a file system without locks it does nothing, so a running run counts as interrupted.
func lockExclusive(file *os.File) error {
	return flock(file, syscall.LOCK_EX, func(error) {})
}

// isLockedByWriter reports whether a Writer, in this process or another, has the file open, so
// that its run is still running.
func (l *LineFile) isLockedByWriter() (isLocked bool) {
	err := flock(l.file, syscall.LOCK_SH|syscall.LOCK_NB, func(err error) {
		isLocked = errors.Is(err, syscall.EWOULDBLOCK)
	})
	if err == nil && !isLocked {
		_ = flock(l.file, syscall.LOCK_UN, func(error) {})
	}
	return isLocked
}

// flock calls the system call flock(2) with operation how on the file, and passes its error to
// onResult. flock itself fails only if the file is closed.
func flock(file *os.File, how int, onResult func(error)) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	return raw.Control(func(fd uintptr) { onResult(syscall.Flock(int(fd), how)) })
}
