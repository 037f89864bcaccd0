package subprocess

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"sync"
)

// awaited is a connection that the child has yet to make. Read and Write wait
// for it; Close, or the end of the child, gives up waiting.
type awaited struct {
	listener *net.UnixListener
	folder   string
	accept   func() (net.Conn, error) // once, and the same ever after
}

// SocketsDir is the folder below which children that Listen find their sockets.
func (s *Supervisor) SocketsDir() string { return filepath.Join(s.tempDir, "sockets") }

// await listens in a folder that only we, and what runs as us, can look into.
func (s *Supervisor) await() (*awaited, error) {
	if err := os.MkdirAll(s.SocketsDir(), 0o700); err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp(s.SocketsDir(), "")
	if err != nil {
		return nil, err
	}
	address := &net.UnixAddr{Net: "unix", Name: filepath.Join(folder, "s")}
	listener, err := net.ListenUnix("unix", address)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	a := &awaited{listener: listener, folder: folder}
	a.accept = sync.OnceValues(func() (net.Conn, error) {
		conn, err := listener.Accept()
		return conn, errors.Join(err, a.giveUp())
	})
	return a, nil
}

func (a *awaited) path() string { return filepath.Join(a.folder, "s") }

// giveUp lets nobody connect any more.
func (a *awaited) giveUp() error {
	err := a.listener.Close()
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	return errors.Join(err, os.RemoveAll(a.folder))
}

func (a *awaited) Read(b []byte) (int, error) {
	conn, err := a.accept()
	if err != nil {
		return 0, err
	}
	return conn.Read(b)
}

func (a *awaited) Write(b []byte) (int, error) {
	conn, err := a.accept()
	if err != nil {
		return 0, err
	}
	return conn.Write(b)
}

// Close closes the connection, or sees to it that none is made.
func (a *awaited) Close() error {
	err := a.giveUp()
	if conn, failed := a.accept(); failed == nil {
		return errors.Join(err, conn.Close())
	}
	return err
}
