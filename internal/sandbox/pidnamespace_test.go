package sandbox_test

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"assay/internal/sandbox"
)

// A launcher that hangs after it has started the program is given up, with the program and the namespace.
func TestLauncherThatHangsIsGivenUp(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), os.Args[0], "launch in vain").CombinedOutput()
	require.NoError(t, err, string(out))
	if string(out) == "no namespace\n" {
		t.Skip("no PID namespace can be made here")
	}
	require.Equal(t, "the sandbox was not there after 3s\nsignal: killed\nno child processes\n", string(out))
}

// launchInVain starts a program in a PID namespace by a launcher that hangs. It prints the error, and that of waiting for
// a child process.
func launchInVain() int {
	const timeout = 3 * time.Second // by far enough to report the program
	plan := sandbox.Plan{Namespaces: unix.CLONE_NEWNS | unix.CLONE_NEWUSER, PIDNamespace: true}
	probe := exec.Command("true")
	namespace, err := plan.Start(probe, []string{os.Args[0], "launch"})
	if err != nil || namespace == nil || probe.Wait() != nil {
		fmt.Println("no namespace")
		return 0
	}
	if _, err := sandbox.WaitForChild(namespace.ProcessID); err != nil || namespace.Remove() != nil {
		return 1
	}
	namespace, err = sandbox.StartWithin(timeout, plan, exec.Command("sleep", "600"), []string{os.Args[0], "launch and hang"})
	if namespace != nil {
		return 2
	}
	fmt.Println(err)
	_, err = syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
	fmt.Println(err)
	return 0
}
