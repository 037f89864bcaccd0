package kernel_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/protocol"
	"assay/internal/sandbox"
	"assay/internal/subprocess"
	"assay/internal/subprocess/subprocesstest"
	"assay/kernel"
)

// %pip in a confined kernel that has the network reads the user's configuration, from the file that
// PIP_CONFIG_FILE names or from the user's HOME, and the kernel can read no other file beside it.
func TestPipInASandboxReadsTheUsersConfiguration(t *testing.T) {
	t.Parallel()
	launcher := []string{os.Args[0], launcherRole}
	sup, err := subprocess.NewSupervisor(subprocess.Config{CleanupHelper: []string{os.Args[0], subprocesstest.CleanupHelperArg}, Launcher: launcher})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, sup.Close()) })
	machine := sandbox.ProbeMachine(t.Context(), launcher)
	python, err := kernel.ResolvePython(t.Context(), "python3", sup.TempDir())
	require.NoError(t, err)
	for _, name := range []string{"HOME", "PIP_CONFIG_FILE"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			path := filepath.Join(home, ".config", "pip", "pip.conf")
			environ := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}
			if name != "HOME" {
				path = filepath.Join(home, "elsewhere", "my.conf")
				environ = append(environ, name+"="+path)
			}
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
			require.NoError(t, os.WriteFile(path, []byte("[global]\nindex-url = http://mirror.example/simple\n"), 0o600))
			beside := filepath.Join(filepath.Dir(path), "passwords")
			require.NoError(t, os.WriteFile(beside, []byte("secret"), 0o600))
			k := startKernelWithSupervisor(t, sup, python, func(cfg *kernel.Config) {
				cfg.Environ = environ
				cfg.Sandbox = &sandbox.Template{Machine: machine, Rules: sandbox.Rules{Network: sandbox.NetworkOn, ReadPaths: sandbox.SystemPaths()}}
			})
			frames := k.runCell("%pip config list")
			require.Contains(t, streamText(frames, protocol.Stdout), "global.index-url='http://mirror.example/simple'", "%v", frames)
			frames = k.runCell("print(open('" + beside + "').read())")
			require.Equal(t, protocol.StatusError, frames[len(frames)-1].Status, "it is confined")
		})
	}
}
