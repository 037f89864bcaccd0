package ticks_test

import (
	"context"
	"encoding/json"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/agent/builtin/agenttest"
	"assay/agent/builtin/ticks"
	"assay/internal/protocol"
	"assay/kernel/elisp"
)

// startElispKernel starts a real Emacs kernel, which ends with the test.
func startElispKernel(t *testing.T) protocol.Conn {
	t.Helper()
	emacs := findEmacs(t)
	dir := t.TempDir()
	_, err := elisp.UnpackSources(filepath.Join(dir, "kernel"))
	require.NoError(t, err)
	socket := filepath.Join(dir, "socket")
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket)
	require.NoError(t, err)
	// Not the test's context, which ends before the cleanup that lets the kernel exit by itself.
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), emacs, append(elisp.KernelArgs(filepath.Join(dir, "kernel")), socket)...)
	require.NoError(t, cmd.Start())
	end, err := listener.Accept()
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	conn := protocol.NewStream(end, 0)
	t.Cleanup(func() {
		require.NoError(t, conn.Close(protocol.CloseNormal, ""))
		_ = cmd.Wait() // the exit status does not matter
	})
	return conn
}

// evalCase is code and its expected outcome in a real kernel.
type evalCase struct {
	code, result, failure string
	forms                 int
}

// requireEvals runs one tick per case and compares the committed eval records.
func requireEvals(t *testing.T, language string, kernel protocol.Conn, cases ...evalCase) {
	t.Helper()
	dir := t.TempDir()
	var lines []string
	for i, c := range cases {
		lines = append(lines, objectScriptLine(frame{"eval": c.code, "continue": i%10 != 9}))
	}
	p := startTicksAgent(t, ticks.Config{StateDir: dir}, lines...)
	p.AttachKernel(kernel)
	p.InitAndAwaitReady(frame{"language": language})
	for i := 0; i < len(cases); i += 10 {
		p.QueryAndWait("go")
	}
	for i, c := range cases {
		var state struct {
			LastEvalResult struct {
				Result, Error    *string
				Success, Skipped bool
				Forms            int
			}
		}
		commit := strings.Fields(gitOutput(t, dir, "log", "--reverse", "--format=%H"))[i]
		require.NoError(t, json.Unmarshal([]byte(gitOutput(t, dir, "show", commit+":consciousness.json")), &state))
		got := state.LastEvalResult
		outcome := evalCase{c.code, stringOrEmpty(got.Result), stringOrEmpty(got.Error), got.Forms}
		require.Equal(t, c, outcome, c.code)
		require.Equal(t, c.failure == "", got.Success, c.code)
		require.False(t, got.Skipped, c.code)
	}
}

// stringOrEmpty returns a string, or "" for nil.
func stringOrEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func TestEV2_EvalValuesInEmacs(t *testing.T) {
	t.Parallel()
	requireEvals(t, "elisp", startElispKernel(t),
		evalCase{"(+ 2 2)", "4", "", 1},
		evalCase{"(funcall (let ((x 1)) (lambda () x)))", "1", "", 1},
		evalCase{"(setq a 1) (setq b 2)\n(+ a b)", "3", "", 3},
		evalCase{"\"é\\n\"", "\"é\n\"", "", 1},
		evalCase{"nil", "nil", "", 1},
		evalCase{"; nothing", "nil", "", 0},
		evalCase{"(princ \"printed\")", "\"printed\"", "", 1},
		evalCase{"'(a . \"b\")", "(a . \"b\")", "", 1})
}

func TestEV3_EvalErrorsInEmacs(t *testing.T) {
	t.Parallel()
	requireEvals(t, "elisp", startElispKernel(t),
		evalCase{"(undefined-function)", "", "Symbol's function definition is void: undefined-function", 1},
		evalCase{"undefined-variable", "", "Symbol's value as variable is void: undefined-variable", 1},
		evalCase{"(/ 1 0)", "", "Arithmetic error", 1},
		evalCase{"(car", "", "End of file during parsing", 0},
		evalCase{"(error \"Don't `do' that\")", "", "Don't 'do' that", 1},
		evalCase{"(signal 'quit nil)", "", "Quit", 1},
		evalCase{"(keyboard-quit)", "", "Quit", 1},
		evalCase{"(throw 'x 1)", "", "No catch for tag: x, 1", 1},
		evalCase{"(setq y 5) (/ 1 0) (setq y 6)", "", "Arithmetic error", 3})
}

func TestEV4_EvalsShareStateInEmacs(t *testing.T) {
	t.Parallel()
	requireEvals(t, "elisp", startElispKernel(t),
		evalCase{"(defun twice (n) (* 2 n))", "twice", "", 1},
		evalCase{"(twice 21)", "42", "", 1},
		evalCase{"(progn (setq x 1) (+ x 2))", "3", "", 1},
		evalCase{"(twice)", "", "Wrong number of arguments: ((t) (n) (* 2 n)), 0", 1},
		evalCase{"x", "1", "", 1})
}

func TestEV2_EvalValuesInPython(t *testing.T) {
	t.Parallel()
	requireEvals(t, "python", agenttest.StartPythonKernel(t),
		evalCase{"2 + 2", "4", "", 1},
		evalCase{"x = 3\ny = 4\nx * y", "12", "", 3},
		evalCase{"'a\\nb'", `'a\nb'`, "", 1},
		evalCase{"None", "None", "", 1},
		evalCase{"print('printed')", "None", "", 1},
		evalCase{"import asyncio\nawait asyncio.sleep(0, 'slept')", "'slept'", "", 2})
}

func TestEV3_EvalErrorsInPython(t *testing.T) {
	t.Parallel()
	requireEvals(t, "python", agenttest.StartPythonKernel(t),
		evalCase{"1 / 0", "", "ZeroDivisionError: division by zero", 1},
		evalCase{"nope", "", "NameError: name 'nope' is not defined", 1},
		evalCase{"(", "", "SyntaxError: '(' was never closed", 0},
		evalCase{"assert False", "", "AssertionError", 1},
		evalCase{"raise ValueError('a\\nb')", "", "ValueError: a\nb", 1},
		evalCase{"raise SystemExit(3)", "", "SystemExit: 3", 1},
		evalCase{"raise KeyboardInterrupt", "", "KeyboardInterrupt", 1},
		evalCase{"{}['k']", "", "KeyError: 'k'", 1})
}

func TestEV4_EvalsShareStateInPython(t *testing.T) {
	t.Parallel()
	requireEvals(t, "python", agenttest.StartPythonKernel(t),
		evalCase{"def twice(n): return 2 * n", "None", "", 1},
		evalCase{"twice(21)", "42", "", 1},
		evalCase{"1 / 0", "", "ZeroDivisionError: division by zero", 1},
		evalCase{"twice(1)", "2", "", 1})
}
