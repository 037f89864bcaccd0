package jupyter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
)

// The two ways to reach a kernel. By Unix sockets there are no ports that
// somebody else may take; some kernels know only the other.
const (
	ipc = "ipc"
	tcp = "tcp"
)

// longestPath is how long the path of a Unix socket may be, in bytes.
const longestPath = 107

// connection is the file that tells a kernel where to listen, and the folder
// that it lies in. Whoever made it removes it.
type connection struct {
	Transport string `json:"transport"`
	IP        string `json:"ip"` // by ipc the beginning of the sockets' paths
	Shell     int    `json:"shell_port"`
	IOPub     int    `json:"iopub_port"`
	Stdin     int    `json:"stdin_port"`
	Control   int    `json:"control_port"`
	Heartbeat int    `json:"hb_port"`
	Key       string `json:"key"`
	Scheme    string `json:"signature_scheme"`
	Kernel    string `json:"kernel_name"`

	folder string
}

// newConnection makes a private folder below temp with a connection file in it.
func newConnection(temp, transport, kernel string, key []byte) (*connection, error) {
	folder, err := os.MkdirTemp(temp, "jupyter-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the connection: %w", err)
	}
	c := &connection{
		Transport: transport, Key: string(key), Scheme: "hmac-sha256", Kernel: kernel, folder: folder,
	}
	if err := errors.Join(c.choose(), c.write()); err != nil {
		return nil, errors.Join(err, c.remove())
	}
	return c, nil
}

// file is the path of the connection file.
func (c *connection) file() string { return filepath.Join(c.folder, "connection.json") }

func (c *connection) write() error {
	body, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return os.WriteFile(c.file(), body, 0o600)
}

func (c *connection) remove() error { return os.RemoveAll(c.folder) }

// choose fills in where the kernel is to listen.
func (c *connection) choose() error {
	ports := []*int{&c.Shell, &c.IOPub, &c.Stdin, &c.Control, &c.Heartbeat}
	if c.Transport == tcp {
		c.IP = "127.0.0.1"
		return freePorts(ports)
	}
	for i, port := range ports {
		*port = i + 1
	}
	c.IP = filepath.Join(c.folder, "k")
	if len(c.IP)+len("-5") <= longestPath {
		return nil
	}
	// The kernel has our working folder, from which the way may be shorter.
	from, err := os.Getwd()
	if err != nil {
		return err
	}
	if c.IP, err = filepath.Rel(from, c.IP); err != nil || len(c.IP)+len("-5") > longestPath {
		return fmt.Errorf("the path %s is too long for a Unix socket", c.folder)
	}
	return nil
}

// freePorts finds ports that nobody listens at, until somebody does.
func freePorts(ports []*int) (err error) {
	for _, port := range ports {
		listener, failed := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, listener.Close()) }() // all at once, or one comes twice
		if at, ok := listener.Addr().(*net.TCPAddr); ok {
			*port = at.Port
		}
	}
	return nil
}

// address is one for [net.Dialer].
type address struct{ network, path string }

// at returns where the socket with a port may be: kernels do not agree on how
// a path and a number are joined.
func (c *connection) at(port int) []address {
	number := strconv.Itoa(port)
	if c.Transport == tcp {
		return []address{{"tcp", net.JoinHostPort(c.IP, number)}}
	}
	return []address{{"unix", c.IP + "-" + number}, {"unix", c.IP + ":" + number}}
}
