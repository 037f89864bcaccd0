package agent_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/subprocess/subprocesstest"
)

func TestMain(m *testing.M) {
	subprocesstest.RunTestsOrRole(m, map[string]subprocesstest.Role{readyRole: runReadyAgent, launchRole: subprocesstest.RunSandboxLauncher, callerRole: runModelCaller, serverRole: runServer})
}

// TestPythonSDK runs the Python tests of python/assay_agent.py.
func TestPythonSDK(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "python3", "-W", "error", "-m", "unittest", "--verbose", "test_assay_agent")
	cmd.Dir, cmd.Env = "python", append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "\nOK\n")
}
