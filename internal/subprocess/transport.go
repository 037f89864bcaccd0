package subprocess

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"assay/internal/peers"
	"assay/internal/sandbox"
)

// socketBufferBytes is the buffer size, in bytes, of each direction of a subprocess's
// socketpair: 1 MiB.
const socketBufferBytes = 1 << 20

// transport is the connection between the server and a subprocess. The subprocess gets
// either an open socket or the path of a Unix socket to connect to.
type transport struct {
	serverEnd     io.ReadWriteCloser
	subprocessEnd *os.File // nil: the subprocess connects to path
	path          string
	handover      handover
}

func (s *Supervisor) newTransport(spec Spec) (t transport, err error) {
	if t.handover, err = newHandover(spec); err != nil {
		return transport{}, err
	}
	if spec.ConnectsBack {
		conn, err := s.listenForConnectBack()
		if err != nil {
			return transport{}, errors.Join(err, t.handover.Close())
		}
		t.serverEnd, t.path = conn, conn.path()
		return t, nil
	}
	if t.serverEnd, t.subprocessEnd, err = socketpair(); err != nil {
		return transport{}, errors.Join(err, t.handover.Close())
	}
	return t, nil
}

// inheritedFiles returns the files that the subprocess, or the launcher of its sandbox, inherits.
func (t transport) inheritedFiles() []*os.File {
	return slices.DeleteFunc([]*os.File{t.subprocessEnd, t.handover.launcherEnd}, func(f *os.File) bool { return f == nil })
}

// launcherPlan returns the sandbox's plan with the number that the launcher's end of the handover has there.
func (t transport) launcherPlan(plan sandbox.Plan) sandbox.Plan {
	if t.handover.launcherEnd != nil {
		plan.Listener = &sandbox.Listener{Port: plan.Listener.Port, Socket: firstExtraFD + len(t.inheritedFiles()) - 1}
	}
	return plan
}

// closeSubprocessEnd closes the server's copies of what the subprocess inherits.
func (t transport) closeSubprocessEnd() error {
	var err error
	for _, file := range t.inheritedFiles() {
		err = errors.Join(err, file.Close())
	}
	return err
}

// Close closes both ends of the connection to the subprocess.
func (t transport) Close() error {
	return errors.Join(t.serverEnd.Close(), t.handover.closeServerEnd(), t.closeSubprocessEnd())
}

func socketpair() (*net.UnixConn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make a socketpair: %w", err)
	}
	for _, fd := range fds {
		// Best effort: a smaller buffer only means more wake-ups.
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, socketBufferBytes)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "subprocess"), os.NewFile(uintptr(fds[1]), "server")
	defer ours.Close()
	conn, err := net.FileConn(ours)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("adopt a socket: %w", err), theirs.Close())
	}
	socket, _ := conn.(*net.UnixConn) // as every socket of this family is
	return socket, theirs, nil
}

// connectBackConn is a connection that the subprocess makes to the server's Unix socket
// after it has started. Read and Write wait for it; Close, and the end of the
// subprocess, end that wait with an error.
type connectBackConn struct {
	listener *net.UnixListener
	folder   string
	accept   func() (net.Conn, error) // accepts once; later calls return the same
	pid      int                      // of the subprocess, which alone may connect; set before accept is called
}

// SocketsDir returns the folder that contains the Unix sockets to which subprocesses
// with Spec.ConnectsBack connect.
func (s *Supervisor) SocketsDir() string { return filepath.Join(s.tempDir, "sockets") }

// listenForConnectBack listens on a Unix socket in a new folder that only this user can
// enter.
func (s *Supervisor) listenForConnectBack() (*connectBackConn, error) {
	if err := os.MkdirAll(s.SocketsDir(), 0o700); err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp(s.SocketsDir(), "")
	if err != nil {
		return nil, err
	}
	a := &connectBackConn{folder: folder}
	a.listener, err = net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: a.path()})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	a.accept = sync.OnceValues(func() (net.Conn, error) {
		conn, err := a.acceptSubprocess(s)
		return conn, errors.Join(err, a.stopListening())
	})
	return a, nil
}

// admitOnly sets the id of the process that may connect.
func (a *connectBackConn) admitOnly(pid int) { a.pid = pid }

// acceptSubprocess waits until the subprocess connects. Any other process that does, such as a
// cell of another session that looks for sockets in /proc/net/unix, is refused and reported.
func (a *connectBackConn) acceptSubprocess(s *Supervisor) (net.Conn, error) {
	for {
		conn, err := a.listener.AcceptUnix()
		if err != nil {
			return nil, err
		}
		peer, err := s.guard.PeerOf(conn)
		if err == nil && peer.PID == a.pid {
			return conn, nil
		}
		if !errors.Is(err, peers.ErrGone) {
			s.ReportForbidden(peer, "a connection to the socket of another kernel") // while the peer waits, as in package peers
		}
		_ = conn.Close()
	}
}

func (a *connectBackConn) path() string { return filepath.Join(a.folder, "s") }

// stopListening closes the Unix socket's listener and removes its folder. It may be
// called more than once.
func (a *connectBackConn) stopListening() error {
	err := a.listener.Close()
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	return errors.Join(err, os.RemoveAll(a.folder))
}

func (a *connectBackConn) Read(b []byte) (int, error) {
	conn, err := a.accept()
	if err != nil {
		return 0, err
	}
	return conn.Read(b)
}

func (a *connectBackConn) Write(b []byte) (int, error) {
	conn, err := a.accept()
	if err != nil {
		return 0, err
	}
	return conn.Write(b)
}

// Close stops listening and closes the subprocess's connection, if it was made.
func (a *connectBackConn) Close() error {
	err := a.stopListening()
	if conn, acceptErr := a.accept(); acceptErr == nil {
		return errors.Join(err, conn.Close())
	}
	return err
}
