package subprocess_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"assay/internal/protocol"
	"assay/internal/subprocess"
	"assay/internal/subprocess/subprocesstest"
)

// roleEnvVar is the environment variable that makes the test binary play a subprocess.
// Its value is a role of playRole.
const roleEnvVar = "ASSAY_SUBPROCESS_TEST_ROLE"

// launcherArg is the first argument that makes the test binary run the sandbox's launcher.
const launcherArg = "launch"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case launcherArg:
			os.Exit(subprocesstest.RunSandboxLauncher(os.Args[2:]))
		case stoppingLauncherArg:
			os.Exit(runStoppingLauncher(os.Args[2:]))
		case dialArg:
			fmt.Print(dialAndAsk(os.Args[2]))
			os.Exit(0)
		}
	}
	if role := os.Getenv(roleEnvVar); role != "" {
		os.Exit(playRole(role))
	}
	subprocesstest.RunTestsOrRole(m, nil)
}

// playRole is the main function of the test binary in a role, such as "echo" or
// "server", and returns its exit status. In most roles the last argument is the number
// of the socket's file descriptor.
func playRole(role string) int {
	switch role {
	case "server":
		return playServer()
	case "caller":
		return playConnectBack(os.Args[len(os.Args)-1])
	case "removes a tree with few descriptors":
		return playRemoveTree(os.Args[len(os.Args)-1])
	case "forking parent":
		return playForkingParent()
	case "server with a PID namespace":
		return playServerWithPIDNamespace()
	case "server with a PID namespace, without pidfd":
		return playNamespaceWithoutPidfd()
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
	switch role {
	case "echo":
		ready()
		return playEcho(conn)
	case "ignores SIGTERM": // and the end of its socket
		signal.Ignore(syscall.SIGTERM)
		ready()
		select {}
	case "says nothing":
		fmt.Println("thinking about it")
		_, _ = conn.Read()
	case "early exit":
		fmt.Println("some\nlines")
		fmt.Fprintln(os.Stderr, "no such module: frobnicate")
		return 7
	case "writes garbage":
		_, _ = socket.Write([]byte("Hello, I am a program that prints to its socket\n"))
		_, _ = conn.Read()
	case "wrong length": // which counts itself
		_, _ = socket.Write(append(binary.LittleEndian.AppendUint64(nil, 24), `{"type":"ready"}`...))
		fmt.Println("sent")
		_, _ = conn.Read()
	case "other message first":
		_ = conn.Write([]byte(`{"type":"agent_status","status":"ready"}`))
		_, _ = conn.Read()
	case "killed":
		ready()
		fmt.Fprint(os.Stderr, "last words")
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case "uses all memory":
		ready()
		_, _ = conn.Read()
		for pieces := [][]byte{}; ; {
			pieces = append(pieces, bytes.Repeat([]byte("x"), 1<<20))
		}
	case "holds shared memory": // 200 MiB that belong to no process
		memory, err := unix.MemfdCreate("held", 0)
		piece := make([]byte, 1<<20)
		for range 200 {
			if err == nil {
				_, err = unix.Write(memory, piece)
			}
		}
		if err != nil {
			return 103
		}
		ready()
		return playEcho(conn)
	case "outlives its worker": // which uses all memory
		ready()
		_, _ = conn.Read()
		_ = exec.Command("python3", "-c", "pieces = []\nwhile True: pieces.append(b'x' * (1 << 20))").Run()
		_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
		select {}
	case "floods":
		writeFlood()
		ready()
		return playEcho(conn)
	case "evades":
		if err := exec.Command("python3", "-c", evade, os.Getenv(lockEnvVar)).Run(); err != nil {
			return 104
		}
		ready()
		return playEcho(conn)
	case "leaves processes":
		return playLeavesProcesses(conn, ready)
	case "leaves processes when asked":
		ready()
		_, _ = conn.Read()
		return playLeavesProcesses(conn, ready)
	}
	return 0
}

// playLeavesProcesses starts two processes, one in its process group and one outside of it, prints their
// ids, calls ready and runs playEcho.
func playLeavesProcesses(conn protocol.Conn, ready func()) int {
	for _, attr := range []*syscall.SysProcAttr{{}, {Setsid: true}} {
		grandchild := exec.Command("sleep", "600")
		grandchild.SysProcAttr = attr
		grandchild.Stdout = os.Stdout // so that it holds the pipe
		if err := grandchild.Start(); err != nil {
			return 102
		}
		fmt.Println(grandchild.Process.Pid)
	}
	ready()
	return playEcho(conn)
}

// playConnectBack connects to the server's Unix socket, sends a ready message and runs
// playEcho.
func playConnectBack(path string) int {
	socket, err := net.Dial("unix", path)
	if err != nil {
		return 103
	}
	conn := protocol.NewStream(socket, 0)
	_ = conn.Write([]byte(`{"type":"ready"}`))
	return playEcho(conn)
}

// playEcho answers each message with the same message, with these exceptions: to "env"
// it answers with its environment; at "print" it also prints a line; at "print after" it prints
// one after the answer; at "die" it exits with status 3; at "dial ADDRESS" and "have dialed ADDRESS" it
// answers with what dialAndAsk returns, in this process and in one that it starts.
func playEcho(conn protocol.Conn) int {
	for {
		body, err := conn.Read()
		if err != nil {
			return 0
		}
		verb, address, _ := strings.Cut(strings.Trim(string(body), `"`), " 127.0.0.1:")
		switch verb {
		case "dial":
			body = strconv.AppendQuote(nil, dialAndAsk("127.0.0.1:"+address))
		case "have dialed":
			text, _ := exec.Command(os.Args[0], dialArg, "127.0.0.1:"+address).Output()
			body = strconv.AppendQuote(nil, string(text))
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
		if string(body) == `"print after"` {
			fmt.Println("printed after the answer")
		}
	}
}

// writeFlood writes 8 MiB without a newline to stdout and to stderr.
func writeFlood() {
	block := []byte(strings.Repeat("x", 1<<20))
	for range 8 {
		_, _ = os.Stdout.Write(block)
		_, _ = os.Stderr.Write(block)
	}
}

// playServer starts a subprocess in the role "leaves processes", prints all process ids
// and the server's temporary folder, and waits to be killed.
func playServer() int {
	_ = os.Unsetenv(roleEnvVar)
	sup, err := subprocess.NewSupervisor(subprocess.Config{CleanupHelper: []string{os.Args[0], subprocesstest.CleanupHelperArg}})
	if err != nil {
		return 103
	}
	p, err := sup.Start(subprocess.Spec{
		Name: "kernel", Argv: []string{os.Args[0]}, Env: append(os.Environ(), roleEnvVar+"=leaves processes"),
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
