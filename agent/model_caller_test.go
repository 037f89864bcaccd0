package agent_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/agent"
	"assay/internal/protocol"
	"assay/internal/sandbox"
	"assay/internal/subprocess"
	"assay/internal/subprocess/subprocesstest"
)

// More roles of the test binary.
const (
	callerRole = "caller"
	serverRole = "server"
)

// testTimeout is how long tests wait for something that happens at once unless it is broken.
const testTimeout = 30 * time.Second

// runModelCaller is an agent that answers each message "VERB ARGUMENT" with the result of callOut.
func runModelCaller(args []string) int {
	fd, err := strconv.Atoi(args[len(args)-1])
	if err != nil {
		return 100
	}
	socket, err := net.FileConn(os.NewFile(uintptr(fd), "socket"))
	if err != nil {
		return 101
	}
	conn := protocol.NewStream(socket, 0)
	if conn.Write([]byte(`{"type":"ready"}`)) != nil {
		return 5
	}
	var held []net.Conn
	for {
		body, err := conn.Read()
		if err != nil {
			return 0
		}
		verb, argument, _ := strings.Cut(string(body), " ")
		result := ""
		switch verb {
		case "hold": // many connections
			for range 300 {
				conn, err := net.Dial("tcp", argument)
				if err != nil {
					return 6
				}
				held = append(held, conn)
			}
		case "release":
			for _, conn := range held {
				_ = conn.Close()
			}
		default:
			result = callOut(verb, argument)
		}
		if conn.Write([]byte(strconv.Quote(result))) != nil {
			return 5
		}
	}
}

// callOut returns the value of a variable for "env"; what is read at a URL for "get"; the same by another
// process for "have"; and "reached" if something answers at a TCP, UDP or Unix address. Otherwise it returns an error's text.
func callOut(verb, argument string) string {
	switch verb {
	case "env":
		return os.Getenv(argument)
	case "have":
		out, err := exec.Command("python3", "-c", "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1]).read().decode(), end='')", argument).CombinedOutput()
		return string(out) + errorText(err)
	case "get":
		client := &http.Client{Timeout: testTimeout}
		response, err := client.Get(argument)
		if err != nil {
			return errorText(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		return string(body) + errorText(err)
	}
	conn, err := net.DialTimeout(verb, argument, testTimeout)
	if err != nil {
		return errorText(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(testTimeout))
	if _, err := conn.Write([]byte("?")); err != nil {
		return errorText(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		return errorText(err)
	}
	return "reached"
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return "error: " + err.Error()
}

// helloServer is a ModelServer that answers each request with "hello". Its zero value is ready for use.
type helloServer struct{}

func (helloServer) Environ(environ []string, address string) []string {
	environ = slices.DeleteFunc(environ, func(entry string) bool { return strings.HasPrefix(entry, "MODEL_KEY=") })
	return append(environ, "MODEL_URL=http://"+address+"/v1")
}

func (helloServer) Serve(listener net.Listener) {
	server := &http.Server{ReadHeaderTimeout: testTimeout, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "hello "+r.URL.Path)
	})}
	_ = server.Serve(listener)
	_ = server.Close()
}

// caller is a running agent in the role callerRole.
type caller struct {
	*agent.Agent
	url string // of its models
}

// ask sends the agent a message and returns its answer.
func (c *caller) ask(verb, argument string) (string, error) {
	if err := c.Write([]byte(verb + " " + argument)); err != nil {
		return "", err
	}
	body, err := c.Read()
	if err != nil {
		return "", err
	}
	return strconv.Unquote(string(body))
}

// mustAsk is ask, and fails the test if there is no answer.
func (c *caller) mustAsk(t *testing.T, verb, argument string) string {
	t.Helper()
	answer, err := c.ask(verb, argument)
	require.NoError(t, err)
	return answer
}

// startCaller starts a caller, whose models are those of server.
func startCaller(ctx context.Context, sup *subprocess.Supervisor, workdir string, template *sandbox.Template, server agent.ModelServer, onForbidden func(string)) (*caller, error) {
	a, err := agent.Start(ctx, sup, agent.Config{
		Command: []string{os.Args[0], callerRole}, Workdir: workdir, Session: "s", Environ: append(os.Environ(), "MODEL_KEY=secret"),
		Sandbox: template, ModelServer: server, OnForbidden: onForbidden,
	})
	if err != nil {
		return nil, err
	}
	c := &caller{Agent: a}
	c.url, err = c.ask("env", "MODEL_URL")
	return c, err
}

// newCaller starts a caller and stops it after the test.
func newCaller(t *testing.T, sup *subprocess.Supervisor, template *sandbox.Template, onForbidden func(string)) *caller {
	t.Helper()
	c, err := startCaller(t.Context(), sup, t.TempDir(), template, helloServer{}, onForbidden)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Stop(context.Background())) })
	return c
}

func launcherCommand() []string { return []string{os.Args[0], launchRole} }

func newSupervisor(t *testing.T) *subprocess.Supervisor {
	t.Helper()
	sup, err := subprocess.NewSupervisor(subprocess.Config{CleanupHelper: []string{os.Args[0], subprocesstest.CleanupHelperArg}, Launcher: launcherCommand()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, sup.Close()) })
	return sup
}

// newTemplate returns the sandbox of a caller with a network.
func newTemplate(machine sandbox.Machine, network sandbox.Network) *sandbox.Template {
	python, _ := exec.LookPath("python3")
	prefix := filepath.Dir(filepath.Dir(sandbox.ResolvePath(python)))
	rules := sandbox.Rules{ReadPaths: append(sandbox.SystemPaths(), filepath.Dir(os.Args[0]), prefix), Network: network}
	return &sandbox.Template{Machine: machine, Rules: rules}
}

// hostAddresses returns addresses of the network of this process, by network: listeners that answer.
func hostAddresses(t *testing.T) map[string]string {
	t.Helper()
	packets, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp4", "127.0.0.1:0")
	require.NoError(t, err)
	addresses := map[string]string{"udp": packets.LocalAddr().String()}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			_, from, err := packets.ReadFrom(make([]byte, 1))
			if err != nil {
				return
			}
			_, _ = packets.WriteTo([]byte("!"), from)
		}
	})
	closers := []io.Closer{packets}
	for network, address := range map[string]string{"tcp": "127.0.0.1:0", "unix": filepath.Join(t.TempDir(), "s")} {
		listener, err := new(net.ListenConfig).Listen(t.Context(), network, address)
		require.NoError(t, err)
		addresses[network] = listener.Addr().String()
		closers = append(closers, listener)
		all.Go(func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				if _, err := io.ReadFull(conn, make([]byte, 1)); err == nil {
					_, _ = conn.Write([]byte("!"))
				}
				_ = conn.Close()
			}
		})
	}
	t.Cleanup(func() {
		for _, closer := range closers {
			_ = closer.Close()
		}
		all.Wait()
	})
	return addresses
}

// await returns what comes over a channel. It fails the test after testTimeout.
func await[T any](t *testing.T, from <-chan T) (value T) {
	t.Helper()
	select {
	case value = <-from:
	case <-time.After(testTimeout):
		require.Fail(t, "nothing came")
	}
	return value
}

// sharedNetwork returns the machine as if it could make no network namespaces.
func sharedNetwork(machine sandbox.Machine) sandbox.Machine {
	machine.NetworkNamespaces = false
	return machine
}
