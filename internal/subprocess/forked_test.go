package subprocess_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"assay/internal/subprocess"
	"assay/internal/subprocess/subprocesstest"
)

// forkingParent is a [subprocess.Forker] for one process: it starts a subprocess, which
// forks the process and waits for it only when asked, as the kernel pool's parent does.
type forkingParent struct {
	command *exec.Cmd
	input   io.WriteCloser
	answers *bufio.Scanner
}

func (f *forkingParent) Spawn(socket, stdout, stderr, _ *os.File) (pid, first int, err error) {
	f.command = exec.Command(os.Args[0])
	f.command.Env = append(os.Environ(), roleEnvVar+"=forking parent")
	f.command.ExtraFiles = []*os.File{socket, stdout, stderr}
	f.command.Stderr = os.Stderr
	if f.input, err = f.command.StdinPipe(); err != nil {
		return 0, 0, err
	}
	answers, err := f.command.StdoutPipe()
	if err != nil {
		return 0, 0, err
	}
	f.answers = bufio.NewScanner(answers)
	if err := f.command.Start(); err != nil {
		return 0, 0, err
	}
	pid, err = f.readNumber()
	return pid, 0, err
}

func (f *forkingParent) Reap(int) (syscall.WaitStatus, error) {
	if _, err := fmt.Fprintln(f.input, "reap"); err != nil {
		return 0, err
	}
	status, err := f.readNumber()
	return syscall.WaitStatus(status), errors.Join(err, f.command.Wait())
}

// readNumber reads one line with a number from the forking parent's stdout.
func (f *forkingParent) readNumber() (int, error) {
	if !f.answers.Scan() {
		return 0, io.ErrUnexpectedEOF
	}
	return strconv.Atoi(f.answers.Text())
}

// playForkingParent runs the subprocess of a forkingParent: it forks an echo process,
// prints its process id, reads a line, and prints the wait status of the echo process.
func playForkingParent() int {
	socket, stdout, stderr := os.NewFile(3, "socket"), os.NewFile(4, "stdout"), os.NewFile(5, "stderr")
	echo := exec.Command(os.Args[0])
	echo.Env = append(os.Environ(), roleEnvVar+"=echo")
	echo.Stdout, echo.Stderr, echo.ExtraFiles = stdout, stderr, []*os.File{socket}
	echo.Args = append(echo.Args, "3")
	echo.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := echo.Start(); err != nil {
		return 110
	}
	for _, file := range []*os.File{socket, stdout, stderr} {
		_ = file.Close()
	}
	fmt.Println(echo.Process.Pid)
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	_ = echo.Wait()
	status, ok := echo.ProcessState.Sys().(syscall.WaitStatus)
	if !ok {
		return 111
	}
	fmt.Println(int(status))
	return 0
}

// A forked process is not a child of the server, so its end cannot be noticed with
// waitid. Without a pidfd, as when file descriptors run out or a container's seccomp
// filter forbids pidfd_open, the process must not be killed; it used to be killed right
// after its start.
func TestForkedProcessIsNotKilledWithoutPidfd(t *testing.T) {
	t.Parallel()
	server := exec.CommandContext(t.Context(), os.Args[0])
	server.Env = append(os.Environ(), roleEnvVar+"=server without pidfd")
	out, err := server.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, "alive\nexited with status 3\nstopped\n", string(out))
}

// playServerWithoutPidfd makes pidfd_open fail in this process, then starts a forked
// echo process, talks to it, lets it exit, and prints each step on stdout.
func playServerWithoutPidfd() int {
	_ = os.Unsetenv(roleEnvVar)
	if err := makePidfdOpenFail(); err != nil {
		fmt.Println(err)
		return 1
	}
	sup, err := subprocess.NewSupervisor(subprocess.Config{CleanupHelper: []string{os.Args[0], subprocesstest.CleanupHelperArg}})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	err = errors.Join(talkToForkedEcho(sup), sup.Close())
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

func talkToForkedEcho(sup *subprocess.Supervisor) error {
	p, err := sup.Start(subprocess.Spec{Name: "kernel", Forker: &forkingParent{}})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), testWaitTimeout)
	defer cancel()
	if _, err := p.AwaitReady(ctx, testWaitTimeout); err != nil {
		return errors.Join(err, p.Stop(ctx))
	}
	if err := p.Write([]byte(`"hello"`)); err != nil {
		return errors.Join(err, p.Stop(ctx))
	}
	if body, err := p.Read(); err != nil || string(body) != `"hello"` {
		return errors.Join(fmt.Errorf("echoed %q", body), err, p.Stop(ctx))
	}
	select {
	case <-p.Exited():
		return errors.Join(fmt.Errorf("%s", p.ExitState()), p.Stop(ctx))
	case <-time.After(300 * time.Millisecond):
		fmt.Println("alive")
	}
	_ = p.Write([]byte(`"die"`))
	<-p.Exited()
	fmt.Println(p.ExitState())
	if err := p.Stop(ctx); err != nil {
		return err
	}
	fmt.Println("stopped")
	return nil
}

// makePidfdOpenFail makes pidfd_open fail with EMFILE in all threads of this process
// and in the processes that they start.
func makePidfdOpenFail() error {
	filters := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the number of the system call
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 0, Jf: 1, K: unix.SYS_PIDFD_OPEN},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EMFILE)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	runtime.LockOSThread() // the first call is for this thread, the second passes it on to the others
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	program := unix.SockFprog{Len: uint16(len(filters)), Filter: &filters[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return fmt.Errorf("install the filter: %w", errno)
	}
	return nil
}
