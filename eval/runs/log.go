package runs

import (
	"errors"
	"fmt"
	"os"
	"sync"
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
