package subprocess

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// frameSocket is the server's end of a socketpair that knows whether everything that came over
// it is handled: its reader has handled all frames when it reads again and finds nothing.
type frameSocket struct {
	*net.UnixConn
	raw syscall.RawConn

	mu      sync.Mutex // held during each read, which does not block
	changed sync.Cond  // told of each change of isIdle and isEnded
	isIdle  bool       // the reader waits for bytes
	isEnded bool       // the socket is closed, by either side
}

// newFrameSocket returns a frameSocket that owns conn, which must be a Unix socket.
func newFrameSocket(conn io.ReadWriteCloser) (*frameSocket, error) {
	socket, ok := conn.(*net.UnixConn)
	if !ok {
		return nil, errors.New("output after frames: only a socketpair can tell what was read of it")
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("output after frames: %w", err)
	}
	f := &frameSocket{UnixConn: socket, raw: raw}
	f.changed.L = &f.mu
	return f, nil
}

// Read reads what has come over the socket, at least one byte, for which it waits. Only one
// goroutine may call it.
func (f *frameSocket) Read(b []byte) (int, error) {
	var n int
	var readErr error
	err := f.raw.Read(func(fd uintptr) bool {
		n, readErr = f.readOnce(int(fd), b)
		return !errors.Is(readErr, unix.EAGAIN)
	})
	if err == nil {
		err = readErr
	}
	if err != nil {
		f.end()
	}
	return n, err
}

// readOnce reads from the socket without waiting, and notes whether the reader is idle. The end
// of the stream is io.EOF.
func (f *frameSocket) readOnce(fd int, b []byte) (n int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for {
		n, err = unix.Read(fd, b)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if f.isIdle = errors.Is(err, unix.EAGAIN); f.isIdle {
		f.changed.Broadcast()
	}
	if n == 0 && err == nil {
		return 0, io.EOF
	}
	return max(n, 0), err
}

// awaitHandled returns when all frames that came before the call are handled, or the socket is
// closed.
func (f *frameSocket) awaitHandled() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for !f.isEnded && (!f.isIdle || f.hasUnreadBytes()) {
		f.changed.Wait()
	}
}

// hasUnreadBytes reports whether there is something to read from the socket.
func (f *frameSocket) hasUnreadBytes() bool {
	var unread int
	var readErr error
	err := f.raw.Control(func(fd uintptr) { unread, readErr = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
	return err == nil && readErr == nil && unread > 0
}

// Close closes the socket, which ends Read and awaitHandled.
func (f *frameSocket) Close() error {
	f.end()
	return f.UnixConn.Close()
}

func (f *frameSocket) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.isEnded = true
	f.changed.Broadcast()
}
