package acp

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// outputReader reads the standard output of a program from a pipe, and knows whether everything in it has
// been read. It has one reader, which handles what it has read before it reads on.
type outputReader struct {
	conn syscall.RawConn

	mu      sync.Mutex
	isIdle  bool       // the reader waits for more, or has come to the end
	changed *sync.Cond // isIdle has become true
}

// newOutputReader returns a reader of the pipe, which the caller closes.
func newOutputReader(pipe *os.File) (*outputReader, error) {
	conn, err := pipe.SyscallConn()
	r := &outputReader{conn: conn}
	r.changed = sync.NewCond(&r.mu)
	return r, err
}

// Read reads from the pipe.
func (r *outputReader) Read(p []byte) (n int, err error) {
	waitErr := r.conn.Read(func(fd uintptr) (isDone bool) {
		r.mu.Lock()
		defer r.mu.Unlock()
		n, err = unix.Read(int(fd), p)
		if r.isIdle = n <= 0; r.isIdle { // nothing yet, the end, or an error
			r.changed.Broadcast()
		}
		return !errors.Is(err, unix.EAGAIN)
	})
	switch {
	case waitErr != nil:
		return 0, waitErr
	case errors.Is(err, unix.EINTR):
		return 0, nil
	case err != nil:
		return 0, err
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

// awaitIdle waits until the reader has handled everything that the program has printed so far, or until
// ctx ends.
func (r *outputReader) awaitIdle(ctx context.Context) {
	defer context.AfterFunc(ctx, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.changed.Broadcast()
	})()
	r.mu.Lock()
	defer r.mu.Unlock()
	for ctx.Err() == nil && (!r.isIdle || r.hasMore()) {
		r.changed.Wait()
	}
}

// hasMore reports whether the pipe has something to read. A closed pipe has not.
func (r *outputReader) hasMore() bool {
	size := 0
	err := r.conn.Control(func(fd uintptr) {
		size, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ) // of an open pipe
	})
	return err == nil && size > 0
}
