package subprocess_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/subprocess"
)

// fewDescriptors is a limit of open files that is far below the depth of the tree in the test.
const fewDescriptors = 64

// playRemoveTree removes a folder with everything in it, in a process that may open only few files. It
// prints an error.
func playRemoveTree(dir string) int {
	limit := syscall.Rlimit{Cur: fewDescriptors, Max: fewDescriptors}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		fmt.Println(err)
		return 104
	}
	if err := subprocess.RemoveTree(dir); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// A tree that is nested deeper than files may be open is removed.
func TestRemoveTreeWithFewDescriptors(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "tree")
	require.NoError(t, os.Mkdir(dir, 0o700))
	nestFolders(t, dir, 3_000)
	remover := exec.CommandContext(t.Context(), os.Args[0], dir)
	remover.Env = append(os.Environ(), roleEnvVar+"=removes a tree with few descriptors")
	output, err := remover.CombinedOutput()
	require.NoError(t, err, "%s", output)
	require.NoDirExists(t, dir)
}
