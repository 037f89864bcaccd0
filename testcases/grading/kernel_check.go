package grading

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"assay/testcases/grading/pyvalue"
)

// kernelCheckTimeout is the time that all probes of a kernel_check, or its code, have
// together.
const kernelCheckTimeout = time.Minute

// maxShownValueBytes is how much of a value that is neither true nor false the reasoning has.
const maxShownValueBytes = 200

// gradeKernelCheck checks the state of the kernel, with or without an answer: by
// probes, which are expressions with demands on their values, or by code that must
// neither raise nor end in a false value. Unless the check is live, it runs in a separate
// kernel, with copies of the values: see [Exported].
func gradeKernelCheck(ctx context.Context, config *pyvalue.Object, in Input) (Result, error) {
	check, err := readKernelCheckConfig(config)
	switch {
	case err != nil:
		return Result{}, pyvalue.ValueError("%v", err)
	case in.Kernel == nil:
		return Result{}, &pyvalue.Error{Kind: ErrorKindKernel, Text: "there is no kernel any more to look at"}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, kernelCheckTimeout, fmt.Errorf("the check had %v", kernelCheckTimeout))
	defer cancel()
	kernel := in.Kernel
	whyNotData := func(string) string { return "" }
	if !check.isLive && in.Export != nil {
		exported, err := in.Export(ctx, check.sources())
		if err != nil {
			return Result{}, kernelError(ctx, err)
		}
		defer exported.Close()
		kernel, whyNotData = exported, exported.NotData
	}
	if check.probes != nil {
		return gradeByProbes(ctx, check.probes, kernel, whyNotData)
	}
	if why := whyNotData(check.code); why != "" {
		return Result{}, &pyvalue.Error{Kind: "not_data", Text: why}
	}
	return gradeByCheckCode(ctx, check.code, kernel, in.Notebook == nil || in.Notebook.Language == "python")
}

// kernelCheck is the config of a kernel_check.
type kernelCheck struct {
	code   string
	probes []probe // nil if it has code
	isLive bool    // it runs in the agent's kernel
}

// sources returns the code or the expressions of the check.
func (c kernelCheck) sources() []string {
	if c.probes == nil {
		return []string{c.code}
	}
	var sources []string
	for _, p := range c.probes {
		sources = append(sources, p.expr)
	}
	return sources
}

// checkKernelCheckConfig returns an error if the config of a kernel_check is malformed.
func checkKernelCheckConfig(config *pyvalue.Object) error {
	_, err := readKernelCheckConfig(config)
	return err
}

// readKernelCheckConfig reads the config of a kernel_check. It is an error if it has both
// code and probes or neither, or if something in it is malformed.
func readKernelCheckConfig(config *pyvalue.Object) (check kernelCheck, err error) {
	if check.isLive, err = readLive(config); err != nil {
		return check, err
	}
	text := config.Get("code")
	switch {
	case config.Has("probes") == (text != nil):
		return check, errors.New("want either code or probes")
	case text == nil:
		check.probes, err = parseProbes(config)
		return check, err
	case pyvalue.KindOf(text) != "string":
		return check, fmt.Errorf("code: want a string, found %s", pyvalue.KindOf(text))
	}
	check.code = pyvalue.Str(text)
	return check, nil
}

// gradeByCheckCode runs the code of a kernel_check in the kernel and returns the
// result. What the code prints becomes the reasoning.
func gradeByCheckCode(ctx context.Context, code string, kernel Kernel, isPython bool) (Result, error) {
	done, err := executeInKernel(ctx, kernel, code)
	if err != nil {
		return Result{}, err
	}
	r := newGraderReport("Kernel check")
	switch {
	case done.Status != "ok":
		r.addFailure("the check raised\n" + strings.TrimRight(done.Exception, "\n"))
	case isFalseRepr(done.Result):
		r.addFailure("the last value of the check is " + done.Result)
	case isPython && !pythonScalarRepr.MatchString(done.Result):
		r.addFailure("the last value of the check is neither true nor false: " + clipMiddleOfText(done.Result, maxShownValueBytes) + "; a comparison of arrays needs .all()")
	}
	result := r.binaryResult()
	if printed := strings.TrimSpace(done.Stdout); printed != "" {
		result.Reasoning = strings.Join(append([]string{printed}, r.failures...), "\n\n")
	}
	return result, nil
}

// pythonScalarRepr matches the repr of what the code of a check may have as its last value, if it is not
// false: nothing (for None), true, a number or a string. An array or a missing value is what a comparison
// with such a value is; it says nothing.
var pythonScalarRepr = regexp.MustCompile(`^(|True|np\.True_|[-+]?[0-9][-+0-9.eE]*|'.*'|".*")$`)

// isFalseRepr reports whether a repr is that of false in Python, in old and new numpy,
// or nil in Lisp.
func isFalseRepr(repr string) bool {
	return repr == "False" || repr == "np.False_" || repr == "nil"
}

// executeInKernel runs code in the attempt's kernel. If the kernel cannot run it, the
// error has kind kernel; if it takes too long, which values of the agent can cause, kind
// kernel_timeout.
func executeInKernel(ctx context.Context, kernel Kernel, code string) (Execution, error) {
	done, err := kernel.Execute(ctx, code)
	if err != nil {
		return Execution{}, kernelError(ctx, err)
	}
	return done, nil
}

// kernelError returns the error of a check whose kernel could not run its code, or not in time. An error
// that has a kind keeps it.
func kernelError(ctx context.Context, err error) error {
	if hasKind, ok := errors.AsType[*pyvalue.Error](err); ok {
		return hasKind
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &pyvalue.Error{Kind: "kernel_timeout", Text: context.Cause(ctx).Error()}
	}
	return &pyvalue.Error{Kind: ErrorKindKernel, Text: err.Error()}
}
