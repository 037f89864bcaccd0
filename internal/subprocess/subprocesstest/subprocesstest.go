// Package subprocesstest lets a test binary play the subprocesses that its tests start.
package subprocesstest

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"assay/internal/sandbox"
	"assay/internal/subprocess"
)

// Role is the main function of a subprocess that the test binary plays. It gets the
// arguments after the role's name and returns the exit status.
type Role func(args []string) int

// CleanupHelperArg is the first argument that makes the test binary run
// [subprocess.RunCleanupHelper].
const CleanupHelperArg = "reap"

// RunTestsOrRole is called by TestMain. It runs the role that the first argument names and exits
// with its status; without such an argument it runs the tests and fails if goroutines are
// left. It exits with 2 if the first argument is neither a flag nor a role: running the
// tests in a subprocess would start ever more subprocesses.
func RunTestsOrRole(m *testing.M, roles map[string]Role, options ...goleak.Option) {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") { //nolint:forbidigo // package for tests
		os.Exit(runRole(os.Args[1], os.Args[2:], roles)) //nolint:forbidigo // as above
	}
	// Without this the race detector would delay the exit of each subprocess by 1 s.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, options...)
}

// RunSandboxLauncher is the role of the sandbox's launcher. The arguments are a plan, "--" and the
// command to execute under it. Without a command it only applies the plan.
func RunSandboxLauncher(args []string) int {
	if len(args) < 2 {
		fmt.Fprintln(os.Stderr, "launch: want PLAN -- COMMAND...") //nolint:forbidigo // package for tests
		return 2
	}
	if err := sandbox.Exec(args[0], args[2:], os.Environ()); err != nil { //nolint:forbidigo // as above
		fmt.Fprintln(os.Stderr, err) //nolint:forbidigo // as above
		return 126
	}
	return 0
}

func runRole(name string, args []string, roles map[string]Role) int {
	if play := roles[name]; play != nil {
		return play(args)
	}
	if name != CleanupHelperArg {
		fmt.Fprintf(os.Stderr, "%s: unknown role %q\n", os.Args[0], name) //nolint:forbidigo // package for tests
		return 2
	}
	if err := subprocess.RunCleanupHelper(os.Stdin); err != nil { //nolint:forbidigo // package for tests
		fmt.Fprintln(os.Stderr, err) //nolint:forbidigo // as above
		return 1
	}
	return 0
}
