package subprocess_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"assay/internal/protocol"
	"assay/internal/subprocess"
)

// role, in the environment, makes the test binary play a subprocess.
const role = "ASSAY_CHILD_TEST_ROLE"

func TestMain(m *testing.M) {
	if name := os.Getenv(role); name != "" {
		os.Exit(play(name))
	}
	if len(os.Args) > 1 && os.Args[1] == "reap" {
		if err := subprocess.RunCleanupHelper(os.Stdin); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	// The race detector would keep each of our subprocesses for a second at exit.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// play is the subprocess. Its last argument is the number of the socket's fd.
func play(name string) int {
	switch name {
	case "server":
		return server()
	case "caller":
		return caller(os.Args[len(os.Args)-1])
	case "forking parent":
		return playForkingParent()
	case "server without pidfd":
		return playServerWithoutPidfd()
	}
	fd, err := strconv.Atoi(os.Args[len(os.Args)-1])
	if err != nil {
		return 100
	}
	file := os.NewFile(uintptr(fd), "socket")
	socket, err := net.FileConn(file)
	if err != nil {
		return 101
	}
	_ = file.Close()
	conn := protocol.NewStream(socket, 0)
	ready := func() { _ = conn.Write([]byte(`{"type":"ready"}`)) }
	switch name {
	case "echo":
		ready()
		return echo(conn)
	case "deaf": // ignores SIGTERM and the end of its socket
		signal.Ignore(syscall.SIGTERM)
		ready()
		select {}
	case "mute":
		fmt.Println("thinking about it")
		_, _ = conn.Read()
	case "early exit":
		fmt.Println("some\nlines")
		fmt.Fprintln(os.Stderr, "no such module: frobnicate")
		return 7
	case "garbage":
		_, _ = socket.Write([]byte("Hello, I am a program that prints to its socket\n"))
		_, _ = conn.Read()
	case "query first":
		_ = conn.Write([]byte(`{"type":"agent_status","status":"ready"}`))
		_, _ = conn.Read()
	case "killed":
		ready()
		fmt.Fprint(os.Stderr, "last words")
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case "flood":
		flood()
		ready()
		return echo(conn)
	case "breeder": // leaves a child in its group and one outside of it
		for _, attr := range []*syscall.SysProcAttr{{}, {Setsid: true}} {
			grandchild := exec.Command("sleep", "600")
			grandchild.SysProcAttr = attr
			grandchild.Stdout = os.Stdout // holds the pipe
			if err := grandchild.Start(); err != nil {
				return 102
			}
			fmt.Println(grandchild.Process.Pid)
		}
		ready()
		return echo(conn)
	}
	return 0
}

// caller connects to the server's socket and echoes.
func caller(path string) int {
	socket, err := net.Dial("unix", path)
	if err != nil {
		return 103
	}
	conn := protocol.NewStream(socket, 0)
	_ = conn.Write([]byte(`{"type":"ready"}`))
	return echo(conn)
}

// echo answers every message with itself; "env" with the environment, "die"
// by exiting.
func echo(conn protocol.Conn) int {
	for {
		body, err := conn.Read()
		if err != nil {
			return 0
		}
		switch string(body) {
		case `"env"`:
			body = []byte(strings.Join(os.Environ(), "\n"))
		case `"print"`:
			fmt.Println("printed before the answer")
		case `"die"`:
			fmt.Println("dying")
			return 3
		}
		if conn.Write(body) != nil {
			return 0
		}
	}
}

// flood writes 8 MiB to each stream, none of it a line.
func flood() {
	block := []byte(strings.Repeat("x", 1<<20))
	for range 8 {
		_, _ = os.Stdout.Write(block)
		_, _ = os.Stderr.Write(block)
	}
}

// server starts a breeder under a Supervisor and waits to be killed.
func server() int {
	_ = os.Unsetenv(role)
	sup, err := subprocess.NewSupervisor(subprocess.Config{CleanupHelper: []string{os.Args[0], "reap"}})
	if err != nil {
		return 103
	}
	p, err := sup.Start(subprocess.Spec{
		Name: "kernel", Argv: []string{os.Args[0]}, Env: append(os.Environ(), role+"=breeder"),
		Output: func(_ string, chunk []byte) { fmt.Printf("%s", chunk) },
	})
	if err != nil {
		return 104
	}
	body, err := p.Read()
	if err != nil || string(body) != `{"type":"ready"}` {
		return 105
	}
	p.DrainOutput()
	fmt.Printf("%d\nready %s %v\n", p.PID(), sup.TempDir(), sup.Enforceable()["cgroup_kill"])
	select {}
}
