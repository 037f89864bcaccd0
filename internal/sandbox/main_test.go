package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"assay/internal/sandbox"
	"assay/kernel/python"
)

// installDirEnvVar is the environment variable with the path of a folder that every
// user can read, which has a copy of this test program and of the Python kernel.
// TestMain makes the folder.
const installDirEnvVar = "ASSAY_SANDBOX_TEST_FOLDER"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "launch":
			os.Exit(runAsLauncher(os.Args[2:]))
		case "launch and hang":
			_ = runAsLauncher(os.Args[2:])
			select {}
		case "launch in vain":
			os.Exit(launchInVain())
		case "server":
			os.Exit(runAsTestServer())
		case "usage":
			total, err := sandbox.DiskUsage(context.Background(), os.Args[2])
			fmt.Println(total > 0, errors.Is(err, os.ErrPermission))
			os.Exit(0)
		}
		if !strings.HasPrefix(os.Args[1], "-") { // running the tests would start ever more subprocesses
			fmt.Fprintf(os.Stderr, "unknown role %q\n", os.Args[1])
			os.Exit(2)
		}
	}
	// The race detector would keep each of our subprocesses for a second at exit.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0"); err != nil {
		panic(err)
	}
	folder, err := installTestPrograms()
	if err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(status int) {
		_ = os.RemoveAll(folder)
		os.Exit(status)
	}))
}

// installTestPrograms copies this test program, the Python kernel and testdata to a new
// folder that every user can read, and returns the folder.
func installTestPrograms() (string, error) {
	folder, err := os.MkdirTemp("", "sandbox-test-")
	if err != nil {
		return "", err
	}
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return folder, err
	}
	_, err = python.UnpackSources(filepath.Join(folder, "kernel"))
	return folder, errors.Join(
		err,
		os.CopyFS(folder, os.DirFS("testdata")),
		os.WriteFile(filepath.Join(folder, "sandbox.test"), program, 0o755),
		os.Chmod(folder, 0o755),
		os.Setenv(installDirEnvVar, folder),
	)
}

// runAsLauncher makes this process the sandbox launcher: it calls [sandbox.Exec] and
// returns exit status 126 if that fails.
func runAsLauncher(args []string) int {
	err := sandbox.Exec(args[0], args[2:], os.Environ()) // args[1] is --
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, err)
	return 126
}

// runAsTestServer makes this process a test server: it calls serveSandboxRequest on the standard
// streams and returns the exit status.
func runAsTestServer() int {
	if err := serveSandboxRequest(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		return 1
	}
	return 0
}
