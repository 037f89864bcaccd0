package sandbox

import (
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// PrivateListenerPort is the port of [Rules.ListenerPort] in a sandbox with a private network, in which every port
// is free. It is known before the sandbox exists, so that the environment of its program can name it. Ports of
// listeners and connections that choose none are higher.
const PrivateListenerPort = 27720

// Listener is a TCP listener on 127.0.0.1 that the launcher opens in the private network of a sandbox and hands over to
// the server. The program of the sandbox inherits neither the listener nor the Socket.
type Listener struct {
	Port   uint16 `json:"port"`
	Socket int    `json:"socket"` // descriptor of a Unix socket, which the launcher has inherited; see [ReceiveListener]
}

// handOver opens the listener in the network namespace of the calling thread, sends its descriptor over the Socket, and
// closes both.
func (l Listener) handOver() error {
	defer unix.Close(l.Socket)
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("make a listener: %w", err)
	}
	defer unix.Close(fd)
	if err := unix.Bind(fd, &unix.SockaddrInet4{Port: int(l.Port), Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return fmt.Errorf("bind the listener to port %d: %w", l.Port, err)
	}
	if err := unix.Listen(fd, unix.SOMAXCONN); err != nil {
		return fmt.Errorf("listen on port %d: %w", l.Port, err)
	}
	if err := unix.Sendmsg(l.Socket, []byte{0}, unix.UnixRights(fd), nil, unix.MSG_NOSIGNAL); err != nil {
		return fmt.Errorf("hand over the listener: %w", err)
	}
	return nil
}

// ReceiveListener waits for the listener that a launcher hands over on the other end of conn, which must be a stream.
// Connections that are made before the listener is received wait in its backlog. It fails with io.EOF if the other
// end is closed, and if conn is closed or its deadline passes. The caller must close the listener.
func ReceiveListener(conn *net.UnixConn) (net.Listener, error) {
	control := make([]byte, unix.CmsgSpace(4)) // for one descriptor
	_, n, _, _, err := conn.ReadMsgUnix(make([]byte, 1), control)
	if err != nil {
		return nil, err
	}
	messages, err := unix.ParseSocketControlMessage(control[:n])
	if err != nil {
		return nil, fmt.Errorf("read a descriptor: %w", err)
	}
	if len(messages) == 0 {
		return nil, errors.New("a message without a descriptor")
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return nil, fmt.Errorf("read a descriptor: %w", err)
	}
	file := os.NewFile(uintptr(fds[0]), "listener")
	defer file.Close()
	listener, err := net.FileListener(file)
	if err != nil {
		return nil, fmt.Errorf("adopt a listener: %w", err)
	}
	return listener, nil
}
