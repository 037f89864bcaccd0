package elisp_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/protocol"
)

// A cell shows the value of its last form. All cases run in one kernel, one after the other.
func TestCellsShowTheirValue(t *testing.T) {
	t.Parallel()
	k := startKernel(t)
	for _, c := range []struct{ code, want string }{
		{"(+ 2 2)", "4"},
		{"(progn (setq x 1) (+ x 2))", "3"},
		{"(defun square (n) (* n n))", "square"},
		{"(square 7)", "49"},
		{"1 2 3", "3"},
		{"nil", "nil"}, // shown like any other value
		{"", ""},
		{" ; only a comment", ""},
		{"(setq y 5) ; a comment behind", "5"},
		{"(funcall (let ((x 1)) (lambda () x)))", "1"},
		{`"a\nb \"q\""`, "\"a\nb \\\"q\\\"\""},
		{"'(a \"b\" ?c 1.5 [d] (e . f))", `(a "b" 99 1.5 [d] (e . f))`},
		{"(let ((x (list 1 2))) (setcdr (cdr x) x) x)", "#1=(1 2 . #1#)"},
		{"(let ((x (list 1))) (list x x))", "(#1=(1) #1#)"},
		{"(progn (defmacro twice (f) `(progn ,f ,f)) (setq n 0) (twice (setq n (1+ n))) n)", "2"},
		{"(let ((n 0)) (dotimes (i 3) (when (> i 0) (setq n (+ n i)))) n)", "3"},
		{"(get-buffer-create \"b\") (set-buffer \"b\") (erase-buffer) (insert \"kept\")", "nil"},
		{"(buffer-string)", `"kept"`},
		{"lexical-binding", "t"},
		{"(call-process \"true\")", "0"},
		{"(condition-case e (read-char) (end-of-file 'none))", "none"},
		{"(condition-case e (read-string \"? \") (end-of-file 'none))", "none"},
		{"(condition-case e (y-or-n-p \"? \") (end-of-file 'none))", "none"},
		{"(shell-command-to-string \"printf 'h\\\\303\\\\251'\")", `"hé"`},
		{"(setq debug-on-error t debug-on-quit t) (condition-case nil (car 1) (error 'caught))", "caught"},
	} {
		run := k.runCell(c.code)
		require.Equal(t, "ok", run.result["status"], c.code)
		require.Equal(t, c.want, run.valueText(), c.code)
		require.Equal(t, false, run.result["has_exception"], c.code)
		require.Nil(t, run.result["exception"], c.code)
		if c.want != "" {
			require.Equal(t, "execute_result", run.output["output_type"])
			require.Equal(t, run.result["run_sequencer"], run.output["execution_count"])
		} else {
			require.Nil(t, run.output)
		}
		code := k.executeCode(c.code)
		require.Equal(t, "ok", code["status"], c.code)
	}
}

func TestCellErrors(t *testing.T) {
	t.Parallel()
	k := startKernel(t)
	for _, c := range []struct{ code, name, text, location string }{
		{"(undefined-function)", "void-function", "Symbol's function definition is void: undefined-function", "in line 1: (undefined-function)"},
		{"(/ 1 0)", "arith-error", "Arithmetic error", "in line 1: (/ 1 0)"},
		{"(error \"`a' isn't \\\"b\\\"\")", "error", `'a' isn't "b"`, ""},
		{"1\n\n  (car 1)\n3", "wrong-type-argument", "Wrong type argument: listp, 1", "in line 3: (car 1)"},
		{"(setq read-first t)\n(oops", "end-of-file", "End of file during parsing", "in line 2: (oops"},
		{"(setq read-first t) )", "invalid-read-syntax", `Invalid read syntax: ")", 1, 21`, "in line 1: )"},
		{"(keyboard-quit)", "quit", "Quit", ""},
		{"(signal 'my-condition '(1 2))", "my-condition", "peculiar error: 1, 2", ""},
		{"(signal 'error 5)", "error", "peculiar error", ""},
		{"(signal \"no symbol\" nil)", "wrong-type-argument", "Wrong type argument: symbolp, \"no symbol\"", ""},
		{"(throw 'nowhere 1)", "no-catch", "No catch for tag: nowhere, 1", ""},
		{"(throw 'top-level 1)", "no-catch", "No catch for tag: top-level, nil", ""},
		{"(top-level)", "no-catch", "No catch for tag: top-level, nil", ""},
		{"(throw (car assay-guard--tag) 1)", "no-catch", "No catch for tag: stopped, 1", ""},
		{"(defun down (n) (1+ (down n))) (down 1)", "error", "Lisp nesting exceeds 'max-lisp-eval-depth'", ""},
		{"(let ((x (list 1))) (setcdr x x) (signal 'error (list x)))", "error", "", ""},
		{"(let (x) (dotimes (_ 5000) (setq x (list x))) (signal 'error x))", "error", "", ""},
		{"(error \"raw \\377 byte\")", "error", "raw \uFFFD byte", ""},
		{"(recursive-edit)", "end-of-file", "End of file during parsing: Error reading from stdin", ""},
	} {
		run := k.runCell(c.code)
		require.Equal(t, "error", run.result["status"], c.code)
		require.Equal(t, "error", run.output["output_type"], c.code)
		if k.ReadyMessage.Version < "29" || c.name != "error" {
			require.Equal(t, c.name, run.output["ename"], c.code)
		}
		if c.text != "" {
			require.Equal(t, c.text, run.output["evalue"], c.code)
		}
		exception := run.result.stringField("exception")
		require.True(t, strings.HasPrefix(exception, run.output.stringField("evalue")+"\n  in line "), exception)
		require.Contains(t, exception, c.location)
		k.requireWorking()
	}
	require.Equal(t, "void", k.runCell("(if (boundp 'read-first) 'bound 'void)").valueText(), "all forms are read before one is evaluated")
}

func TestExecuteCodeAnswers(t *testing.T) {
	t.Parallel()
	k := startKernel(t)
	require.Equal(t, message{
		"type": "execute_code_response", "agent_tx_id": "tx", "status": "ok", "result": "sym",
		"stdout": "1x\n", "stderr": "", "exception": nil, "ename": nil, "error": nil, "forms": 3.0,
	}, k.executeCode(`(princ 1) (message "x") 'sym`))
	require.Equal(t, message{
		"type": "execute_code_response", "agent_tx_id": "tx", "status": "error", "result": nil,
		"stdout": "1", "stderr": "", "ename": "arith-error", "error": "Arithmetic error", "forms": 3.0,
		"exception": "Arithmetic error\n  in line 2: (/ 1 0)",
	}, k.executeCode("(princ 1)\n(/ 1 0)\n3"))
	require.Nil(t, k.executeCode("; nothing")["result"])

	text := k.executeCode(`(dotimes (i 100000) (princ (format "%099d\n" i)))`).stringField("stdout")
	require.Regexp(t, `^0+\n0+1\n`, text)
	require.Contains(t, text, "\n... 5805696 characters ...\n")
	require.True(t, strings.HasSuffix(text, "99999\n"))
	require.Empty(t, k.executeCode("1")["stdout"])
}

// Code in the kernel can evaluate code with the function agent-eval.
func TestAgentEvalFunction(t *testing.T) {
	t.Parallel()
	k := startKernel(t)
	for code, want := range map[string]string{
		`(agent-eval "(+ 2 2)")`:                        `(:success t :result "4" :error nil :skipped nil)`,
		`(agent-eval "nil")`:                            `(:success t :result "nil" :error nil :skipped nil)`,
		`(agent-eval nil)`:                              `(:success t :result nil :error nil :skipped t)`,
		`(agent-eval " \n")`:                            `(:success t :result nil :error nil :skipped t)`,
		`(agent-eval "(/ 1 0)")`:                        `(:success nil :result nil :error "Arithmetic error" :skipped nil)`,
		`(agent-eval "1 (/ 1 0) (setq v 1) 3")`:         `(:success nil :result nil :error "Arithmetic error" :skipped 2)`,
		`(agent-eval "(keyboard-quit)")`:                `(:success nil :result nil :error "Quit" :skipped nil)`,
		`(agent-eval "(oops")`:                          `(:success nil :result nil :error "End of file during parsing" :skipped nil)`,
		`(agent-eval 5)`:                                `(:success nil :result nil :error "Wrong type argument: stringp, 5" :skipped nil)`,
		`(agent-eval "(agent-eval \"(throw 1 2)\") 7")`: `(:success t :result "7" :error nil :skipped nil)`,
	} {
		require.Equal(t, want, k.runCell("(butlast (append (seq-take "+code+" 8) '(end)))").valueText(), code)
	}
}

// The value of a cell is sent as one valid frame, even if it is large, deeply nested, circular
// or not Unicode.
func TestLargeOrUnusualCellValues(t *testing.T) {
	t.Parallel()
	k := startKernel(t)
	for name, c := range map[string]struct {
		code  string
		check func(text string)
	}{
		"100 MB":     {"(make-string 100000000 ?x)", func(s string) { require.Len(t, s, 1<<20); require.True(t, strings.HasSuffix(s, "x...")) }},
		"2 MB":       {"(make-string 1500000 ?x)", func(s string) { require.Contains(t, s, "\n... 451426 characters ...\n") }},
		"long list":  {"(make-list 1000000 'abc)", func(s string) { require.Len(t, s, 1<<20) }},
		"deep":       {"(let (x) (dotimes (_ 20000) (setq x (list x))) x)", func(s string) { require.Contains(t, s, "((((...))))") }},
		"deep cycle": {"(let* ((x (list nil)) (y x)) (dotimes (_ 20000) (setq y (list y))) (setcar x y) x)", func(s string) { require.NotEmpty(t, s) }},
		"shared":     {"(let ((x (list 1))) (dotimes (_ 100) (setq x (list x x))) x)", func(s string) { require.Less(t, len(s), 2000) }},
		"raw bytes":  {`(list "\377" (string #x3fffff) "a\0b")`, func(s string) { require.Equal(t, "(\"\\377\" \"\\377\" \"a\x00b\")", s) }},
		"surrogate":  {`(string #xd800 ?é)`, func(s string) { require.Equal(t, "\"\uFFFD\uFFFD\uFFFDé\"", s) }},
		"odd symbol": {`(intern "a b\377")`, func(s string) { require.NotEmpty(t, s) }},
		"buffer":     {"(current-buffer)", func(s string) { require.Equal(t, "#<buffer *scratch*>", s) }},
		"obarray":    {"obarray", func(s string) { require.NotEmpty(t, s) }},
		"char table": {"(syntax-table)", func(s string) { require.NotEmpty(t, s) }},
		"hash table": {"(let ((h (make-hash-table))) (puthash 1 h h) h)", func(s string) { require.Contains(t, s, "(1 #1#)") }},
	} {
		run := k.runCell(c.code)
		require.Equal(t, "ok", run.result["status"], name)
		c.check(run.valueText())
		k.requireWorking()
	}
}

func TestPrintedTextOfCells(t *testing.T) {
	t.Parallel()
	k := startKernel(t)
	for name, c := range map[string]struct{ code, want string }{
		"all kinds":      {`(princ "a") (print 'b) (prin1 "c") (terpri) (message "d %s" 1) (write-char ?e) (send-string-to-terminal "f")`, "a\nb\n\"c\"\nd 1\nef"},
		"failing":        {`(princ "before") (error "x")`, "before"},
		"empty messages": {`(message nil) (message "") (let ((inhibit-message t)) (message "not"))`, "\n"},
		"into":           {`(with-current-buffer standard-output (insert "direct\n"))`, "direct\n"},
		"to a string":    {`(with-output-to-string (princ "kept"))`, ""},
		"unnoticed":      {`(let ((inhibit-modification-hooks t)) (princ "unhooked"))`, "unhooked"},
		"raw":            {`(princ (string ?é #x3fffff #xd800 #x110000 0))`, "é\\377\uFFFD\uFFFD\uFFFD\uFFFD\x00"},
		"raw, inserted":  {`(with-current-buffer standard-output (insert (string ?a #x3fffff #x3fffc3 #x3fffa9)))`, "a\uFFFDé"},
		"narrowed":       {`(with-current-buffer standard-output (insert "ab") (narrow-to-region 1 1)) (princ "c")`, "cab"},
		"caught depth":   {`(defun d () (princ "x") (d)) (condition-case nil (d) (error (princ "\n")))`, ""},
	} {
		run := k.runCell(c.code)
		if name == "caught depth" {
			require.Regexp(t, `^x+\n$`, run.text)
			continue
		}
		require.Equal(t, c.want, run.text, name)
	}
	run := k.runCell(`(princ "to the terminal" t) (print 'errors #'external-debugging-output)`)
	require.Equal(t, "to the terminal", run.text)
	require.Equal(t, "\nerrors\n", run.stderr)
	require.Equal(t, "error", k.runCell(`(kill-buffer standard-output) (princ "lost")`).result["status"])
	require.Equal(t, "again", k.runCell(`(princ "again")`).text)
}

// 10 MB of printed text arrive in order, before the cell's result, and in few frames.
func TestLongTextIsBatched(t *testing.T) {
	t.Parallel()
	k := startKernel(t)
	run := k.runCell(`(dotimes (i 100000) (princ (make-string 99 ?x)) (terpri))`)
	require.Len(t, run.text, 10000000)
	require.True(t, run.text == strings.Repeat(strings.Repeat("x", 99)+"\n", 100000), "in order") //nolint:testifylint // 10 MB
	require.Less(t, run.textFrames, 1000)
	run = k.runCell(`(princ (make-string 20000000 ?x))`)
	require.Len(t, run.text, 20000000)
}

// Printed text is sent while the cell's code still waits, not only after it.
func TestPrintedTextIsSentWhileCellWaits(t *testing.T) {
	t.Parallel()
	k := startKernel(t)
	k.beginCell(`(dotimes (i 100) (message "%d" i)) (princ "the last") (sleep-for 600)`)
	var text strings.Builder
	for !strings.HasSuffix(text.String(), "the last") {
		text.WriteString(k.readMessage().stringField("data"))
	}
	k.writeMessage(message{"type": "stop_cell", "cell_id": "c"})
	require.Equal(t, "interrupted", k.awaitCellEnd().result["status"])
}

func TestTextPrintedBetweenCells(t *testing.T) {
	t.Parallel()
	k := startKernel(t)
	for _, c := range []struct{ code, want string }{
		{`(run-at-time 0.01 nil (lambda () (princ "tick\n")))`, "tick\n"},
		{`(run-at-time 0.01 nil (lambda () (error "in a timer")))`, "Error running timer: (error \"in a timer\")\n"},
		{`(run-at-time 0.01 nil (lambda () (throw 'top-level nil)))`, "No catch for tag: top-level, nil\n"},
		{`(run-at-time 0.01 nil (lambda () (signal 'quit nil)))`, "Quit\n"},
		{`(make-process :name "p" :command '("sh" "-c" "echo from a process") :filter (lambda (_ text) (princ text)))`, "from a process\n"},
		{`(make-process :name "q" :command '("sh" "-c" "echo from another") :filter (lambda (_ text) (error "in a filter")))`, "error in process filter: in a filter\n"},
	} {
		k.beginCell(c.code)
		var idle, text bool
		for !idle || !text {
			switch m := k.readMessage(); m.stringField("type") {
			case protocol.TypeStartCell:
				idle = true
			case protocol.TypeKernelStdio:
				require.Equal(t, message{"type": protocol.TypeKernelStdio, "active_cell": "", "stream": "stdout", "data": c.want}, m)
				text = true
			}
		}
	}
	k.requireWorking()
}

// Messages from the server are handled while code in a process filter waits.
func TestMessagesAreHandledWhileProcessFilterWaits(t *testing.T) {
	t.Parallel()
	k := startKernel(t)
	for range 5 {
		k.runCell(`(make-process :name "p" :command '("sh" "-c" "sleep 0.1; echo go; exec sleep 600")
		                     :filter (lambda (_ text) (princ text) (sleep-for 0.1))) nil`)
		require.Equal(t, "go\n", k.readMessage().stringField("data"))
		k.requireWorking()
	}
}

// Code with the field "pristine" uses the original functions of Emacs, even if cells have
// replaced them, and can call the user's own functions.
func TestPristineCodeUsesOriginalFunctions(t *testing.T) {
	t.Parallel()
	k := startKernel(t)
	k.runCell(`(setq found '(9)) (defun name () (upcase "nine"))
		(advice-add 'upcase :override (lambda (&rest _) "TEN"))
		(fset (intern "length") (lambda (_) 4))`)
	code := "(list (length found) (name))"
	require.Equal(t, `(4 "TEN")`, k.executeCode(code)["result"])
	k.runCell(`(fset (intern "assay-print") (lambda (&rest _) "(4)"))`)
	got := k.request(message{"type": "execute_code", "code": code, "agent_tx_id": "tx", "pristine": true})
	require.Equal(t, `(1 "NINE")`, got["result"], got)
}

// Cells cannot prevent that Emacs's functions are restored for pristine code, whatever part of
// the kernel they replace.
func TestPristineCodeCannotBeSabotaged(t *testing.T) {
	t.Parallel()
	for name, trick := range map[string]string{
		"no attack":              `nil`,
		"restore replaced":       `(defalias 'assay-names-restore-functions #'ignore) (defalias 'assay-names-function-restorer (lambda () #'ignore))`,
		"all functions replaced": `(mapatoms (lambda (s) (when (and (fboundp s) (string-match-p "^assay-names" (symbol-name s))) (fset s #'ignore))))`,
		"tables cleared":         `(mapatoms (lambda (s) (when (and (boundp s) (string-match-p "^assay-names" (symbol-name s)) (hash-table-p (symbol-value s))) (clrhash (symbol-value s)))))`,
		"caller replaced":        `(fset 'assay-run-code (let ((old (symbol-function 'assay-run-code))) (lambda (code tx _) (funcall old code tx nil))))`,
		"iteration replaced":     `(defalias 'maphash #'ignore) (defalias 'autoloadp (lambda (_) t)) (defalias 'funcall #'ignore)`,
		"handlers":               `(setq assay-kernel--handlers (mapcar (lambda (h) (cons (car h) (if (equal (car h) "execute_code") (lambda (r) (remhash "pristine" r) (assay-kernel--execute-code r)) (cdr h)))) assay-kernel--handlers))`,
		"stop check replaced":    `(setq assay-guard-stopped-function (lambda () (fset 'equal (lambda (&rest _) t)) nil))`,
		"printer replaced":       `(defalias 'assay-names-record-initial #'ignore) (defalias 'assay-print (lambda (&rest _) "t"))`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := startKernel(t)
			k.runCell(`(setq total 9)`)
			k.runCell(trick + ` (defalias (intern "equal") (lambda (&rest _) t))`)
			got := k.request(message{"type": "execute_code", "code": "(equal total 10)", "agent_tx_id": "tx", "pristine": true})
			require.Equal(t, "nil", got["result"], got)
		})
	}
}
