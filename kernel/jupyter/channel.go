package jupyter

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/go-zeromq/zmq4"
	"github.com/go-zeromq/zmq4/security/null"
)

const (
	// dialInterval is the time between two attempts to connect to a kernel that
	// starts.
	dialInterval = 5 * time.Millisecond

	// readBufferBytes is the size of a channel's read buffer. Larger frames are read
	// past it.
	readBufferBytes = 64 << 10
)

// channel is the connection to one socket of a Jupyter kernel. A message consists of several
// frames. Only this file uses ZeroMQ, and of the library only its connection type, not its
// sockets: these dial by sleeping, log to standard error, do not report that the other side
// has gone, and leave goroutines behind.
//
// One goroutine may send while another receives. close may be called on any goroutine.
type channel struct {
	name     string
	conn     *zmq4.Conn
	buffered *bufferedConn
}

// dialChannel tries to connect to each address in turn, every dialInterval, until one accepts;
// then it does the ZeroMQ handshake. identity is the ZeroMQ identity that all our channels
// share. It fails if the handshake fails or ctx ends.
func dialChannel(ctx context.Context, name string, kind zmq4.SocketType, identity string, addresses []socketAddress) (*channel, error) {
	ticker := time.NewTicker(dialInterval)
	defer ticker.Stop()
	for {
		for _, a := range addresses {
			if conn, err := (&net.Dialer{}).DialContext(ctx, a.network, a.path); err == nil {
				return openChannel(ctx, conn, name, kind, identity)
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// openChannel does the ZeroMQ handshake on conn and returns the channel. If that fails or ctx
// ends, it closes conn and returns the error.
func openChannel(ctx context.Context, conn net.Conn, name string, kind zmq4.SocketType, identity string) (*channel, error) {
	w := &bufferedConn{Conn: conn, in: bufio.NewReaderSize(conn, readBufferBytes), out: bufio.NewWriter(conn)}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	opened, err := zmq4.Open(w, null.Security(), kind, zmq4.SocketIdentity(identity), false, nil)
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the channel %s: %w", name, err), conn.Close())
	}
	c := &channel{name: name, conn: opened, buffered: w}
	if kind == zmq4.Sub { // subscribe to all messages
		if err := c.send([][]byte{{1}}); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	return c, nil
}

// send sends the frames of one message. It blocks while the kernel does not read; kernels read
// in a separate thread of ZeroMQ, so they do even while they run code.
func (c *channel) send(frames [][]byte) error {
	c.buffered.isSending = true
	err := c.conn.SendMsg(zmq4.NewMsgFrom(frames...))
	c.buffered.isSending = false
	if err = errors.Join(err, c.buffered.out.Flush()); err != nil {
		return fmt.Errorf("send on the channel %s: %w", c.name, err)
	}
	return nil
}

// receive blocks until the next message has come and returns its frames. After an error every
// further call fails.
func (c *channel) receive() ([][]byte, error) {
	for {
		m, err := c.conn.RecvMsg()
		if err != nil {
			return nil, fmt.Errorf("receive on the channel %s: %w", c.name, err)
		}
		if m.Type == zmq4.UsrMsg {
			return m.Frames, nil
		}
	}
}

// close closes the connection, which makes a blocked receive fail.
func (c *channel) close() error { return c.conn.Close() }

// hasReceivedWithin reports whether a message is being received now, or the last one came less
// than d ago.
func (c *channel) hasReceivedWithin(d time.Duration) bool {
	since := c.buffered.blockedSince.Load()
	return since == 0 || time.Since(time.Unix(0, since)) < d
}

// bufferedConn is a network connection with buffers for the small reads and writes of a
// [zmq4.Conn].
type bufferedConn struct {
	net.Conn
	in           *bufio.Reader
	out          *bufio.Writer
	isSending    bool         // a message is being sent, which is flushed at its end
	blockedSince atomic.Int64 // when the blocked read began, in ns since 1970; 0: no read is blocked
}

// Read reads from the buffer, which is filled from the connection if it is empty. It records
// since when it has been blocked, for hasReceivedWithin.
func (w *bufferedConn) Read(p []byte) (int, error) {
	if w.in.Buffered() == 0 {
		w.blockedSince.Store(time.Now().UnixNano())
		defer w.blockedSince.Store(0)
	}
	return w.in.Read(p)
}

// Write writes to the buffer. It flushes the buffer at once unless a message is being sent,
// which is flushed as a whole.
func (w *bufferedConn) Write(p []byte) (int, error) {
	n, err := w.out.Write(p)
	if err == nil && !w.isSending {
		err = w.out.Flush()
	}
	return n, err
}

// Transports to a kernel. With Unix sockets no other program can take a port, but some
// kernels support only TCP.
const (
	transportIPC = "ipc"
	transportTCP = "tcp"
)

// maxSocketPathBytes is the longest path, in bytes, that a Unix socket may have.
const maxSocketPathBytes = 107

// connectionFile is the JSON file that tells a Jupyter kernel on which sockets to listen and
// with which key to sign messages. It is in a private folder. The caller of newConnectionFile
// must call remove.
type connectionFile struct {
	Transport       string `json:"transport"`
	IP              string `json:"ip"` // with transportIPC the beginning of the sockets' paths
	ShellPort       int    `json:"shell_port"`
	IOPubPort       int    `json:"iopub_port"`
	StdinPort       int    `json:"stdin_port"`
	ControlPort     int    `json:"control_port"`
	HeartbeatPort   int    `json:"hb_port"`
	Key             string `json:"key"`
	SignatureScheme string `json:"signature_scheme"`
	KernelName      string `json:"kernel_name"`

	folder string
}

// newConnectionFile makes a private folder in tempDir and writes a connection file with fresh
// socket addresses there. It fails if the folder's path is too long for Unix sockets.
func newConnectionFile(tempDir, transport, kernelName string, key []byte) (*connectionFile, error) {
	folder, err := os.MkdirTemp(tempDir, "jupyter-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the connection: %w", err)
	}
	c := &connectionFile{
		Transport: transport, Key: string(key), SignatureScheme: "hmac-sha256", KernelName: kernelName, folder: folder,
	}
	if err := errors.Join(c.assignAddresses(), c.write()); err != nil {
		return nil, errors.Join(err, c.remove())
	}
	return c, nil
}

// path returns the path of the connection file, connection.json in its private folder.
func (c *connectionFile) path() string { return filepath.Join(c.folder, "connection.json") }

// write writes the connection file, readable for its owner only.
func (c *connectionFile) write() error {
	body, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return os.WriteFile(c.path(), body, 0o600)
}

// remove removes the private folder with the connection file and the kernel's sockets.
func (c *connectionFile) remove() error { return os.RemoveAll(c.folder) }

// assignAddresses chooses the addresses on which the kernel must listen: free TCP ports on
// 127.0.0.1, or Unix sockets in the private folder. For a path that would be too long for a
// Unix socket it tries the path relative to the current folder; if that is too long as well,
// it fails.
func (c *connectionFile) assignAddresses() error {
	ports := []*int{&c.ShellPort, &c.IOPubPort, &c.StdinPort, &c.ControlPort, &c.HeartbeatPort}
	if c.Transport == transportTCP {
		c.IP = "127.0.0.1"
		return pickFreePorts(ports)
	}
	for i, port := range ports {
		*port = i + 1
	}
	c.IP = filepath.Join(c.folder, "k")
	if len(c.IP)+len("-5") <= maxSocketPathBytes {
		return nil
	}
	// The kernel has our working folder, and a relative path may be shorter.
	workdir, err := os.Getwd()
	if err != nil {
		return err
	}
	if c.IP, err = filepath.Rel(workdir, c.IP); err != nil || len(c.IP)+len("-5") > maxSocketPathBytes {
		return fmt.Errorf("the path %s is too long for a Unix socket", c.folder)
	}
	return nil
}

// pickFreePorts sets each of ports to a different TCP port on which nothing listens at the
// moment.
func pickFreePorts(ports []*int) (err error) {
	for _, port := range ports {
		listener, failed := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, listener.Close()) }() // after the last, so that no port comes twice
		if at, ok := listener.Addr().(*net.TCPAddr); ok {
			*port = at.Port
		}
	}
	return nil
}

// socketAddress is the address of one socket of the kernel, for [net.Dialer].
type socketAddress struct{ network, path string }

// socketAddresses returns the addresses at which the kernel's socket with this port number may
// listen. A Unix socket has two candidates, because kernels join its path and number with
// either "-" or ":".
func (c *connectionFile) socketAddresses(port int) []socketAddress {
	number := strconv.Itoa(port)
	if c.Transport == transportTCP {
		return []socketAddress{{"tcp", net.JoinHostPort(c.IP, number)}}
	}
	return []socketAddress{{"unix", c.IP + "-" + number}, {"unix", c.IP + ":" + number}}
}
