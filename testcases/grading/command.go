package grading

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"assay/testcases/grading/pyvalue"
)

const (
	defaultCommandTimeout = time.Minute    // without timeout_s
	maxCommandTimeout     = 24 * time.Hour // upper limit of timeout_s
)

// gradeCommand runs a program of the case's author and returns the program's verdict.
// argv[0] is found on PATH, or, if it contains a slash, relative to [Input].Dir, where
// the program runs; there is no shell. The program reads Input.Record on stdin. It
// answers on stdout with one JSON object: passed and, optionally, score (0 to 1, by
// default 1 if passed, else 0), reasoning and metrics.
//
// The exit status must agree with the answer: 0 with any answer, 1 with passed false.
// Everything else is a crash: another status, a signal, no answer, a malformed answer, or a run
// longer than timeout_s. After a crash the program is run once more; the second crash on the same
// input is an error of kind command_crash, and thus not a pass. A program that cannot be started is
// an error of kind [ErrorKindCommand].
func gradeCommand(ctx context.Context, config *pyvalue.Object, in Input) (Result, error) {
	argv, limit, err := readCommandConfig(config)
	if err != nil {
		return Result{}, pyvalue.ValueError("%v", err)
	}
	p := externalProgram{argv: argv, dir: in.Dir, env: in.Environ, stdin: in.Record}
	if p.stdin == nil {
		p.stdin = pyvalue.AppendJSON(nil, pyvalue.NewObject("answer", valueOrNull(in.Answer)))
	}
	reply, err := runForAnswer(ctx, p, limit)
	if _, isStartError := errors.AsType[*startError](err); err != nil && !isStartError && ctx.Err() == nil {
		reply, err = runForAnswer(ctx, p, limit)
	}
	if err == nil {
		return commandResult(argv[0], reply), nil
	}
	failure := &pyvalue.Error{Kind: "command_crash", Text: fmt.Sprintf("the command %s %v", argv[0], err)}
	if _, isStartError := errors.AsType[*startError](err); isStartError || ctx.Err() != nil {
		failure.Kind = ErrorKindCommand
	}
	return Result{}, failure
}

// runForAnswer runs a grading program once, at most for limit, and returns its answer.
func runForAnswer(ctx context.Context, p externalProgram, limit time.Duration) (*pyvalue.Object, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it took longer than %v", limit))
	defer cancel()
	done, err := p.run(ctx)
	if err != nil {
		return nil, err
	}
	reply, err := parseCommandAnswer(done)
	if err != nil {
		return nil, done.withStderr(err)
	}
	return reply, nil
}

// commandTruthPaths returns the folder in which the program runs, and that of the program itself, since
// the program may read any file there, and the other files that its arguments name. Nothing in a folder
// bin or sbin is returned: an interpreter is there, which a kernel may need too, and no truth.
func commandTruthPaths(config *pyvalue.Object, dir string) []string {
	paths := []string{dir}
	argv, _, err := readCommandConfig(config)
	if err != nil {
		return paths
	}
	for i, word := range argv {
		isProgram := i == 0 && strings.Contains(word, "/") || i == 1 && isInterpreter(argv[0])
		paths = append(paths, truthPathsOfWord(absolutePath(dir, word), isProgram)...)
		if _, value, isSetting := strings.Cut(word, "="); isSetting { // --expected=FILE, env NAME=FILE
			paths = append(paths, truthPathsOfWord(absolutePath(dir, value), false)...)
		}
		if i == 0 || !isShell(argv[0]) {
			continue
		}
		for _, inner := range strings.FieldsFunc(word, isShellSeparator) {
			paths = append(paths, truthPathsOfWord(absolutePath(dir, inner), true)...)
		}
	}
	return paths
}

// truthPathsOfWord returns the path of a file or, if it is a program, of its folder, each before and
// after following symbolic links. It returns nothing if there is no such file.
func truthPathsOfWord(path string, isProgram bool) []string {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	paths := []string{path}
	if target, err := filepath.EvalSymlinks(path); err == nil && target != path {
		paths = append(paths, target)
	}
	paths = slices.DeleteFunc(paths, func(path string) bool {
		return slices.Contains([]string{"bin", "sbin"}, filepath.Base(filepath.Dir(path)))
	})
	if isProgram {
		for i, path := range paths {
			paths[i] = filepath.Dir(path)
		}
	}
	return paths
}

// isShell reports whether a program takes a command line as its argument.
func isShell(program string) bool {
	return slices.Contains([]string{"sh", "bash", "dash", "zsh", "ksh"}, filepath.Base(program))
}

// isShellSeparator reports whether a character ends a word of a shell's command line.
func isShellSeparator(c rune) bool { return strings.ContainsRune(" \t\n;&|()<>'\"`$=", c) }

// checkCommandStarts returns an error if the program of a command grader, or the script that an
// interpreter would run, does not exist.
func checkCommandStarts(config *pyvalue.Object, in Input) error {
	argv, _, err := readCommandConfig(config)
	if err != nil {
		return err
	}
	p := externalProgram{argv: argv, dir: in.Dir, env: in.Environ}
	cmd, err := p.newCommand()
	if err != nil {
		return fmt.Errorf("the command %s %w", argv[0], err)
	}
	if _, err := exec.LookPath(absolutePath(in.Dir, cmd.Path)); err != nil {
		return fmt.Errorf("the command %s does not start: %w", argv[0], err)
	}
	if len(argv) > 1 && isInterpreter(argv[0]) && !strings.HasPrefix(argv[1], "-") {
		if _, err := os.Stat(absolutePath(in.Dir, argv[1])); err != nil {
			return fmt.Errorf("the script of the command %s is missing: %w", argv[0], err)
		}
	}
	return nil
}

// absolutePath returns path, relative to dir unless it is absolute. An empty dir is the current one.
func absolutePath(dir, path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	if !filepath.IsAbs(path) {
		path = "./" + path // not to be looked for on PATH
	}
	return path
}

// isInterpreter reports whether a program takes a script as its first argument.
func isInterpreter(program string) bool {
	name := strings.TrimRight(filepath.Base(program), "0123456789.")
	return slices.Contains([]string{"python", "sh", "bash", "node", "ruby", "perl", "Rscript"}, name)
}

// valueOrNull returns v, or JSON null if v is nil.
func valueOrNull(v pyvalue.Value) pyvalue.Value {
	if v == nil {
		return pyvalue.Null{}
	}
	return v
}

// parseCommandAnswer returns the answer that a grading program printed on stdout. It is
// an error if the answer is absent or malformed, or disagrees with the exit status.
func parseCommandAnswer(done programExit) (*pyvalue.Object, error) {
	if done.status > 1 {
		return nil, fmt.Errorf("exited with status %d", done.status)
	}
	if strings.TrimSpace(done.stdout) == "" {
		return nil, fmt.Errorf("exited with status %d and without an answer on stdout", done.status)
	}
	reply, err := decodeStrictObject(done.stdout, []replyMember{
		{name: "passed", required: true, want: "true or false", isValid: isOfType[pyvalue.Bool]},
		{name: "score", want: "a number from 0 to 1", isValid: isFraction},
		{name: "reasoning", want: "a string", isValid: isOfType[pyvalue.String]},
		{name: "metrics", want: "an object", isValid: isOfType[*pyvalue.Object]},
	})
	if err != nil {
		return nil, fmt.Errorf("exited with status %d and gave an answer that cannot be read: %w", done.status, err)
	}
	if done.status != 0 && reply.Get("passed") == pyvalue.Bool(true) {
		return nil, fmt.Errorf("exited with status %d, which does not agree with passed true", done.status)
	}
	return reply, nil
}

// commandResult converts the answer of the grading program with this name to a result.
func commandResult(name string, reply *pyvalue.Object) Result {
	r := newGraderReport("Command")
	if reply.Get("passed") == pyvalue.Bool(false) {
		r.addFailure(name + " says that it did not pass, and not why")
	}
	result := r.binaryResult()
	if score, err := floatValue(reply.Get("score")); err == nil {
		result.Score = score
	}
	if reasoning, ok := reply.Get("reasoning").(pyvalue.String); ok && reasoning != "" {
		result.Reasoning = string(reasoning)
	}
	if metrics, ok := reply.Get("metrics").(*pyvalue.Object); ok {
		result.Metrics = metrics
	}
	return result
}

// checkCommandConfig returns an error if the config of a command grader is malformed.
func checkCommandConfig(config *pyvalue.Object) error {
	_, _, err := readCommandConfig(config)
	return err
}

// readCommandConfig returns the arguments of a command grader, the program first, and
// its timeout. It is an error if argv is not a list of strings, has an empty string or
// a zero byte, or if timeout_s is out of range.
func readCommandConfig(config *pyvalue.Object) (argv []string, limit time.Duration, err error) {
	list, ok := config.Get("argv").(pyvalue.List)
	if !ok || len(list) == 0 || !isStringList(list) {
		return nil, 0, fmt.Errorf("argv: want a list of strings, the program first, found %s", formatValue(config.Get("argv")))
	}
	for _, arg := range list {
		text := pyvalue.Str(arg)
		switch {
		case text == "":
			return nil, 0, errors.New("argv: an argument is empty")
		case strings.Contains(text, "\x00"):
			return nil, 0, errors.New("argv: an argument has a zero byte")
		}
		argv = append(argv, text)
	}
	if !config.Has("timeout_s") {
		return argv, defaultCommandTimeout, nil
	}
	seconds, err := floatValue(config.Get("timeout_s"))
	if err != nil || !(seconds > 0 && seconds <= maxCommandTimeout.Seconds()) {
		return nil, 0, fmt.Errorf("timeout_s: want a number of seconds above 0 and up to %g, found %s", maxCommandTimeout.Seconds(), formatValue(config.Get("timeout_s")))
	}
	return argv, time.Duration(seconds * float64(time.Second)), nil
}
