package elisp_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/internal/protocol"
)

// sendStop sends a stop_cell message for this cell.
func (k *testKernel) sendStop(cell string) {
	k.t.Helper()
	k.writeMessage(message{"type": "stop_cell", "cell_id": cell})
}

func TestStopInterruptsCells(t *testing.T) {
	t.Parallel()
	k := startKernel(t)
	for name, code := range map[string]string{
		"busy":              "(while t)",
		"compiled":          "(funcall (byte-compile '(lambda () (while t))))",
		"sleeping":          "(sleep-for 600)",
		"waiting":           "(accept-process-output nil 600)",
		"inhibiting":        "(let ((inhibit-quit t)) (while t))",
		"ignoring errors":   "(while t (ignore-errors (while t (car 1))))",
		"matching":          `(string-match "\\(a*\\)*\\(b*\\)*\\(a*\\)*c" (make-string 2000 ?a))`,
		"collecting":        "(while t (garbage-collect))",
		"consing":           "(while t (make-string 10000 ?x))",
		"printing":          `(while t (princ "text\n"))`,
		"printing much":     "(while t (princ (make-string 100000 ?x)))",
		"printing a result": "(make-vector 90000 (make-vector 90000 nil))",
		"in a timer":        "(run-at-time 0 nil (lambda () (while t))) (sleep-for 600)",
		"with a process":    `(call-process "sh" nil t nil "-c" "while :; do echo; done")`,
	} {
		k.beginCell(code)
		k.sendStop("c")
		began := time.Now()
		run := k.awaitCellEnd()
		require.Equal(t, "interrupted", run.result["status"], name)
		require.Less(t, time.Since(began), 900*time.Millisecond, "%s: at the first interrupt", name)
		if run.output != nil { // otherwise the cell had just finished
			require.Equal(t, "quit", run.output["ename"], name)
			require.Equal(t, "Quit", run.output["evalue"], name)
		}
		k.requireWorking()
	}
}

// Code that is stopped may handle the first interrupt, to clean up for a second. Code that
// goes on is stopped by the second interrupt.
func TestStopOfCodeThatHandlesQuit(t *testing.T) {
	t.Parallel()
	k := startKernel(t)
	k.beginCell(`(condition-case nil (progn (princ "in\n") (while t)) (quit (setq cleaned 'yes)))`)
	require.Equal(t, "in\n", k.readMessage()["data"])
	k.sendStop("c")
	require.Equal(t, "interrupted", k.awaitCellEnd().result["status"], "however it handled the interrupt")
	require.Equal(t, "yes", k.runCell("cleaned").valueText())
	k.beginCell(`(condition-case nil (progn (princ "in\n") (while t)) (quit (dotimes (_ 10) (sleep-for 0.01) (message "x")) (setq cleaned 'twice)))`)
	require.Equal(t, "in\n", k.readMessage()["data"])
	k.sendStop("c")
	require.Equal(t, strings.Repeat("x\n", 10), k.awaitCellEnd().text, "it has one second")
	require.Equal(t, "twice", k.runCell("cleaned").valueText())
	for _, code := range []string{
		`(while t (condition-case nil (progn (princ "in\n") (while t)) (quit nil)))`,
		`(while t (condition-case nil (progn (princ "in\n") (while t)) (t nil)))`,
		`(unwind-protect (progn (princ "in\n") (while t)) (while t))`,
		`(while t (agent-eval "(princ \"in\n\") (while t)"))`,
	} {
		k.beginCell(code)
		require.Equal(t, "in\n", k.readMessage()["data"])
		k.sendStop("c")
		began := time.Now()
		require.Equal(t, "interrupted", k.awaitCellEnd().result["status"], code)
		require.Less(t, time.Since(began), 4*time.Second, "%s: at the second interrupt, which comes after one", code)
		k.requireWorking()
	}
}

// Stopping a cell that waits for a program, as in call-process, kills the program, because the
// kernel, an Emacs, goes on waiting for it after an interrupt.
func TestStopKillsProgramThatCellWaitsFor(t *testing.T) {
	t.Parallel()
	k := startKernel(t)
	for _, code := range []string{
		`(call-process "sleep" nil nil nil "600")`,
		`(call-process "sh" nil nil nil "-c" "trap '' INT TERM; sh -c 'sleep 600; echo'; echo")`,
	} {
		k.beginCell(code)
		require.Eventually(t, func() bool { return hasChildProcesses(k.PID()) }, 10*time.Second, 10*time.Millisecond)
		k.sendStop("c")
		began := time.Now()
		require.Equal(t, "interrupted", k.awaitCellEnd().result["status"])
		require.Less(t, time.Since(began), 2900*time.Millisecond)
		require.Eventually(t, func() bool { return !hasChildProcesses(k.PID()) }, 10*time.Second, 10*time.Millisecond)
		k.requireWorking()
	}
}

// hasChildProcesses reports whether the process pid has child processes.
func hasChildProcesses(pid int) bool {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // the pattern is valid
	return slices.ContainsFunc(lists, func(list string) bool {
		children, err := os.ReadFile(list)
		return err == nil && len(children) > 0
	})
}

func TestStopOfQueuedCells(t *testing.T) {
	t.Parallel()
	k := startKernel(t)
	k.beginCell("(while t)")
	for _, id := range []string{"d", "e", "f"} {
		k.writeMessage(message{"type": "run_cell", "cell_id": id, "code": "(setq " + id + " t)"})
	}
	k.writeMessage(message{"type": "execute_code", "agent_tx_id": "tx", "code": "(setq x t)"})
	k.sendStop("d")
	k.writeMessage(message{"type": "dispose_cell", "cell_id": "e"})
	k.writeMessage(message{"type": "stop_cell", "agent_tx_id": "tx"})
	k.sendStop("c")
	var got []string
	for len(got) == 0 || got[len(got)-1] != "start_cell  " {
		m := k.readMessage()
		got = append(got, strings.Join([]string{m.stringField("type"), m.stringField("cell_id") + m.stringField("agent_tx_id"), m.stringField("status")}, " "))
	}
	require.Equal(t, []string{
		"cell_output c ", "cell_result c interrupted",
		"run_queue  ", "run_queue  ", "run_queue  ",
		"start_cell d ", "cell_result d interrupted",
		"run_queue  ",
		"start_cell e ", "cell_result e interrupted",
		"execute_code_response tx interrupted",
		"run_queue  ",
		"start_cell f ", "cell_output f ", "cell_result f ok", "start_cell  ",
	}, got)
	require.Equal(t, "(nil nil t nil)", k.runCell("(mapcar #'boundp '(d e f x))").valueText())
}

func TestStopOfExecuteCode(t *testing.T) {
	t.Parallel()
	k := startKernel(t)
	k.writeMessage(message{"type": "execute_code", "agent_tx_id": "tx", "code": "(princ 'text) (while t)"})
	k.writeMessage(message{"type": "stop_cell", "agent_tx_id": "tx"})
	answer := k.readMessage()
	require.Equal(t, "interrupted", answer["status"])
	k.writeMessage(message{"type": "stop_cell", "agent_tx_id": "tx"}) // it has ended already
	k.requireWorking()
}

// Signals that arrive after the end of the run for which they were sent do nothing, however
// many come and whatever runs. They come 20 ms apart: the server sends one per second, and a
// signal that comes while Emacs is about to call the debugger for the one before, within
// microseconds of it, is a quit that Emacs does not let the debugger decide about.
func TestLateInterruptSignalsAreIgnored(t *testing.T) {
	t.Parallel()
	k := startKernel(t)
	for range 50 {
		require.NoError(t, syscall.Kill(k.PID(), syscall.SIGUSR2))
	}
	require.Equal(t, "(nil nil t nil)", k.runCell("(list quit-flag inhibit-quit (eq debugger 'assay-guard--debugger) (while-no-input nil))").valueText())
	for _, c := range []struct{ code, want string }{
		{"(let ((n 0)) (while (< n 1000000) (setq n (1+ n))) n)", "1000000"},
		{"(condition-case nil (let ((n 0)) (while (< n 500000) (setq n (1+ n))) n) (quit 'quit))", "500000"},
		{"(progn (defun fib (n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))) (fib 22))", "17711"},
		{"(progn (fset 'fast (byte-compile '(lambda (n) (if (< n 2) n (+ (fast (- n 1)) (fast (- n 2))))))) (fast 24))", "46368"},
		{`(let ((n 0)) (with-temp-buffer (insert (make-string 100000 ?a)) (goto-char 1) (while (re-search-forward "a+?\\(a\\)" nil t) (setq n (1+ n)))) n)`, "50000"},
		{"(progn (sleep-for 0.1) 'slept)", "slept"},
		{`(length (shell-command-to-string "sleep 0.05; echo hi"))`, "3"},
		{`(length (mapconcat (lambda (i) (prin1-to-string (list i "text" [a b]))) (number-sequence 1 9999) ""))`, "188874"},
		{`(dotimes (i 3000) (princ "text\n"))`, "nil"},
	} {
		k.beginCell(c.code)
		ended := make(chan struct{})
		go sendInterruptSignalsUntil(k.PID(), ended)
		run := k.awaitCellEnd()
		ended <- struct{}{}
		require.Equal(t, c.want, run.valueText(), "%s: %v, %v", c.code, run.result, run.output)
		if strings.Contains(c.code, "3000") {
			require.Equal(t, strings.Repeat("text\n", 3000), run.text)
		}
	}
}

// sendInterruptSignalsUntil sends SIGUSR2 to the kernel every 20 ms until it can receive from
// ended.
func sendInterruptSignalsUntil(pid int, ended <-chan struct{}) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			_ = syscall.Kill(pid, syscall.SIGUSR2)
		case <-ended:
			return
		}
	}
}

// Writing to a program that has ended raises a Lisp error and does not kill Emacs with
// SIGPIPE.
func TestWriteToEndedProgramIsLispError(t *testing.T) {
	t.Parallel()
	k := startKernel(t)
	run := k.runCell(`(let ((p (make-process :name "p" :connection-type 'pipe :command '("sh" "-c" "exec <&-; echo closed; exec sleep 600"))))
	  (accept-process-output p)
	  (process-send-string p "text"))`)
	require.Equal(t, "process p no longer connected to pipe; closed it", run.output["evalue"])
	k.requireWorking()
}

// When the kernel is stopped, Emacs ends the programs that the user's code has started.
func TestUserProgramsEndWithTheKernel(t *testing.T) {
	t.Parallel()
	k := startKernel(t)
	pid, err := strconv.Atoi(k.runCell(`(process-id (make-process :name "p" :command '("sleep" "600")))`).valueText())
	require.NoError(t, err)
	require.NoError(t, k.Stop(t.Context()))
	require.Eventually(t, func() bool {
		out, _ := exec.CommandContext(t.Context(), "ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output() // fails if there is no such process
		state := strings.TrimSpace(string(out))
		return state == "" || state[0] == 'Z'
	}, 5*time.Second, 10*time.Millisecond)
}

func TestRunQueueIsReported(t *testing.T) {
	t.Parallel()
	k := startKernel(t)
	k.beginCell("(sleep-for 0.1)")
	k.writeMessage(message{"type": "run_cell", "cell_id": "d", "code": "1"})
	k.writeMessage(message{"type": "run_cell", "cell_id": "e", "code": "2"})
	var queues []any
	sequencers := []any{}
	for {
		m := k.readMessage()
		switch m.stringField("type") {
		case protocol.TypeRunQueue:
			queues = append(queues, m["queue"])
		case protocol.TypeCellResult:
			sequencers = append(sequencers, m["run_sequencer"])
		}
		if m.stringField("cell_id") == "e" && m.stringField("type") == protocol.TypeCellResult {
			break
		}
	}
	require.Equal(t, []any{[]any{"d", "e"}, []any{"e"}, []any{}}, queues)
	require.Equal(t, []any{1.0, 2.0, 3.0}, sequencers)
}
