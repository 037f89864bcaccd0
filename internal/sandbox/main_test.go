package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"assay/internal/sandbox"
	"assay/kernel/python"
)

// shared is, in the environment, the folder in which this program and the Python
// kernel lie where every user can reach them. TestMain makes it.
const shared = "ASSAY_FENCE_TEST_FOLDER"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "fence":
			os.Exit(door(os.Args[2:]))
		case "server":
			os.Exit(server())
		case "usage":
			total, err := sandbox.DiskUsage(context.Background(), os.Args[2])
			fmt.Println(total > 0, errors.Is(err, os.ErrPermission))
			os.Exit(0)
		}
	}
	// The race detector would keep each of our subprocesses for a second at exit.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0"); err != nil {
		panic(err)
	}
	folder, err := install()
	if err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(status int) {
		_ = os.RemoveAll(folder)
		os.Exit(status)
	}))
}

// install copies this program and the Python door to a folder that everybody can
// read.
func install() (string, error) {
	folder, err := os.MkdirTemp("", "fence-test-")
	if err != nil {
		return "", err
	}
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return folder, err
	}
	_, err = python.Unpack(filepath.Join(folder, "kernel"))
	return folder, errors.Join(
		err,
		os.CopyFS(folder, os.DirFS("testdata")),
		os.WriteFile(filepath.Join(folder, "fence.test"), program, 0o755),
		os.Chmod(folder, 0o755),
		os.Setenv(shared, folder),
	)
}

func door(args []string) int {
	err := sandbox.Exec(args[0], args[2:], os.Environ()) // args[1] is --
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, err)
	return 126
}

func server() int {
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		return 1
	}
	return 0
}
