package builtin_test

import (
	"context"
	"encoding/json"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/agent/builtin"
	"assay/internal/protocol"
	"assay/kernel/elisp"
)

// startElisp starts an Emacs that is a kernel and ends with the test.
func startElisp(t *testing.T) protocol.Conn {
	t.Helper()
	emacs := findEmacs(t)
	dir := t.TempDir()
	_, err := elisp.Unpack(filepath.Join(dir, "kernel"))
	require.NoError(t, err)
	socket := filepath.Join(dir, "socket")
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket)
	require.NoError(t, err)
	// The test's context ends before its cleanup, which has the kernel exit by itself.
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), emacs, append(elisp.KernelArgs(filepath.Join(dir, "kernel")), socket)...)
	require.NoError(t, cmd.Start())
	end, err := listener.Accept()
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	conn := protocol.NewStream(end, 0)
	t.Cleanup(func() {
		require.NoError(t, conn.Close(protocol.CloseNormal, ""))
		_ = cmd.Wait() // its exit status is its own
	})
	return conn
}

// evaluates answers execute_code by a kernel, which it ends.
func (p *peer) evaluates(kernel protocol.Conn) {
	var reading sync.WaitGroup
	reading.Go(func() { p.relay(kernel) })
	p.t.Cleanup(func() {
		require.NoError(p.t, kernel.Close(protocol.CloseNormal, ""))
		reading.Wait()
	})
	p.onAction(func(action string, params frame, tx string) bool {
		if action != "execute_code" {
			return false
		}
		body, err := json.Marshal(frame{"type": action, "code": params["code"], "agent_tx_id": tx})
		return err == nil && kernel.Write(body) == nil
	})
}

// eval is what comes of code in a real kernel.
type eval struct {
	code, result, failure string
	forms                 int
}

// check lives ticks, one for each code, and compares their records.
func check(t *testing.T, language string, kernel protocol.Conn, evals ...eval) {
	t.Helper()
	dir := t.TempDir()
	var lines []string
	for i, e := range evals {
		lines = append(lines, ticking(frame{"eval": e.code, "continue": i%10 != 9}))
	}
	p := startTicks(t, builtin.Config{StateDir: dir}, lines...)
	p.evaluates(kernel)
	p.init(frame{"language": language})
	for i := 0; i < len(evals); i += 10 {
		p.ask("go")
	}
	for i, e := range evals {
		var state struct {
			LastEvalResult struct {
				Result, Error    *string
				Success, Skipped bool
				Forms            int
			}
		}
		commit := strings.Fields(gitOf(t, dir, "log", "--reverse", "--format=%H"))[i]
		require.NoError(t, json.Unmarshal([]byte(gitOf(t, dir, "show", commit+":consciousness.json")), &state))
		got := state.LastEvalResult
		came := eval{e.code, text(got.Result), text(got.Error), got.Forms}
		require.Equal(t, e, came, e.code)
		require.Equal(t, e.failure == "", got.Success, e.code)
		require.False(t, got.Skipped, e.code)
	}
}

// text is what a string or null says.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func TestEV2_RealEmacs(t *testing.T) {
	t.Parallel()
	check(t, "elisp", startElisp(t),
		eval{"(+ 2 2)", "4", "", 1},
		eval{"(funcall (let ((x 1)) (lambda () x)))", "1", "", 1},
		eval{"(setq a 1) (setq b 2)\n(+ a b)", "3", "", 3},
		eval{"\"é\\n\"", "\"é\n\"", "", 1},
		eval{"nil", "nil", "", 1},
		eval{"; nothing", "nil", "", 0},
		eval{"(princ \"printed\")", "\"printed\"", "", 1},
		eval{"'(a . \"b\")", "(a . \"b\")", "", 1})
}

func TestEV3_RealEmacs(t *testing.T) {
	t.Parallel()
	check(t, "elisp", startElisp(t),
		eval{"(undefined-function)", "", "Symbol's function definition is void: undefined-function", 1},
		eval{"undefined-variable", "", "Symbol's value as variable is void: undefined-variable", 1},
		eval{"(/ 1 0)", "", "Arithmetic error", 1},
		eval{"(car", "", "End of file during parsing", 0},
		eval{"(error \"Don't `do' that\")", "", "Don't 'do' that", 1},
		eval{"(signal 'quit nil)", "", "Quit", 1},
		eval{"(keyboard-quit)", "", "Quit", 1},
		eval{"(throw 'x 1)", "", "No catch for tag: x, 1", 1},
		eval{"(setq y 5) (/ 1 0) (setq y 6)", "", "Arithmetic error", 3})
}

func TestEV4_RealEmacs(t *testing.T) {
	t.Parallel()
	check(t, "elisp", startElisp(t),
		eval{"(defun twice (n) (* 2 n))", "twice", "", 1},
		eval{"(twice 21)", "42", "", 1},
		eval{"(progn (setq x 1) (+ x 2))", "3", "", 1},
		eval{"(twice)", "", "Wrong number of arguments: ((t) (n) (* 2 n)), 0", 1},
		eval{"x", "1", "", 1})
}

func TestEV2_RealPython(t *testing.T) {
	t.Parallel()
	check(t, "python", startPython(t),
		eval{"2 + 2", "4", "", 1},
		eval{"x = 3\ny = 4\nx * y", "12", "", 3},
		eval{"'a\\nb'", `'a\nb'`, "", 1},
		eval{"None", "None", "", 1},
		eval{"print('printed')", "None", "", 1},
		eval{"import asyncio\nawait asyncio.sleep(0, 'slept')", "'slept'", "", 2})
}

func TestEV3_RealPython(t *testing.T) {
	t.Parallel()
	check(t, "python", startPython(t),
		eval{"1 / 0", "", "ZeroDivisionError: division by zero", 1},
		eval{"nope", "", "NameError: name 'nope' is not defined", 1},
		eval{"(", "", "SyntaxError: '(' was never closed", 0},
		eval{"assert False", "", "AssertionError", 1},
		eval{"raise ValueError('a\\nb')", "", "ValueError: a\nb", 1},
		eval{"raise SystemExit(3)", "", "SystemExit: 3", 1},
		eval{"raise KeyboardInterrupt", "", "KeyboardInterrupt", 1},
		eval{"{}['k']", "", "KeyError: 'k'", 1})
}

func TestEV4_RealPython(t *testing.T) {
	t.Parallel()
	check(t, "python", startPython(t),
		eval{"def twice(n): return 2 * n", "None", "", 1},
		eval{"twice(21)", "42", "", 1},
		eval{"1 / 0", "", "ZeroDivisionError: division by zero", 1},
		eval{"twice(1)", "2", "", 1})
}
