package agent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"golang.org/x/net/netutil"

	"assay/internal/sandbox"
	"assay/internal/subprocess"
)

// ModelServer serves the calls that an agent makes to models. It may serve several agents at once.
type ModelServer interface {
	// Environ returns the environment of an agent process: environ, with the variables by which the agent finds its
	// models at address, such as "127.0.0.1:27720", and without those that must not reach it, such as keys.
	Environ(environ []string, address string) []string

	// Serve serves the connections of listener, which are those of one agent process, until listener is closed.
	// It then ends those that are left, and returns.
	Serve(listener net.Listener)
}

const (
	// listenerTimeout is how long the launcher of an agent's sandbox may take until it has opened the listener.
	listenerTimeout = 30 * time.Second

	// serveStopTimeout is how long a ModelServer may take to return from Serve after its listener was closed.
	serveStopTimeout = 5 * time.Second

	// maxModelConnections is how many connections an agent process may have open to its ModelServer, each of which
	// takes a descriptor of this process. Further ones wait.
	maxModelConnections = 256
)

// modelService serves the models of one agent process, and of those that it has started, over a listener that no other
// process can use. If the agent's sandbox has a private network, the listener is there: no other process is in that network
// or can enter it, so peers are not checked, for which Linux has no means across networks anyway. Otherwise the
// listener is in the network of this process, and [subprocess.Process.GuardListener] refuses other peers.
type modelService struct {
	server   ModelServer
	listener net.Listener  // nil until it is open
	served   chan struct{} // closed when Serve has returned; nil until it is called
}

// prepare opens the listener, unless the launcher of the sandbox will do that. It returns the address at which the agent
// will find it, and the template with what the sandbox must know of it.
func (m *modelService) prepare(ctx context.Context, template *sandbox.Template) (string, *sandbox.Template, error) {
	const host = "127.0.0.1"
	if private := template.WithListener(sandbox.PrivateListenerPort); private.HasPrivateNetwork() {
		return fmt.Sprintf("%s:%d", host, sandbox.PrivateListenerPort), private, nil
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp4", host+":0")
	if err != nil {
		return "", nil, fmt.Errorf("listen for the agent's calls of models: %w", err)
	}
	m.listener = listener
	address, err := netip.ParseAddrPort(listener.Addr().String())
	return address.String(), template.WithListener(address.Port()), err
}

// serve begins to serve the models of the agent process, and receives the listener first if the launcher opens it. The
// process may already run: until Accept is called, its connections wait in the listener's backlog.
func (m *modelService) serve(ctx context.Context, process *subprocess.Process) (err error) {
	if m.listener != nil {
		m.listener = process.GuardListener(m.listener, "a connection to another agent's models")
	} else if m.listener, err = process.AwaitListener(ctx, listenerTimeout); err != nil {
		return err
	}
	m.listener, m.served = netutil.LimitListener(m.listener, maxModelConnections), make(chan struct{})
	go func() {
		defer close(m.served)
		m.server.Serve(m.listener)
	}()
	return nil
}

// stop closes the listener, if it is open, and waits until Serve has returned. It may be called more than once.
func (m *modelService) stop() error {
	if m == nil || m.listener == nil {
		return nil
	}
	err := m.listener.Close()
	if errors.Is(err, net.ErrClosed) { // Serve may have closed it
		err = nil
	}
	if m.served == nil {
		return err
	}
	select {
	case <-m.served:
		return err
	case <-time.After(serveStopTimeout):
		return errors.Join(err, fmt.Errorf("the server of the agent's models did not end within %v after its listener was closed", serveStopTimeout))
	}
}
