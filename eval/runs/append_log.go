package runs

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
)

// log is a file that lines are appended to durably. Whoever finds nobody
// writing writes for all that have come meanwhile, so that a sync is shared.
type log struct {
	file *os.File

	mu      sync.Mutex
	waiting *batch // lines that nobody is writing yet; nil: none
	writing bool
	broken  error // the first failure; nothing is written after it
}

// batch is lines that reach the disk together.
type batch struct {
	text []byte
	done chan struct{}
	err  error
}

func newLog(path string) (*log, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	return &log{file: file}, hold(file)
}

func (l *log) append(line []byte) error {
	l.mu.Lock()
	if l.waiting == nil {
		l.waiting = &batch{done: make(chan struct{})}
	}
	mine := l.waiting
	mine.text = append(mine.text, line...)
	if l.writing {
		l.mu.Unlock()
		<-mine.done
		return mine.err
	}
	l.writing = true
	for l.waiting != nil {
		next := l.waiting
		l.waiting = nil
		l.mu.Unlock()
		l.write(next)
		l.mu.Lock()
	}
	l.writing = false
	l.mu.Unlock()
	return mine.err
}

// write writes a batch; only one goroutine at a time does.
func (l *log) write(b *batch) {
	defer close(b.done)
	if l.broken == nil {
		_, err := l.file.Write(b.text)
		if err = errors.Join(err, l.file.Sync()); err != nil {
			l.broken = fmt.Errorf("write %s: %w", l.file.Name(), err)
		}
	}
	b.err = l.broken
}

func (l *log) close() error { return l.file.Close() }

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
