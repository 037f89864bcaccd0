package grading

import (
	"context"
	"errors"
	"fmt"
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
// Everything else is an error and thus not a pass: another status, a signal, no answer,
// a malformed answer, or a run longer than timeout_s.
func gradeCommand(ctx context.Context, config *pyvalue.Object, in Input) (Result, error) {
	argv, limit, err := readCommandConfig(config)
	if err != nil {
		return Result{}, pyvalue.ValueError("%v", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it took longer than %v", limit))
	defer cancel()
	p := externalProgram{argv: argv, dir: in.Dir, env: in.Environ, stdin: in.Record}
	if p.stdin == nil {
		p.stdin = pyvalue.AppendJSON(nil, pyvalue.NewObject("answer", valueOrNull(in.Answer)))
	}
	done, err := p.run(ctx)
	if err != nil {
		return Result{}, &pyvalue.Error{Kind: "command", Text: fmt.Sprintf("the command %s %v", argv[0], err)}
	}
	reply, err := parseCommandAnswer(done)
	if err != nil {
		return Result{}, &pyvalue.Error{Kind: "command", Text: fmt.Sprintf("the command %s %v", argv[0], done.withStderr(err))}
	}
	return commandResult(argv[0], reply), nil
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
