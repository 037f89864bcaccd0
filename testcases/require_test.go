package testcases_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/testcases"
)

func TestCheckRequirements(t *testing.T) {
	t.Parallel()
	cases := []testcases.Case{
		{ID: "none"},
		{ID: "all", Requires: []string{"python:json", "python:xml.etree", "command:python3", "kernel:python"}},
		{ID: "module", Requires: []string{"python:json", "python:no_such_module_here"}},
		{ID: "submodule", Requires: []string{"python:json.nothing", "python:nothing_at.all", "python:os.path.sub"}},
		{ID: "command", Requires: []string{"command:no-such-command-here"}},
		{ID: "kernel", Requires: []string{"kernel:lisp", "command:no-such-command-here"}},
		{ID: "odd", Requires: []string{"python:not a module", "python:..", "python:--version"}},
	}
	r, err := testcases.CheckRequirements(t.Context(), cases, testcases.Machine{Kernels: []string{"python", "elisp"}})
	require.NoError(t, err)
	for i, want := range []string{
		"",
		"",
		"python3 has no module no_such_module_here",
		"python3 has no module json.nothing; python3 has no module nothing_at.all; python3 has no module os.path.sub",
		"command no-such-command-here is not on PATH",
		"there is no kernel lisp; command no-such-command-here is not on PATH",
		"python3 has no module not a module; python3 has no module ..; python3 has no module --version",
	} {
		require.Equal(t, want, r.OfCase(cases[i]), cases[i].ID)
	}
}

// A file in the working directory does not count as an installed Python module.
func TestWorkingDirectoryIsNoModulePath(t *testing.T) {
	t.Chdir(writeTestFolder(t, map[string]string{"module_of_nobody.py": "raise SystemExit(3)"}))
	c := testcases.Case{Requires: []string{"python:module_of_nobody"}}
	r, err := testcases.CheckRequirements(t.Context(), []testcases.Case{c}, testcases.Machine{})
	require.NoError(t, err)
	require.Equal(t, "python3 has no module module_of_nobody", r.OfCase(c))
}

func TestCheckRequirementsWithoutPython(t *testing.T) {
	t.Parallel()
	module := []testcases.Case{{Requires: []string{"python:json"}}}
	_, err := testcases.CheckRequirements(t.Context(), module, testcases.Machine{Python: "/no/such/python"})
	require.ErrorContains(t, err, "ask /no/such/python for modules: fork/exec /no/such/python: no such file or directory")
	_, err = testcases.CheckRequirements(t.Context(), module, testcases.Machine{Python: "false"})
	require.ErrorContains(t, err, "ask false for modules: exit status 1")
	_, err = testcases.CheckRequirements(t.Context(), module, testcases.Machine{Python: "echo"})
	require.ErrorContains(t, err, "ask echo for modules: ")
	_, err = testcases.CheckRequirements(t.Context(), []testcases.Case{{Requires: []string{"kernel:x"}}}, testcases.Machine{Python: "/no/such/python"})
	require.NoError(t, err, "no interpreter is needed where no module is")

	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = testcases.CheckRequirements(canceled, module, testcases.Machine{})
	require.ErrorIs(t, err, context.Canceled)
}
